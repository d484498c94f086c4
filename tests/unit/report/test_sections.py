"""The values that every section shows, and the reasons for omitted ones."""

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
from committee.report._coverage import cross_validated_intervals
from committee.report._section import Figure, Omitted, Section, table
from committee.report.bias_variance import bias_variance
from committee.report.calibration import calibration, make_bins
from committee.report.comparison import comparison
from committee.report.confusion import confusion
from committee.report.context import TableNotes
from committee.report.data_quality import data as data_section
from committee.report.importances import importances
from committee.report.intervals import intervals
from committee.report.label_issues import label_issues
from committee.report.margins import margins
from committee.report.members import kappa_and_error, members
from committee.report.method_cards import properties_card
from committee.report.provenance import provenance
from committee.report.render import render
from committee.report.residuals import residuals
from committee.report.summary import paired_difference, summary
from committee.report.support_vectors import support_vectors
from committee.report.training_history import training_history
from committee.theory.decomposition import decompose_squared_error, decompose_zero_one
from committee.theory.margins import fraction_below
from committee.voting.voting import VotingClassifier
from tests.unit.report.pages import (
    booster,
    context_of,
    forest,
    glass_comparison,
    gradient,
    of_booster,
    of_forest,
    of_regression,
    ozone_comparison,
    result,
    sample,
)


def made(found: Any) -> Section:
    assert isinstance(found, Section), found
    return found


def omitted(found: Any) -> str:
    assert isinstance(found, Omitted), found
    return found.reason


def rows_of(figure: Figure) -> list[dict[str, Any]]:
    return figure.spec["datasets"]["rows"]


def figure(section: Section, key: str) -> Figure:
    return next(one for one in section.figures if one.key == key)


# --- verdict and comparison ------------------------------------------------------------------------------------------


def test_the_summary_is_of_held_out_rows() -> None:
    found = made(summary(of_forest(comparison=glass_comparison())))
    assert "Selected of 2 methods: random forest" in found.lead
    assert "on 42 rows" in found.lead
    assert "25" in found.lead
    assert "20.0%" not in found.lead  # the error that selected it
    assert [tile.value.replace("\xa0", " ") for tile in found.tiles[:2]] == [
        "25.0% ± 5.0%",
        "22.0% ± 3.0%",
    ]
    assert any("slow method" in note for note in found.notes)


@pytest.mark.parametrize(
    ("best", "words"), [(0.2, "more than two standard errors"), (0.399, "within two standard errors")]
)
def test_the_lead_is_compared_with_its_standard_error(best: float, words: str) -> None:
    found = made(summary(of_forest(comparison=glass_comparison(best))))
    assert words in found.notes[0]


def test_a_method_that_is_not_better_than_the_baseline_is_not_selected() -> None:
    base = glass_comparison()._replace(nested_loss=0.7, nested_loss_se=0.05)
    worse = made(summary(of_forest(comparison=base._replace(held_out_losses={"error": 0.9}))))
    assert worse.lead.startswith("None of the 2 methods is better than predicting the most frequent class")
    assert "Selected" not in worse.lead
    assert f"baseline {worse.tiles[-1].value}" in worse.lead
    near = made(summary(of_forest(comparison=base._replace(held_out_losses={"error": 0.75}))))
    assert "random forest, not significantly better" in near.lead
    assert "Selected" in made(summary(of_forest(comparison=glass_comparison()))).lead
    nothing = base.results[0]._replace(name="constant")
    none = base._replace(winner="constant", results=(nothing, *base.results[1:]))
    assert made(summary(of_forest(comparison=none))).lead.startswith("None of the 2 methods")
    alone = made(summary(of_forest(comparison=none._replace(results=(nothing,)))))
    assert alone.lead.startswith("Constant, the only method, is not better")


def test_the_baseline_is_evaluated_on_the_same_rows_with_the_same_weights() -> None:
    glass, found = sample("glass"), glass_comparison()
    weight = np.random.default_rng(0).integers(0, 5, len(glass.y)).astype(float)
    plain, weighted = (made(summary(of_forest(comparison=found, weight=each))).tiles[-1] for each in (None, weight))
    for tile, w in ((plain, np.ones(weight.size)), (weighted, weight)):
        labels = np.unique(glass.y)
        commonest = labels[np.argmax([w[found.rows][glass.y[found.rows] == label].sum() for label in labels])]
        error = np.average(glass.y[found.held_out_rows] != commonest, weights=w[found.held_out_rows])
        assert tile.value == f"{100 * error:.1f}%"
    assert "weighted error" in weighted.label
    ozone, compared = sample("ozone"), ozone_comparison()
    y = np.asarray(ozone.y, np.float64)
    rmse = np.sqrt(np.mean((y[compared.held_out_rows] - y[compared.rows].mean()) ** 2))
    assert made(summary(of_regression(comparison=compared))).tiles[-1].value == format_number(float(rmse), 4)


def test_leakage_is_in_the_summary() -> None:
    notes = TableNotes("glass.csv", "type", leaks=("refund",))
    found = made(summary(of_forest(comparison=glass_comparison(), notes=notes)))
    assert "leakage: “refund”" in found.lead


def test_a_single_method_has_no_nested_loss() -> None:
    base = glass_comparison()
    alone = base._replace(results=(base.results[1],))
    found = made(summary(of_forest(comparison=alone)))
    assert found.lead.startswith("Only method: random forest")
    assert "nested" not in found.tiles[1].label
    assert made(comparison(of_forest(comparison=alone))).lead.startswith("1 method, 4-fold")


def test_ties_are_in_the_order_of_the_ranking() -> None:
    base = glass_comparison()
    predictions = base.results[0].oof_predictions
    first = result(
        "first listed", [0.3] * 4, predictions, metric_losses={"error": np.full(4, 0.3), "log loss": np.full(4, 0.9)}
    )
    better = first._replace(name="better", metric_losses={"error": np.full(4, 0.3), "log loss": np.full(4, 0.5)})
    tied = base._replace(results=(first, better), winner="better")
    found = made(comparison(of_forest(comparison=tied)))
    assert [row["name"] for row in rows_of(found.figures[0])] == ["better", "first listed"]
    assert [row[0] for row in found.tables[0].rows] == ["better (selected)", "first listed"]
    assert "first listed has the same loss" in made(summary(of_forest(comparison=tied))).notes[0]


def test_folds_forward_in_time_are_counted_without_the_first_period() -> None:
    base = glass_comparison()
    first = np.arange(base.rows.size) < 30
    forward = base._replace(fold=np.where(first, -1, base.fold), settings={"folds": "forward in time"})
    found = of_forest(comparison=forward)
    assert "4 consecutive periods" in made(comparison(found)).lead
    assert found.evaluation.source == "forward in time"


def test_a_model_is_evaluated_out_of_bag_or_not_at_all() -> None:
    bagged = made(summary(of_forest()))
    assert "out-of-bag error" in bagged.lead
    assert f"{100 * forest().oob_error_:.1f}" in bagged.lead
    in_sample = made(summary(of_booster()))
    assert "no estimate" in in_sample.lead
    assert "optimistic" in in_sample.tiles[0].label
    new = made(summary(of_booster(is_training=False)))
    assert "new rows" in new.lead


def test_methods_are_in_the_order_of_their_errors() -> None:
    found = made(comparison(of_forest(comparison=glass_comparison())))
    assert [row["name"] for row in rows_of(found.figures[0])] == ["random forest", "pruned tree"]
    assert rows_of(found.figures[0])[0]["value"] == pytest.approx(0.2)
    assert found.tables[0].rows[-1][0] == "slow method (out of time)"
    assert found.notes[0] == "slow method, out of time: it would take too long."
    assert found.lead.startswith("2 methods, 4-fold cross-validation")
    assert "Not evaluated: 1 method" in found.lead
    assert "optimistic" in found.notes[1]
    assert "one model" in omitted(comparison(of_forest()))


def test_outliers_are_not_drawn() -> None:
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
    assert "some of the folds" in found.lead
    assert next(row for row in found.tables[0].rows if row[0].startswith("cut off"))[1] == "~21.0%"
    table = found.figures[0].table
    assert any(row[0] == "cut off (1 fold, quick settings)" for row in table.rows)


def test_methods_that_are_not_better_than_the_constant_are_named() -> None:
    base = glass_comparison()
    results = tuple(each._replace(beats_constant=each.name == "random forest") for each in base.results)
    found = made(comparison(of_forest(comparison=base._replace(results=results))))
    assert any("constant" in note and "pruned tree and slow method" in note for note in found.notes)


def test_small_errors_keep_two_digits() -> None:
    assert [format_loss("error", value) for value in (0.123, 0.0041, 0.00041, 0.0)] == [
        "12.3%", "0.41%", "0.041%", "0%",
    ]  # fmt: skip


def test_error_bars_of_losses_are_not_negative() -> None:
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
def test_degenerate_models_have_no_card(model: Any, words: str) -> None:
    sonar = sample("sonar")
    assert words in omitted(properties_card(context_of(model.fit(sonar.X, sonar.y), sonar.X, sonar.y)))


def test_large_errors_of_forests_are_written_out() -> None:
    ozone = sample("ozone")
    many = RandomForestRegressor(n_estimators=25, random_state=0).fit(ozone.X, 1000.0 * ozone.y)
    lead = made(members(context_of(many, ozone.X, 1000.0 * ozone.y))).lead
    assert "with 25" in lead
    assert "e+" not in lead


# --- rounds ----------------------------------------------------------------------------------------------------------


def test_curves_are_the_history() -> None:
    found = made(training_history(of_booster()))
    rows = rows_of(found.figures[0])
    train = [row["y"] for row in rows if row["s"] == "training error"]
    np.testing.assert_allclose(train, booster().history_.train_error, rtol=1e-4)
    bound = [row["y"] for row in rows if row["s"] == "bound of the training error"]
    np.testing.assert_allclose(bound, booster().history_.exponential_risk, rtol=1e-4)
    assert any("vacuous" in note for note in found.notes)  # 208 rows are too few for any bound on new ones


def test_out_of_bag_and_validation_curves() -> None:
    of_trees = made(training_history(of_forest()))
    np.testing.assert_allclose(
        [row["y"] for row in rows_of(of_trees.figures[0])], forest().history_.oob_error, rtol=1e-4
    )
    ozone = sample("ozone")
    of_rounds = made(training_history(context_of(gradient(), ozone.X, ozone.y)))
    assert {row["s"] for row in rows_of(of_rounds.figures[0])} == {"training loss", "validation loss"}
    new = made(training_history(of_booster(is_training=False)))
    last = [row["y"] for row in rows_of(new.figures[0]) if row["s"] == "error on new rows"][-1]
    assert last == pytest.approx(1.0 - booster().score(sample("sonar").X, sample("sonar").y), abs=1e-4)


def test_a_tree_has_no_history() -> None:
    glass = sample("glass")
    tree = DecisionTreeClassifier(max_depth=3).fit(glass.X, glass.y)
    assert "not fitted iteratively" in omitted(training_history(context_of(tree, glass.X, glass.y)))


def test_the_slider_has_the_margins_of_every_round() -> None:
    found = made(margins(of_booster()))
    rows = rows_of(found.figures[0])
    staged = list(booster().staged_margins(sample("sonar").X, sample("sonar").y))
    assert {row["t"] for row in rows} == set(range(1, len(staged) + 1))
    for t, values in enumerate(staged, start=1):
        steps = [(row["m"], row["s"]) for row in rows if row["t"] == t]
        assert steps[0][0] == pytest.approx(values.min(), abs=1e-4)
        for margin, fraction in steps[1:-1]:
            assert fraction == pytest.approx(fraction_below(values, margin + 1e-4), abs=0.03)
    assert found.figures[0].spec["params"][0]["bind"]["max"] == len(staged)


def test_margins_of_forests_are_those_out_of_bag() -> None:
    found = made(margins(of_forest()))
    assert [one.key for one in found.figures] == ["chart-margins-out-of-sample"]
    assert "Out-of-bag" in found.lead
    assert "two classes" in omitted(margins(of_regression()))


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


def test_other_models_have_permutation_split_and_shap_importances() -> None:
    found = made(importances(of_booster()))
    assert [one.key for one in found.figures] == [
        f"chart-importance-{kind}" for kind in ("model-permutation", "gain", "frequency", "shap")
    ]
    assert max(float(cells[3]) for cells in found.figures[1].table.rows) == 100.0
    unit = found.figures[0].table.header[1]
    assert unit == "increase in log-loss"
    assert unit in str(found.figures[0].spec)
    assert all(cells[2] != "—" for cells in found.figures[0].table.rows)


def test_shap_values_that_would_take_minutes_are_omitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.report.importances.MAX_SHAP_NODES", 10)
    assert "chart-importance-shap" not in [one.key for one in made(importances(of_booster())).figures]


# --- predictions -----------------------------------------------------------------------------------------------------


def test_calibration_bins() -> None:
    rng = np.random.default_rng(0)
    expected = rng.random(20_000)
    bins = make_bins(expected, rng.random(20_000) < expected)
    assert bins.n.sum() == 20_000
    assert np.all(np.abs(bins.expected - bins.observed) < 4.0 * bins.stderr)
    off = make_bins(expected, rng.random(20_000) < expected**2)
    assert np.max(np.abs(off.expected - off.observed) / off.stderr) > 10.0


def test_miscalibration_is_tested() -> None:
    base = glass_comparison()
    rng = np.random.default_rng(3)
    probability = rng.dirichlet(np.ones(6), base.rows.size)
    leads = [calibration_of(base, probability, _drawn(probability**power, rng)) for power in (1.0, 4.0)]
    assert "within sampling error" in leads[0]
    assert "too small on average" in leads[1]


def _drawn(probability: Any, rng: np.random.Generator) -> Any:
    """A class for each row by these chances."""
    edges = np.cumsum(probability / probability.sum(axis=1, keepdims=True), axis=1)
    return (rng.random((len(probability), 1)) > edges).sum(axis=1).clip(0, probability.shape[1] - 1)


def calibration_of(base: Any, probability: Any, codes: Any) -> str:
    """The lead of the section for these probabilities and outcomes."""
    labels = np.asarray(sample("glass").y).copy()
    labels[base.rows] = np.array(base.classes)[codes]
    results = tuple(one._replace(oof_predictions=probability) for one in base.results)
    context = context_of(
        forest(), sample("glass").X, labels, comparison=base._replace(results=results), is_training=False
    )
    return made(calibration(context)).lead


def test_calibration_is_of_out_of_sample_predictions() -> None:
    assert "in-sample" in omitted(calibration(of_booster()))
    found = made(calibration(of_forest()))
    assert "Out-of-bag" in found.lead
    assert sum(int(row[-1]) for row in found.figures[0].table.rows) == 214


def test_confusion_counts_rows() -> None:
    context = of_forest(comparison=glass_comparison())
    found = made(confusion(context))
    evaluated = context.evaluation
    truth = confusion_matrix(evaluated.y_true, evaluated.y_pred, labels=np.arange(len(context.classes)))
    np.testing.assert_array_equal([row["n"] for row in rows_of(found.figures[0])], truth.ravel())
    assert "same folds" in found.lead
    assert "continuous" in omitted(confusion(of_regression()))


def test_residuals_and_intervals_of_known_noise() -> None:
    context = of_regression(comparison=ozone_comparison())
    found = made(residuals(context))
    assert float(found.tiles[0].value) == pytest.approx(2.0, rel=0.15)
    covered = made(intervals(context))
    inside = {row["x"]: row["y"] for row in rows_of(figure(covered, "chart-coverage"))}
    for level, fraction in inside.items():
        assert fraction == pytest.approx(level, abs=4.0 * np.sqrt(level * (1 - level) / 289))
    assert float(covered.tiles[-1].value) == pytest.approx(2.0 * 1.645 * 2.0, rel=0.2)  # 90 % of a normal error
    assert "is a class" in omitted(intervals(of_forest()))
    assert "is a class" in omitted(residuals(of_forest()))


def test_intervals_of_the_model_are_evaluated_on_new_rows() -> None:
    ozone = sample("ozone")
    X, y = ozone.X.iloc[::2], np.asarray(ozone.y, np.float64)[::2]
    half = RandomForestRegressor(n_estimators=25, random_state=0).fit(X, y)
    new, truth = ozone.X.iloc[1::2], np.asarray(ozone.y, np.float64)[1::2]
    found = made(intervals(context_of(half, new, truth, is_training=False)))
    low, high = half.predict_interval(new).T
    fraction = 100.0 * np.mean((low <= truth) & (truth <= high))
    assert f"intervals cover {fraction:.1f}%" in found.lead
    shown = figure(found, "chart-coverage").table
    for level, row in zip((0.5, 0.8, 0.9, 0.95), shown.rows, strict=True):
        low, high = half.predict_interval(new, level).T
        parts = [np.mean((low <= truth) & (truth <= high)), np.mean(truth < low), np.mean(truth > high)]
        assert [row[1], row[3], row[4]] == [format_percent(float(part)) for part in parts]


def test_undercoverage_and_bias_on_new_rows_are_reported() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    y = X[:, 0] + rng.normal(size=900)
    model = RandomForestRegressor(n_estimators=25, random_state=0).fit(X[:300], y[:300])
    drifted = context_of(model, X[300:], y[300:] + 2.0, is_training=False)
    low, high = model.predict_interval(X[300:]).T
    inside = np.mean((low <= y[300:] + 2.0) & (y[300:] + 2.0 <= high))
    assert inside < 0.6
    found = made(intervals(drifted))
    assert found.lead.startswith(f"90% intervals cover {format_percent(float(inside))}")
    section, lead = made(residuals(drifted)), summary(drifted).lead
    error = y[300:] + 2.0 - model.predict(X[300:])
    mean = format_number(float(error.mean()), stderr=float(error.std(ddof=1) / np.sqrt(600)))
    assert section.tiles[3].value == mean
    assert format_percent(float(np.mean(error > 0.0))) in section.tiles[3].label
    words = f"biased low: mean residual {mean}"
    assert words in section.lead
    assert words in lead
    assert "significantly less" in lead
    fair = context_of(model, X[300:], y[300:], is_training=False)
    assert "biased" not in made(residuals(fair)).lead + summary(fair).lead
    assert "consistent" in made(intervals(fair)).lead


def test_held_out_rows_have_intervals_from_the_out_of_fold_residuals() -> None:
    base = ozone_comparison()
    predictions = np.full(base.held_out_rows.size, 10.0)
    context = of_regression(comparison=base._replace(held_out_predictions=predictions))
    evaluated = context.evaluation
    ends = Residuals.of(evaluated.y_true - evaluated.y_pred, np.ones(evaluated.rows.size)).ends(0.9)
    y = context.y[base.held_out_rows].astype(float)
    inside = np.mean((10.0 + ends[0] <= y) & (y <= 10.0 + ends[1]))
    found = made(intervals(context))
    assert found.tiles[1].value.startswith(format_percent(float(inside)))
    assert "Held-out rows" in found.lead
    assert len(found.tables[0].rows) == 4


def test_intervals_from_few_residuals_have_a_note() -> None:
    ozone = sample("ozone")
    X, y = ozone.X, np.asarray(ozone.y, np.float64)
    few = RandomForestRegressor(n_estimators=25, random_state=0).fit(X.iloc[:12], y[:12])
    found = made(intervals(context_of(few, X.iloc[12:57], y[12:57], is_training=False)))
    assert "12 residuals (19 for 90% and 39 for 95% needed)" in found.notes[-1]
    assert "84.6%" in found.notes[-1]  # 11 / 13
    own = made(
        intervals(context_of(RandomForestRegressor(50, random_state=0).fit(X.iloc[:45], y[:45]), X.iloc[:45], y[:45]))
    )
    assert "36 residuals (39 for 95% needed)" in own.notes[-1]
    assert "94.6%" in own.notes[-1]  # 35 / 37


def test_coverage_is_cross_validated() -> None:
    y = np.concatenate([np.zeros(50), np.full(50, 100.0)])
    found = cross_validated_intervals(np.zeros(100), y, np.repeat([0, 1], 50))
    assert found.shown.inside == 0.0  # the residuals of one group do not cover the other


# --- members ---------------------------------------------------------------------------------------------------------


def test_kappa_of_pairs_is_cohens() -> None:
    rng = np.random.default_rng(0)
    right = rng.random((60, 4)) < 0.7
    kappa, error = kappa_and_error(right)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    for (i, j), value, mean in zip(pairs, kappa, error, strict=True):
        assert value == pytest.approx(cohen_kappa_score(right[:, i], right[:, j]))
        assert mean == pytest.approx(1.0 - 0.5 * (right[:, i].mean() + right[:, j].mean()))


def test_members_of_forests_and_boosters() -> None:
    of_trees = made(members(of_forest()))
    assert [one.key for one in of_trees.figures] == ["chart-trees"]
    expected = rows_of(of_trees.figures[0])
    assert expected[0]["y"] > expected[10]["y"]  # averaging removes variance
    votes = made(members(of_booster()))
    assert len(rows_of(figure(votes, "chart-kappa"))) == 25 * 24 // 2


def test_committees_of_models_show_their_weights() -> None:
    glass = sample("glass")
    pair = [("tree", DecisionTreeClassifier(max_depth=3)), ("stump", DecisionTreeClassifier(max_depth=1))]
    vote = VotingClassifier(pair, weights=[3.0, 1.0]).fit(glass.X, glass.y)
    found = made(members(context_of(vote, glass.X, glass.y)))
    assert [(row["name"], row["value"]) for row in rows_of(found.figures[0])] == [("tree", 0.75), ("stump", 0.25)]


def test_the_geometry_of_a_support_vector_machine() -> None:
    sonar = sample("sonar")
    model = NumericPipelineClassifier(SVC()).fit(sonar.X, sonar.y)
    found = made(support_vectors(context_of(model, sonar.X, sonar.y)))
    truth = svm_geometry(model.estimator_, model.encode(sonar.X), sonar.y)
    assert [row[1] for row in found.tables[0].rows] == [
        str(truth.count(kind)) for kind in ("free", "bounded", "outside")
    ]
    assert sum(row["n"] for row in rows_of(found.figures[0])) == 208
    assert "not a support vector" in omitted(support_vectors(of_forest()))


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
    assert "Smallest bias and variance: line" in found.lead
    assert "not requested" in omitted(bias_variance(of_forest()))


def test_parts_below_zero_are_explained_and_none_at_all_is_omitted() -> None:
    truth = np.zeros(40, np.int64)
    mostly_wrong = np.where(np.arange(30)[:, None] < 20, 1, 0) * np.ones((1, 40), np.int64)
    study = {"tree": decompose_zero_one(mostly_wrong, truth)}
    assert any("Negative variance" in note for note in made(bias_variance(of_forest(bias_variance=study))).notes)
    perfect = {"tree": decompose_zero_one(np.zeros((30, 40), np.int64), truth)}
    assert "no method has an error" in omitted(bias_variance(of_forest(bias_variance=perfect)))


# --- rows ------------------------------------------------------------------------------------------------------------


def test_problems_of_a_table_are_reported() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"a": rng.normal(size=60), "b": 1.0, "c": np.where(np.arange(60) < 15, np.nan, 2.0 * np.arange(60))}
    )
    X.loc[1] = X.loc[0]
    y = np.where(np.arange(60) < 55, "x", "y")
    y[0], y[1] = "x", "y"
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    text = "\n".join(made(data_section(context_of(model, X, y))).notes)
    assert "1 column has missing values (c), at most 25" in text
    assert "1 constant column: b" in text
    assert "1 duplicate row" in text
    assert "1 pair of rows with equal features" in text
    assert "fewer than 10 rows (y)" in text
    assert "90.0% of the rows are x" in text
    assert made(data_section(of_regression())).tiles[0].value == "361"
    found = made(data_section(context_of(model, X, y, notes=TableNotes("t.csv", "y", ("1 row is a copy",))))).notes
    assert found[0] == "1 row is a copy"
    assert not any("duplicate" in note or "fewer than 10" in note for note in found)
    assert any("different targets" in note for note in found)


def test_label_issues_are_those_of_explain() -> None:
    found = made(label_issues(of_booster()))
    truth = find_label_issues(booster(), sample("sonar").X, sample("sonar").y, n=15)
    assert [row[0] for row in found.tables[0].rows] == [str(row) for row in truth.rows]
    context = of_forest(comparison=glass_comparison())
    by_prediction = made(label_issues(context))
    evaluated = context.evaluation
    assert evaluated.probability is not None
    own = evaluated.probability[np.arange(evaluated.rows.size), evaluated.y_true]
    assert by_prediction.tables[0].rows[0][0] == str(evaluated.rows[own.argmin()])
    of_number = made(label_issues(of_regression()))
    worst = np.abs(regression_residuals()).argmax()
    assert of_number.tables[0].rows[0][0] == str(worst)


def test_label_issues_have_the_row_numbers_of_the_file() -> None:
    plain = made(label_issues(of_regression())).tables[0].rows
    in_file = np.arange(len(sample("ozone").y)) * 2 + 5
    found = made(label_issues(of_regression(notes=TableNotes("o.csv", "ozone", rows=in_file)))).tables[0].rows
    assert [int(row[0]) for row in found] == [2 * int(row[0]) + 5 for row in plain]


def test_some_training_rows_have_their_out_of_bag_predictions() -> None:
    glass, some = sample("glass"), np.array([9, 3, 40, 41])
    part = context_of(forest(), glass.X.iloc[some], glass.y[some], is_training=False, training_index=some)
    assert part.evaluation.source == "out of bag"
    np.testing.assert_array_equal(part.evaluation.probability, forest().oob_decision_function_[some])
    unknown = context_of(forest(), glass.X.iloc[some], glass.y[some], is_training=None)
    assert "may be training rows" in made(summary(unknown)).lead
    in_sample = context_of(booster(), sample("sonar").X.iloc[some], sample("sonar").y[some], is_training=False,
                       training_index=some)  # fmt: skip
    assert "no estimate" in made(summary(in_sample)).lead


def test_a_constant_model_has_no_importances() -> None:
    glass = sample("glass")
    constant = DecisionTreeClassifier(max_depth=1, min_impurity_decrease=1e9).fit(glass.X, glass.y)
    assert "do not depend" in omitted(importances(context_of(constant, glass.X, glass.y)))


def test_residuals_beyond_the_histogram_are_named() -> None:
    context = of_regression()
    found = figure(made(residuals(context)), "chart-residual-histogram")
    assert "outermost bins include" in found.title


def test_the_squared_error_loss_is_half_the_mean_squared_error() -> None:
    found = made(training_history(context_of(gradient(), sample("ozone").X, sample("ozone").y)))
    assert "The loss is half the mean squared error." in found.lead


def regression_residuals() -> Any:
    context = of_regression()
    return context.evaluation.y_true - context.evaluation.y_pred


def test_in_sample_predictions_have_no_label_issues() -> None:
    glass = sample("glass")
    tree = DecisionTreeClassifier().fit(glass.X, glass.y)
    assert "in-sample" in omitted(label_issues(context_of(tree, glass.X, glass.y)))


# --- what was run ----------------------------------------------------------------------------------------------------


def test_the_code_makes_the_same_model() -> None:
    found = made(provenance(of_booster(seed=7)))
    sonar = sample("sonar")
    scope: dict[str, Any] = {"X": sonar.X, "y": sonar.y}
    exec(found.code, scope)  # our own lines
    assert isinstance(scope["model"], AdaBoostClassifier)
    np.testing.assert_array_equal(scope["model"].decision_function(sonar.X), booster().decision_function(sonar.X))
    assert "seed 7" in found.lead
    found = made(provenance(of_booster(notes=TableNotes("t.csv", "y", (), "committee compare t.csv --target y"))))
    assert found.code == "committee compare t.csv --target y"
    packages = next(one for one in found.collapsed if one.caption == "Versions")
    assert packages.rows[0][0] == "committee"


def test_the_code_has_the_imports_of_a_nested_estimator() -> None:
    sonar = sample("sonar")
    model = NumericPipelineClassifier(SVC(C=2.0)).fit(sonar.X, sonar.y)
    scope: dict[str, Any] = {"X": sonar.X, "y": sonar.y}
    exec(made(provenance(context_of(model, sonar.X, sonar.y))).code, scope)
    assert repr(scope["model"]) == repr(model)


def test_x_and_y_must_have_the_same_length() -> None:
    with pytest.raises(ValueError, match="one target for each row"):
        context_of(forest(), sample("glass").X, sample("glass").y[:10])


def test_the_lead_of_the_winner_has_the_standard_error_of_overlapping_folds() -> None:
    folds = [0.2, 0.3, 0.25, 0.35], [0.1, 0.25, 0.2, 0.2]
    one, other = (cast(MethodResult, SimpleNamespace(losses=np.array(errors))) for errors in folds)
    difference = np.array([0.1, 0.05, 0.05, 0.15])
    lead, error = paired_difference(one, other)
    assert lead == pytest.approx(difference.mean())
    assert error == pytest.approx(np.sqrt((1 / 4 + 1 / 3) * difference.var(ddof=1)))


def test_thousands_are_written_out_on_the_axis_of_the_methods() -> None:
    spec = charts.dots(["a", "b"], np.array([4e3, 5e3]), np.array([10.0, 10.0]), 0, "rmse", False)
    assert spec["layer"][0]["encoding"]["x"]["axis"]["format"] == ",~r"


def test_only_the_card_has_badges() -> None:
    cells = table("Rows", "name|value", [("a", "yes")])
    for is_card in (False, True):
        section = Section("some", "Some", "", tables=(cells._replace(is_card=is_card),))
        assert ('<span class="badge">yes' in render(of_forest(), [section], "Title")) == is_card


# --- committees, units and digits -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_any_model_has_sampled_shap_values_with_errors_and_partial_dependence() -> None:
    from committee import CommitteeClassifier, CommitteeRegressor
    from committee.report.partial_dependence import partial_dependence

    glass, ozone = sample("glass"), sample("ozone")
    models = (
        (CommitteeClassifier(members=["extra trees", "linear model"], random_state=0), glass),
        (CommitteeRegressor(members=["extra trees", "linear model"], random_state=0), ozone),
    )
    for model, data in models:
        context = context_of(model.fit(data.X, data.y), data.X, data.y)
        found = made(importances(context))
        shap = next(one for one in found.figures if one.key == "chart-importance-sampled-shap")
        assert all(cells[2] not in ("—", "0") for cells in shap.table.rows if float(cells[1]) > 0.0)
        curves = made(partial_dependence(context))
        assert len(curves.figures) == 6
        assert curves.figures[0].key == "chart-dependence-0"


def test_bias_and_variance_are_shown_in_the_unit_of_the_target_too() -> None:
    from committee.evaluation.compare_bias_variance import compare_bias_variance

    ozone = sample("ozone")
    found = compare_bias_variance(ozone.X, ozone.y, task="regression", n_sets=4, n_estimators=3, random_state=0)
    parts = {name: one.decomposition for name, one in found.results.items()}
    tree = DecisionTreeRegressor(max_depth=3).fit(ozone.X, ozone.y)
    section = made(bias_variance(context_of(tree, ozone.X, ozone.y, bias_variance=parts)))
    roots = section.tables[0]
    assert roots.header == ("method", "bias (root)", "variance (root)", "RMSE")
    for _, bias, variance, rmse in roots.rows:
        assert float(bias) ** 2 + float(variance) ** 2 == pytest.approx(float(rmse) ** 2, rel=0.03)
    assert any("do not add up" in note for note in section.notes)


def test_a_calibrated_forest_is_evaluated_by_calibrated_out_of_bag_probabilities() -> None:
    from committee.calibration.power import Calibration
    from committee.voting.calibrated_classifier import CalibratedClassifier

    glass = sample("glass")
    calibration = Calibration(2.0, 0.05, 1.0, 0.9)
    found = context_of(CalibratedClassifier.from_fitted(forest(), calibration), glass.X, glass.y)
    assert found.core is forest()
    assert found.evaluation.source == "out of bag"
    given = np.isfinite(forest().oob_decision_function_).all(axis=1)
    expected = calibration.apply(forest().oob_decision_function_[given])
    np.testing.assert_allclose(found.evaluation.probability, expected)
