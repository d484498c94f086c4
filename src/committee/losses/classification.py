"""Losses of two classes.

    name            L(y, s), m = y s            p = P(y = +1 | s) at the minimum        y
    log_loss        ln(1 + e^s) - y s           1 / (1 + e^(-s))                        0, 1
    exponential     e^(-m)                      1 / (1 + e^(-2 s))                      -1, +1
    logistic        ln(1 + e^(-2 m))            1 / (1 + e^(-2 s))                      -1, +1
    squared_hinge   max(0, 1 - m)^2             (1 + s) / 2, cut to [0, 1]              -1, +1
    savage          1 / (1 + e^(2 m))^2         1 / (1 + e^(-2 s))                      -1, +1
    tangent         (2 arctan(m) - 1)^2         1/2 + arctan(s), cut to [0, 1]          -1, +1

The logistic and the Savage loss have 2 m where some papers have m, so that s is half the log-odds, as in AdaBoost. The
probability solves p L'(s) = (1 - p) L'(-s), that is p = L'(-s) / (L'(s) + L'(-s)), for any differentiable margin loss
(Savage: Masnadi-Shirazi and Vasconcelos 2008; tangent: Masnadi-Shirazi, Mahadevan and Vasconcelos 2010). Savage and
tangent are not convex: rows of very negative margins have small weights, so wrong labels have little effect. The
tangent loss increases again beyond m = tan(1/2).

For more than two classes the log-losses of all classes are differentiated together (softmax_derivatives).
"""

from __future__ import annotations

from committee.kernels.boosting import derivatives as d
from committee.losses.loss import Loss

LOG_LOSS = Loss("log_loss", d.LOG_LOSS, target="zero_one", start="log_odds", link="logistic", curvature_bound=1.0)
_MARGIN = Loss("exponential", d.EXPONENTIAL, target="sign", start="half_log_odds", link="half_logistic")
EXPONENTIAL = _MARGIN._replace(curvature_bound=1.0, is_shift_free=True)

CLASSIFICATION_LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        LOG_LOSS,
        EXPONENTIAL,
        _MARGIN._replace(name="logistic", code=d.LOGISTIC),
        _MARGIN._replace(name="squared_hinge", code=d.SQUARED_HINGE, start="mean", link="linear"),
        _MARGIN._replace(name="savage", code=d.SAVAGE),
        _MARGIN._replace(name="tangent", code=d.TANGENT, start="search", link="arctan"),
    )
}

MARGIN_LOSSES: dict[str, Loss] = {name: loss for name, loss in CLASSIFICATION_LOSSES.items() if loss.is_margin_loss}
