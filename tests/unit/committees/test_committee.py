"""CommitteeClassifier and CommitteeRegressor: what they promise, and what they do with bad input."""

from __future__ import annotations

import json
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, TimeSeriesSplit

from committee.committees import committee as module
from committee.committees._algorithms import ALGORITHMS, Algorithm
from committee.committees.committee import CommitteeClassifier, CommitteeRegressor
from committee.committees.plan import Facts, Member, Plan, candidates, choose_plan
from tests.bad_input import (
    X,
)

BOTH: list[type[Any]] = [CommitteeClassifier, CommitteeRegressor]
each = pytest.mark.parametrize("cls", BOTH, ids=lambda cls: cls.__name__)

FEW = (
    Member("boosting", "gradient boosting", {"n_estimators": 5}),
    Member("trees", "extra trees", {"n_estimators": 10}),
    Member("line", "linear model", {}, "scaled"),
)
RNG = np.random.default_rng(1)
TABLE = np.round(RNG.normal(size=(150, 4)), 2)
NUMBERS = TABLE[:, 0] + np.sin(2.0 * TABLE[:, 1]) + 0.3 * RNG.normal(size=150)
CODES = np.digitize(NUMBERS, [-0.6, 0.6])


def make(cls: type[Any], **more: Any) -> Any:
    return cls(**{"members": list(FEW), "cv": 3, "random_state": 0, **more})


def target(cls: type[Any]) -> Any:
    return CODES if is_classifier(cls()) else NUMBERS


@cache
def fitted(cls: type[Any]) -> Any:
    """For reading only: fitted once."""
    return make(cls).fit(TABLE, target(cls))


def predictions_of(model: Any, rows: Any = TABLE) -> Any:
    return model.predict_proba(rows) if is_classifier(model) else model.predict(rows)


# --- the same committee ----------------------------------------------------------------------------------------------


@each
def test_plan_and_seed_give_the_same_committee(cls: type[Any]) -> None:
    model = fitted(cls)
    plan = Plan.from_json(model.plan_.to_json())
    assert plan == model.plan_
    order = np.random.default_rng(0).permutation(len(TABLE))
    again = make(cls, members=plan, n_jobs=2).fit(TABLE[order], target(cls)[order])
    np.testing.assert_array_equal(predictions_of(again), predictions_of(model))
    assert again.weights_ == model.weights_
    assert again.seconds_ == model.seconds_  # the members, not the times
    other = make(cls, random_state=1).fit(TABLE, target(cls))
    assert not np.array_equal(predictions_of(other), predictions_of(model))


@each
def test_a_member_is_the_same_whoever_stands_beside_it(cls: type[Any]) -> None:
    alone = make(cls, members=FEW[1:2]).fit(TABLE, target(cls))
    np.testing.assert_array_equal(predictions_of(alone), fitted(cls).fitted_members_["trees"].predictions(TABLE))


@each
def test_a_whole_weight_counts_as_so_many_rows(cls: type[Any]) -> None:
    weight = RNG.integers(0, 3, len(TABLE))
    weighed = make(cls).fit(TABLE, target(cls), sample_weight=weight)
    copied = make(cls).fit(np.repeat(TABLE, weight, axis=0), np.repeat(target(cls), weight))
    np.testing.assert_array_equal(predictions_of(weighed), predictions_of(copied))


def test_clones_keep_members_and_plans() -> None:
    """A named tuple among the parameters would be taken apart."""
    model = make(CommitteeClassifier, members=Plan(FEW, n_folds=2))
    assert clone(model).members == model.members
    assert clone(make(CommitteeClassifier)).members == list(FEW)


@each
def test_copies_predict_alike_and_a_refit_leaves_no_trace(cls: type[Any], tmp_path: Path) -> None:
    model = fitted(cls)
    joblib.dump(model, tmp_path / "model.joblib")
    for other in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib", mmap_mode="r")):
        np.testing.assert_array_equal(predictions_of(other), predictions_of(model))
        assert other.members_["weight"].tolist() == model.members_["weight"].tolist()
    again = make(cls).fit(frame(), target(cls)).fit(TABLE, target(cls))
    assert vars(again).keys() == vars(model).keys()
    np.testing.assert_array_equal(predictions_of(again), predictions_of(model))


def test_one_fold_is_a_part_held_out() -> None:
    model = make(CommitteeClassifier, cv=1).fit(TABLE, CODES)
    assert model.plan_.n_folds == 1
    assert len(model.fitted_members_[next(iter(model.weights_))].models) == 1
    assert model.score(TABLE, CODES) > 0.6


# --- combining -------------------------------------------------------------------------------------------------------


@each
def test_the_prediction_is_the_weighted_mean_of_the_members(cls: type[Any]) -> None:
    model = fitted(cls)
    parts = model.member_predictions(TABLE)
    assert parts.keys() == model.weights_.keys()
    assert sum(model.weights_.values()) == pytest.approx(1.0)
    mean = sum(weight * parts[name] for name, weight in model.weights_.items())
    np.testing.assert_allclose(predictions_of(model), mean, rtol=1e-9)


def test_vote_median_mean_and_stack() -> None:
    vote = make(CommitteeClassifier, combine="vote").fit(TABLE, CODES)
    codes = np.stack([share.argmax(axis=1) for share in vote.member_predictions(TABLE).values()])
    counts = np.stack([(codes == k).mean(axis=0) for k in range(3)], axis=1)
    np.testing.assert_allclose(vote.predict_proba(TABLE), counts)
    median = make(CommitteeRegressor, combine="median").fit(TABLE, NUMBERS)
    parts = np.stack(list(median.member_predictions(TABLE).values()))
    np.testing.assert_allclose(median.predict(TABLE), np.median(parts, axis=0))
    mean = make(CommitteeRegressor, combine="mean").fit(TABLE, NUMBERS)
    assert list(mean.weights_.values()) == pytest.approx([1 / 3] * 3)
    stack = make(CommitteeRegressor, combine="stack").fit(TABLE, NUMBERS)
    assert stack.loss_ <= min(mean.loss_, fitted(CommitteeRegressor).loss_) + 1e-12


def held_out_of(model: Any, y: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """Fit; the members' answers to the rows left out by all of them, and these rows' targets."""
    original, seen = module.fit_members, []

    def recording(plan: Any, rows: Any, *rest: Any) -> Any:
        result = original(plan, rows, *rest)
        seen.append((np.stack([candidate.predictions for candidate in result]), rows.y))
        return result

    monkeypatch.setattr(module, "fit_members", recording)
    model.fit(TABLE, y)
    (predictions, truth) = seen[0]
    known = ~np.isnan(predictions).reshape(len(predictions), len(truth), -1).any(axis=(0, 2))
    return predictions[:, known], truth[known]


@pytest.mark.parametrize("n_folds", [1, 3])
def test_the_loss_of_a_vote_is_that_of_its_probabilities(n_folds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make(CommitteeClassifier, combine="vote", cv=n_folds)
    predictions, truth = held_out_of(model, CODES, monkeypatch)
    votes = np.eye(3)[predictions.argmax(axis=2)]
    losses = [np.sum((votes[:t].mean(axis=0) - np.eye(3)[truth]) ** 2, axis=1).mean() for t in (1, 2, 3)]
    np.testing.assert_allclose(model.history_.loss, losses, rtol=1e-12)
    assert model.loss_ == pytest.approx(losses[-1], rel=1e-12)
    assert model.error_ == pytest.approx(np.mean(votes.mean(axis=0).argmax(axis=1) != truth))
    without = np.sum((votes[1:].mean(axis=0) - np.eye(3)[truth]) ** 2, axis=1).mean()
    assert model.contributions_["boosting"] == pytest.approx(without - losses[-1], rel=1e-9)
    assert model.members_["contribution"][0] == model.contributions_["boosting"]


@pytest.mark.parametrize("n_folds", [1, 3])
def test_the_loss_of_a_median_is_that_of_the_median(n_folds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make(CommitteeRegressor, combine="median", cv=n_folds)
    predictions, truth = held_out_of(model, NUMBERS, monkeypatch)
    losses = [np.mean((np.median(predictions[:t], axis=0) - truth) ** 2) for t in (1, 2, 3)]
    np.testing.assert_allclose(model.history_.loss, losses, rtol=1e-12)
    assert model.loss_ == pytest.approx(losses[-1], rel=1e-12)
    assert model.error_**2 == pytest.approx(model.loss_, rel=1e-12)
    without = np.mean((np.median(predictions[1:], axis=0) - truth) ** 2)
    assert model.contributions_["boosting"] == pytest.approx(without - losses[-1], rel=1e-9)


@each
def test_a_member_that_adds_nothing_is_dropped(cls: type[Any]) -> None:
    constant = Member("constant", "linear model", {"C": 1e-12} if is_classifier(cls()) else {"alpha": 1e12}, "scaled")
    model = make(cls, members=[*FEW, constant]).fit(TABLE, target(cls))
    assert "constant" not in model.weights_
    assert "constant" not in model.member_predictions(TABLE)
    kept = make(cls, members=[*FEW, constant], keep_dropped=True).fit(TABLE, target(cls))
    assert "constant" in kept.member_predictions(TABLE)
    np.testing.assert_array_equal(predictions_of(kept), predictions_of(model))


@each
def test_the_diagnostics_of_the_members(cls: type[Any]) -> None:
    model = fitted(cls)
    table = model.members_
    assert table["name"].tolist() == model.plan_.names
    assert np.all(table["seconds"] > 0.0)
    np.testing.assert_allclose([model.weights_.get(name, 0.0) for name in table["name"]], table["weight"])
    assert model.loss_ < table["loss"].min() + 1e-12  # on these rows no member alone is better
    assert np.all((table["diversity"] > 0.0) & (table["diversity"] < 1.0))
    assert all(status.startswith("done") for status in table.to_pandas()["status"])
    assert model.history_.member[0] == table["name"][int(np.argmin(table["loss"]))]
    assert model.history_.loss[0] == pytest.approx(table["loss"].min())
    assert model.contributions_.keys() == model.weights_.keys()
    assert len(model) == len(model.weights_)


def test_errors_out_of_fold_are_near_those_on_new_rows() -> None:
    rng = np.random.default_rng(2)
    new = rng.normal(size=(2000, 4))
    y = np.digitize(new[:, 0] + np.sin(2.0 * new[:, 1]) + 0.3 * rng.normal(size=2000), [-0.6, 0.6])
    model = fitted(CommitteeClassifier)
    error = float(np.mean(model.predict(new) != y))
    assert abs(model.error_ - error) < 3.0 * np.sqrt(error / 150)  # three standard errors of 150 rows


# --- members that do not make it -------------------------------------------------------------------------------------


@each
def test_a_member_that_fails_is_left_out_with_a_warning(cls: type[Any]) -> None:
    bad = Member("bad", "extra trees", {"n_estimators": -1})
    with pytest.warns(UserWarning, match="'bad' is left out.* InvalidParameterError"):
        model = make(cls, members=[bad, *FEW]).fit(TABLE, target(cls))
    np.testing.assert_array_equal(predictions_of(model), predictions_of(fitted(cls)))
    assert model.members_["status"][0].startswith("failed: ")
    with pytest.raises(ValueError, match=r"No member could be fitted. bad failed"):
        make(cls, members=[bad]).fit(TABLE, target(cls))


def test_members_after_the_time_are_left_out_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE", 0.0)
    with pytest.warns(UserWarning, match=r"time budget was used up before trees, line .* more than time_budget=1e-06"):
        model = make(CommitteeRegressor, time_budget=1e-6).fit(TABLE, NUMBERS)
    assert model.members_["status"].tolist() == ["done", "out of time", "out of time"]
    assert model.plan_.names == ["boosting"]  # what was run, so that it can be run again
    again = make(CommitteeRegressor, members=model.plan_).fit(TABLE, NUMBERS)
    np.testing.assert_array_equal(again.predict(TABLE), model.predict(TABLE))


def test_ctrl_c_is_no_failure_of_a_member(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "fit_member", interrupt)
    model = make(CommitteeRegressor)
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(TABLE, NUMBERS)
    assert vars(model) == before


# --- plans -----------------------------------------------------------------------------------------------------------


def test_a_plan_fits_its_budget_and_grows_with_it() -> None:
    facts = Facts(n=3000, d=20, n_classes=2, n_categorical=0)
    before: list[str] = []
    for budget in (0.01, 1.0, 5.0, 100.0):
        plan = choose_plan(facts, budget, "auto")
        assert plan.cost <= budget or len(plan.members) == 1
        assert len(plan.members) >= len(before)
        before = plan.names
    assert before == [member.name for member in candidates(facts)]
    assert choose_plan(facts._replace(n=60_000), None, "auto").n_folds == 1
    assert choose_plan(facts._replace(n=3), None, "auto").n_folds == 3


@pytest.mark.parametrize("n_classes", [0, 2, 5])
def test_costs_rise_with_the_table(n_classes: int) -> None:
    small, large = (Facts(n, 10, n_classes, 0) for n in (500, 50_000))
    later = {member.name: member.cost for member in candidates(large)}
    for one in candidates(small):
        assert 0.0 < one.cost < later[one.name]


def test_a_plan_is_json_of_plain_values() -> None:
    plan = Plan((Member("a", "linear model", {"alpha": 2.0}, "ranked", (0, 2), 0.5, 1.5),), 4, 2)
    result = json.loads(plan.to_json())
    assert result["members"][0]["columns"] == [0, 2]
    assert Plan.from_json(plan.to_json()) == plan


def test_every_candidate_is_fitted_by_the_default() -> None:
    model = CommitteeRegressor(members=[m.name for m in candidates(Facts(150, 4, 0, 0))], random_state=0)
    model.fit(TABLE, NUMBERS)
    assert {status.split(";")[0] for status in model.members_["status"]} == {"done"}


BAD_MEMBERS = [
    ([], "members is empty"),
    (["nobody"], "got 'nobody'. The names are gradient boosting"),
    ([3], "got 3"),
    ([FEW[0], FEW[0]], "boosting is repeated"),
    ([Member("a", "magic")], "Unknown algorithm 'magic'"),
    ([Member("a", "linear model", {}, "pictures")], "Unknown representation 'pictures'"),  # type: ignore[arg-type]
    ([Member("a", "linear model", columns=(4,))], r"columns of 'a' must lie in 0 .. 3"),
    ([Member("a", "linear model", sample=0.0)], "fraction of the rows"),
]


@pytest.mark.parametrize(("members", "text"), BAD_MEMBERS)
def test_bad_members_are_rejected(members: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        CommitteeRegressor(members=members).fit(TABLE, NUMBERS)


# --- tables as they come ---------------------------------------------------------------------------------------------


def frame(rows: slice = slice(None)) -> Any:
    columns = {f"x{j}": column for j, column in enumerate(TABLE.T)}
    colour = np.where(TABLE[:, 2] > 0.0, "red", np.where(TABLE[:, 3] > 0.0, "blue", "green"))
    result = pd.DataFrame({**columns, "colour": pd.Categorical(colour)})
    result.loc[::7, "x1"] = np.nan
    result.loc[::5, "colour"] = None
    return result.iloc[rows]


@each
def test_categories_and_missing_values_in_every_kind_of_frame(cls: type[Any]) -> None:
    wide = [*FEW, Member("machine", "support vector machine", {}, "ranked")]
    y = target(cls) + (3 if is_classifier(cls()) else 0.0)
    model = make(cls, members=wide).fit(frame(), y)
    expected = predictions_of(model, frame())
    assert list(model.feature_names_in_) == ["x0", "x1", "x2", "x3", "colour"]
    numbers = pl.DataFrame({name: frame()[name].to_numpy() for name in ("x0", "x1", "x2", "x3")}, nan_to_null=True)
    colour = [None if pd.isna(value) else str(value) for value in frame()["colour"]]
    polars = numbers.with_columns(pl.Series("colour", colour, dtype=pl.Categorical))
    columns = {name: numbers[name].to_arrow() for name in numbers.columns}
    arrow = pa.table({**columns, "colour": pa.array(colour).dictionary_encode()})
    for other in (polars, arrow):
        again = make(cls, members=wide).fit(other, y)
        np.testing.assert_array_equal(predictions_of(again, other), expected)


@each
def test_texts_are_rejected_with_a_word_on_what_to_do(cls: type[Any]) -> None:
    texts = frame().assign(colour=frame()["colour"].astype(object).fillna("none"))
    with pytest.raises(ValueError, match=r"'colour' holds strings such as '.*categor"):
        make(cls).fit(texts, target(cls))


def test_one_class_is_predicted_and_one_row_rejected() -> None:
    for members in (FEW[:2], "auto"):
        model = CommitteeClassifier(members=members).fit(TABLE, np.full(150, "a"))
        assert set(model.predict(TABLE[:5])) == {"a"}
        np.testing.assert_array_equal(model.predict_proba(TABLE[:5]), np.ones((5, 1)))
    for cls in BOTH:
        with pytest.raises(ValueError, match="n_samples = 1"):
            make(cls).fit(TABLE[:1], target(cls)[:1])


# --- bad input -------------------------------------------------------------------------------------------------------


@each
def test_not_fitted(cls: type[Any]) -> None:
    looks = [lambda m: m.predict(X), lambda m: m.member_predictions(X), lambda m: m.members_, len]
    for look in looks:
        with pytest.raises(NotFittedError, match="Call 'fit'"):
            look(make(cls))


def test_every_algorithm_has_a_law_of_its_cost() -> None:
    from committee.committees.plan import LAWS

    assert LAWS.keys() == ALGORITHMS.keys()
    assert all(isinstance(kind, Algorithm) for kind in ALGORITHMS.values())


# --- class weights, and members that are of no use --------------------------------------------------------------------


def _imbalanced(n: int = 240) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    y = np.array(["rare", "usual"])[(rng.random(n) > 0.12).astype(int)]
    return rng.normal(size=(n, 4)) + 1.2 * (y == "rare")[:, np.newaxis] * np.array([1.0, 0.0, 0.5, 0.0]), y


MEMBERS = ["extra trees", "linear model"]


def test_balanced_class_weights_find_more_of_the_rare_class() -> None:
    X, y = _imbalanced()
    members = ["linear model"]
    plain = CommitteeClassifier(members=members, random_state=0).fit(X, y)
    balanced = CommitteeClassifier(members=members, class_weight="balanced", random_state=0).fit(X, y)
    rare = 0
    assert balanced.predict_proba(X)[:, rare].mean() > 1.5 * plain.predict_proba(X)[:, rare].mean()


def test_a_dict_of_class_weights_equals_balanced_ones_and_ones_change_nothing() -> None:
    X, y = _imbalanced()
    share = np.mean(y == "rare")
    given = {"rare": 0.5 / share, "usual": 0.5 / (1.0 - share)}
    models = [
        CommitteeClassifier(members=MEMBERS, class_weight=chosen, random_state=0).fit(X, y)
        for chosen in (given, "balanced", {"rare": 2.0, "usual": 2.0}, None)
    ]
    probabilities = [model.predict_proba(X) for model in models]
    np.testing.assert_array_equal(probabilities[0], probabilities[1])
    np.testing.assert_array_equal(probabilities[2], probabilities[3])


@pytest.mark.parametrize("wrong", ["even", {"rare": 0.0}, {"other": 1.0}, {"rare": -1.0}])
def test_wrong_class_weights_are_rejected(wrong: object) -> None:
    X, y = _imbalanced(60)
    with pytest.raises(ValueError, match=r"class_weight|weights"):
        CommitteeClassifier(members=MEMBERS, class_weight=wrong, random_state=0).fit(X, y)


def test_a_member_of_no_use_is_skipped_after_its_first_fold_and_says_why() -> None:
    X = np.random.default_rng(0).normal(size=(600, 3))
    y = (X[:, 0] * X[:, 1] > 0.0).astype(int)  # trees and kernels learn it, lines cannot
    model = CommitteeClassifier(random_state=0, cv=3).fit(X, y)
    status = dict(zip(model.members_["name"], model.members_["status"], strict=True))
    assert status["linear model"].startswith("skipped: loss ")
    assert "linear model" not in model.plan_.names
    again = CommitteeClassifier(random_state=0, members=model.plan_).fit(X, y)
    assert again.weights_ == model.weights_


def test_members_that_are_requested_are_never_skipped() -> None:
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = (X[:, 0] * X[:, 1] > 0.0).astype(int)
    model = CommitteeClassifier(members=["gradient boosting", "linear model"], random_state=0).fit(X, y)
    assert [status[:4] for status in model.members_["status"]] == ["done", "done"]


def test_trees_come_first_where_most_columns_are_categories_or_rows_are_many() -> None:
    from committee.committees.plan import Facts, candidates

    usual = [member.name for member in candidates(Facts(1_000, 10, 2, 0))]
    assert usual.index("laplacian SVM") < usual.index("random forest")
    for facts in (Facts(1_000, 10, 2, 8), Facts(20_000, 10, 2, 0)):
        names = [member.name for member in candidates(facts)]
        assert sorted(names) == sorted(usual)
        assert names.index("random forest") < names.index("linear model") < names.index("laplacian SVM")


def test_given_splits_are_those_of_the_out_of_fold_predictions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60)
    members = [Member("line", "linear model", representation="scaled")]
    splits = list(KFold(3).split(X))
    given = CommitteeRegressor(members=members, cv=splits, random_state=0).fit(X, y)
    shuffled = rng.permutation(60)
    place = np.argsort(shuffled)
    moved = [(place[train], place[test]) for train, test in splits]
    same = CommitteeRegressor(members=members, cv=moved, random_state=0).fit(X[shuffled], y[shuffled])
    assert given.loss_ == same.loss_
    assert given.plan_.n_folds == 3
    other = CommitteeRegressor(members=members, cv=KFold(3, shuffle=True, random_state=1), random_state=0).fit(X, y)
    assert other.loss_ != given.loss_
    forward = CommitteeRegressor(members=members, cv=TimeSeriesSplit(3), random_state=0).fit(X, y)
    assert np.isfinite(forward.loss_)


def test_a_member_without_out_of_bag_rows_is_left_out_with_its_reason() -> None:
    X, y = np.tile(np.eye(2), (4, 1)), np.tile([0.0, 1.0], 4)
    with pytest.warns(UserWarning, match="out of bag"):
        model = CommitteeRegressor(members=["extra trees", "random forest"], random_state=0).fit(X, y)
    assert set(model.weights_) == {"random forest"}
