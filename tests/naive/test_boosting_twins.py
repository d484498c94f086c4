"""The boosting twins against the theorems of their papers, numbers worked by hand, and scikit-learn."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar
from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from .boosting import (
    Run,
    Stumps,
    adaboost,
    all_stumps,
    anyboost,
    best_stump,
    boost_stumps,
    confidence_tree_values,
    drucker_r2,
    replay_adaboost,
    replay_arc_gv,
    replay_confidence,
    replay_m1,
    replay_samme,
    replay_star,
    replay_theta,
    schapire_1990,
    stagewise,
    weighted_median,
)

CLOSE = {"rtol": 0.0, "atol": 1e-11}  # a few hundred roundings of 1e-16, grown by coefficients of at most 10 or so
SEEDS = [0, 1, 2]


def make_data(seed: int, n: int = 40, weighted: bool = True) -> tuple:
    """Two noisy classes in three variables with ties in their values, weights that differ."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 3)), 1)
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y, rng.uniform(0.5, 2.0, size=n) if weighted else np.ones(n)


def make_predictions(seed: int, y: np.ndarray, rounds: int, accuracy: float, n_classes: int = 2) -> np.ndarray:
    """Class codes, right with probability `accuracy`, else another class."""
    rng = np.random.default_rng(seed)
    wrong = (y + rng.integers(1, n_classes, size=(rounds, len(y)))) % n_classes
    return np.where(rng.random((rounds, len(y))) < accuracy, y, wrong)


def weights_before(run: Run, w0: np.ndarray) -> np.ndarray:
    return np.vstack([w0 / w0.sum(), run.weights[:-1]])


def assert_same(one: Run, other: Run) -> None:
    assert one.stopped == other.stopped
    for name in ("error", "edge", "coefficient", "Z", "weights", "f", "margin"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), **CLOSE, err_msg=name)


def largest_margin(predictions: np.ndarray, y: np.ndarray) -> float:
    """rho*, the largest minimum margin of a convex combination, by linear programming."""
    n_hypotheses, n = predictions.shape
    solved = linprog(
        np.append(np.zeros(n_hypotheses), -1.0),
        A_ub=np.column_stack([-(y * predictions).T, np.ones(n)]),
        b_ub=np.zeros(n),
        A_eq=[np.append(np.ones(n_hypotheses), 0.0)],
        b_eq=[1.0],
        bounds=[(0, None)] * n_hypotheses + [(None, None)],
    )
    return float(-solved.fun)


# ---------------------------------------------------------------------------------------------------------- stumps


def test_all_stumps_in_order() -> None:
    stumps = all_stumps(np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 6.0]]))
    assert stumps.feature.tolist() == [-1, -1, 0, 0, 0, 0, 1, 1]
    assert stumps.threshold.tolist() == [-np.inf, -np.inf, 1.5, 1.5, 3.0, 3.0, 5.5, 5.5]
    assert stumps.polarity.tolist() == [1, -1] * 4
    assert stumps.predictions[0].tolist() == [1, 1, 1]
    assert stumps.predictions[2].tolist() == [-1, 1, 1]
    assert stumps.predictions[5].tolist() == [1, 1, -1]
    neighbours = all_stumps(np.array([[1.0], [np.nextafter(1.0, 2.0)]]))  # no number between them
    assert neighbours.predictions[2].tolist() == [-1, 1]


@pytest.mark.parametrize("seed", SEEDS)
def test_best_stump_beats_every_cut(seed: int) -> None:
    X, y, w = make_data(seed)
    w = w / w.sum()
    best = best_stump(X, y, w)
    best_by_cut = max(
        abs(np.sum(w[X[:, j] > cut] * y[X[:, j] > cut]) - np.sum(w[X[:, j] <= cut] * y[X[:, j] <= cut]))
        for j in range(X.shape[1])
        for cut in [-np.inf, *np.unique(X[:, j])]
    )
    np.testing.assert_allclose(best.edge, best_by_cut, **CLOSE)
    assert best.edge == pytest.approx(np.sum(w * y * best.predictions), abs=1e-15)
    is_above = X[:, best.feature] > best.threshold
    np.testing.assert_array_equal(best.predictions, np.where(is_above, best.polarity, -best.polarity))


def test_best_stump_takes_the_first_of_ties() -> None:
    w = np.full(4, 1 / 4)
    x = np.array([0.0, 1.0, 2.0, 3.0])
    constant = best_stump(x[:, None], np.array([1.0, 1.0, -1.0, 1.0]), w)  # edge 1/2, as "x <= 1.5"
    assert (constant.feature, constant.polarity, constant.edge) == (-1, 1, 0.5)
    assert constant.predictions.tolist() == [1, 1, 1, 1]
    assert constant.ties == [(-1, -np.inf, 1), (0, 1.5, -1)]
    twice = best_stump(np.column_stack([-x, x]), np.array([-1.0, 1.0, -1.0, 1.0]), w)
    assert twice.ties == [(0, -2.5, -1), (0, -0.5, -1), (1, 0.5, 1), (1, 2.5, 1)]
    assert (twice.feature, twice.threshold, twice.polarity) == twice.ties[0]
    w[2] += 1e-14  # as rounding would
    rounded = best_stump(np.column_stack([-x, x]), np.array([-1.0, 1.0, -1.0, 1.0]), w)
    assert rounded.ties == twice.ties


# -------------------------------------------------------------------------------------------------------- AdaBoost


def test_one_round_by_hand() -> None:
    run = replay_adaboost([[1, 1, -1, -1]], [1, 1, -1, 1], np.ones(4))
    np.testing.assert_allclose(run.error, [1 / 4], **CLOSE)
    np.testing.assert_allclose(run.edge, [1 / 2], **CLOSE)
    np.testing.assert_allclose(run.coefficient, [np.log(3) / 2], **CLOSE)
    np.testing.assert_allclose(run.Z, [np.sqrt(3) / 2], **CLOSE)
    np.testing.assert_allclose(run.weights, [[1 / 6, 1 / 6, 1 / 6, 1 / 2]], **CLOSE)
    np.testing.assert_allclose(run.f, [np.log(3) / 2 * np.array([1, 1, -1, -1])], **CLOSE)
    assert run.margin.tolist() == [-1.0]


@pytest.mark.parametrize("seed", SEEDS)
def test_adaboost_identities(seed: int) -> None:
    X, y, w0 = make_data(seed)
    run, chosen = adaboost(X, y, w0, 60)
    assert len(run.error) == 60
    w0 = w0 / w0.sum()
    h = np.array([best.predictions for best in chosen])
    e, g = run.error, 1 / 2 - run.error
    np.testing.assert_allclose(run.weights.sum(axis=1), 1, **CLOSE)
    np.testing.assert_allclose(np.sum(run.weights * (h != y), axis=1), 1 / 2, **CLOSE)
    np.testing.assert_allclose(run.edge, 1 - 2 * e, **CLOSE)
    np.testing.assert_allclose(run.Z, 2 * np.sqrt(e * (1 - e)), **CLOSE)
    np.testing.assert_allclose(run.f, np.cumsum(run.coefficient[:, None] * h, axis=0), **CLOSE)
    exp_losses = w0 * np.exp(-y * run.f)
    np.testing.assert_allclose(np.cumprod(run.Z), exp_losses.sum(axis=1), **CLOSE)
    np.testing.assert_allclose(run.weights, exp_losses / exp_losses.sum(axis=1, keepdims=True), **CLOSE)
    training_error = np.sum(w0 * (y * run.f <= 0), axis=1)
    assert np.all(training_error <= np.cumprod(run.Z))
    assert np.all(np.cumprod(run.Z) <= np.exp(-2 * np.cumsum(g**2)) + 1e-12)
    np.testing.assert_allclose(run.margin, (y * run.f).min(axis=1) / np.cumsum(run.coefficient), **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_replays_of_the_same_predictions_agree(seed: int) -> None:
    """AdaBoost is the case theta = 0, M1 and SAMME with two classes, and confidence-rated with answers of +-1."""
    X, y, w0 = make_data(seed)
    learned, chosen = adaboost(X, y, w0, 40)
    h = np.array([best.predictions for best in chosen])
    assert_same(learned, replay_adaboost(h, y, w0))
    assert_same(learned, replay_theta(h, y, w0, 0.0))
    assert_same(learned, replay_confidence(h, y, w0, "closed"))
    assert_same(learned, replay_confidence(h, y, w0, "numeric"))
    for replay in (replay_m1, replay_samme):
        codes = replay((h > 0).astype(int), (y > 0).astype(int), 2, w0)
        assert_same(learned, codes._replace(f=codes.f[:, :, 1] - codes.f[:, :, 0]))
    again, chosen_again = boost_stumps(X, y, w0, 40, partial(replay_adaboost, y=y, w0=w0))
    assert_same(learned, again)
    assert [best.ties for best in chosen_again] == [best.ties for best in chosen]


def test_negate_keeps_what_is_worse_than_chance() -> None:
    """A hypothesis of error above 1/2 counts as its opposite, with a negative coefficient."""
    y = np.where(np.arange(60) % 3 == 0, 1, -1)
    h = 2 * make_predictions(0, (y > 0).astype(int), 9, 0.8) - 1
    sides = np.where(np.arange(9) % 2 == 0, 1, -1)
    upright = replay_adaboost(h, y, np.ones(60))
    turned = replay_adaboost(sides[:, None] * h, y, np.ones(60), negate=True)
    assert len(turned.error) == 9
    np.testing.assert_allclose(turned.coefficient, sides * upright.coefficient, **CLOSE)
    np.testing.assert_allclose(turned.error, np.where(sides > 0, upright.error, 1 - upright.error), **CLOSE)
    for name in ("weights", "f", "margin", "Z"):
        np.testing.assert_allclose(getattr(turned, name), getattr(upright, name), **CLOSE)
    stopping = replay_adaboost(sides[:, None] * h, y, np.ones(60))
    assert (len(stopping.error), stopping.stopped) == (1, "weak")


def test_negate_in_training() -> None:
    """All stumps of the class are worse than chance: with `negate` one round of the least bad, without none."""
    X, y, w0 = make_data(0)
    stumps = all_stumps(X)
    is_bad = stumps.predictions @ (w0 * y) < 0
    bad = Stumps(*(column[is_bad] for column in stumps))
    run, _ = adaboost(X, y, w0, 1, negate=True, stumps=bad)
    assert run.coefficient[0] < 0
    assert run.error[0] > 1 / 2
    assert_same(run, replay_adaboost(bad.predictions[[np.argmax(bad.predictions @ (w0 * y))]], y, w0, negate=True))
    assert adaboost(X, y, w0, 1, stumps=bad)[0].stopped == "weak"


def test_stops_at_a_perfect_and_at_a_useless_hypothesis() -> None:
    """The hypothesis that stops the run is not in it."""
    y = np.array([1.0, 1.0, -1.0, -1.0])
    good, useless = [1, 1, -1, 1], [1, -1, -1, 1]
    for replay in (
        replay_adaboost,
        replay_arc_gv,
        partial(replay_theta, theta=0.1),
        partial(replay_star, nu=0.1),
        partial(replay_confidence, form="numeric"),
    ):
        run = replay(np.array([good, y]), y, np.ones(4))
        assert (len(run.error), run.stopped) == (1, "perfect")
    for negate in (False, True):
        run = replay_adaboost([useless, good], y, np.ones(4), negate)
        assert (len(run.error), run.stopped) == (0, "weak")
    assert adaboost(np.arange(4.0)[:, None], y, np.ones(4), 5)[0].stopped == "perfect"
    xor = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert adaboost(xor, np.array([1.0, -1.0, -1.0, 1.0]), np.ones(4), 5)[0].stopped == "weak"
    only_wrong = Stumps(-y[None], np.array([0]), np.array([1.5]), np.array([1]))
    learned, _ = adaboost(np.arange(4.0)[:, None], y, np.ones(4), 5, negate=True, stumps=only_wrong)
    assert (len(learned.error), learned.stopped) == (0, "perfect")
    all_wrong = replay_adaboost([good, -y], y, np.ones(4), negate=True)
    assert (len(all_wrong.error), all_wrong.stopped) == (1, "perfect")


@pytest.mark.parametrize("form", ["adaboost", "arc_gv", "star"])
def test_weights_mean_copies(form: str) -> None:
    """A row of weight 2 is two rows, a row of weight 0 is none, its margin included."""
    _, y, _ = make_data(4, n=30)
    counts = np.random.default_rng(4).integers(0, 3, size=30)
    replay = {"adaboost": replay_adaboost, "arc_gv": replay_arc_gv, "star": partial(replay_star, nu=0.2)}[form]
    h = 2 * make_predictions(4, (y > 0).astype(int), 7, 0.85) - 1
    h = np.where(counts == 0, -y, h)  # wrong where it does not count
    weighted = replay(h, y, counts)
    copies = replay(np.repeat(h, counts, axis=1), np.repeat(y, counts), np.ones(counts.sum()))
    assert len(weighted.error) == 7
    for name in ("error", "theta", "coefficient", "Z", "margin"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(copies, name), **CLOSE)
    np.testing.assert_allclose(np.repeat(weighted.f, counts, axis=1), copies.f, **CLOSE)
    assert np.all(weighted.weights[:, counts == 0] == 0)
    assert np.any((y * weighted.f).min(axis=1) < weighted.margin * np.cumsum(weighted.coefficient))  # it would show


def test_weights_mean_copies_in_training() -> None:
    X, y, w0 = make_data(0, weighted=False)
    odd = np.flatnonzero(y * best_stump(X, y, w0 / 40).predictions < 0)[:2]
    w0[odd] = [0, 2]
    run, chosen = adaboost(X, y, w0, 30)
    copies, _ = adaboost(
        np.repeat(X, w0.astype(int), axis=0), np.repeat(y, w0.astype(int)), np.ones(40), 30, stumps=repeated(X, w0)
    )
    np.testing.assert_allclose(run.coefficient, copies.coefficient, **CLOSE)
    np.testing.assert_allclose(run.margin, copies.margin, **CLOSE)
    assert len(chosen) == 30
    assert np.any((y * run.f).min(axis=1) < run.margin * np.cumsum(run.coefficient))


def repeated(X: np.ndarray, w0: np.ndarray) -> Stumps:
    """The stumps of X, answering the copies of its rows."""
    stumps = all_stumps(X)
    return stumps._replace(predictions=np.repeat(stumps.predictions, w0.astype(int), axis=1))


# ------------------------------------------------------------------------------------------------- the theta family


@pytest.mark.parametrize("theta", [-0.2, 0.05, 0.1])
def test_theta_identities(theta: float) -> None:
    """Error (1 - theta)/2 under the new weights; the share of margins <= theta stays under the bound."""
    X, y, w0 = make_data(1)
    run, chosen = boost_stumps(X, y, w0, 50, partial(replay_theta, y=y, w0=w0, theta=theta))
    h = np.array([best.predictions for best in chosen])
    assert len(run.error) >= 10
    np.testing.assert_allclose(np.sum(run.weights * (h != y), axis=1), (1 - theta) / 2, **CLOSE)
    expected = (np.log((1 - run.error) / run.error) - np.log((1 + theta) / (1 - theta))) / 2
    np.testing.assert_allclose(run.coefficient, expected, **CLOSE)
    total = np.cumsum(run.coefficient)
    share = np.sum(w0 / w0.sum() * (y * run.f <= theta * total[:, None]), axis=1)
    assert np.all(share <= np.cumprod(run.Z * np.exp(theta * run.coefficient)) + 1e-12)
    before = weights_before(run, w0)
    for t in (0, 5, 9):  # each step minimises the exponential loss with the L1 penalty theta

        def penalised(a: float, t: int = t) -> float:
            return float(np.log(np.sum(before[t] * np.exp(-a * y * h[t]))) + theta * a)

        result = minimize_scalar(penalised, bracket=(0.0, 1.0))
        np.testing.assert_allclose(run.coefficient[t], result.x, atol=1e-6)  # a minimum shows to the root of 1e-16 only


def test_margin_bound_of_adaboost() -> None:
    """Share of margins <= theta at most prod 2 sqrt(e^(1-theta) (1-e)^(1+theta))."""
    X, y, w0 = make_data(2)
    run, _ = adaboost(X, y, w0, 60)
    margins = y * run.f / np.cumsum(run.coefficient)[:, None]
    for theta in (0.0, 0.05, 0.2):
        bound = np.cumprod(2 * np.sqrt(run.error ** (1 - theta) * (1 - run.error) ** (1 + theta)))
        assert np.all(np.sum(w0 / w0.sum() * (margins <= theta), axis=1) <= bound + 1e-12)


def test_theta_stops_below_its_target() -> None:
    """Stop when e >= 1/2 - theta/2; with `negate` go on with a negative coefficient."""
    y, h = np.array([1, 1, 1, 1, -1, -1, -1, -1]), np.array([[1, 1, 1, 1, -1, 1, 1, 1]])  # e = 3/8
    assert replay_theta(h, y, np.ones(8), 0.24).stopped == "rounds"
    assert replay_theta(h, y, np.ones(8), 0.25).stopped == "weak"
    assert replay_theta(h, y, np.ones(8), 0.26).stopped == "weak"
    assert replay_theta(h, y, np.ones(8), 0.26, negate=True).coefficient[0] < 0


def test_arc_gv_targets_and_margin() -> None:
    """Theta is 0, then the margin so far where positive; the minimum margin comes near the largest possible."""
    X, y, w0 = make_data(3, n=20, weighted=False)
    run, chosen = boost_stumps(X, y, w0, 200, partial(replay_arc_gv, y=y, w0=w0))
    h = np.array([best.predictions for best in chosen])
    np.testing.assert_array_equal(run.theta, np.maximum(0, np.append(0.0, run.margin[:-1])))
    np.testing.assert_allclose(np.sum(run.weights * (h != y), axis=1), (1 - run.theta) / 2, **CLOSE)
    rho = largest_margin(all_stumps(X).predictions, y)
    assert rho > 0.1
    assert 0.9 * rho < run.margin[-1] <= rho + 1e-9


def test_star_targets_and_margin() -> None:
    """Edges never below rho*; margin above rho* - nu after ceil(2 ln n / nu^2) + 1 rounds."""
    X, y, w0 = make_data(3, n=20, weighted=False)
    nu = 0.2
    rounds = int(np.ceil(2 * np.log(20) / nu**2)) + 1
    run, chosen = boost_stumps(X, y, w0, rounds, partial(replay_star, y=y, w0=w0, nu=nu))
    h = np.array([best.predictions for best in chosen])
    assert len(run.error) == rounds
    np.testing.assert_array_equal(run.theta, [run.edge[: t + 1].min() - nu for t in range(rounds)])
    np.testing.assert_allclose(np.sum(run.weights * (h != y), axis=1), (1 - run.theta) / 2, **CLOSE)
    rho = largest_margin(all_stumps(X).predictions, y)
    assert np.all(run.edge >= rho - 1e-9)
    assert rho - nu < run.margin[-1] <= rho + 1e-9


# ------------------------------------------------------------------------------------------------ confidence-rated


@pytest.mark.parametrize("seed", SEEDS)
def test_confidence_rated(seed: int) -> None:
    """Z of the closed form at most sqrt(1 - r^2), of the minimum not above it; the new edge is then zero."""
    _, y, w0 = make_data(seed)
    rng = np.random.default_rng(seed)
    values = np.clip(0.3 * y + rng.uniform(-1, 1, size=(12, 40)), -1, 1)
    values[:, :3] = 0  # abstains
    closed = replay_confidence(values, y, w0, "closed")
    numeric = replay_confidence(values, y, w0, "numeric")
    assert len(closed.error) == len(numeric.error) == 12
    assert np.all(closed.Z <= np.sqrt(1 - closed.edge**2) + 1e-12)
    assert numeric.Z[0] < closed.Z[0] - 1e-6  # here both have the same weights
    np.testing.assert_allclose(np.sum(numeric.weights * y * values, axis=1), 0, atol=1e-12)
    before = weights_before(numeric, w0)
    for run in (closed, numeric):
        risk = np.sum(w0 / w0.sum() * np.exp(-y * run.f), axis=1)
        np.testing.assert_allclose(np.cumprod(run.Z), risk, **CLOSE)
        assert np.all(np.sum(w0 / w0.sum() * (y * run.f <= 0), axis=1) <= risk)
    for t in (0, 11):
        result = minimize_scalar(lambda a, t=t: np.sum(before[t] * np.exp(-a * y * values[t])), bracket=(0.0, 1.0))
        np.testing.assert_allclose(numeric.coefficient[t], result.x, atol=1e-6)  # as above: the root of 1e-16
    np.testing.assert_allclose(numeric.error, np.sum(before * (y * values <= 0), axis=1), **CLOSE)


def test_confidence_rated_below_zero_and_out_of_range() -> None:
    _, y, w0 = make_data(0)
    values = np.clip(0.3 * y + np.random.default_rng(0).uniform(-1, 1, size=(4, 40)), -1, 1)
    for form in ("closed", "numeric"):
        upright, turned = (replay_confidence(s * values, y, w0, form, negate=True) for s in (1, -1))
        np.testing.assert_allclose(turned.coefficient, -upright.coefficient, **CLOSE)
        assert np.all(upright.coefficient > 0)
        assert replay_confidence(-values, y, w0, form).stopped == "weak"
    with pytest.raises(ValueError, match="closed form"):
        replay_confidence(1.1 * values / np.abs(values).max(), y, w0, "closed")


def test_leaf_confidences() -> None:
    """Log-ratio leaves have Z = 2 sum sqrt(W+ W-), and the best coefficient is 1."""
    X, y, w0 = make_data(5, n=60)
    w = w0 / w0.sum()
    leaf = 2 * (X[:, 0] > 0.2) + (X[:, 1] > 0)
    values = confidence_tree_values(leaf, y, w, 0.0)
    assert np.all(np.isfinite(values))
    plus, minus = (np.bincount(leaf, w * (y == side)) for side in (1, -1))
    np.testing.assert_allclose(values, np.log(plus / minus) / 2, **CLOSE)
    unit = replay_confidence([values[leaf]], y, w0, "unit")
    np.testing.assert_allclose(unit.Z, [2 * np.sum(np.sqrt(plus * minus))], **CLOSE)
    assert_same(unit, replay_confidence([values[leaf]], y, w0, "numeric"))
    pure = confidence_tree_values([0, 0, 3, 3], np.array([1, 1, -1, 1]), np.array([1, 2, 1, 1]) / 5, 0.05)
    np.testing.assert_allclose(pure, [np.log(0.65 / 0.05) / 2, 0, 0, 0], **CLOSE)
    sure = confidence_tree_values([0, 1], np.array([1, -1]), np.array([1, 1]) / 2, 0.0)
    assert sure.tolist() == [np.inf, -np.inf]


# ---------------------------------------------------------------------------------------------------- many classes


@pytest.mark.parametrize("n_classes", [3, 4])
def test_samme_identities(n_classes: int) -> None:
    """New error (K-1)/K; the coefficient of the paper; SAMME is the margin target 2/K - 1 on right and wrong."""
    rng = np.random.default_rng(n_classes)
    y, w0 = rng.integers(0, n_classes, size=50), rng.uniform(0.5, 2.0, size=50)
    predictions = make_predictions(0, y, 10, 0.45, n_classes)
    run = replay_samme(predictions, y, n_classes, w0)
    assert len(run.error) == 10
    assert run.error.max() > 1 / 2  # M1 would have stopped
    K = n_classes
    np.testing.assert_allclose(2 * run.coefficient, np.log((1 - run.error) / run.error) + np.log(K - 1), **CLOSE)
    np.testing.assert_allclose(np.sum(run.weights * (predictions != y), axis=1), (K - 1) / K, **CLOSE)
    right = np.where(predictions == y, 1, -1)
    theta = replay_theta(right, np.ones(50), w0, 2 / K - 1)
    for name in ("error", "edge", "theta", "coefficient", "Z", "weights"):
        np.testing.assert_allclose(getattr(run, name), getattr(theta, name), **CLOSE)
    for t in (0, 9):
        votes = np.array(
            [[run.coefficient[: t + 1][predictions[: t + 1, i] == k].sum() for k in range(K)] for i in range(50)]
        )
        np.testing.assert_allclose(run.f[t], votes, **CLOSE)
        margins = [votes[i, y[i]] - np.delete(votes[i], y[i]).max() for i in range(50)]
        np.testing.assert_allclose(run.margin[t], min(margins) / run.coefficient[: t + 1].sum(), **CLOSE)


def test_m1_and_samme_stop_where_they_should() -> None:
    """M1 at e >= 1/2, SAMME at e >= 1 - 1/K."""
    y = np.arange(30) % 3
    for n_wrong, m1, samme in [
        (14, "rounds", "rounds"),
        (15, "weak", "rounds"),
        (19, "weak", "rounds"),
        (20, "weak", "weak"),
    ]:
        predictions = np.where(np.arange(30) < n_wrong, (y + 1) % 3, y)[None]
        assert replay_m1(predictions, y, 3, np.ones(30)).stopped == m1
        assert replay_samme(predictions, y, 3, np.ones(30)).stopped == samme
    half = replay_m1(make_predictions(1, y, 1, 0.7, 3), y, 3, np.ones(30))
    np.testing.assert_allclose(2 * half.coefficient, np.log((1 - half.error) / half.error), **CLOSE)


def test_samme_against_sklearn() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5])
    peer = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=20, random_state=0).fit(X, y)
    run = replay_samme([member.predict(X) for member in peer.estimators_], y, 3, np.ones(120))
    assert len(run.error) == 20
    np.testing.assert_allclose(run.error, peer.estimator_errors_, **CLOSE)
    np.testing.assert_allclose(2 * run.coefficient, peer.estimator_weights_, **CLOSE)
    np.testing.assert_array_equal(run.f[-1].argmax(axis=1), peer.predict(X))


# ------------------------------------------------------------------------------------------------------ regression


def test_drucker_by_hand() -> None:
    """Errors 0, 1, 2 with uniform weights."""
    y, p = np.zeros(3), np.array([[0.0, 1.0, -2.0]])
    linear = drucker_r2(p, y, "linear", restart=True)
    np.testing.assert_allclose(linear.losses, [[0, 1 / 2, 1]], **CLOSE)
    np.testing.assert_allclose(linear.mean_loss, [1 / 2], **CLOSE)
    square = drucker_r2(p, y, "square")
    np.testing.assert_allclose(square.losses, [[0, 1 / 4, 1]], **CLOSE)
    np.testing.assert_allclose(square.mean_loss, [5 / 12], **CLOSE)
    np.testing.assert_allclose(square.beta, [5 / 7], **CLOSE)
    np.testing.assert_allclose(square.coefficient, [np.log(7 / 5)], **CLOSE)
    grown = np.array([5 / 7, (5 / 7) ** (3 / 4), 1])
    np.testing.assert_allclose(square.weights, [grown / grown.sum()], **CLOSE)
    exponential = drucker_r2(p, y, "exponential")
    np.testing.assert_allclose(exponential.losses, [[0, 1 - np.exp(-1 / 2), 1 - np.exp(-1)]], **CLOSE)


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_drucker_against_sklearn(loss: str) -> None:
    """The members of scikit-learn, replayed: its errors, its coefficients, its prediction."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 0.2 * rng.normal(size=80)
    peer = AdaBoostRegressor(DecisionTreeRegressor(max_depth=3), n_estimators=15, loss=loss, random_state=0).fit(X, y)
    predictions = np.array([member.predict(X) for member in peer.estimators_])
    run = drucker_r2(predictions, y, loss)
    assert len(run.beta) == len(peer.estimators_) == 15
    np.testing.assert_allclose(run.mean_loss, peer.estimator_errors_, **CLOSE)
    np.testing.assert_allclose(run.coefficient, peer.estimator_weights_, **CLOSE)
    np.testing.assert_array_equal(weighted_median(predictions, run.coefficient), peer.predict(X))


def test_drucker_with_losses_of_0_and_1_is_adaboost() -> None:
    _, y, w0 = make_data(2)
    h = 2 * make_predictions(2, (y > 0).astype(int), 8, 0.75) - 1
    run, same = drucker_r2(h, y, "linear", w0), replay_adaboost(h, y, w0)
    assert len(run.beta) == 8
    np.testing.assert_allclose(run.mean_loss, same.error, **CLOSE)
    np.testing.assert_allclose(run.coefficient, 2 * same.coefficient, **CLOSE)
    np.testing.assert_allclose(run.weights, same.weights, **CLOSE)


def test_drucker_stops_or_restarts() -> None:
    """At a mean loss of 1/2; a restart leaves the member out and the next one starts from the first weights."""
    y, w0 = np.zeros(4), np.array([1.0, 2.0, 1.0, 1.0])
    good, bad = [0.0, 0.0, 0.1, 1.0], [1.0, 1.0, 1.0, 0.0]
    stopped = drucker_r2([good, bad, good], y, w0=w0)
    assert (len(stopped.beta), stopped.stopped) == (1, "weak")
    restarted = drucker_r2([good, bad, good], y, w0=w0, restart=True)
    assert restarted.coefficient[1] == 0
    assert restarted.mean_loss[2] == restarted.mean_loss[0]
    np.testing.assert_allclose(restarted.weights[1], w0 / 5, **CLOSE)
    perfect = drucker_r2([good, y], y)
    assert (len(perfect.beta), perfect.stopped) == (1, "perfect")
    with_outlier = drucker_r2(
        [[*good, 5.0]], np.append(y, 0.0), w0=np.append(w0, 0.0)
    )  # of no weight: no largest error
    np.testing.assert_allclose(with_outlier.mean_loss, stopped.mean_loss, **CLOSE)


def test_weighted_median() -> None:
    rng = np.random.default_rng(0)
    P = rng.normal(size=(7, 20))
    np.testing.assert_array_equal(weighted_median(P, np.full(7, 0.1)), np.median(P, axis=0))
    np.testing.assert_array_equal(weighted_median(P[:6], np.full(6, 0.1)), np.sort(P[:6], axis=0)[2])  # the lower one
    counts = rng.integers(1, 5, size=7)
    counts[0] += 1 - counts.sum() % 2  # an odd number of copies
    np.testing.assert_array_equal(weighted_median(P, counts), np.median(np.repeat(P, counts, axis=0), axis=0))
    np.testing.assert_array_equal(weighted_median([[3.0], [1.0], [2.0]], [0.6, 0.2, 0.2]), [3.0])


@pytest.mark.parametrize("shrinkage", [1.0, 0.3])
def test_stagewise(shrinkage: float) -> None:
    """The line search is least squares; the risk falls by s (2 - s) of the member's share of the residual."""
    rng = np.random.default_rng(0)
    y, w0, members = rng.normal(size=30), rng.uniform(0.5, 2.0, size=30), rng.normal(size=(5, 30))
    run = stagewise(members, y, shrinkage, w0, start=0.4)
    w = w0 / w0.sum()
    residual = np.vstack([y - 0.4, run.residual[:-1]])
    for t, b in enumerate(members):
        by_least_squares = np.linalg.lstsq(np.sqrt(w)[:, None] * b[:, None], np.sqrt(w) * residual[t], rcond=None)[0]
        np.testing.assert_allclose(run.coefficient[t], by_least_squares[0], **CLOSE)
        explained = np.sum(w * residual[t] * b) ** 2 / np.sum(w * b * b)
        before = np.sum(w * residual[t] ** 2)
        np.testing.assert_allclose(run.loss[t], before - shrinkage * (2 - shrinkage) * explained, **CLOSE)
    np.testing.assert_allclose(run.F + run.residual, np.tile(y, (5, 1)), **CLOSE)
    np.testing.assert_allclose(run.F[-1], 0.4 + shrinkage * run.coefficient @ members, **CLOSE)
    nothing = stagewise(np.zeros((1, 30)), y)
    assert (nothing.coefficient[0], nothing.F[0].tolist()) == (0.0, [0.0] * 30)


# ------------------------------------------------------------------------------------ the first booster, any loss


@pytest.mark.parametrize("seed", range(6))
def test_schapire_1990(seed: int) -> None:
    """H1 has error 1/2 under the second distribution, the third lives where h1 and h2 differ, the bound holds."""
    X, y, w0 = make_data(seed)
    result = schapire_1990(lambda w: best_stump(X, y, w).predictions, y, w0)
    assert result.predictions.shape == (3, 40)
    (D1, D2, D3), (h1, h2, h3) = result.distributions, result.predictions
    np.testing.assert_allclose(D1, w0 / w0.sum(), **CLOSE)
    np.testing.assert_allclose(result.distributions.sum(axis=1), 1, **CLOSE)
    np.testing.assert_allclose(D2[h1 != y].sum(), 1 / 2, **CLOSE)
    for part in (h1 == y, h1 != y):  # within right and wrong, proportional to the first
        np.testing.assert_allclose(D2[part] / D2[part].sum(), D1[part] / D1[part].sum(), **CLOSE)
    np.testing.assert_array_equal(D3 > 0, h1 != h2)
    np.testing.assert_allclose(D3[h1 != h2] / D1[h1 != h2], 1 / D1[h1 != h2].sum(), **CLOSE)
    np.testing.assert_array_equal(result.vote, np.where(h1 == h2, h1, h3))
    assert result.errors.max() < 1 / 2
    p = result.errors.max()
    np.testing.assert_allclose(result.bound, p**2 * (1 - p) * 3 + p**3, **CLOSE)  # two or three of three are wrong
    assert result.error <= result.bound


def test_schapire_1990_stops_early() -> None:
    y = np.array([1.0, 1.0, -1.0])
    perfect = schapire_1990(lambda w: y, y)
    assert (len(perfect.predictions), perfect.error) == (1, 0.0)
    all_wrong = schapire_1990(lambda w: -y, y)
    assert (len(all_wrong.predictions), all_wrong.error) == (1, pytest.approx(1.0))
    stubborn = schapire_1990(lambda w: np.ones(3), y)
    assert len(stubborn.predictions) == 2
    np.testing.assert_allclose([*stubborn.errors, stubborn.error], [1 / 3, 1 / 2, 1 / 3], **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_exponential_anyboost_is_adaboost(seed: int) -> None:
    X, y, w0 = make_data(seed)
    plain, chosen = adaboost(X, y, w0, 40)
    run = anyboost(X, y, 40, lambda m: np.exp(-m), lambda m: -np.exp(-m), w0)
    assert run.stopped == plain.stopped == "rounds"
    assert [b.ties for b in run.chosen] == [b.ties for b in chosen]
    for name, twin in [("coefficient", "coefficient"), ("edge", "edge"), ("weights", "weights"), ("F", "f")]:
        np.testing.assert_allclose(getattr(run, name), getattr(plain, twin), rtol=0, atol=1e-8)
    np.testing.assert_allclose(run.risk, np.cumprod(plain.Z), rtol=0, atol=1e-8)


def test_logistic_anyboost() -> None:
    """Each step is the minimum along its stump; weights are the logistic ones; the risk falls."""
    X, y, w0 = make_data(1)
    run = anyboost(X, y, 30, lambda m: np.logaddexp(0, -m), lambda m: -1 / (1 + np.exp(m)), w0)
    assert len(run.risk) == 30
    w0 = w0 / w0.sum()
    assert np.all(np.diff(np.append(np.log(2), run.risk)) < 0)
    pull = w0 / (1 + np.exp(y * run.F))
    np.testing.assert_allclose(run.weights, pull / pull.sum(axis=1, keepdims=True), **CLOSE)
    h = np.array([best.predictions for best in run.chosen])
    np.testing.assert_allclose(np.sum(run.weights * y * h, axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(run.F, np.cumsum(run.coefficient[:, None] * h, axis=0), **CLOSE)
    first = minimize_scalar(lambda a: np.sum(w0 * np.logaddexp(0, -a * y * h[0])), bracket=(0.0, 1.0))
    np.testing.assert_allclose([run.coefficient[0], run.risk[0]], [first.x, first.fun], atol=1e-6)


def test_anyboost_stops() -> None:
    y, x = np.array([1.0, 1.0, -1.0, -1.0]), np.arange(4.0)[:, None]
    exponential = (lambda m: np.exp(-m), lambda m: -np.exp(-m))
    assert anyboost(x, y, 3, *exponential).stopped == "perfect"
    xor = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    assert anyboost(xor, y, 3, *exponential).stopped == "weak"
