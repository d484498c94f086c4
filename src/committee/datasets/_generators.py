"""Simulated data whose true function and noise are known.

    regression        y = f(x) + s(x) e,     e of mean 0 and variance 1
    classification    P(y = k | x) is given; the Bayes rule predicts the most likely class and errs with probability
                      1 - max_k P(y = k | x)

Breiman's twonorm, ringnorm and threenorm (Arcing classifiers, 1998), the waveforms of CART (Breiman, Friedman, Olshen
and Stone 1984), Friedman's three functions (Multivariate adaptive regression splines, 1991), and `simulate_regression`
and `simulate_classification` for other functions and class probabilities.
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
Sampler = Callable[[int, Rng], Floats]
OfRows = Callable[[Floats], Any]


class SimulatedData(NamedTuple):
    """Rows drawn from a simulation, with their true function and noise.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The features.
    y : ndarray of shape (n_samples,)
        The target: floats, or class codes 0, 1, ...
    truth : ndarray of shape (n_samples,) or (n_samples, n_classes)
        The conditional mean of y, or the class probabilities.
    noise : ndarray of shape (n_samples,)
        The conditional variance of y, or the error of the Bayes rule.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.datasets import curve
    >>> data = curve(noise=0.1).draw(3, np.random.default_rng(0))
    >>> data.X.shape, data.truth.round(2), data.noise.round(2)
    ((3, 1), array([-0.76,  0.99,  0.25]), array([0.01, 0.01, 0.01]))
    """

    X: Floats
    y: NDArray[Any]
    truth: Floats
    noise: Floats


class Simulation(NamedTuple):
    """A distribution of data that can be drawn from repeatedly, with its true function and noise.

    Attributes
    ----------
    name : str
        Name of the simulation.
    task : {"classification", "regression"}
        Whether y holds classes or numbers.
    sample : callable
        `sample(n, rng)` returns n rows, as X and y.
    truth : callable
        `truth(X)` returns the conditional means, or the class probabilities of shape (n_samples, n_classes).
    noise : callable
        `noise(X)` returns the conditional variance of y, or the error of the Bayes rule.
    bayes_error : float
        Mean of the noise over the distribution of X: the smallest possible error. NaN where it is not known.

    Examples
    --------
    >>> from committee.datasets import twonorm
    >>> round(twonorm().bayes_error, 4)
    0.0228
    """

    name: str
    task: Task
    sample: Callable[[int, Rng], tuple[Floats, NDArray[Any]]]
    truth: OfRows
    noise: OfRows
    bayes_error: float

    def draw(self, n: int, rng: Rng) -> SimulatedData:
        """Draw rows and evaluate the true function and the noise on them.

        Parameters
        ----------
        n : int
            Number of rows.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        SimulatedData
            The rows.
        """
        X, y = self.sample(n, rng)
        return SimulatedData(X, y, np.asarray(self.truth(X), np.float64), np.asarray(self.noise(X), np.float64))


def simulate_regression(
    sample_X: Sampler,
    f: OfRows,
    *,
    noise: float | OfRows = 1.0,
    sample_errors: Sampler | None = None,
    name: str = "regression",
) -> Simulation:
    """Define a simulation y = f(x) + noise * e.

    Parameters
    ----------
    sample_X : callable
        `sample_X(n, rng)` returns X of shape (n, n_features).
    f : callable
        `f(X)` returns the conditional means of y.
    noise : float or callable, default=1.0
        Standard deviation of y given X, or a function of X that returns it.
    sample_errors : callable, default=None
        `sample_errors(n, rng)` returns e, of mean 0 and variance 1. None draws normal errors.
    name : str, default="regression"
        Name of the simulation.

    Returns
    -------
    Simulation
        The simulation.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.datasets import simulate_regression
    >>> line = simulate_regression(lambda n, rng: rng.random((n, 1)), lambda X: 2.0 * X[:, 0], noise=0.5)
    >>> line.draw(2, np.random.default_rng(0)).truth.round(3)
    array([1.274, 0.54 ])
    """
    deviation = noise if callable(noise) else partial(_constant, value=float(noise))

    def sample(n: int, rng: Rng) -> tuple[Floats, Floats]:
        X = sample_X(n, rng)
        e = rng.standard_normal(n) if sample_errors is None else sample_errors(n, rng)
        return X, f(X) + deviation(X) * e

    def variance(X: Floats) -> Floats:
        return np.square(deviation(X))

    return Simulation(name, "regression", sample, f, variance, np.nan if callable(noise) else float(noise) ** 2)


def simulate_classification(
    sample_X: Sampler, probabilities: OfRows, *, bayes_error: float = np.nan, name: str = "classification"
) -> Simulation:
    """Define a simulation of classes 0, 1, ... by their probabilities given X.

    Parameters
    ----------
    sample_X : callable
        `sample_X(n, rng)` returns X of shape (n, n_features).
    probabilities : callable
        `probabilities(X)` returns the class probabilities, of shape (n, n_classes).
    bayes_error : float, default=nan
        Error of the Bayes rule, where it is known.
    name : str, default="classification"
        Name of the simulation.

    Returns
    -------
    Simulation
        The simulation.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.datasets import simulate_classification
    >>> coin = simulate_classification(lambda n, rng: rng.random((n, 1)), lambda X: np.c_[X, 1.0 - X])
    >>> coin.draw(3, np.random.default_rng(0)).noise.round(2)
    array([0.36, 0.27, 0.04])
    """

    def sample(n: int, rng: Rng) -> tuple[Floats, NDArray[np.int64]]:
        X = sample_X(n, rng)
        below = np.cumsum(probabilities(X), axis=1)[:, :-1] <= rng.random((n, 1))
        return X, below.sum(axis=1)

    noise = partial(_bayes_rule_error, probabilities=probabilities)
    return Simulation(name, "classification", sample, probabilities, noise, bayes_error)


# --- regression -------------------------------------------------------------------------------------------------------


def curve(
    f: OfRows = lambda X: np.sin(2.0 * np.pi * X[:, 0]),
    *,
    noise: float | OfRows = 0.3,
    low: float = 0.0,
    high: float = 1.0,
    sample_errors: Sampler | None = None,
) -> Simulation:
    """A function of one variable that is uniform on an interval.

    Parameters
    ----------
    f : callable, default=sine
        `f(X)` returns the conditional means; sin(2 pi x) by default.
    noise : float or callable, default=0.3
        Standard deviation of y given X, or a function of X that returns it.
    low, high : float, default=0.0, 1.0
        Ends of the interval.
    sample_errors : callable, default=None
        `sample_errors(n, rng)` returns errors of mean 0 and variance 1. None draws normal errors.

    Returns
    -------
    Simulation
        The simulation.

    Examples
    --------
    >>> from committee.datasets import curve
    >>> round(curve(noise=0.2).bayes_error, 2)
    0.04
    """
    return simulate_regression(
        lambda n, rng: rng.uniform(low, high, (n, 1)), f, noise=noise, sample_errors=sample_errors, name="curve"
    )


def friedman1(n_features: int = 10, *, noise: float = 1.0) -> Simulation:
    """Friedman's first function: 10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 on the unit cube.

    Parameters
    ----------
    n_features : int, default=10
        Number of variables, at least 5; those after the fifth are irrelevant.
    noise : float, default=1.0
        Standard deviation of y given X.

    Returns
    -------
    Simulation
        The simulation.

    Examples
    --------
    >>> from committee.datasets import friedman1
    >>> friedman1().bayes_error
    1.0
    """
    if n_features < 5:
        raise ValueError(f"n_features must be at least 5, the number of relevant variables; got {n_features}.")
    return simulate_regression(lambda n, rng: rng.random((n, n_features)), _friedman1, noise=noise, name="friedman1")


def friedman2(*, noise: float = 125.0) -> Simulation:
    """Friedman's second function: the impedance sqrt(x1^2 + (x2 x3 - 1 / (x2 x4))^2) of a circuit.

    Parameters
    ----------
    noise : float, default=125.0
        Standard deviation of y given X; by default a third of that of the function.

    Returns
    -------
    Simulation
        The simulation.

    Examples
    --------
    >>> from committee.datasets import friedman2
    >>> friedman2().bayes_error
    15625.0
    """
    return simulate_regression(_circuits, lambda X: np.hypot(X[:, 0], _reactance(X)), noise=noise, name="friedman2")


def friedman3(*, noise: float = 0.1) -> Simulation:
    """Friedman's third function: the phase arctan((x2 x3 - 1 / (x2 x4)) / x1) of a circuit.

    Parameters
    ----------
    noise : float, default=0.1
        Standard deviation of y given X.

    Returns
    -------
    Simulation
        The simulation.

    Examples
    --------
    >>> from committee.datasets import friedman3
    >>> friedman3().name
    'friedman3'
    """
    return simulate_regression(_circuits, lambda X: np.arctan2(_reactance(X), X[:, 0]), noise=noise, name="friedman3")


def _friedman1(X: Floats) -> Floats:
    x1, x2, x3, x4, x5 = X[:, :5].T
    return 10.0 * np.sin(np.pi * x1 * x2) + 20.0 * (x3 - 0.5) ** 2 + 10.0 * x4 + 5.0 * x5


def _circuits(n: int, rng: Rng) -> Floats:
    low = np.array([0.0, 40.0 * np.pi, 0.0, 1.0])
    high = np.array([100.0, 560.0 * np.pi, 1.0, 11.0])
    return rng.uniform(low, high, (n, 4))


def _reactance(X: Floats) -> Floats:
    return X[:, 1] * X[:, 2] - 1.0 / (X[:, 1] * X[:, 3])


# --- classification ---------------------------------------------------------------------------------------------------

THREENORM_ERROR = 0.1046
"""Error of the Bayes rule with 20 variables: a numerical integral over the plane of the three centres."""

RINGNORM_ERROR = 0.0124
"""Error of the Bayes rule with 20 variables: the rule is a sphere; from two noncentral chi-squared distributions."""

WAVEFORM_ERROR = 0.1328
"""Error of the Bayes rule: mean over 4 million rows."""

STEP, STEP_PROBABILITY, STEP_CORRELATION = 0.5, 0.2, 0.95
"""Of `correlated_step`: threshold of x1, probability of the less likely class, correlation of the variables."""


def twonorm(n_features: int = 20) -> Simulation:
    """Two classes, normal with unit covariance, centred at -(a, ..., a) and (a, ..., a) with a = 2 / sqrt(d).

    Parameters
    ----------
    n_features : int, default=20
        Number of variables.

    Returns
    -------
    Simulation
        The simulation.

    Examples
    --------
    >>> from committee.datasets import twonorm
    >>> round(twonorm().bayes_error, 4)
    0.0228
    """
    centre = np.full(n_features, 2.0 / np.sqrt(n_features))

    def log_densities(X: Floats) -> Floats:
        return np.column_stack([_log_normal(X, -centre), _log_normal(X, centre)])

    def rows(n: int, rng: Rng) -> tuple[Floats, NDArray[np.int64]]:
        y = rng.integers(0, 2, n)
        return rng.standard_normal((n, n_features)) + np.where(y[:, None] == 1, centre, -centre), y

    return _mixture("twonorm", rows, log_densities, float(ndtr(-2.0)))


def ringnorm(n_features: int = 20) -> Simulation:
    """Two classes: normal around 0 with covariance 4, and around (a, ..., a), a = 2 / sqrt(d), with covariance 1.

    Parameters
    ----------
    n_features : int, default=20
        Number of variables.

    Returns
    -------
    Simulation
        The simulation.

    Examples
    --------
    >>> from committee.datasets import ringnorm
    >>> ringnorm().bayes_error
    0.0124
    """
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
    """Two classes: normal around (a, ..., a) or -(a, ..., a), and normal around (a, -a, a, -a, ...); a = 2 / sqrt(d).

    Parameters
    ----------
    n_features : int, default=20
        Number of variables.

    Returns
    -------
    Simulation
        The simulation.

    Examples
    --------
    >>> from committee.datasets import threenorm
    >>> threenorm().bayes_error
    0.1046
    """
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
    """Three classes of 21 readings: u h_a + (1 - u) h_b + noise, u uniform; h_a, h_b are two of three triangles.

    Returns
    -------
    Simulation
        The simulation.

    Examples
    --------
    >>> from committee.datasets import waveform
    >>> waveform().bayes_error
    0.1328
    """
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
    """Variables of correlation 0.95; P(y = 1) is 0.2 where x1 <= 0.5, else 0.8. Only x1 matters.

    Parameters
    ----------
    n_features : int, default=5
        Number of variables.

    Returns
    -------
    Simulation
        The simulation.

    Examples
    --------
    >>> from committee.datasets import correlated_step
    >>> correlated_step().bayes_error
    0.2
    """

    def rows(n: int, rng: Rng) -> Floats:
        shared = np.sqrt(STEP_CORRELATION) * rng.standard_normal((n, 1))  # the common part of all variables
        return shared + np.sqrt(1.0 - STEP_CORRELATION) * rng.standard_normal((n, n_features))

    def probabilities(X: Floats) -> Floats:
        one = np.where(X[:, 0] <= STEP, STEP_PROBABILITY, 1.0 - STEP_PROBABILITY)
        return np.column_stack([1.0 - one, one])

    return simulate_classification(rows, probabilities, bayes_error=STEP_PROBABILITY, name="correlated step")


def _mixture(
    name: str, sample: Callable[[int, Rng], tuple[Floats, NDArray[Any]]], log_densities: OfRows, bayes_error: float
) -> Simulation:
    """Equally likely classes, from the log densities [n, K] of their rows (up to a common constant)."""

    def probabilities(X: Floats) -> Floats:
        log = log_densities(X)
        return np.exp(log - logsumexp(log, axis=1, keepdims=True))

    noise = partial(_bayes_rule_error, probabilities=probabilities)
    return Simulation(name, "classification", sample, probabilities, noise, bayes_error)


def _log_normal(X: Floats, centre: Floats) -> Floats:
    """Log density of unit covariance, without its constant."""
    return -0.5 * np.sum((X - centre) ** 2, axis=1)


def _log_segment(X: Floats, a: Floats, b: Floats) -> Floats:
    """Log density of u a + (1 - u) b + normal noise with u uniform: a normal across the segment and one along it.

    Along it, with m the u of the nearest point of the line and l its length: (Phi((1 - m) l) - Phi(-m l)) / l.
    """
    along = a - b
    length = float(np.sqrt(along @ along))
    m = (X - b) @ along / length**2
    across = np.sum((X - b) ** 2, axis=1) - (m * length) ** 2
    upper, lower = (1.0 - m) * length, -m * length
    flip = lower > 0.0  # in the upper tail the difference would cancel: use the lower one
    upper, lower = np.where(flip, -lower, upper), np.where(flip, -upper, lower)
    log_upper, log_lower = log_ndtr(upper), log_ndtr(lower)
    return -0.5 * across + log_upper + np.log1p(-np.exp(log_lower - log_upper)) - np.log(length)


def _bayes_rule_error(X: Floats, *, probabilities: OfRows) -> Floats:
    return 1.0 - probabilities(X).max(axis=1)


def _constant(X: Floats, *, value: float) -> Floats:
    return np.full(len(X), value)
