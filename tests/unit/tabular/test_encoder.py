"""One encoder of tables for all methods that read numbers only."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from committee.tabular.encoder import EncoderOptions, fit_encoder, fit_scale, normal_scores
from committee.tabular.schema import Categories, Columns, fit_encode
from tests.naive import table_encoder as naive

FILLED = EncoderOptions(fill="median", flags_missing=True, limit=1e50)
STANDARDISED = EncoderOptions(categories="standardised", adds_ones=True)
CENTRED = EncoderOptions("centred", 2, flags_missing=True, drops_constant=True, limit=1.5)
OPTIONS = {
    "filled": FILLED, "standardised": STANDARDISED, "centred": CENTRED, "ranked": CENTRED._replace(is_ranked=True),
}  # fmt: skip

FRAME = pl.DataFrame(
    {
        "size": [1.0, 3.0, None, 5.0, 100.0],
        "colour": pl.Series(["red", "blue", "red", None, "green"]).cast(pl.Categorical),
        "same": [2.0] * 5,
    }
)


def table_of(seed: int, n: int = 40) -> tuple[Columns, np.ndarray, np.ndarray]:
    """Numbers and categories, some missing, a constant of each kind; and integer weights."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-3, 4, (n, 2)) * [1.0, 1e3]
    codes = rng.integers(0, 4, (n, 1)).astype(float)
    table = np.column_stack([numbers, codes, np.full(n, 7.0), np.zeros(n), codes])
    table[rng.random(table.shape) < 0.2] = np.nan
    table[:, 3] = 7.0
    categories = tuple(Categories(tuple(range(k))) if k else None for k in (0, 0, 4, 0, 1, 4))
    return Columns(6, None, categories), table, rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_encoder_is_its_naive_twin(options: EncoderOptions, seed: int):
    columns, table, weight = table_of(seed)
    if options.is_ranked:  # ranks do not look at weights
        weight = np.ones(len(table))
    new = table_of(seed + 10)[1]
    made = fit_encoder(columns, table, weight, options)(new)
    expected = naive.encode(columns, table.tolist(), weight.tolist(), new.tolist(), options)
    np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("options", [FILLED, STANDARDISED], ids=["filled", "standardised"])
def test_an_integer_weight_is_a_number_of_equal_rows(options: EncoderOptions):
    columns, table, weight = table_of(0)
    repeated = np.repeat(table, weight.astype(int), axis=0)
    one, other = fit_encoder(columns, table, weight, options), fit_encoder(columns, repeated, None, options)
    assert one.names == other.names
    np.testing.assert_allclose(one(table), other(table), atol=1e-12)


def test_columns_are_named_and_numbers_filled_and_scaled():
    columns, table = fit_encode(FRAME)
    encoder = fit_encoder(columns, table, None, FILLED)
    names = ("size", "size is missing", "colour=blue", "colour=green", "colour=red", "same")
    assert encoder.names == names
    made = dict(zip(names, encoder(table).T, strict=True))
    filled = np.array([1.0, 3.0, 3.0, 5.0, 100.0])
    np.testing.assert_allclose(made["size"], (filled - filled.mean()) / filled.std())
    assert made["size is missing"].tolist() == [0, 0, 1, 0, 0]
    assert made["colour=red"].tolist() == [1, 0, 1, 0, 0]
    assert made["same"].tolist() == [0.0] * 5


def test_the_sparse_table_is_the_dense_one():
    columns, table, weight = table_of(1)
    encoder = fit_encoder(columns, table, weight, FILLED)
    np.testing.assert_array_equal(encoder.sparse(table).toarray(), encoder(table))


def test_coefficients_for_the_columns_before_scaling():
    columns, table, weight = table_of(2)
    table[:, :2] = np.nan_to_num(table[:, :2])
    encoder = fit_encoder(columns, table, weight, STANDARDISED)
    known = table[~np.isnan(table).any(axis=1)]
    coef = np.arange(1.0, encoder.n_columns + 1)
    unscaled, intercept = encoder.unscale(coef)
    np.testing.assert_allclose(encoder.values(known) @ unscaled + intercept, encoder(known) @ coef)


def test_a_part_of_the_features_can_be_encoded():
    columns, table, _ = table_of(0)
    encoder = fit_encoder(columns, table, None, FILLED, np.array([5, 1]))
    assert encoder.source.tolist() == [5, 5, 5, 5, 1, 1]


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_squares_of_a_scale_stay_within_float64(factor: float):
    values = np.array([1.0, 2.0, 4.0, 7.0])
    for weight in (None, np.array([1.0, 2.0, 1.0, 4.0])):
        one, other = fit_scale(values, weight), fit_scale(factor * values, weight)
        np.testing.assert_allclose(other, factor * np.array(one), rtol=1e-12)


def test_the_scale_of_a_constant_is_infinite():
    for values in (np.full(5, 3.3), np.zeros(3), np.full(4, 1e300), np.array([1e-310, 2e-310])):
        assert fit_scale(values).scale == np.inf


def test_equal_numbers_have_the_middle_of_their_ranks():
    values, scores = normal_scores(np.array([1.0, 1.0, 2.0, 5.0]))
    np.testing.assert_array_equal(values, [1.0, 2.0, 5.0])
    np.testing.assert_allclose(norm.cdf(scores), [0.25, 0.625, 0.875])
    many = normal_scores(np.random.default_rng(0).normal(size=5000))
    assert len(many[0]) <= 1000
    assert np.all(np.diff(many[1]) > 0.0)
