"""A loss L(y, s) of the target y at the score s, as one object for gradient boosting and AnyBoost.

The losses are in regression.py, classification.py and, for user-defined ones, custom.py. Values and derivatives are
compiled code, chosen by `code` (kernels/boosting/derivatives.py); minimizers.py implements `start` and `leaf`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import expit

from committee.base.array_types import Floats
from committee.kernels.boosting import derivatives as d

Target = Literal["real", "non_negative", "positive", "zero_one", "sign"]
"""Values of y: any number, y >= 0, y > 0, 0 or 1, -1 or +1 (a margin loss, which depends on y s alone)."""

Start = Literal["mean", "median", "quantile", "log_mean", "log_odds", "half_log_odds", "scaled_search", "search"]
"""The constant score of smallest loss, in closed form or by a search."""

Link = Literal["identity", "exp", "logistic", "half_logistic", "linear", "arctan", "ratio"]
"""From a score to a prediction (the first two) or to P(y = +1)."""

LeafRule = Literal["newton", "quantile", "huber"]
"""The value of a leaf: a Newton step, or the location of the residuals of smallest loss."""

USER = -1
"""The code of a user-defined loss, whose compiled functions are its `functions`."""

NO_WEIGHTS = np.empty(0)

MAX_SCORE = 300.0
"""Limit of scores in the ratio link: exp(2 * 300) is finite, and probabilities beyond are 0 and 1."""


class LossError(ValueError):
    """A user-defined loss raised an error, or returned a number that is not finite."""


class Loss(NamedTuple):
    """A loss, its starting score, its link and its rule for leaf values.

    `curvature_bound` bounds the third derivative, |L'''| <= curvature_bound * L'': with it `leaves.cannot_increase`
    proves that a Newton step does not increase the loss of its leaf. It is 1 for the losses of e^s (for the log-loss
    |L'''| = p (1 - p) |1 - 2 p|), 0 for a hessian of one everywhere, -1 if there is no such bound.
    """

    name: str
    code: int
    parameter: float = 0.0  # the quantile or expectile, Huber's fraction or delta, Tweedie's power
    target: Target = "real"
    start: Start = "search"
    link: Link = "identity"
    leaf: LeafRule = "newton"
    curvature_bound: float = -1.0
    is_shift_free: bool = False  # L(m + c) is a multiple of L(m): only differences of margins count
    functions: Any = None  # of a user's loss: kernels.user_functions.UserLoss or custom.MarginFunctions

    @property
    def has_unit_hessian(self) -> bool:
        return self.curvature_bound == 0.0

    @property
    def is_margin_loss(self) -> bool:
        return self.target == "sign"

    @property
    def is_residual_loss(self) -> bool:
        """Whether the loss depends on y - s alone."""
        return 0 <= self.code <= d.EXPECTILE

    def check_target(self, y: Floats) -> None:
        """Raise ValueError for targets that the loss does not allow."""
        if self.target == "non_negative" and y.min() < 0.0:
            raise ValueError(
                f"Some value(s) of y are negative: loss={self.name!r} needs non-negative targets. Use another loss, "
                "such as 'squared_error'."
            )
        if self.target == "positive" and y.min() <= 0.0:
            raise ValueError(
                f"Some value(s) of y are not positive: loss={self.name!r} needs positive targets. Use another loss, "
                "such as 'poisson' for targets with zeros."
            )

    # --- links --------------------------------------------------------------------------------------------------------

    def prediction(self, score: Floats) -> Floats:
        """The prediction of a regression loss."""
        return np.exp(score) if self.link == "exp" else score

    def probability(self, score: Floats) -> Floats:
        """P(y = +1 | score) of a classification loss: the p for which the score minimizes the expected loss."""
        if self.link == "half_logistic":
            return expit(2.0 * score)
        if self.link == "linear":
            return np.clip(0.5 + 0.5 * score, 0.0, 1.0)
        if self.link == "arctan":
            return np.clip(0.5 + np.arctan(score), 0.0, 1.0)
        return self._ratio(score) if self.link == "ratio" else expit(score)

    def _ratio(self, score: Floats) -> Floats:
        """L'(-f) / (L'(f) + L'(-f)), which solves p L'(f) = (1 - p) L'(-f); where L increases, L' counts as zero."""
        near = np.clip(score, -MAX_SCORE, MAX_SCORE)
        down, up = np.maximum(-self.derivative(near), 0.0), np.maximum(-self.derivative(-near), 0.0)
        both = down + up
        is_flat = both == 0.0  # on both sides
        return np.where(is_flat, 0.5 + 0.5 * np.sign(score), up / np.where(is_flat, 1.0, both))

    # --- margin losses ------------------------------------------------------------------------------------------------

    def value(self, m: Floats) -> Floats:
        """L at the margins m = y s."""
        return self.functions.value(m) if self.code == USER else self._at_margins(m)[0]

    def derivative(self, m: Floats) -> Floats:
        """L' at the margins m."""
        return self.functions.derivative(m) if self.code == USER else -self._at_margins(m)[1]

    def pull(self, m: Floats) -> Floats:
        """-L' at the margins m, for a shift-free loss up to a common factor that keeps it from under- and overflow."""
        return -self.derivative(m - m.min() if self.is_shift_free else m)

    def _at_margins(self, m: Floats) -> Floats:
        """Values, negative derivatives and hessians at margins."""
        out = np.empty((3, m.size))
        d.evaluate(self.code, self.parameter, np.ones(m.size), np.ascontiguousarray(m, np.float64), *out)
        return out
