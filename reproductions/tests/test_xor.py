"""Exclusive or: what the linear programs prove, and that map and kernel give the same function."""

from __future__ import annotations

import numpy as np
import pytest

from committee.datasets import load_dataset
from committee.svm.svc import SVC
from committee_reproductions.xor import LABELS, ROWS, exclusive_or, separate, xor_map


def test_the_plane_has_no_separating_line_and_says_why() -> None:
    result = exclusive_or()
    assert not result.in_plane.is_separable
    assert result.in_plane.w is None
    weights = result.in_plane.weights
    assert weights is not None
    np.testing.assert_allclose(weights[LABELS > 0] @ ROWS[LABELS > 0], weights[LABELS < 0] @ ROWS[LABELS < 0])
    np.testing.assert_allclose(result.in_plane.meeting_point, [0.0, 0.0], atol=1e-12)
    assert "cannot be separated" in result.hard_margin_error
    with pytest.raises(ValueError, match="convex hulls meet"):
        SVC(C=np.inf, kernel="linear").fit(ROWS, LABELS)


def test_the_map_separates_with_the_widest_margin_and_the_kernel_is_the_same_function() -> None:
    result = exclusive_or()
    assert result.mapped.is_separable
    np.testing.assert_allclose(result.w, [0.0, 0.0, 1.0], atol=1e-9)
    assert result.b == pytest.approx(0.0, abs=1e-9)
    assert result.margin == pytest.approx(2.0)
    assert result.kernel_margin == pytest.approx(2.0 * np.sqrt(2.0))
    np.testing.assert_allclose(result.alpha, 1.0 / 8.0)
    assert result.largest_difference < 1e-9
    asked = np.random.default_rng(0).normal(size=(50, 2))
    np.testing.assert_allclose(result.kernel_svm.decision_function(asked), asked[:, 0] * asked[:, 1], atol=1e-9)
    np.testing.assert_allclose(result.mapped_svm.decision_function(xor_map(asked)), asked.prod(axis=1), atol=1e-9)
    assert "not separable (the hulls meet at (0, 0))" in result.verdict


def test_linear_programs_decide_what_hard_margins_decide() -> None:
    rng = np.random.default_rng(1)
    decided = set[bool]()
    for _ in range(20):
        X, y = rng.normal(size=(12, 3)), rng.choice([-1, 1], size=12)
        if np.unique(y).size < 2:
            continue
        result = separate(X, y)
        decided.add(result.is_separable)
        if result.is_separable:
            assert (y * (X @ result.w + result.b) >= 1.0 - 1e-9).all()
            assert SVC(C=np.inf, kernel="linear").fit(X, y).score(X, y) == 1.0
        else:
            with pytest.raises(ValueError, match="convex hulls meet"):
                SVC(C=np.inf, kernel="linear").fit(X, y)
    assert decided == {True, False}


def test_real_classes() -> None:
    X, labels = load_dataset("sonar")[:2]
    y = np.where(labels == "M", 1, -1)
    assert separate(X, y).is_separable  # 60 columns are enough for 208 rows
    assert not separate(X[:, :10], y).is_separable
