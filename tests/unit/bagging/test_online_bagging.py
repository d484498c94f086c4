"""Online bagging: the counts, the members against plain loops and batch bagging, and what it refuses."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, poisson
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from committee.bagging.online_bagging import OnlineBaggingClassifier, OnlineBaggingRegressor, online_bagging
from committee.datasets import load_dataset
from committee.ensemble.online import growing_pieces
from committee.members.online import LINEAR, OnlineMember, poisson_counts, stream_uniforms

Floats = NDArray[np.float64]


class Means(ClassifierMixin, BaseEstimator):
    """The class with the nearest mean: exact for integer tables, whatever the order and the batches of the rows."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Means:
        if not hasattr(self, "n_"):
            self.classes_ = np.asarray(classes)
            self.n_, self.sum_ = np.zeros(len(classes)), np.zeros((len(classes), X.shape[1]))
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        for k, label in enumerate(self.classes_):
            self.n_[k] += weight[y == label].sum()
            self.sum_[k] += (weight[:, None] * X)[y == label].sum(axis=0)
        return self

    def fit(self, X: Any, y: Any) -> Means:
        return self.partial_fit(X, y, np.unique(y))

    def predict(self, X: Any) -> Any:
        centre = self.sum_ / np.maximum(self.n_, 1.0)[:, None]
        return self.classes_[((X[:, None] - centre) ** 2).sum(axis=2).argmin(axis=1)]


class Repeated(Means):
    """The same without weights."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Repeated:
        super().partial_fit(X, y, classes)
        return self


class Breaking(Means):
    """Raises at a row of 99."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Breaking:
        if np.any(X == 99.0):
            raise RuntimeError("broken")
        super().partial_fit(X, y, classes, sample_weight)
        return self


def stream(n: int = 260, seed: int = 0) -> tuple[Floats, NDArray[Any]]:
    """Whole numbers, so that sums are exact."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (n, 3)).astype(np.float64)
    return X, np.array(["a", "b", "c"])[np.digitize(X[:, 0] + rng.normal(size=n), [-3.0, 3.0])]


def fed(model: Any, X: Any, y: Any, *cuts: int, **first: Any) -> Any:
    for piece in np.split(np.arange(len(X)), cuts):
        model.partial_fit(X[piece], y[piece], **first)
        first = {}
    return model


@parametrize_with_checks(
    [
        OnlineBaggingClassifier(),
        OnlineBaggingClassifier(vote="mean", n_estimators=3, batch_size=50, random_state=0),
        OnlineBaggingRegressor(),
    ]
)
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


# --- counts ----------------------------------------------------------------------------------------------------------


def test_counts_do_not_depend_on_how_the_rows_arrive() -> None:
    member, rates = OnlineMember(GaussianNB(), 5), np.random.default_rng(0).exponential(size=100)
    whole = member.counts(7, rates)
    pieces = [member.counts(7 + cut[0], rates[cut]) for cut in np.split(np.arange(100), [1, 2, 30, 77])]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)


def test_members_have_streams_of_their_own() -> None:
    model = OnlineBaggingClassifier(n_estimators=30, random_state=0).partial_fit(*stream(5), classes=["a", "b", "c"])
    streams = np.array([stream_uniforms(member.seed, 0, 500) for member in model._online_members()])
    correlation = np.corrcoef(streams)
    assert np.abs(correlation - np.eye(30)).max() < 0.2  # 435 pairs, standard error 0.045


@pytest.mark.parametrize("rate", [1e-90, 1e-3, 0.5, 1.0, 7.3, 800.0, 9e5])
def test_counts_are_poisson_quantiles(rate: float) -> None:
    u = stream_uniforms(1, 0, 2000)
    np.testing.assert_array_equal(poisson_counts(u, np.full(2000, rate)), poisson.ppf(u, rate))


def test_the_count_of_a_row_does_not_depend_on_the_rates_of_others() -> None:
    u, rates = stream_uniforms(1, 0, 300), np.tile([0.5, 40.0, 1e7], 100)
    together = poisson_counts(u, rates)
    np.testing.assert_array_equal(together, np.concatenate([poisson_counts(u[[i]], rates[[i]]) for i in range(300)]))
    np.testing.assert_array_equal(together[1::3], poisson.ppf(u[1::3], 40.0))


@pytest.mark.parametrize("rate", [1e-3, 1.0, 29.9])
def test_the_largest_uniform_number_has_a_count_too(rate: float) -> None:
    count = poisson_counts(np.array([1.0 - 2.0**-53]), np.array([rate]))[0]
    assert abs(count - poisson.ppf(1.0 - 2.0**-53, rate)) <= 1.0  # where rounding decides


def test_huge_rates_are_their_own_counts_within_their_deviation() -> None:
    u = stream_uniforms(1, 0, 2000)
    for rate in (1e7, 1e12):
        score = (poisson_counts(u, np.full(2000, rate)) - rate) / np.sqrt(rate)
        assert abs(score.mean()) < 0.1
        assert score.std() == pytest.approx(1.0, abs=0.05)
    np.testing.assert_allclose(poisson_counts(u, np.full(2000, 1e90)), 1e90)
    assert poisson_counts(np.zeros(2), np.array([1.0, 1e9])).min() >= 0.0


def test_counts_agree_with_the_bootstrap_in_the_limit() -> None:
    """Binomial(n, 1/n) is within 1/n of Poisson(1), and so are the shares of the counts, within their noise."""
    n = 50000
    counts = OnlineMember(GaussianNB(), 3).counts(0, np.ones(n))
    drawn = np.bincount(np.random.default_rng(0).integers(0, n, n), minlength=n)
    for k in range(6):
        deviation = np.sqrt(binom.pmf(k, n, 1.0 / n) / n)
        assert np.mean(counts == k) == pytest.approx(binom.pmf(k, n, 1.0 / n), abs=4.0 * deviation)
        assert np.mean(counts == k) == pytest.approx(np.mean(drawn == k), abs=6.0 * deviation)
    assert np.mean(counts == 0) == pytest.approx((1.0 - 1.0 / n) ** n, abs=0.01)


def test_a_row_of_weight_w_counts_as_w_rows_in_distribution() -> None:
    member = OnlineMember(GaussianNB(), 3)
    weighted, repeated = member.counts(0, np.full(20000, 3.0)), member.counts(20000, np.ones(60000))
    sums = repeated.reshape(20000, 3).sum(axis=1)
    for k in range(8):
        assert np.mean(weighted == k) == pytest.approx(np.mean(sums == k), abs=0.02)


# --- members ---------------------------------------------------------------------------------------------------------


def test_members_were_fitted_on_every_row_as_often_as_its_count() -> None:
    X, y = stream()
    model = fed(OnlineBaggingClassifier(Means(), n_estimators=4, random_state=0), X, y, 100, classes=["a", "b", "c"])
    for member in model._online_members():
        counts = poisson.ppf(stream_uniforms(member.seed, 0, len(X)), 1.0)
        for k, label in enumerate("abc"):
            assert member.estimator.n_[k] == counts[y == label].sum()
            np.testing.assert_array_equal(member.estimator.sum_[k], (counts[:, None] * X)[y == label].sum(axis=0))


@pytest.mark.parametrize("learner", [Means(), None], ids=repr)
def test_pieces_of_any_size_give_the_same_members(learner: Any) -> None:
    X, y = stream()
    models = [
        fed(OnlineBaggingClassifier(learner, random_state=0), X, y, *cuts, classes=["a", "b", "c"])
        for cuts in ((), (1,), (20, 40, 100), tuple(range(1, 60)))
    ]
    for model in models[1:]:
        assert model.n_seen_ == 260
        for member, other in zip(model.estimators_, models[0].estimators_, strict=True):
            if isinstance(learner, Means):
                np.testing.assert_array_equal(member.sum_, other.sum_)
            else:  # the factor that SGD keeps on its coefficients is multiplied in at the end of a piece: rounding
                np.testing.assert_allclose(member.coef_, other.coef_, rtol=1e-12)


def test_row_by_row_nothing_depends_on_the_pieces_with_any_member() -> None:
    """A shuffling learner learns something else from other pieces; batch_size=1 leaves it none."""
    X, y = stream(130)
    models = [
        fed(OnlineBaggingClassifier(SGDClassifier(), n_estimators=3, batch_size=1, random_state=0), X, y, *cuts,
            classes=["a", "b", "c"])
        for cuts in ((), (50, 51, 120))
    ]  # fmt: skip
    assert models[0].history_ == models[1].history_
    np.testing.assert_array_equal(models[0].history_.n_seen, [100, 130])
    for a, b in zip(models[0].estimators_, models[1].estimators_, strict=True):
        np.testing.assert_array_equal(a.coef_, b.coef_)


def test_without_weights_a_member_is_shown_a_row_k_times() -> None:
    X, y = stream()
    weighted, repeated = (
        OnlineBaggingClassifier(learner, n_estimators=3, random_state=0).fit(X, y) for learner in (Means(), Repeated())
    )
    for a, b in zip(weighted.estimators_, repeated.estimators_, strict=True):
        np.testing.assert_array_equal(a.sum_, b.sum_)


def test_linear_members_predict_what_their_predict_does() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    labels = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.2])
    for y, classes in ((labels > 0, np.array([False, True])), (labels, np.arange(3))):
        for learner in (SGDClassifier(random_state=0), Perceptron()):
            member = OnlineMember(learner, 1, classes)
            member.partial_fit(X, classes[y.astype(int)], np.ones(300))
            assert type(member.estimator) in LINEAR
            np.testing.assert_array_equal(classes[member.predictions(X)], member.estimator.predict(X))
    number = OnlineMember(SGDRegressor(), 1)
    number.partial_fit(X, X[:, 0] - X[:, 1], np.ones(300))
    np.testing.assert_array_equal(number.predictions(X), number.estimator.predict(X))


def test_a_member_hears_of_the_classes_once() -> None:
    class Listening(Means):
        def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Listening:
            self.heard_ = [*getattr(self, "heard_", []), classes is not None]
            super().partial_fit(X, y, classes, sample_weight)
            return self

    model = fed(OnlineBaggingClassifier(Listening(), n_estimators=2), *stream(), 90, 130, classes=["a", "b", "c"])
    assert [member.heard_ for member in model.estimators_] == [[True, False, False]] * 2


def test_too_many_repetitions_are_rejected() -> None:
    X, y = stream(4)
    model = OnlineBaggingClassifier(Repeated(), n_estimators=1, random_state=0)
    with pytest.raises(ValueError, match=r"Repeated takes no weights.*divide sample_weight"):
        model.partial_fit(X, y, classes=["a", "b", "c"], sample_weight=np.full(4, 1e9))


def test_naive_bayes_comes_near_batch_bagging() -> None:
    """Half of pima, 50 members, three seeds: the errors differ by less than a point in the mean."""
    X, y = load_dataset("pima_diabetes")[:2]
    train, test = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
    errors = []
    for seed in range(3):
        online = OnlineBaggingClassifier(
            GaussianNB(), n_estimators=50, vote="mean", batch_size=100, random_state=seed
        ).fit(X[train], y[train])
        batch = BaggingClassifier(GaussianNB(), n_estimators=50, random_state=seed).fit(X[train], y[train])
        assert np.mean(online.predict(X[test]) == batch.predict(X[test])) > 0.97
        np.testing.assert_allclose(online.predict_proba(X[test]), batch.predict_proba(X[test]), atol=0.2)
        errors.append(online.score(X[test], y[test]) - batch.score(X[test], y[test]))
    assert abs(np.mean(errors)) < 0.01


def test_fit_takes_no_notice_of_order_and_repetition_is_weight() -> None:
    X, y = stream(90)
    weight = np.random.default_rng(1).integers(0, 4, 90)
    model = OnlineBaggingClassifier(SGDClassifier(), n_estimators=4, random_state=0)
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(90), weight))
    a, b = clone(model).fit(X, y, sample_weight=weight), clone(model).fit(X[rows], y[rows])
    for member, other in zip(a.estimators_, b.estimators_, strict=True):
        np.testing.assert_array_equal(member.coef_, other.coef_)
    assert a.history_ == b.history_


def test_weights_that_sum_to_one_mean_the_same_as_none() -> None:
    X, y = stream(64)
    model = OnlineBaggingClassifier(Means(), n_estimators=4, random_state=0)
    X = np.unique(X, axis=0)
    y = y[: len(X)]
    a, b = clone(model).fit(X, y), clone(model).fit(X, y, sample_weight=np.full(len(X), 1.0 / 128.0))
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))


def test_rows_of_weight_zero_are_not_there() -> None:
    X, y = stream(90)
    weight = (np.arange(90) % 3 > 0).astype(float)
    model = OnlineBaggingClassifier(Means(), n_estimators=4, random_state=0)
    a = clone(model).partial_fit(X, y, classes=["a", "b", "c"], sample_weight=weight)
    b = clone(model).partial_fit(X[weight > 0], y[weight > 0], classes=["a", "b", "c"])
    assert a.n_seen_ == b.n_seen_ == 60
    assert a.history_ == b.history_


# --- answers and evidence --------------------------------------------------------------------------------------------


def test_the_prequential_error_is_that_of_testing_then_training() -> None:
    X, y = stream(150)
    model = OnlineBaggingClassifier(Means(), n_estimators=5, batch_size=1, random_state=0)
    wrong: list[float] = []
    judged_members: list[Floats] = []
    for i in range(150):
        if i:
            has = [member.is_fitted for member in model._online_members()]
            own = [
                float(member.predict(X[i : i + 1])[0] != y[i]) if learned else np.nan
                for member, learned in zip(model.estimators_, has, strict=True)
            ]
            judged_members.append(np.array(own))
            if any(has):
                wrong.append(float(model.predict(X[i : i + 1])[0] != y[i]))
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=["a", "b", "c"])
    assert model.prequential_error_ == pytest.approx(np.mean(wrong), abs=1e-12)
    history = model.history_
    np.testing.assert_allclose(history.prequential_error[-1], model.prequential_error_)
    np.testing.assert_allclose(history.error[-1], np.mean(wrong[-50:]), atol=1e-12)
    np.testing.assert_allclose(history.member_errors[-1], np.nanmean(judged_members[-50:], axis=0), atol=1e-12)


def test_rows_are_evaluated_as_they_come_by_members_that_have_seen_none_of_them() -> None:
    X, y = stream(250)
    model = OnlineBaggingClassifier(Means(), n_estimators=5, random_state=0)
    model.partial_fit(X[:90], y[:90], classes=["a", "b", "c"])
    wrong = model.predict(X[90:]) != y[90:]
    model.partial_fit(X[90:], y[90:])
    assert model.prequential_error_ == pytest.approx(wrong.mean(), abs=1e-12)
    np.testing.assert_array_equal(model.history_.n_seen, [100, 200, 250])
    np.testing.assert_allclose(model.history_.error, [wrong[:10].mean(), wrong[10:110].mean(), wrong[110:].mean()])


def test_a_batch_is_not_cut_by_the_history() -> None:
    X, y = stream(180)
    model = OnlineBaggingClassifier(Means(), n_estimators=5, batch_size=60, random_state=0)
    early = clone(model).partial_fit(X[:60], y[:60], classes=["a", "b", "c"])
    model.partial_fit(X[:120], y[:120], classes=["a", "b", "c"])
    assert model.prequential_error_ == pytest.approx(np.mean(early.predict(X[60:120]) != y[60:120]), abs=1e-12)


def test_a_table_is_fitted_in_pieces_that_grow() -> None:
    pieces = list(growing_pieces(5000))
    assert [(piece.start, piece.stop) for piece in pieces[:2]] == [(0, 20), (20, 40)]
    assert all(a.stop == b.start for a, b in pairwise(pieces))
    assert pieces[-1].stop == 5000
    assert all(piece.stop - piece.start <= max(20, piece.start / 10) for piece in pieces)
    assert len(pieces) < 50
    X, y = stream()
    fitted = OnlineBaggingClassifier(Means(), n_estimators=5, random_state=0).fit(X, y)
    assert fitted.history_.n_seen[-1] == len(np.unique(np.column_stack([X, y]), axis=0))
    assert 0.0 < fitted.prequential_error_ < 0.5


def test_a_majority_predicts_and_its_fractions_are_the_probabilities() -> None:
    X, y = stream()
    model = OnlineBaggingClassifier(GaussianNB(), n_estimators=7, random_state=0).fit(X, y)
    predictions = np.array([member.predict(X) for member in model])
    shares = np.mean(predictions[:, :, None] == model.classes_, axis=0)
    np.testing.assert_allclose(model.predict_proba(X), shares, atol=1e-12)
    mean = OnlineBaggingClassifier(GaussianNB(), n_estimators=7, vote="mean", random_state=0).fit(X, y)
    expected = np.mean([member.predict_proba(X) for member in mean], axis=0)
    np.testing.assert_allclose(mean.predict_proba(X), expected, atol=1e-12)


def test_regression_predicts_with_the_mean_and_is_evaluated_by_squares() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X @ [3.0, -2.0, 1.0] + 5.0
    model = OnlineBaggingRegressor(n_estimators=6, batch_size=1, random_state=0)
    squares: list[float] = []
    for i in range(120):
        if i and any(member.is_fitted for member in model._online_members()):
            squares.append(float((model.predict(X[i : i + 1])[0] - y[i]) ** 2))
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert model.prequential_error_ == pytest.approx(np.mean(squares), rel=1e-9)
    np.testing.assert_allclose(model.predict(X), np.mean([member.predict(X) for member in model], axis=0), rtol=1e-12)
    counts = [poisson.ppf(stream_uniforms(member.seed, 0, 120), 1.0) for member in model._online_members()]
    for member, k in zip(model.estimators_, counts, strict=True):
        alone = SGDRegressor(shuffle=False).partial_fit(X[k > 0], y[k > 0], sample_weight=k[k > 0])
        np.testing.assert_allclose(member.coef_, alone.coef_, rtol=1e-9)


def test_predictions_before_any_member_is_fitted() -> None:
    """A row of a tiny weight: every count is zero."""
    X, y = stream(1)
    model = OnlineBaggingClassifier(n_estimators=2, random_state=0)
    model.partial_fit(X, y, classes=["a", "b", "c"], sample_weight=[1e-9])
    np.testing.assert_array_equal(model.predict_proba(X), np.full((1, 3), 1.0 / 3.0))
    assert model.predict(X)[0] == "a"
    assert np.isnan(model.prequential_error_)
    number = OnlineBaggingRegressor(n_estimators=2, random_state=0).partial_fit(X, [4.0], sample_weight=[1e-9])
    assert number.predict(X)[0] == 0.0


def test_a_single_class_is_predicted() -> None:
    X, _ = stream(30)
    model = OnlineBaggingClassifier(random_state=0).fit(X, np.full(30, "only"))
    assert set(model.predict(X)) == {"only"}
    assert model.prequential_error_ == 0.0


def test_a_model_goes_on_after_a_pickle() -> None:
    X, y = stream()
    model = OnlineBaggingClassifier(random_state=0).partial_fit(X[:90], y[:90], classes=["a", "b", "c"])
    other = pickle.loads(pickle.dumps(model))
    assert fed(model, X[90:], y[90:], 33).history_ == fed(other, X[90:], y[90:], 33).history_
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))


def test_fit_forgets() -> None:
    X, y = stream()
    model = OnlineBaggingClassifier(random_state=0).partial_fit(X, y, classes=["a", "b", "c", "d"])
    assert model.fit(X[:, :2], y).n_features_in_ == 2
    assert model.history_ == OnlineBaggingClassifier(random_state=0).fit(X[:, :2], y).history_


def test_it_fits_spam() -> None:
    X, y = load_dataset("spam")[:2]
    model = OnlineBaggingClassifier(random_state=0).fit(scale(X)[::4], y[::4])
    errors = model.history_.member_errors
    assert model.prequential_error_ < 0.15
    assert model.history_.error[-3:].mean() < model.history_.error[0]
    assert np.mean(model.history_.error < errors.mean(axis=1)) > 0.8  # the vote is better than a member


# --- what is refused -------------------------------------------------------------------------------------------------


def test_errors_leave_the_model_as_it_was() -> None:
    X, y = stream(60)
    model = OnlineBaggingClassifier(Breaking(), n_estimators=3, random_state=0)
    model.partial_fit(X, y, classes=["a", "b", "c"])
    before, sums = model.history_, [member.sum_.copy() for member in model]
    bad = np.vstack([X, np.full((20, 3), 99.0)])  # at least one of twenty rows has a count
    with pytest.raises(RuntimeError, match="broken"):
        model.partial_fit(bad, np.append(y, y[:20]))
    assert model.n_seen_ == 60
    assert model.history_ == before
    for member, expected in zip(model, sums, strict=True):
        np.testing.assert_array_equal(member.sum_, expected)


def test_what_has_no_partial_fit_is_rejected() -> None:
    X, y = stream()
    with pytest.raises(ValueError, match="estimator"):
        OnlineBaggingClassifier(LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match="must be a classifier"):
        OnlineBaggingClassifier(SGDRegressor()).fit(X, y)
    with pytest.raises(ValueError, match="vote='mean' averages probabilities"):
        OnlineBaggingClassifier(Means(), vote="mean").fit(X, y)


def test_the_classes_must_be_known() -> None:
    X, y = stream()
    model = OnlineBaggingClassifier(random_state=0)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X, y)
    assert not hasattr(model, "n_features_in_")
    with pytest.raises(ValueError, match=r"not among the classes of the stream: \['c'\]"):
        model.partial_fit(X, y, classes=["a", "b"])
    model.partial_fit(X, y, classes=["c", "a", "b"])
    model.partial_fit(X, y, classes=["a", "b", "c"])
    with pytest.raises(ValueError, match="not the same as on the last call"):
        model.partial_fit(X, y, classes=["a", "b"])
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(X[:1], ["d"])


def test_missing_values_and_two_outputs_are_rejected() -> None:
    X, y = stream()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN in column x\[\d\], which the base learner SGDClassifier does"):
        OnlineBaggingClassifier().partial_fit(X, y, classes=["a", "b", "c"])
    with pytest.raises(ValueError, match="2 outputs, OnlineBaggingRegressor takes one"):
        OnlineBaggingRegressor().fit(stream()[0], np.ones((260, 2)))


def test_the_core_returns_the_counts() -> None:
    X, y = stream(40)
    members = [OnlineMember(Means(), seed, np.array(["a", "b", "c"])) for seed in (1, 2)]
    counts = online_bagging(members, X, y, np.ones(40), 0)
    assert [member.estimator.n_.sum() for member in members] == [count.sum() for count in counts]
