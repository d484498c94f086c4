"""SVC: geometry, hard margins, XOR, several classes, weights, kernels of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.svm as reference
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score

from committee.datasets import load_dataset
from committee.svm._kernel_base import BaseKernelSVM
from committee.svm.kernel_algebra import Kernel
from committee.svm.kernel_functions import Gaussian, Laplacian, Linear, Polynomial, Precomputed
from committee.svm.nu_svm import NuSVC, NuSVR
from committee.svm.one_class import OneClassSVM
from committee.svm.svc import SVC
from committee.svm.svr import SVR

XOR = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
XOR_LABELS = np.array([1, 0, 0, 1])


def blobs(n: int = 120, classes: int = 2, seed: int = 0, spread: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    centres = rng.normal(size=(classes, 4)) * 2.0
    return centres[y] + spread * rng.normal(size=(n, 4)), y


def product_of_both(rows: Any) -> Any:
    """The map (x, y, xy) of the documents."""
    return np.column_stack([rows, rows[:, 0] * rows[:, 1]])


# --- geometry --------------------------------------------------------------------------------------------------------


def test_the_widest_margin_of_four_points() -> None:
    """Points at x = 0 and x = 3, so the plane is x = 1.5, w = 2 / 3 and the margin 3 wide."""
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]]), np.array([0, 0, 1, 1])
    model = SVC(C=np.inf, kernel="linear").fit(X, y)
    np.testing.assert_allclose(model.coef_, [[2.0 / 3.0, 0.0]], atol=1e-9)
    np.testing.assert_allclose(model.intercept_, [-1.0], atol=1e-9)
    machine = model.binary_svms_[0]
    assert machine.margin == pytest.approx(3.0)
    assert machine.duality_gap == pytest.approx(0.0, abs=1e-9)
    assert machine.n_bounded == 0
    np.testing.assert_allclose(model.decision_function(X), [-1, -1, 1, 1], atol=1e-9)


@pytest.mark.parametrize("offset", ["free", "both"])
def test_the_offset_lies_in_the_middle_of_a_hard_margin(offset: Any) -> None:
    X, y = blobs(60, spread=0.3)
    model = SVC(C=np.inf, kernel="linear", offset=offset).fit(X, y)
    f = model.decision_function(X)
    assert f[y == 1].min() == pytest.approx(1.0, abs=1e-8)
    assert f[y == 0].max() == pytest.approx(-1.0, abs=1e-8)
    # The documents: b = -1/2 (w sv_+ + w sv_-), from a support vector of either class
    w = model.coef_[0]
    ends = [X[model.support_][y[model.support_] == k][0] @ w for k in (0, 1)]
    assert model.intercept_[0] == pytest.approx(-0.5 * sum(ends), abs=1e-8)


def test_offsets_of_a_loose_run_differ_as_documented() -> None:
    X, y = blobs(90, spread=2.5)
    free, both = (SVC(kernel="linear", offset=offset).fit(X, y) for offset in ("free", "both"))
    np.testing.assert_allclose(free.coef_, both.coef_)
    assert free.intercept_[0] == pytest.approx(both.intercept_[0], abs=1e-8)  # at the optimum all agree
    loose = SVC(kernel="linear", offset="both", max_iter=40)
    with pytest.warns(ConvergenceWarning):
        loose.fit(X, y)
    machine = loose.binary_svms_[0]
    rows = machine.support[~machine.is_bounded]
    rest = X[rows] @ loose.coef_[0] - np.where(y[rows] == 1, 1.0, -1.0)
    sides = [rest[y[rows] == k].mean() for k in (0, 1)]
    assert loose.intercept_[0] == pytest.approx(-0.5 * sum(sides))


def test_a_hard_margin_needs_classes_that_can_be_separated() -> None:
    X, y = blobs(80, spread=3.0)
    text = "cannot be separated under this kernel: their convex hulls meet.* finite C"
    for kernel in ("linear", Polynomial(1, coef0=1.0)):
        with pytest.raises(ValueError, match=text):
            SVC(C=np.inf, kernel=kernel).fit(X, y)
    twice = np.vstack([X, X[:1]])
    with pytest.raises(ValueError, match=text):  # one row with both labels: no kernel separates it
        SVC(C=np.inf, kernel="rbf").fit(twice, np.append(y, 1 - y[0]))
    assert SVC(C=np.inf, kernel="rbf").fit(X, y).score(X, y) == 1.0


def test_slack_and_the_kinds_of_support_vectors() -> None:
    """A = 0 beyond the margin, 0 < a < C on it, a = C inside it."""
    X, y = blobs(200, spread=2.5)
    model = SVC(C=0.7).fit(X, y)
    sign = np.where(y == 1, 1.0, -1.0)
    margin = sign * model.decision_function(X)
    alpha = np.zeros(200)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    assert (margin[alpha == 0.0] >= 1.0 - 1e-7).all()
    np.testing.assert_allclose(margin[(alpha > 0.0) & (alpha < 0.7)], 1.0, atol=1e-7)
    assert (margin[alpha == 0.7] <= 1.0 + 1e-7).all()
    machine = model.binary_svms_[0]
    assert machine.n_bounded == np.count_nonzero(alpha == 0.7)
    assert machine.n_free == np.count_nonzero((alpha > 0.0) & (alpha < 0.7))
    K = rbf_kernel(X, X, model.kernel_.gamma)
    norm = (alpha * sign) @ K @ (alpha * sign)
    assert machine.squared_norm == pytest.approx(norm)
    primal = 0.5 * norm + 0.7 * np.maximum(0.0, 1.0 - margin).sum()
    assert primal + machine.objective == pytest.approx(0.0, abs=1e-6)
    assert 0.0 <= machine.duality_gap + 1e-9 < 1e-6


def test_xor() -> None:
    """Not separable in the plane, separable with (x, y, xy), or with a kernel that holds the product."""
    with pytest.raises(ValueError, match="cannot be separated"):
        SVC(C=np.inf, kernel="linear").fit(XOR, XOR_LABELS)
    mapped = SVC(C=np.inf, kernel="linear").fit(product_of_both(XOR), XOR_LABELS)
    np.testing.assert_allclose(mapped.coef_, [[0.0, 0.0, 1.0]], atol=1e-9)
    assert mapped.binary_svms_[0].margin == pytest.approx(2.0)
    for kernel in (Polynomial(2, coef0=1.0), Gaussian(width=1.0), Laplacian(), lambda a, b: (1.0 + a @ b.T) ** 2):
        assert SVC(C=np.inf, kernel=kernel).fit(XOR, XOR_LABELS).score(XOR, XOR_LABELS) == 1.0


# --- kernels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("classes", [2, 3])
def test_as_scikit_learn(kernel: str, classes: int) -> None:
    X, y = blobs(150, classes, spread=2.0)
    params: dict[str, Any] = {"C": 0.8, "kernel": kernel, "coef0": 0.3, "gamma": 0.05}
    ours, theirs = SVC(**params).fit(X, y), reference.SVC(tol=1e-7, **params).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=5e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=5e-5)
    assert ours.support_.dtype == theirs.support_.dtype
    assert ours.shape_fit_ == theirs.shape_fit_
    if kernel == "linear":  # of 150 rows in 4 columns many sets of support vectors give the same plane
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=5e-5)
    else:
        np.testing.assert_array_equal(ours.support_, theirs.support_)
        np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-4)
        np.testing.assert_allclose(ours.support_vectors_, theirs.support_vectors_)
        with pytest.raises(AttributeError, match="only available when using a linear kernel"):
            _ = ours.coef_
    pairs = clone(ours).set_params(decision_function_shape="ovo").fit(X, y)
    wanted = theirs.set_params(decision_function_shape="ovo").decision_function(X)
    np.testing.assert_allclose(pairs.decision_function(X), wanted, atol=5e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_same_kernel_in_five_ways(classes: int) -> None:
    X, y = blobs(90, classes, spread=2.0)
    plain = SVC(gamma=0.2).fit(X, y)
    f = plain.decision_function(X)
    ways: list[tuple[Any, Any]] = [
        (Gaussian(width=np.sqrt(5.0)), X),
        (lambda a, b: rbf_kernel(a, b, 0.2), X),
        (lambda a, b: float(np.exp(-0.2 * np.sum((a - b) ** 2))), X),
        ("precomputed", rbf_kernel(X, X, 0.2)),
        (Precomputed(), rbf_kernel(X, X, 0.2)),
    ]
    for kernel, table in ways:
        model = SVC(kernel=kernel).fit(table, y)
        np.testing.assert_allclose(model.decision_function(table), f, atol=1e-7)
        np.testing.assert_array_equal(model.support_, plain.support_)


def test_a_given_gram_matrix() -> None:
    X, y = blobs(80, spread=2.0)
    K = X @ X.T
    model = SVC(kernel="precomputed").fit(K[:50, :50], y[:50], sample_weight=np.arange(50) % 3)
    plain = SVC(kernel="linear").fit(X[:50], y[:50], sample_weight=np.arange(50) % 3)
    np.testing.assert_allclose(model.decision_function(K[50:, :50]), plain.decision_function(X[50:]), atol=1e-8)
    assert model.support_vectors_.shape == (0, 0)
    assert model.__sklearn_tags__().input_tags.pairwise
    scores = cross_val_score(SVC(kernel="precomputed"), K, y, cv=4)
    np.testing.assert_array_equal(scores, cross_val_score(SVC(kernel="linear"), X, y, cv=4))
    with pytest.raises(ValueError, match=r"must be a square matrix. Input is a 50x80 matrix"):
        SVC(kernel="precomputed").fit(K[:50], y[:50])
    with pytest.raises(ValueError, match="scale=True scales columns of X, which a precomputed Gram matrix"):
        SVC(kernel="precomputed", scale=True).fit(K, y)


def test_kernels_are_parameters() -> None:
    X, y = blobs(90, spread=2.5)
    kernels: list[Kernel] = [Linear(), Linear() + Gaussian(width=2.0), 0.5 * Laplacian() * Polynomial(2, 1.0)]
    search = GridSearchCV(SVC(), {"kernel": kernels, "C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_["kernel"] in kernels
    assert clone(SVC(kernel=kernels[1])).kernel == kernels[1]


def test_invalid_kernels_are_warned_of() -> None:
    X, y = blobs(80, spread=2.0)
    with pytest.warns(UserWarning, match="Not a valid kernel: on these 80 rows .* choose another kernel"):
        SVC(kernel="sigmoid", gamma=1.0, coef0=1.0).fit(X, y)
    with pytest.warns(UserWarning, match=r"k\(x, z\) and k\(z, x\) differ"):
        SVC(kernel="precomputed").fit(np.triu(rbf_kernel(X)), y)


# --- several classes -------------------------------------------------------------------------------------------------


def test_votes_and_ties() -> None:
    X, y = blobs(200, 4, spread=6.0, seed=3)
    names = np.array(["a", "b", "c", "d"])[y]
    model = SVC().fit(X, names)
    decision = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[decision.argmax(axis=1)])
    pairs = model.set_params(decision_function_shape="ovo").decision_function(X)
    assert pairs.shape == (200, 6)
    votes = np.zeros((200, 4))
    for k, (i, j) in enumerate([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]):
        votes[np.arange(200), np.where(pairs[:, k] >= 0, i, j)] += 1
    np.testing.assert_array_equal(np.rint(decision), votes)
    tied = SVC(break_ties=False).fit(X, names)
    np.testing.assert_array_equal(tied.predict(X), model.classes_[votes.argmax(axis=1)])
    assert (tied.predict(X) != model.predict(X)).any()


def test_one_against_the_rest() -> None:
    X, y = blobs(150, 3, spread=2.0)
    model = SVC(multi_class="ovr").fit(X, y)
    values = model.decision_function(X)
    for k in range(3):
        two = SVC(gamma=model.kernel_.gamma).fit(X, y == k)
        np.testing.assert_allclose(values[:, k], two.decision_function(X), atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), values.argmax(axis=1))
    assert model.dual_coef_.shape == (3, len(model.support_))
    assert len(model.binary_svms_) == 3
    assert set(model.history_.problem.tolist()) == {0, 1, 2}


# --- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [SVC(), SVC(kernel="linear", C=10.0), SVC(kernel="laplacian", class_weight="balanced", scale=True), SVR(),
     SVC(multi_class="ovr", kernel=Linear() + Gaussian()), NuSVC(nu=0.2), NuSVR(), OneClassSVM(nu=0.3)],
    ids=repr,
)  # fmt: skip
def test_weights_mean_repetition(estimator: BaseKernelSVM) -> None:
    X, y = blobs(90, 3, spread=2.5)
    weight = np.random.default_rng(0).integers(0, 4, 90)
    weighted = clone(estimator).fit(X, y, sample_weight=weight)
    repeated = clone(estimator).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted._values(X), repeated._values(X), atol=1e-6)
    order = np.random.default_rng(1).permutation(90)
    shuffled = clone(estimator).fit(X[order], y[order], sample_weight=weight[order])
    np.testing.assert_allclose(shuffled._values(X), weighted._values(X), atol=1e-6)


def test_class_weights() -> None:
    X, y = blobs(100, spread=3.0)
    heavy = SVC(class_weight={0: 1.0, 1: 5.0}).fit(X, y)
    same = SVC(gamma=heavy.kernel_.gamma).fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0))
    np.testing.assert_allclose(heavy.decision_function(X), same.decision_function(X), atol=1e-7)
    assert heavy.class_weight_.tolist() == [1.0, 5.0]
    rare = np.append(np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:10])
    balanced = SVC(class_weight="balanced").fit(X[rare], y[rare])
    np.testing.assert_allclose(balanced.class_weight_, [0.6, 3.0])
    assert (balanced.predict(X) == 1).mean() > (SVC().fit(X[rare], y[rare]).predict(X) == 1).mean()


def test_rows_without_weight_are_not_there() -> None:
    X, y = blobs(90, 3)
    model = SVC().fit(X, y, sample_weight=(y < 2).astype(float))
    assert model.classes_.tolist() == [0, 1]
    assert (y[model.support_] < 2).all()
    with pytest.raises(ValueError, match="number of classes has to be greater than one; got 1 class"):
        SVC().fit(X, y, sample_weight=(y == 1).astype(float))


# --- what is kept ----------------------------------------------------------------------------------------------------


def test_scaling() -> None:
    X, y = blobs(100, spread=2.0)
    wide = X * [1.0, 1000.0, 1.0, 1.0] + 5.0
    with pytest.warns(UserWarning, match="columns of X differ in scale: the range of .* pass scale=True"):
        SVC().fit(wide, y)
    scaled = SVC(scale=True).fit(wide, y)
    by_hand = SVC().fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    np.testing.assert_allclose(
        scaled.decision_function(wide), by_hand.decision_function((X - X.mean(axis=0)) / X.std(axis=0)), atol=1e-8
    )


def test_non_convergence_says_what_was_reached() -> None:
    X, y = blobs(100, spread=3.0)
    model = SVC(max_iter=5)
    with pytest.warns(ConvergenceWarning, match=r"after 5 steps: the KKT gap is \d.*tol=0.001 was required"):
        model.fit(X, y)
    assert model.fit_status_ == 1
    assert model.n_iter_.tolist() == [5]
    assert model.history_.gap[-1] == model.binary_svms_[0].kkt_gap > 1e-3
    assert SVC().fit(X, y).fit_status_ == 0


def test_a_large_model_predicts_in_float32_on_any_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 5))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=2500) > 0).astype(int)
    one, two = (SVC(n_jobs=n).fit(X, y) for n in (1, 2))
    assert one._expansion.points.values.dtype == np.float32
    f = one.decision_function(X)
    assert f.tobytes() == two.decision_function(X).tobytes()
    K = rbf_kernel(X, one.support_vectors_, one.kernel_.gamma)
    np.testing.assert_allclose(f, K @ one.dual_coef_[0] + one.intercept_[0], atol=2e-4)
    theirs = reference.SVC(tol=1e-3).fit(X, y)
    np.testing.assert_allclose(f, theirs.decision_function(X), atol=5e-3)


def test_progress_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = blobs(60)
    SVC(verbose=1).fit(X, y)
    assert "SVC" in capsys.readouterr().out


def test_real_data() -> None:
    glass = load_dataset("glass")
    model = SVC(C=10.0, scale=True).fit(glass.X, glass.y)
    theirs = reference.SVC(C=10.0, tol=1e-8).fit((glass.X - glass.X.mean(axis=0)) / glass.X.std(axis=0), glass.y)
    np.testing.assert_array_equal(model.support_, theirs.support_)
    assert all(machine.duality_gap < 1e-6 * abs(machine.objective) for machine in model.binary_svms_)
