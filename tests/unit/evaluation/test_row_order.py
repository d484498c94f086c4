"""Time order and repeated entities: found where they are, not found in shuffled or sorted tables, and acted upon."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest

from committee import GradientBoostingRegressor
from committee.evaluation._time_order import autocorrelation_z, find_calendar, is_counter, is_grouped, is_nearly_sorted
from committee.evaluation.comparison import compare
from committee.evaluation.plain_columns import plain_columns
from committee.evaluation.row_order import RowOrder, explain_order, find_row_order

N_DAYS, QUARTER = 731, 90
QUICK = {"boosting": GradientBoostingRegressor(n_estimators=60, learning_rate=0.1, early_stopping=False)}


def rentals(seed=0):
    """Two years and a quarter of days: trend, season, weekdays, temperature and autocorrelated noise."""
    rng = np.random.default_rng(seed)
    day = np.arange(N_DAYS + QUARTER)
    date = np.datetime64("2011-01-01") + day
    year = date.astype("M8[Y]").astype(int) + 1970
    month = date.astype("M8[M]").astype(int) % 12 + 1
    weekday = (day + 5) % 7
    temperature = 12.0 - 10.0 * np.cos(2.0 * np.pi * day / 365.25) + 3.0 * rng.normal(size=day.size)
    noise = np.zeros(day.size)
    for t in range(1, day.size):
        noise[t] = 0.9 * noise[t - 1] + 150.0 * rng.normal()
    y = 2000.0 + day + 60.0 * temperature + 300.0 * (weekday < 5) + noise
    X = pl.DataFrame({"year": year, "month": month, "weekday": weekday, "temperature": temperature})
    return X.with_columns(date=pl.Series(date)), y


def visits(seed=0):
    """Sixty patients with eight visits each; a patient has a level of his own."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(60), 8)
    X = pl.DataFrame({"patient_id": patient, "age": rng.integers(20, 80, 60)[patient], "dose": rng.normal(size=480)})
    y = X["dose"].to_numpy() + 2.0 * rng.normal(size=60)[patient] + 0.3 * rng.normal(size=480)
    shuffled = rng.permutation(480)
    return X[shuffled], y[shuffled]


def kind(X, y, is_classes=False):
    return find_row_order(X, y, is_classes=is_classes).kind


PARTS = ["year", "month", "weekday", "temperature"]


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [PARTS, ["date", "temperature"], ["temperature", "weekday"]])
def test_days_in_order_are_time(columns):
    X, y = rentals()
    result = find_row_order(X.select(columns), y, is_classes=False)
    assert result.kind == "time"
    assert result.autocorrelation > 0.4
    assert result.p_value < 1e-10
    assert result.columns == {4: ("year", "month"), 2: ("date",) if "date" in columns else ()}[len(columns)]
    assert np.all(np.diff(result.times) >= 0)


def test_newest_first_is_time_backwards():
    X, y = rentals()
    result = find_row_order(X.select(PARTS)[::-1], y[::-1], is_classes=False)
    assert result.kind == "time"
    assert np.all(np.diff(result.times) <= 0)


def test_shuffled_rows_with_dates_are_ordered_by_the_date():
    X, y = rentals()
    rows = np.random.default_rng(1).permutation(y.size)
    result = find_row_order(X.select("date", "temperature")[rows], y[rows], is_classes=False)
    assert result.kind == "time"
    assert np.array_equal(np.argsort(result.times), np.argsort(rows))


def test_classes_in_time_order():
    X, y = rentals()
    assert kind(X.select(PARTS), (y > np.median(y)).astype(int), True) == "time"


@pytest.mark.parametrize("columns", [PARTS, ["temperature", "weekday"]])
def test_shuffled_days_are_exchangeable(columns):
    X, y = rentals()
    rows = np.random.default_rng(1).permutation(y.size)
    assert kind(X.select(columns)[rows], y[rows]) == "exchangeable"


def test_a_calendar_skips_units_that_break_the_order():
    X, _ = rentals()
    calendar = find_calendar(plain_columns(X.select(PARTS)))
    assert calendar is not None
    assert calendar.columns == ("year", "month")
    rows = np.random.default_rng(0).permutation(X.height)
    assert find_calendar(plain_columns(X.select(PARTS)[rows])) is None
    names = pl.Series("month", np.array(["jan", "feb", "mar", "apr", "may", "jun"])[np.repeat(np.arange(6), 20)])
    named = pl.DataFrame({"month": names, "day": np.tile(np.arange(20), 6)})
    assert find_calendar(plain_columns(named)).columns == ("month", "day")


# --- no time ----------------------------------------------------------------------------------------------------------


def made(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, 3.0 * X[:, 0] + np.sin(5.0 * X[:, 1]) + rng.normal(size=n)


@pytest.mark.parametrize("seed", range(5))
def test_exchangeable_rows(seed):
    X, y = made(seed=seed)
    assert kind(X, y) == "exchangeable"
    assert kind(X, (y > 0).astype(int), True) == "exchangeable"


@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_table_sorted_by_a_column_is_not_in_time_order(column):
    X, y = made()
    rows = np.argsort(X[:, column])
    assert kind(X[rows], y[rows]) == "exchangeable"
    assert kind(X[rows[::-1]], y[rows[::-1]]) == "exchangeable"


def test_a_table_sorted_by_its_target_or_class_is_not_in_time_order():
    X, y = made()
    rows = np.argsort(y)
    assert kind(X[rows], y[rows]) == "exchangeable"
    assert kind(X[rows], (y > 0).astype(int)[rows] + (y > 2)[rows], True) == "exchangeable"


def test_one_hot_columns_and_blocks_of_a_category():
    X, y = made()
    level = np.repeat(np.arange(6), 100)
    one_hot = pl.DataFrame({f"level_{k}": (level == k).astype(int) for k in range(6)} | {"x": X[:, 0]})
    assert kind(one_hot, y + 2.0 * level) == "exchangeable"
    text = pl.DataFrame({"level": np.array(list("abcdef"))[level], "x": X[:, 0]})
    assert kind(text, y + 2.0 * level) == "exchangeable"


def test_small_and_constant_tables_tell_nothing():
    X, y = rentals()
    assert kind(X[:30], y[:30]) == "exchangeable"
    assert kind(X[:2], y[:2]) == "exchangeable"
    assert kind(X, np.zeros(y.size)) == "exchangeable"
    assert kind(X[:1], y[:1]) == "exchangeable"


def test_a_date_of_birth_is_no_time():
    X, y = rentals()
    assert kind(X.select(pl.col("date").alias("date_of_birth"))[np.argsort(y)], np.sort(y)) == "exchangeable"


# --- repeated entities ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["patient_id", "x0"])
def test_patients_with_several_visits_are_groups(name):
    X, y = visits()
    result = find_row_order(X.rename({"patient_id": name}), y, is_classes=False)
    assert (result.kind, result.columns, result.n_groups) == ("groups", (name,), 60)
    assert result.increase > 1.5


def people_by_two_names(seed=0):
    """A first and a last name tell the person, each of them alone does not; job and town are the person's."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation([(a, b) for a in range(12) for b in range(12)])[:80]
    person = rng.permutation(np.repeat(np.arange(80), 8))
    X = pl.DataFrame({
        "first": [f"f{a}" for a in pairs[person, 0]], "last": [f"l{b}" for b in pairs[person, 1]],
        "job": rng.integers(0, 6, 80)[person], "town": rng.integers(0, 9, 80)[person],
        "dose": rng.normal(size=640),
    })  # fmt: skip
    y = X["dose"].to_numpy() + 3.0 * rng.normal(size=80)[person] + 0.2 * rng.normal(size=640)
    return X, y


@pytest.mark.parametrize("seed", range(3))
def test_two_columns_together_tell_the_entities(seed):
    X, y = people_by_two_names(seed)
    result = find_row_order(X, y, is_classes=False)
    assert result.kind in ("groups", "doubtful groups")
    assert (result.columns, result.n_groups) == (("first", "last"), 80)
    assert "'first', 'last'" in explain_order(result)
    assert kind(X, np.random.default_rng(seed).permutation(y)) == "exchangeable"


def test_entities_that_do_not_matter_and_ordinary_numbers_are_no_groups():
    X, y = visits()
    assert kind(X, np.random.default_rng(0).permutation(y)) == "exchangeable"
    rng = np.random.default_rng(0)
    people = pl.DataFrame({"age": rng.integers(20, 80, 600), "income": rng.normal(size=600)})
    assert kind(people, 0.1 * people["age"].to_numpy() + rng.normal(size=600)) == "exchangeable"


def test_rows_without_a_group_are_groups_of_their_own():
    X, y = visits()
    X = X.with_columns(patient_id=pl.when(pl.int_range(480) < 3).then(None).otherwise("patient_id"))
    result = find_row_order(X, y, is_classes=False)
    assert result.kind == "groups"
    assert np.unique(result.groups[:3]).size == 3
    assert not set(result.groups[:3]) & set(result.groups[3:])


# --- what compare does ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_reported_error_is_that_of_the_next_quarter():
    is_near = list[bool]()
    for seed in range(5):
        X, y = rentals(seed)
        X = X.select(PARTS)
        with pytest.warns(UserWarning, match="time order"):
            result, model = compare(X[:N_DAYS], y[:N_DAYS], methods=QUICK)
        shuffled, _ = compare(X[:N_DAYS], y[:N_DAYS], methods=QUICK, time=None, groups=None)
        truth = float(np.sqrt(np.mean((model.predict(X[N_DAYS:]) - y[N_DAYS:]) ** 2)))
        assert result.is_forward
        assert result.settings["row_order"]["columns"] == ["year", "month"]
        assert shuffled.settings["folds"] == "at random"
        assert shuffled.settings["row_order"] is None
        assert truth - shuffled.held_out_losses["rmse"] > 5.0 * shuffled.held_out_loss_se
        assert abs(result.held_out_losses["rmse"] - truth) < truth - shuffled.held_out_losses["rmse"]
        is_near.append(abs(result.held_out_losses["rmse"] - truth) <= 2.0 * result.held_out_loss_se)
    assert sum(is_near) >= 4  # two standard errors hold 95 % of the figures, not all


def test_rows_in_their_order_on_request():
    X, y = made(120)
    result, _ = compare(X, y, methods=QUICK, time="row order", cv=3)
    assert result.is_forward
    assert result.held_out_rows.tolist() == list(range(96, 120))
    with pytest.raises(ValueError, match="time must be"):
        compare(X, y, methods=QUICK, time="sorted")


def test_patients_are_kept_together():
    X, y = visits()
    with pytest.warns(UserWarning, match="'patient_id' has 60 repeated values"):
        result, _ = compare(X, y, methods=QUICK)
    assert result.settings["folds"] == "by group"
    patient = X["patient_id"].to_numpy()
    assert not set(patient[result.held_out_rows]) & set(patient[result.rows])
    only_time, _ = compare(X, y, methods=QUICK, groups=None)
    assert only_time.settings["folds"] == "at random"


def test_exchangeable_rows_are_shuffled_without_a_word():
    X, y = made(200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result, _ = compare(X, y, methods=QUICK, cv=3)
    assert result.settings["folds"] == "at random"
    assert result.settings["row_order"]["kind"] == "exchangeable"


def test_too_few_classes_in_the_past_fall_back_to_shuffled_rows():
    X, y = rentals()
    late = (np.arange(y.size) > 600).astype(int)  # one class only in the first stretches
    with pytest.warns(UserWarning, match="The rows are shuffled"):
        result, _ = compare(X.select(PARTS), late, methods=["constant"])
    assert result.settings["folds"] == "by class"


# --- statistics -------------------------------------------------------------------------------------------------------


def test_z_is_standard_normal_in_random_order():
    rng = np.random.default_rng(0)
    z = [autocorrelation_z(rng.standard_cauchy(200), np.arange(200))[1] for _ in range(500)]
    assert abs(np.mean(z)) < 0.15
    assert 0.9 < np.std(z) < 1.1


def test_rows_that_are_no_neighbours_are_not_paired():
    values = np.array([0.0, 1.0, 10.0, 11.0])
    assert autocorrelation_z(values, np.array([0, 1, 7, 8]))[0] != autocorrelation_z(values, np.arange(4))[0]
    assert autocorrelation_z(values, np.array([0, 2, 4, 6])) == (0.0, 0.0)


def test_sortedness():
    assert is_counter(np.arange(1.0, 30.0))
    assert not is_counter(np.arange(1.0, 30.0) * 5.0)
    assert is_nearly_sorted(np.array([1.0, 2.0, 1.5, 3.0, 4.0])) == 0
    assert is_nearly_sorted(np.append(np.arange(100.0), 50.0)) == 1
    assert is_grouped(np.repeat(np.array([3.0, 1.0, 2.0]), 40))
    assert not is_grouped(np.tile(np.array([3.0, 1.0, 2.0]), 40))


def test_words():
    assert explain_order(RowOrder("exchangeable")) == ""
    doubtful = explain_order(RowOrder("doubtful time", (), None, 0.33, 1e-50, 1.7))
    assert "autocorrelation of residuals 0.33, p < 1e-10" in doubtful
    assert 'pass time="row order"' in doubtful
    assert "pass its values as groups" in explain_order(RowOrder("doubtful groups", ("city",), increase=1.5))


def test_frames_of_all_kinds_are_read_alike():
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    X, _ = rentals()
    X = X.with_columns(date=pl.col("date").cast(pl.Date), text=pl.col("date").cast(pl.String).cast(pl.String))
    of_polars = plain_columns(X)
    for other in (plain_columns(X.to_pandas()), plain_columns(pa.Table.from_pandas(X.to_pandas()))):
        assert [column.kind for column in other] == [column.kind for column in of_polars]
        for one, two in zip(of_polars, other, strict=True):
            assert np.array_equal(one.values, two.values)
    assert [column.kind for column in of_polars][-2:] == ["date", "date"]
    holes = pd.DataFrame({"when": pd.to_datetime(["1970-01-03", None]).tz_localize("UTC"), "lists": [[1], [2]], 7: 1})
    when, seven = plain_columns(holes)
    assert (when.values[0], seven.name) == (2.0, "7")
    assert np.isnan(when.values[1])
    assert plain_columns(pd.DataFrame({"c": pd.Categorical(["b", None, "a"])}))[0].values.tolist()[::2] == [1.0, 0.0]


def test_half_a_year_of_hours_with_a_sorted_month_is_in_time_order() -> None:
    """Six values of the month were too few for a calendar, and made the table count as merely sorted."""
    rng = np.random.default_rng(0)
    hour = np.arange(2000)
    level = np.zeros(hour.size)
    for t in range(1, hour.size):
        level[t] = 0.995 * level[t - 1] + rng.normal(0, 0.4)
    X = np.column_stack([1 + hour // 334, hour % 24, rng.normal(size=hour.size)])
    frame = pl.DataFrame(X, schema=["month", "hour", "occupancy"])
    result = find_row_order(frame, level + rng.normal(0, 0.3, hour.size), is_classes=False)
    assert result.kind == "time"
    assert result.columns == ("month",)
    shuffled = rng.permutation(hour.size)
    target = (level + rng.normal(0, 0.3, hour.size))[shuffled]
    assert find_row_order(frame[shuffled.tolist()], target, is_classes=False).kind == "exchangeable"
