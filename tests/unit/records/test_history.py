"""Histories are equal where every column is."""

from __future__ import annotations

import numpy as np

from committee.records.history import History


def test_equality_of_numbers_and_words():
    one = History({"loss": [1.0, np.nan], "start": ["kmeans", "random"], "step": [0, 1]})
    same = History({"loss": [1.0, np.nan], "start": ["kmeans", "random"], "step": [0, 1]})
    assert one == same
    assert one != History({"loss": [1.0, np.nan], "start": ["kmeans", "kmeans"], "step": [0, 1]})
    assert one != History({"loss": [1.0, 2.0], "start": ["kmeans", "random"], "step": [0, 1]})
    assert one != History({"loss": [1.0, np.nan], "step": [0, 1]})
