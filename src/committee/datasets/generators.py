"""Simulated data whose truth is known: what y is on average at every x, and how much noise is on it.

    numbers   y = f(x) + s(x) e,   e of mean 0 and variance 1
    classes   P(y = k | x) given,  the best rule takes the largest and errs with probability 1 - max_k P(y = k | x)

Breiman's twonorm, ringnorm and threenorm (Arcing classifiers, 1998), the waveforms of CART (Breiman, Friedman, Olshen
and Stone 1984), Friedman's three functions (Multivariate adaptive regression splines, 1991), the simulations of the
documents (S2), and `numbers` and `classes` for a truth of one's own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp, ndtr

from committee.base.array_types import Floats

Rng = np.random.Generator
Task = Literal["classification", "regression"]
Rows = Callable[[int, Rng], Floats]
OfRows = Callable[[Floats], Any]


class Draw(NamedTuple):
    """Rows of a simulation."""

    X: Floats  # [n, d]
    y: NDArray[Any]  # [n], numbers or class codes 0, 1, ...
    truth: Floats  # [n], the mean of y at x; [n, K], the chances of the classes at x
    noise: Floats  # [n], the variance of y at x; the error of the best rule at x


class Simulation(NamedTuple):
    """Data that can be drawn as often as needed, and their truth.

    >>> sine = curve(noise=0.1)
    >>> rows = sine.draw(3, np.random.default_rng(0))
    >>> rows.X.shape, rows.truth.round(2), rows.noise.round(2)
    ((3, 1), array([-0.76,  0.99,  0.25]), array([0.01, 0.01, 0.01]))
    """

    name: str
    task: Task
    sample: Callable[[int, Rng], tuple[Floats, NDArray[Any]]]  # so many rows: X, y
    truth: OfRows  # of X: the means [n], or the chances of the classes [n, K]
    noise: OfRows  # of X: the variance of y [n], or the error of the best rule [n]
    best_error: float  # mean of the noise over the rows; nan where it is not known

    def draw(self, n: int, rng: Rng) -> Draw:
        """`n` rows with their truth."""
        X, y = self.sample(n, rng)
        return Draw(X, y, np.asarray(self.truth(X), np.float64), np.asarray(self.noise(X), np.float64))


def numbers(
    rows: Rows,
    f: OfRows,
    *,
    noise: float | OfRows = 1.0,
    errors: Callable[[int, Rng], Floats] | None = None,
    name: str = "numbers",
) -> Simulation:
    """y = f(x) + noise * e.

    `rows(n, rng)` draws X [n, d], `f(X)` is the truth [n], `noise` the standard deviation or a function of X that gives
    it, `errors(n, rng)` draws e of mean 0 and variance 1, normal by default.

    >>> line = numbers(lambda n, rng: rng.random((n, 1)), lambda X: 2.0 * X[:, 0], noise=0.5)
    >>> line.draw(2, np.random.default_rng(0)).truth.round(3)
    array([1.274, 0.54 ])
    """
    deviation = noise if callable(noise) else partial(_level, level=float(noise))

    def sample(n: int, rng: Rng) -> tuple[Floats, Floats]:
        X = rows(n, rng)
        e = rng.standard_normal(n) if errors is None else errors(n, rng)
        return X, f(X) + deviation(X) * e

    def variance(X: Floats) -> Floats:
        return np.square(deviation(X))

    return Simulation(name, "regression", sample, f, variance, np.nan if callable(noise) else float(noise) ** 2)


def classes(rows: Rows, chances: OfRows, *, best_error: float = np.nan, name: str = "classes") -> Simulation:
    """Codes 0, 1, ... drawn with the chances [n, K] that `chances(X)` gives the rows `rows(n, rng)`.

    >>> coin = classes(lambda n, rng: rng.random((n, 1)), lambda X: np.c_[X, 1.0 - X])
    >>> coin.draw(3, np.random.default_rng(0)).noise.round(2)
    array([0.36, 0.27, 0.04])
    """

    def sample(n: int, rng: Rng) -> tuple[Floats, NDArray[np.int64]]:
        X = rows(n, rng)
        below = np.cumsum(chances(X), axis=1)[:, :-1] <= rng.random((n, 1))
        return X, below.sum(axis=1)

    return Simulation(name, "classification", sample, chances, partial(_best_rule_error, chances=chances), best_error)


# --- numbers ----------------------------------------------------------------------------------------------------------


def curve(
    f: OfRows = lambda X: np.sin(2.0 * np.pi * X[:, 0]),
    *,
    noise: float | OfRows = 0.3,
    low: float = 0.0,
    high: float = 1.0,
    errors: Callable[[int, Rng], Floats] | None = None,
) -> Simulation:
    """A curve over one variable, uniform from `low` to `high`; a sine by default (B-2, C-2)."""
    return numbers(lambda n, rng: rng.uniform(low, high, (n, 1)), f, noise=noise, errors=errors, name="curve")


def friedman1(n_features: int = 10, *, noise: float = 1.0) -> Simulation:
    """10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 over the unit cube; the other variables say nothing."""
    if n_features < 5:
        raise ValueError(f"n_features must be at least 5, of which the function is made; got {n_features}.")
    return numbers(lambda n, rng: rng.random((n, n_features)), _friedman1, noise=noise, name="friedman1")


def friedman2(*, noise: float = 125.0) -> Simulation:
    """Impedance sqrt(x1^2 + (x2 x3 - 1 / (x2 x4))^2) of a circuit; a third of the deviation of y is noise."""
    return numbers(_circuits, lambda X: np.hypot(X[:, 0], _reactance(X)), noise=noise, name="friedman2")


def friedman3(*, noise: float = 0.1) -> Simulation:
    """Phase arctan((x2 x3 - 1 / (x2 x4)) / x1) of the same circuit."""
    return numbers(_circuits, lambda X: np.arctan2(_reactance(X), X[:, 0]), noise=noise, name="friedman3")


def _friedman1(X: Floats) -> Floats:
    x1, x2, x3, x4, x5 = X[:, :5].T
    return 10.0 * np.sin(np.pi * x1 * x2) + 20.0 * (x3 - 0.5) ** 2 + 10.0 * x4 + 5.0 * x5


def _circuits(n: int, rng: Rng) -> Floats:
    low = np.array([0.0, 40.0 * np.pi, 0.0, 1.0])
    high = np.array([100.0, 560.0 * np.pi, 1.0, 11.0])
    return rng.uniform(low, high, (n, 4))


def _reactance(X: Floats) -> Floats:
    return X[:, 1] * X[:, 2] - 1.0 / (X[:, 1] * X[:, 3])


# --- classes ----------------------------------------------------------------------------------------------------------

THREENORM_ERROR = 0.1046
"""Of the best rule with 20 variables: all that matters happens in a plane, integrated there on a fine grid."""

RINGNORM_ERROR = 0.0124
"""Of the best rule with 20 variables: a sphere, so from two noncentral chi-squared distributions."""

WAVEFORM_ERROR = 0.1328
"""Of the best rule: the mean of its error over 4 million rows."""

STEP, STEP_CHANCE, STEP_CORRELATION = 0.5, 0.2, 0.95
"""Of C-7: where x1 changes the class, the chance of class 1 below and of class 0 above, and of the variables."""


def twonorm(n_features: int = 20) -> Simulation:
    """Two normal clouds of unit covariance around -(a, ..., a) and (a, ..., a), a = 2 / sqrt(d): 4 apart."""
    centre = np.full(n_features, 2.0 / np.sqrt(n_features))

    def log_densities(X: Floats) -> Floats:
        return np.column_stack([_log_normal(X, -centre), _log_normal(X, centre)])

    def rows(n: int, rng: Rng) -> tuple[Floats, NDArray[np.int64]]:
        y = rng.integers(0, 2, n)
        return rng.standard_normal((n, n_features)) + np.where(y[:, None] == 1, centre, -centre), y

    return _mixture("twonorm", rows, log_densities, float(ndtr(-2.0)))


def ringnorm(n_features: int = 20) -> Simulation:
    """Class 0 is normal around 0 with covariance 4, class 1 around (a, ..., a) with covariance 1, a = 2 / sqrt(d)."""
    centre = np.full(n_features, 2.0 / np.sqrt(n_features))

    def log_densities(X: Floats) -> Floats:
        wide = _log_normal(X / 2.0, np.zeros(n_features)) - n_features * np.log(2.0)
        return np.column_stack([wide, _log_normal(X, centre)])

    def rows(n: int, rng: Rng) -> tuple[Floats, NDArray[np.int64]]:
        y = rng.integers(0, 2, n)
        e = rng.standard_normal((n, n_features))
        return np.where(y[:, None] == 1, centre + e, 2.0 * e), y

    return _mixture("ringnorm", rows, log_densities, RINGNORM_ERROR if n_features == 20 else np.nan)


def threenorm(n_features: int = 20) -> Simulation:
    """Class 0 is two normal clouds around (a, ..., a) and -(a, ..., a), class 1 one around (a, -a, a, -a, ...)."""
    centre = np.full(n_features, 2.0 / np.sqrt(n_features))
    other = centre * np.where(np.arange(n_features) % 2, -1.0, 1.0)

    def log_densities(X: Floats) -> Floats:
        pair = np.logaddexp(_log_normal(X, centre), _log_normal(X, -centre)) - np.log(2.0)
        return np.column_stack([pair, _log_normal(X, other)])

    def rows(n: int, rng: Rng) -> tuple[Floats, NDArray[np.int64]]:
        y, side = rng.integers(0, 2, n), 2 * rng.integers(0, 2, (n, 1)) - 1
        return rng.standard_normal((n, n_features)) + np.where(y[:, None] == 1, other, side * centre), y

    return _mixture("threenorm", rows, log_densities, THREENORM_ERROR if n_features == 20 else np.nan)


def waveform() -> Simulation:
    """Three classes of 21 readings: u h_a + (1 - u) h_b + noise, u uniform, of two out of three triangles each."""
    t = np.arange(1, 22)
    first, second, third = (np.maximum(6.0 - np.abs(t - peak), 0.0) for peak in (11, 15, 7))
    pairs = ((first, second), (first, third), (second, third))

    def log_densities(X: Floats) -> Floats:
        return np.column_stack([_log_segment(X, a, b) for a, b in pairs])

    def rows(n: int, rng: Rng) -> tuple[Floats, NDArray[np.int64]]:
        y, u = rng.integers(0, 3, n), rng.random((n, 1))
        ends = np.array(pairs)[y]
        return u * ends[:, 0] + (1.0 - u) * ends[:, 1] + rng.standard_normal((n, 21)), y

    return _mixture("waveform", rows, log_densities, WAVEFORM_ERROR)


def correlated_step(n_features: int = 5) -> Simulation:
    """The simulation of C-7: normal variables of correlation 0.95, P(y = 1) is 0.2 where x1 <= 0.5 and else 0.8."""

    def rows(n: int, rng: Rng) -> Floats:
        shared = np.sqrt(STEP_CORRELATION) * rng.standard_normal((n, 1))  # in all variables: it makes them alike
        return shared + np.sqrt(1.0 - STEP_CORRELATION) * rng.standard_normal((n, n_features))

    def chances(X: Floats) -> Floats:
        one = np.where(X[:, 0] <= STEP, STEP_CHANCE, 1.0 - STEP_CHANCE)
        return np.column_stack([1.0 - one, one])

    return classes(rows, chances, best_error=STEP_CHANCE, name="correlated step")


SIMULATIONS: dict[str, Callable[[], Simulation]] = {
    "curve": curve,
    "friedman1": friedman1,
    "friedman2": friedman2,
    "friedman3": friedman3,
    "twonorm": twonorm,
    "ringnorm": ringnorm,
    "threenorm": threenorm,
    "waveform": waveform,
    "correlated step": correlated_step,
}
"""Name -> what makes the simulation with its usual settings."""


def _mixture(
    name: str, sample: Callable[[int, Rng], tuple[Floats, NDArray[Any]]], log_densities: OfRows, best_error: float
) -> Simulation:
    """Classes of equal chances, from the log densities [n, K] of their rows (up to a common constant)."""

    def chances(X: Floats) -> Floats:
        log = log_densities(X)
        return np.exp(log - logsumexp(log, axis=1, keepdims=True))

    noise = partial(_best_rule_error, chances=chances)
    return Simulation(name, "classification", sample, chances, noise, best_error)


def _log_normal(X: Floats, centre: Floats) -> Floats:
    """Log density of unit covariance, without its constant."""
    return -0.5 * np.sum((X - centre) ** 2, axis=1)


def _log_segment(X: Floats, a: Floats, b: Floats) -> Floats:
    """Log density of u a + (1 - u) b + normal noise with u uniform: a normal across the segment and one along it.

    Along it, with m the u of the nearest point of the line and l the length: (Phi((1 - m) l) - Phi(-m l)) / l.
    """
    along = a - b
    length = float(np.sqrt(along @ along))
    m = (X - b) @ along / length**2
    across = np.sum((X - b) ** 2, axis=1) - (m * length) ** 2
    upper, lower = (1.0 - m) * length, -m * length
    flip = lower > 0.0  # on the far side the tails are small and 1 - 1 would be nothing: mirror them
    upper, lower = np.where(flip, -lower, upper), np.where(flip, -upper, lower)
    log_upper, log_lower = log_ndtr(upper), log_ndtr(lower)
    return -0.5 * across + log_upper + np.log1p(-np.exp(log_lower - log_upper)) - np.log(length)


def _best_rule_error(X: Floats, *, chances: OfRows) -> Floats:
    return 1.0 - chances(X).max(axis=1)


def _level(X: Floats, *, level: float) -> Floats:
    return np.full(len(X), level)
