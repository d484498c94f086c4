"""Every criterion against its formula, written out."""

from __future__ import annotations

import numpy as np
import pytest

from committee.kernels.trees import criteria as scores
from committee.records.growth import NODE, RULES

RNG = np.random.default_rng(0)


def x_log2_x(x):
    return x * np.log2(x) if x > 0 else 0.0


FORMULAS = {
    scores.SQUARED: lambda g, h, l1, l2: max(abs(g) - l1, 0.0) ** 2 / (h + l2),
    scores.ENTROPY: lambda g, h, l1, l2: x_log2_x((h + g) / 2) + x_log2_x((h - g) / 2) - x_log2_x(h),
    scores.POISSON: lambda g, h, l1, l2: g * np.log(g / h) if g > 0 else -np.inf,
    scores.EDGE: lambda g, h, l1, l2: abs(g),
    scores.CONFIDENCE: lambda g, h, l1, l2: -np.sqrt((h - g) * (h + g)),
}


@pytest.mark.parametrize("criterion", FORMULAS)
def test_child_score(criterion, callable_part):
    child_score = callable_part(scores.child_score)
    for g, h in [(1.5, 4.0), (-1.5, 4.0), (0.0, 2.0), (3.0, 3.0), (-3.0, 3.0)]:
        for l1, l2 in [(0.0, 0.0), (0.5, 0.0), (0.5, 2.0)]:
            assert child_score(criterion, g, h, l1, l2) == pytest.approx(FORMULAS[criterion](g, h, l1, l2), rel=1e-14)


def test_class_scores(callable_part):
    class_score = callable_part(scores.class_score)
    sums = np.array([3.0, 0.0, 1.0])
    assert class_score(scores.CLASS_GINI, sums, 4.0) == 10.0 / 4.0
    assert class_score(scores.CLASS_ENTROPY, sums, 4.0) == pytest.approx(3 * np.log2(3 / 4) + np.log2(1 / 4))
    assert class_score(scores.CLASS_ERROR, sums, 4.0) == 3.0


def test_child_value_shrinks_towards_zero(callable_part):
    child_value = callable_part(scores.child_value)
    rules = np.zeros(1, RULES)
    rules["g_unit"], rules["h_unit"], rules["l1"], rules["l2"] = 0.5, 1.0, 1.0, 2.0
    assert child_value(8, 2, rules[0]) == (4.0 - 1.0) / 4.0
    assert child_value(-8, 2, rules[0]) == -(4.0 - 1.0) / 4.0
    assert child_value(1, 2, rules[0]) == 0.0


@pytest.mark.parametrize("criterion", [scores.SQUARED, scores.ENTROPY, scores.EDGE, scores.CONFIDENCE])
@pytest.mark.parametrize("l1", [0.0, 0.25])
def test_score_cuts_adds_both_children(criterion, l1, callable_part):
    h = RNG.integers(1, 5, 20)
    g = RNG.integers(-h, h + 1)
    rules, node = np.zeros(1, RULES), np.zeros(1, NODE)
    rules["criterion"], rules["g_unit"], rules["h_unit"], rules["l1"] = criterion, 1.0, 1.0, l1
    node["g"], node["h"] = g.sum(), h.sum()
    cut_g, cut_h, gain = np.cumsum(g)[:-1], np.cumsum(h)[:-1], np.empty(19)
    callable_part(scores.score_cuts)(rules[0], node[0], 19, cut_g, cut_h, gain)
    for c in range(19):
        left = FORMULAS[criterion](float(cut_g[c]), float(cut_h[c]), l1, 0.0)
        right = FORMULAS[criterion](float(g.sum() - cut_g[c]), float(h.sum() - cut_h[c]), l1, 0.0)
        # the squared criterion without regularisation is scored by the fall itself
        is_decrease = criterion == scores.SQUARED and l1 == 0.0
        parent = FORMULAS[criterion](float(g.sum()), float(h.sum()), l1, 0.0) if is_decrease else 0.0
        assert gain[c] == pytest.approx(left + right - parent, rel=1e-12, abs=1e-12)


def test_a_shift_of_the_target_costs_no_digit(callable_part):
    """A billion added to every target costs the squared criterion no digit."""
    h = np.ones(30, np.int64)
    g = RNG.integers(-50, 50, 30) + 10**9
    rules, node = np.zeros(1, RULES), np.zeros(1, NODE)
    rules["criterion"], rules["g_unit"], rules["h_unit"] = scores.SQUARED, 1.0, 1.0
    node["g"], node["h"], node["shift"] = g.sum(), 30, g.sum() // 30
    gain = np.empty(29)
    callable_part(scores.score_cuts)(rules[0], node[0], 29, np.cumsum(g)[:-1], np.cumsum(h)[:-1], gain)
    n = np.arange(1, 30)
    left = (30 * np.cumsum(g)[:-1] - n * g.sum()) / 30.0  # whole numbers until the division: exact
    exact = left**2 / n + left**2 / (30 - n)
    np.testing.assert_allclose(gain, exact, rtol=1e-12)
