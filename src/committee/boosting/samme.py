"""SAMME, AdaBoost for K classes (Zhu, Zou, Rosset and Hastie, Multi-class AdaBoost, 2009).

    w_i = 1 / n
    for t = 1, ..., T
        h_t  = a classifier fitted under the weights w
        e_t  = sum_i w_i [h_t(x_i) != y_i]
        a_t  = 1/2 (ln((1 - e_t) / e_t) + ln(K - 1)),    stop if a_t <= 0, that is e_t >= 1 - 1/K
        w_i <- w_i exp(-a_t u_i) / Z_t,    u_i = +1 where h_t(x_i) = y_i, else -1;  Z_t makes the sum 1
    H(x) = argmax_k sum_t a_t [h_t(x) = k]

It is forward stagewise additive modelling with the multi-class exponential loss. For K = 2 it is AdaBoost. The paper's
coefficients are 2 a_t, with w_i <- w_i exp(2 a_t) for misclassified rows only: after normalization the weights are the
same.

The loop stands in `multiplicative_weights.py`, the error in its `weighted_error`, the update of the weights in its
`reweight`. This module gives the coefficient.
"""

from __future__ import annotations

import math

from committee.boosting.multiplicative_weights import Round, Step

CHANCE = 1e-10
"""Coefficients smaller than this are rounding errors of zero."""

MIN_ERROR = 1e-16
PERFECT = "a hypothesis is perfect on the training rows, its coefficient was cut to a finite one"


def coefficient(error: float, n_classes: int) -> float:
    """Compute a = 1/2 (ln((1 - e) / e) + ln(K - 1)), which is positive for e < 1 - 1/K.

    >>> round(coefficient(0.25, 2), 3), round(coefficient(0.25, 4), 3), abs(coefficient(0.75, 4)) < 1e-12
    (0.549, 1.099, True)
    """
    return 0.5 * (math.log((1.0 - error) / error) + math.log(max(n_classes - 1, 1)))


def samme(this: Round, negate: bool = False) -> Step:
    """Stop at a hypothesis no better than chance; with `negate` one that is worse has a negative coefficient."""
    if this.error <= 0.0:
        return perfect(this)
    if this.error >= 1.0:  # negated, it is perfect
        return perfect(this, sign=-1.0) if negate else Step(0.0, stop="the error 1 is no better than chance")
    a = coefficient(this.error, this.n_classes)
    if abs(a) < CHANCE or (a < 0.0 and not negate):
        return Step(0.0, stop=f"the error {this.error:.4f} is no better than chance")
    return Step(a)


def perfect(this: Round, sign: float = 1.0) -> Step:
    """Return the finite coefficient of a hypothesis without training error: as if it erred on half the lightest row."""
    error = min(max(0.5 * this.min_start, MIN_ERROR), 0.25)
    return Step(sign * coefficient(error, this.n_classes), stop=PERFECT, is_perfect=True)
