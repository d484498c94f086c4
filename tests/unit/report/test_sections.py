"""Every section says what the evidence says, and is left out with a reason where there is none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from committee import (
    SVC,
    AdaBoostClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    MixtureOfExpertsClassifier,
    RandomForestRegressor,
    svm_geometry,
)
from committee.base.text import format_number, format_percent
from committee.calibration.prediction_intervals import Residuals
from committee.evaluation.comparison import MethodResult
from committee.evaluation.metrics import format_loss
from committee.explain.forest_importances import KINDS, forest_importances
from committee.explain.label_issues import find_label_issues
from committee.members.numeric_pipeline import NumericPipelineClassifier
from committee.report import _charts as charts
from committee.report._context import Evidence, TableNotes
from committee.report._section import Figure, LeftOut, Section, table
from committee.report.bias_variance import bias_variance
from committee.report.calibration import bin_promises, calibration
from committee.report.comparison import comparison
from committee.report.confusion import confusion
from committee.report.data_quality import data_warnings
from committee.report.diversity import diversity, pairs_of_members
from committee.report.error_curves import error_curves
from committee.report.importances import importances
from committee.report.intervals import crossed_coverage, intervals
from committee.report.label_issues import suspicious
from committee.report.margins import margins
from committee.report.method_cards import properties_card
from committee.report.provenance import provenance
from committee.report.render import render
from committee.report.residuals import residuals
from committee.report.support_vectors import support_vectors
from committee.report.verdict import paired_difference, verdict
from committee.theory.decomposition import decompose_squared_error, decompose_zero_one
from committee.theory.margins import fraction_below
from committee.voting.voting import VotingClassifier
from tests.unit.report.pages import (
    booster,
    forest,
    glass_comparison,
    gradient,
    of_booster,
    of_forest,
    of_numbers,
    ozone_comparison,
    result,
    sample,
)


def made(found: Any) -> Section:
    assert isinstance(found, Section), found
    return found


def left_out(found: Any) -> str:
    assert isinstance(found, LeftOut), found
    return found.why


def rows_of(figure: Figure) -> list[dict[str, Any]]:
    return figure.spec["datasets"]["rows"]


def figure(section: Section, key: str) -> Figure:
    return next(one for one in section.figures if one.key == key)


# --- verdict and comparison ------------------------------------------------------------------------------------------


def test_the_verdict_is_of_rows_that_did_not_choose() -> None:
    found = made(verdict(of_forest(comparison=glass_comparison())))
    assert "the one to use is random forest" in found.lead
    assert "on 42 rows" in found.lead
    assert "25" in found.lead
    assert "20.0%" not in found.lead  # the error that chose it
    assert [tile.value.replace("\xa0", " ") for tile in found.tiles[:2]] == [
        "25.0% ± 5.0%",
        "22.0% ± 3.0%",
    ]
    assert any("slow method" in note for note in found.notes)


@pytest.mark.parametrize(("best", "words"), [(0.2, "more than twice"), (0.399, "within what chance gives")])
def test_a_lead_within_chance_is_called_so(best: float, words: str) -> None:
    found = made(verdict(of_forest(comparison=glass_comparison(best))))
    assert words in found.notes[0]


def test_a_winner_that_is_no_better_than_no_model_is_not_recommended() -> None:
    base = glass_comparison()._replace(nested_loss=0.7, nested_loss_se=0.05)
    worse = made(verdict(of_forest(comparison=base._replace(held_out_losses={"error": 0.9}))))
    assert worse.lead.startswith("None of the 2 methods compared beats always answering the commonest class: the best")
    assert "to use" not in worse.lead
    blind = worse.tiles[-1].value
    assert f"against {blind}" in worse.lead
    near = made(verdict(of_forest(comparison=base._replace(held_out_losses={"error": 0.75}))))
    assert "random forest errs least, but it is not clearly better than always answering" in near.lead
    assert "the one to use" in made(verdict(of_forest(comparison=glass_comparison()))).lead
    nothing = base.results[0]._replace(name="constant")
    none = base._replace(winner="constant", results=(nothing, *base.results[1:]))
    assert made(verdict(of_forest(comparison=none))).lead.startswith("None of the 2 methods")
    alone = made(verdict(of_forest(comparison=none._replace(results=(nothing,)))))
    assert alone.lead.startswith("The one method compared is always answering the commonest class")


def test_no_model_at_all_is_judged_on_the_same_rows_with_the_same_weights() -> None:
    glass, found = sample("glass"), glass_comparison()
    weight = np.random.default_rng(0).integers(0, 5, len(glass.y)).astype(float)
    plain, weighted = (made(verdict(of_forest(comparison=found, weight=each))).tiles[-1] for each in (None, weight))
    for tile, w in ((plain, np.ones(weight.size)), (weighted, weight)):
        labels = np.unique(glass.y)
        commonest = labels[np.argmax([w[found.rows][glass.y[found.rows] == label].sum() for label in labels])]
        error = np.average(glass.y[found.held_out_rows] != commonest, weights=w[found.held_out_rows])
        assert tile.value == f"{100 * error:.1f}%"
    assert "weighted error" in weighted.label
    ozone, numbers = sample("ozone"), ozone_comparison()
    y = np.asarray(ozone.y, np.float64)
    rmse = np.sqrt(np.mean((y[numbers.held_out_rows] - y[numbers.rows].mean()) ** 2))
    assert made(verdict(of_numbers(comparison=numbers))).tiles[-1].value == format_number(float(rmse), 4)


def test_a_column_that_gives_the_target_away_is_in_the_verdict() -> None:
    notes = TableNotes("glass.csv", "type", leaks=("refund",))
    found = made(verdict(of_forest(comparison=glass_comparison(), table=notes)))
    assert "“refund” alone nearly gives the target away" in found.lead


def test_one_method_has_no_nested_choice_and_no_plural() -> None:
    base = glass_comparison()
    alone = base._replace(results=(base.results[1],))
    told = made(verdict(of_forest(comparison=alone)))
    assert told.lead.startswith("The one method compared is random forest")
    assert "nested" not in told.tiles[1].label
    assert made(comparison(of_forest(comparison=alone))).lead.startswith("1 method was fitted")


def test_methods_that_err_alike_stand_in_the_order_of_the_ranking() -> None:
    base = glass_comparison()
    predictions = base.results[0].oof_predictions
    first = result(
        "first listed", [0.3] * 4, predictions, metric_losses={"error": np.full(4, 0.3), "log loss": np.full(4, 0.9)}
    )
    better = first._replace(name="surer", metric_losses={"error": np.full(4, 0.3), "log loss": np.full(4, 0.5)})
    tied = base._replace(results=(first, better), winner="surer")
    found = made(comparison(of_forest(comparison=tied)))
    assert [row["name"] for row in rows_of(found.figures[0])] == ["surer", "first listed"]
    assert [row[0] for row in found.tables[0].rows] == ["surer (chosen)", "first listed"]
    assert "first listed errs exactly as much" in made(verdict(of_forest(comparison=tied))).notes[0]


def test_folds_forward_in_time_are_counted_without_the_first_stretch() -> None:
    base = glass_comparison()
    first = np.arange(base.rows.size) < 30
    forward = base._replace(fold=np.where(first, -1, base.fold), settings={"folds": "forward in time"})
    found = of_forest(comparison=forward)
    assert "the same 4 stretches of time" in made(comparison(found)).lead
    assert "Every row is answered" not in found.judged.words
    assert "Every stretch of time but the first" in found.judged.words


def test_a_model_alone_is_judged_out_of_bag_or_not_at_all() -> None:
    bagged = made(verdict(of_forest()))
    assert "out of bag" in bagged.lead
    assert f"{100 * forest().oob_error_:.1f}" in bagged.lead
    learned = made(verdict(of_booster()))
    assert "cannot be said" in learned.lead
    assert "flatters" in learned.tiles[0].label
    new = made(verdict(of_booster(is_training=False)))
    assert "it had not seen" in new.lead


def test_methods_stand_in_the_order_of_their_errors() -> None:
    found = made(comparison(of_forest(comparison=glass_comparison())))
    assert [row["name"] for row in rows_of(found.figures[0])] == ["random forest", "pruned tree"]
    assert rows_of(found.figures[0])[0]["value"] == pytest.approx(0.2)
    assert found.tables[0].rows[-1][0] == "slow method (out of time)"
    assert found.notes[0] == "slow method, out of time: it would take too long."
    assert found.lead.startswith("2 methods were fitted and evaluated on the same 4 folds")
    assert "1 other could not be evaluated" in found.lead
    assert "flatters" in found.notes[1]
    assert "one model" in left_out(comparison(of_forest()))


def test_a_method_far_off_does_not_press_the_others_together() -> None:
    base = glass_comparison()
    predictions = base.results[0].oof_predictions
    more = tuple(result(f"m{i}", [0.3 + 0.01 * i] * 4, predictions) for i in range(3))
    far = result("constant", [1.2] * 4, predictions)
    found = made(comparison(of_forest(comparison=base._replace(results=(*base.results, *more, far)))))
    assert "constant" not in [row["name"] for row in rows_of(found.figures[0])]
    assert "constant (120" in found.lead
    assert "constant" in [row[0] for row in found.tables[0].rows]


def test_a_method_with_some_folds_is_marked_and_estimated() -> None:
    base = glass_comparison()
    nan = np.nan
    some = result("cut off", [0.01, nan, nan, nan], base.results[0].oof_predictions, status="partial",
                  estimated_loss=0.21, predict_seconds=np.array([1.0, nan, nan, nan]),
                  setting="quick settings")  # fmt: skip
    found = made(comparison(of_forest(comparison=base._replace(results=(*base.results, some)))))
    assert {row["name"]: row["value"] for row in rows_of(found.figures[0])}["cut off"] == pytest.approx(0.21)
    assert "1 method had some of the folds only" in found.lead
    assert next(row for row in found.tables[0].rows if row[0].startswith("cut off"))[1] == "~21.0%"
    table = found.figures[0].table
    assert any(row[0] == "cut off (1 fold, quick settings)" for row in table.rows)


def test_methods_that_are_no_better_than_the_constant_are_named() -> None:
    base = glass_comparison()
    results = tuple(each._replace(beats_constant=each.name == "random forest") for each in base.results)
    found = made(comparison(of_forest(comparison=base._replace(results=results))))
    assert any("pruned tree and slow method are no better than the constant" in note for note in found.notes)


def test_small_errors_keep_two_digits() -> None:
    assert [format_loss("error", value) for value in (0.123, 0.0041, 0.00041, 0.0)] == [
        "12.3%", "0.41%", "0.041%", "0%",
    ]  # fmt: skip


def test_no_bar_of_an_error_begins_below_none() -> None:
    spec = charts.dots(["a", "b"], np.array([0.1, 0.3]), np.array([0.2, 0.1]), 0, "error", True)
    assert [row["low"] for row in spec["datasets"]["rows"]] == pytest.approx([0.0, 0.2])


@pytest.mark.parametrize(
    ("names", "angle"), [(["no", "yes"], 0), (["amphibian", "bird", "fish", "mammal", "mollusc"], -35)]
)
def test_names_of_classes_have_room_on_a_phone(names: list[str], angle: int) -> None:
    spec = charts.confusion(names, np.eye(len(names), dtype=np.int64))
    assert spec["layer"][0]["encoding"]["x"]["axis"]["labelAngle"] == angle


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (MixtureOfExpertsClassifier(n_experts=1), "linear model"),
        (DecisionTreeClassifier(max_depth=1, min_samples_split=10**6), "constant"),
    ],
)
def test_the_card_of_a_class_is_not_that_of_its_least_case(model: Any, words: str) -> None:
    sonar = sample("sonar")
    assert words in left_out(properties_card(Evidence(model.fit(sonar.X, sonar.y), sonar.X, sonar.y)))


def test_large_errors_of_forests_are_written_out() -> None:
    ozone = sample("ozone")
    many = RandomForestRegressor(n_estimators=25, random_state=0).fit(ozone.X, 1000.0 * ozone.y)
    lead = made(diversity(Evidence(many, ozone.X, 1000.0 * ozone.y))).lead
    assert "25 trees leave" in lead
    assert "e+" not in lead


# --- rounds ----------------------------------------------------------------------------------------------------------


def test_curves_are_the_history() -> None:
    found = made(error_curves(of_booster()))
    rows = rows_of(found.figures[0])
    train = [row["y"] for row in rows if row["s"] == "training error"]
    np.testing.assert_allclose(train, booster().history_.train_error, rtol=1e-4)
    bound = [row["y"] for row in rows if row["s"] == "bound of the training error"]
    np.testing.assert_allclose(bound, booster().history_.exponential_risk, rtol=1e-4)
    assert any("vacuous" in note for note in found.notes)  # 208 rows are too few for any bound on new ones


def test_out_of_bag_and_validation_curves() -> None:
    of_trees = made(error_curves(of_forest()))
    np.testing.assert_allclose(
        [row["y"] for row in rows_of(of_trees.figures[0])], forest().history_.oob_error, rtol=1e-4
    )
    ozone = sample("ozone")
    of_rounds = made(error_curves(Evidence(gradient(), ozone.X, ozone.y)))
    assert {row["s"] for row in rows_of(of_rounds.figures[0])} == {"training loss", "validation loss"}
    new = made(error_curves(of_booster(is_training=False)))
    last = [row["y"] for row in rows_of(new.figures[0]) if row["s"] == "error on rows it had not seen"][-1]
    assert last == pytest.approx(1.0 - booster().score(sample("sonar").X, sample("sonar").y), abs=1e-4)


def test_a_tree_has_no_rounds() -> None:
    glass = sample("glass")
    tree = DecisionTreeClassifier(max_depth=3).fit(glass.X, glass.y)
    assert "not learned in rounds" in left_out(error_curves(Evidence(tree, glass.X, glass.y)))


def test_the_slider_has_the_margins_of_every_round() -> None:
    found = made(margins(of_booster()))
    rows = rows_of(found.figures[0])
    staged = list(booster().staged_margins(sample("sonar").X, sample("sonar").y))
    assert {row["t"] for row in rows} == set(range(1, len(staged) + 1))
    for t, values in enumerate(staged, start=1):
        steps = [(row["m"], row["s"]) for row in rows if row["t"] == t]
        assert steps[0][0] == pytest.approx(values.min(), abs=1e-4)
        for margin, share in steps[1:-1]:
            assert share == pytest.approx(fraction_below(values, margin + 1e-4), abs=0.03)
    assert found.figures[0].spec["params"][0]["bind"]["max"] == len(staged)


def test_margins_of_forests_are_those_out_of_bag() -> None:
    found = made(margins(of_forest()))
    assert [one.key for one in found.figures] == ["chart-honest-margins"]
    assert "did not learn from it" in found.lead
    assert "between classes" in left_out(margins(of_numbers()))


# --- columns ---------------------------------------------------------------------------------------------------------


def test_a_forest_shows_all_six_kinds_in_one_order() -> None:
    found = made(importances(of_forest()))
    assert [one.key.removeprefix("chart-importance-").replace("-", "_") for one in found.figures] == list(KINDS)
    glass = sample("glass")
    truth = forest_importances(forest(), glass.X, glass.y, random_state=0)
    names = [[row["name"] for row in rows_of(one)] for one in found.figures]
    assert all(order == names[0] for order in names)
    for one, kind in zip(found.figures, KINDS, strict=True):
        expected = dict(zip(truth.names, truth.of(kind).raw, strict=True))
        for row in rows_of(one):
            assert row["value"] == pytest.approx(expected[row["name"]], rel=1e-4)


def test_other_models_have_splits_exchanges_and_shap() -> None:
    found = made(importances(of_booster()))
    assert [one.key for one in found.figures] == [
        "chart-importance-exchange", "chart-importance-gain", "chart-importance-frequency", "chart-importance-shap"
    ]  # fmt: skip
    assert max(float(cells[3]) for cells in found.figures[1].table.rows) == 100.0
    unit = found.figures[0].table.header[1]
    assert unit == "increase in log-loss"
    assert unit in found.figures[0].title
    assert all(cells[2] != "—" for cells in found.figures[0].table.rows)


def test_shap_values_that_would_take_minutes_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.report.importances.MAX_WALKED", 10)
    assert "chart-importance-shap" not in [one.key for one in made(importances(of_booster())).figures]


# --- answers ---------------------------------------------------------------------------------------------------------


def test_calibration_bins_say_what_came_true() -> None:
    rng = np.random.default_rng(0)
    said = rng.random(20_000)
    bins = bin_promises(said, rng.random(20_000) < said)
    assert bins.n.sum() == 20_000
    assert np.all(np.abs(bins.said - bins.seen) < 4.0 * bins.error)
    off = bin_promises(said, rng.random(20_000) < said**2)
    assert np.max(np.abs(off.said - off.seen) / off.error) > 10.0


def test_calibration_tells_chance_from_fault() -> None:
    base = glass_comparison()
    rng = np.random.default_rng(3)
    shares = rng.dirichlet(np.ones(6), base.rows.size)
    told = [calibration_of(base, shares, _drawn(shares**power, rng)) for power in (1.0, 4.0)]
    assert "not larger than chance" in told[0]
    assert "too small: more than chance gives" in told[1]  # the likeliest class comes true more often than it says


def _drawn(shares: Any, rng: np.random.Generator) -> Any:
    """A class for each row by these chances."""
    edges = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
    return (rng.random((len(shares), 1)) > edges).sum(axis=1).clip(0, shares.shape[1] - 1)


def calibration_of(base: Any, shares: Any, codes: Any) -> str:
    """The lead of the section for these probabilities and outcomes."""
    labels = np.asarray(sample("glass").y).copy()
    labels[base.rows] = np.array(base.classes)[codes]
    results = tuple(one._replace(oof_predictions=shares) for one in base.results)
    evidence = Evidence(forest(), sample("glass").X, labels, comparison=base._replace(results=results))
    return made(calibration(evidence)).lead


def test_calibration_is_of_honest_answers_only() -> None:
    assert "surer than they are" in left_out(calibration(of_booster()))
    found = made(calibration(of_forest()))
    assert "did not learn from it" in found.lead
    assert sum(row["n"] for row in rows_of(found.figures[0])) == 214


def test_confusion_counts_rows() -> None:
    evidence = of_forest(comparison=glass_comparison())
    found = made(confusion(evidence))
    judged = evidence.judged
    truth = confusion_matrix(judged.truth, judged.answer, labels=np.arange(len(evidence.classes)))
    np.testing.assert_array_equal([row["n"] for row in rows_of(found.figures[0])], truth.ravel())
    assert "same folds chose the winner" in found.lead
    assert "residuals" in left_out(confusion(of_numbers()))


def test_residuals_and_intervals_of_known_noise() -> None:
    evidence = of_numbers(comparison=ozone_comparison())
    found = made(residuals(evidence))
    assert float(found.tiles[0].value) == pytest.approx(2.0, rel=0.15)
    held = made(intervals(evidence))
    inside = {row["x"]: row["y"] for row in rows_of(figure(held, "chart-coverage"))}
    for level, share in inside.items():
        assert share == pytest.approx(level, abs=4.0 * np.sqrt(level * (1 - level) / 289))
    assert float(held.tiles[-1].value) == pytest.approx(2.0 * 1.645 * 2.0, rel=0.2)  # 90 % of a normal error
    assert "is a class" in left_out(intervals(of_forest()))
    assert "is a class" in left_out(residuals(of_forest()))


def test_intervals_of_the_model_itself_are_judged_on_new_rows() -> None:
    ozone = sample("ozone")
    X, y = ozone.X.iloc[::2], np.asarray(ozone.y, np.float64)[::2]
    half = RandomForestRegressor(n_estimators=25, random_state=0).fit(X, y)
    new, truth = ozone.X.iloc[1::2], np.asarray(ozone.y, np.float64)[1::2]
    found = made(intervals(Evidence(half, new, truth, is_training=False)))
    low, high = half.predict_interval(new).T
    share = 100.0 * np.mean((low <= truth) & (truth <= high))
    assert f"intervals cover {share:.1f}%" in found.lead
    shown = figure(found, "chart-coverage").table
    for level, row in zip((0.5, 0.8, 0.9, 0.95), shown.rows, strict=True):
        low, high = half.predict_interval(new, level).T
        parts = [np.mean((low <= truth) & (truth <= high)), np.mean(truth < low), np.mean(truth > high)]
        assert [row[1], row[3], row[4]] == [format_percent(float(part)) for part in parts]


def test_a_promise_that_new_rows_break_is_said_and_a_bias_too() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    y = X[:, 0] + rng.normal(size=900)
    model = RandomForestRegressor(n_estimators=25, random_state=0).fit(X[:300], y[:300])
    drifted = Evidence(model, X[300:], y[300:] + 2.0, is_training=False)
    low, high = model.predict_interval(X[300:]).T
    inside = np.mean((low <= y[300:] + 2.0) & (y[300:] + 2.0 <= high))
    assert inside < 0.6
    found = made(intervals(drifted))
    assert found.lead.startswith(f"The promise is broken: 90% intervals cover {format_percent(float(inside))}")
    section, said = made(residuals(drifted)), verdict(drifted).lead
    error = y[300:] + 2.0 - model.predict(X[300:])
    mean = format_number(float(error.mean()), stderr=float(error.std(ddof=1) / np.sqrt(600)))
    assert section.tiles[3].value == mean
    assert section.tiles[4].value == format_percent(float(np.mean(error > 0.0)))
    words = f"The predictions are too low: truth less prediction is {mean} on average"
    assert words in section.lead
    assert words in said
    assert "The promise is broken" in said
    fair = Evidence(model, X[300:], y[300:], is_training=False)
    assert "too low" not in made(residuals(fair)).lead + verdict(fair).lead
    assert "within chance" in made(intervals(fair)).lead


def test_held_out_rows_of_a_comparison_have_intervals_of_the_out_of_fold_residuals() -> None:
    evidence = of_numbers(comparison=ozone_comparison())
    comparison = evidence.comparison
    assert comparison is not None
    predictions = np.full(comparison.held_out_rows.size, 10.0)
    evidence.comparison = comparison._replace(held_out_predictions=predictions)
    judged = evidence.judged
    ends = Residuals.of(judged.truth - judged.answer, np.ones(judged.rows.size)).ends(0.9)
    truth = evidence.y[comparison.held_out_rows].astype(float)
    inside = np.mean((10.0 + ends[0] <= truth) & (truth <= 10.0 + ends[1]))
    found = made(intervals(evidence))
    assert found.tiles[1].value.startswith(format_percent(float(inside)))
    assert "On the held-out rows, with ends from the out-of-fold residuals" in found.lead
    assert len(found.tables[0].rows) == 4


def test_intervals_of_few_rows_say_what_they_cannot_promise() -> None:
    ozone = sample("ozone")
    X, y = ozone.X, np.asarray(ozone.y, np.float64)
    few = RandomForestRegressor(n_estimators=25, random_state=0).fit(X.iloc[:12], y[:12])
    found = made(intervals(Evidence(few, X.iloc[12:57], y[12:57], is_training=False)))
    assert "The ends come from 12 residuals, and it takes 19 for 90% and 39 for 95%" in found.notes[-1]
    assert "promise 84.6% only" in found.notes[-1]  # 11 / 13
    own = made(
        intervals(Evidence(RandomForestRegressor(50, random_state=0).fit(X.iloc[:45], y[:45]), X.iloc[:45], y[:45]))
    )
    assert "Some ends come from 36 residuals, and it takes 39 for 95%" in own.notes[-1]
    assert "promise 94.6% only" in own.notes[-1]  # 35 / 37


def test_crossed_coverage_does_not_judge_by_its_own_rows() -> None:
    error = np.concatenate([np.zeros(50), np.full(50, 100.0)])
    apart = crossed_coverage(error, np.repeat([0, 1], 50), 0.8)
    assert apart.inside == 0.0  # the ends of one group hold no row of the other


# --- members ---------------------------------------------------------------------------------------------------------


def test_kappa_of_pairs_is_cohens() -> None:
    rng = np.random.default_rng(0)
    right = rng.random((60, 4)) < 0.7
    kappa, error = pairs_of_members(right)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    for (i, j), value, mean in zip(pairs, kappa, error, strict=True):
        assert value == pytest.approx(cohen_kappa_score(right[:, i], right[:, j]))
        assert mean == pytest.approx(1.0 - 0.5 * (right[:, i].mean() + right[:, j].mean()))


def test_members_of_forests_and_boosters() -> None:
    of_trees = made(diversity(of_forest()))
    assert [one.key for one in of_trees.figures] == ["chart-trees"]
    expected = rows_of(of_trees.figures[0])
    assert expected[0]["y"] > expected[10]["y"]  # averaging removes variance
    votes = made(diversity(of_booster()))
    assert len(rows_of(figure(votes, "chart-kappa"))) == 25 * 24 // 2


def test_committees_of_models_show_their_weights() -> None:
    glass = sample("glass")
    members = [("tree", DecisionTreeClassifier(max_depth=3)), ("stump", DecisionTreeClassifier(max_depth=1))]
    vote = VotingClassifier(members, weights=[3.0, 1.0]).fit(glass.X, glass.y)
    found = made(diversity(Evidence(vote, glass.X, glass.y)))
    assert [(row["name"], row["value"]) for row in rows_of(found.figures[0])] == [("tree", 0.75), ("stump", 0.25)]


def test_a_support_vector_machine_shows_its_plane() -> None:
    sonar = sample("sonar")
    machine = NumericPipelineClassifier(SVC()).fit(sonar.X, sonar.y)
    found = made(support_vectors(Evidence(machine, sonar.X, sonar.y)))
    truth = svm_geometry(machine.estimator_, machine.encode(sonar.X), sonar.y)
    assert [row[1] for row in found.tables[0].rows] == [
        str(truth.count(kind)) for kind in ("free", "bounded", "outside")
    ]
    assert sum(row["n"] for row in rows_of(found.figures[0])) == 208
    assert "no support vector machine" in left_out(support_vectors(of_forest()))


def test_bias_and_variance_are_the_parts_given() -> None:
    rng = np.random.default_rng(0)
    predictions, truth = rng.normal(1.0, 0.5, (30, 40)), np.zeros(40)
    study = {
        "tree": decompose_squared_error(predictions, truth, 0.25),
        "line": decompose_squared_error(predictions / 2, truth),
    }
    found = made(bias_variance(of_forest(bias_variance=study)))
    parts = {(row["name"], row["part"]): row["value"] for row in rows_of(found.figures[0])}
    assert parts["tree", "bias"] == pytest.approx(1.0, abs=0.1)
    assert parts["tree", "variance"] == pytest.approx(0.25, abs=0.1)
    assert parts["tree", "noise"] == 0.25
    assert "the smallest bias and the smallest variance are those of line" in found.lead
    assert "not asked for" in left_out(bias_variance(of_forest()))


def test_parts_below_zero_are_explained_and_none_at_all_is_left_out() -> None:
    truth = np.zeros(40, np.int64)
    mostly_wrong = np.where(np.arange(30)[:, None] < 20, 1, 0) * np.ones((1, 40), np.int64)
    study = {"tree": decompose_zero_one(mostly_wrong, truth)}
    assert any("below zero is no slip" in note for note in made(bias_variance(of_forest(bias_variance=study))).notes)
    perfect = {"tree": decompose_zero_one(np.zeros((30, 40), np.int64), truth)}
    assert "nothing to take apart" in left_out(bias_variance(of_forest(bias_variance=perfect)))


# --- rows ------------------------------------------------------------------------------------------------------------


def test_odd_things_in_a_table_are_told() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"a": rng.normal(size=60), "b": 1.0, "c": np.where(np.arange(60) < 15, np.nan, 2.0 * np.arange(60))}
    )
    X.loc[1] = X.loc[0]
    y = np.where(np.arange(60) < 55, "x", "y")
    y[0], y[1] = "x", "y"
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    text = "\n".join(made(data_warnings(Evidence(model, X, y))).notes)
    assert "1 column has missing values (c), at most 25" in text
    assert "1 column is constant and tells nothing: b" in text
    assert "1 row repeats another one" in text
    assert "1 pair of rows with the same features differ in the target" in text
    assert "fewer than 10 rows (y)" in text
    assert "90.0% of the rows are x" in text
    assert made(data_warnings(of_numbers())).tiles[0].value == "361"
    told = made(data_warnings(Evidence(model, X, y, table=TableNotes("t.csv", "y", ("1 row is a copy",))))).notes
    assert told[0] == "1 row is a copy"
    assert not any("repeats another" in note or "fewer than 10" in note for note in told)
    assert any("differ in the target" in note for note in told)


def test_suspicious_rows_are_those_of_explain() -> None:
    found = made(suspicious(of_booster()))
    truth = find_label_issues(booster(), sample("sonar").X, sample("sonar").y, n=15)
    assert [row[0] for row in found.tables[0].rows] == [str(row) for row in truth.rows]
    evidence = of_forest(comparison=glass_comparison())
    by_prediction = made(suspicious(evidence))
    judged = evidence.judged
    assert judged.shares is not None
    own = judged.shares[np.arange(judged.rows.size), judged.truth]
    assert by_prediction.tables[0].rows[0][0] == str(judged.rows[own.argmin()])
    of_number = made(suspicious(of_numbers()))
    worst = np.abs(number_residuals()).argmax()
    assert of_number.tables[0].rows[0][0] == str(worst)


def test_suspicious_rows_have_the_numbers_of_the_file() -> None:
    plain = made(suspicious(of_numbers())).tables[0].rows
    in_file = np.arange(len(sample("ozone").y)) * 2 + 5
    found = made(suspicious(of_numbers(table=TableNotes("o.csv", "ozone", rows=in_file)))).tables[0].rows
    assert [int(row[0]) for row in found] == [2 * int(row[0]) + 5 for row in plain]


def test_a_part_of_the_training_rows_gets_its_own_answers_out_of_bag() -> None:
    glass, some = sample("glass"), np.array([9, 3, 40, 41])
    part = Evidence(forest(), glass.X.iloc[some], glass.y[some], is_training=False, training_places=some)
    assert part.judged.source == "out of bag"
    np.testing.assert_array_equal(part.judged.shares, forest().oob_decision_function_[some])
    unknown = Evidence(forest(), glass.X.iloc[some], glass.y[some], is_training=None)
    assert "may have seen or not" in made(verdict(unknown)).lead
    learned = Evidence(booster(), sample("sonar").X.iloc[some], sample("sonar").y[some], is_training=False,
                       training_places=some)  # fmt: skip
    assert "cannot be said" in made(verdict(learned)).lead


def test_a_model_that_looks_at_no_column_has_no_importances() -> None:
    glass = sample("glass")
    constant = DecisionTreeClassifier(max_depth=1, min_impurity_decrease=1e9).fit(glass.X, glass.y)
    assert "without looking" in left_out(importances(Evidence(constant, glass.X, glass.y)))


def test_residuals_beyond_the_histogram_are_named() -> None:
    evidence = of_numbers()
    found = figure(made(residuals(evidence)), "chart-residual-histogram")
    assert "the outermost bars hold the rows beyond them too" in found.title
    assert any("beyond the chart" in cell for row in found.table.rows for cell in row)


def test_the_loss_of_squared_errors_is_called_half_of_them() -> None:
    found = made(error_curves(Evidence(gradient(), sample("ozone").X, sample("ozone").y)))
    assert "The loss is half the mean squared error." in found.lead


def number_residuals() -> Any:
    evidence = of_numbers()
    return evidence.judged.truth - evidence.judged.answer


def test_a_model_that_knows_its_rows_by_heart_suspects_none() -> None:
    glass = sample("glass")
    tree = DecisionTreeClassifier().fit(glass.X, glass.y)
    assert "by heart" in left_out(suspicious(Evidence(tree, glass.X, glass.y)))


# --- what was run ----------------------------------------------------------------------------------------------------


def test_the_lines_to_repeat_make_the_same_model() -> None:
    found = made(provenance(of_booster(seed=7)))
    sonar = sample("sonar")
    scope: dict[str, Any] = {"X": sonar.X, "y": sonar.y}
    exec(found.code, scope)  # our own lines
    assert isinstance(scope["model"], AdaBoostClassifier)
    np.testing.assert_array_equal(scope["model"].decision_function(sonar.X), booster().decision_function(sonar.X))
    assert "seed 7" in found.lead
    told = made(provenance(of_booster(table=TableNotes("t.csv", "y", (), "committee compare t.csv --target y"))))
    assert told.code == "committee compare t.csv --target y"
    packages = next(one for one in found.folded if one.caption == "Versions")
    assert packages.rows[0][0] == "committee"


def test_rows_and_targets_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="one target for each row"):
        Evidence(forest(), sample("glass").X, sample("glass").y[:10])


def test_the_lead_of_the_winner_has_the_standard_error_of_folds_that_share_rows() -> None:
    folds = [0.2, 0.3, 0.25, 0.35], [0.1, 0.25, 0.2, 0.2]
    one, other = (cast(MethodResult, SimpleNamespace(losses=np.array(errors))) for errors in folds)
    difference = np.array([0.1, 0.05, 0.05, 0.15])
    lead, error = paired_difference(one, other)
    assert lead == pytest.approx(difference.mean())
    assert error == pytest.approx(np.sqrt((1 / 4 + 1 / 3) * difference.var(ddof=1)))


def test_thousands_are_written_out_on_the_axis_of_the_methods() -> None:
    spec = charts.dots(["a", "b"], np.array([4e3, 5e3]), np.array([10.0, 10.0]), 0, "rmse", False)
    assert spec["layer"][0]["encoding"]["x"]["axis"]["format"] == ",~r"


def test_only_the_card_shows_yes_and_no_as_answers() -> None:
    cells = table("Rows", "name|said", [("a", "yes")])
    for is_card in (False, True):
        section = Section("some", "Some", "", tables=(cells._replace(is_card=is_card),))
        assert ('<span class="badge">yes' in render(of_forest(), [section], "Title")) == is_card


# --- committees, units and digits -------------------------------------------------------------------------------------


def test_any_model_has_sampled_shap_values_with_errors_and_partial_dependence() -> None:
    from committee import CommitteeClassifier, CommitteeRegressor
    from committee.report.partial_dependence import partial_dependence

    glass, ozone = sample("glass"), sample("ozone")
    models = (
        (CommitteeClassifier(members=["extra trees", "linear model"], random_state=0), glass),
        (CommitteeRegressor(members=["extra trees", "linear model"], random_state=0), ozone),
    )
    for model, data in models:
        evidence = Evidence(model.fit(data.X, data.y), data.X, data.y)
        found = made(importances(evidence))
        shap = next(one for one in found.figures if one.key == "chart-importance-sampled-shap")
        assert all(cells[2] not in ("—", "0") for cells in shap.table.rows if float(cells[1]) > 0.0)
        curves = made(partial_dependence(evidence))
        assert len(curves.figures) == 6
        assert curves.figures[0].key == "chart-dependence-0"


def test_bias_and_variance_are_shown_in_the_unit_of_the_target_too() -> None:
    from committee.evaluation.compare_bias_variance import compare_bias_variance

    ozone = sample("ozone")
    found = compare_bias_variance(ozone.X, ozone.y, task="regression", n_sets=4, n_estimators=3, random_state=0)
    parts = {name: one.decomposition for name, one in found.results.items()}
    tree = DecisionTreeRegressor(max_depth=3).fit(ozone.X, ozone.y)
    section = made(bias_variance(Evidence(tree, ozone.X, ozone.y, bias_variance=parts)))
    roots = section.tables[0]
    assert roots.header == ("method", "bias (root)", "variance (root)", "RMSE")
    for _, bias, variance, rmse in roots.rows:
        assert float(bias) ** 2 + float(variance) ** 2 == pytest.approx(float(rmse) ** 2, rel=0.03)
    assert any("add up only in squares" in note for note in section.notes)


def test_a_calibrated_forest_is_evaluated_by_calibrated_out_of_bag_probabilities() -> None:
    from committee.calibration.power import Calibration
    from committee.report._context import Evidence
    from committee.voting.calibrated_classifier import CalibratedClassifier

    glass = sample("glass")
    calibration = Calibration(2.0, 0.05, 1.0, 0.9)
    found = Evidence(CalibratedClassifier.from_fitted(forest(), calibration), glass.X, glass.y)
    assert found.core is forest()
    assert found.judged.source == "out of bag"
    given = np.isfinite(forest().oob_decision_function_).all(axis=1)
    expected = calibration.apply(forest().oob_decision_function_[given])
    np.testing.assert_allclose(found.judged.shares, expected)
