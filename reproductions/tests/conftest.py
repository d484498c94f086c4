"""Fixtures for the tests of the reproductions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import pytest

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture
def assert_readable() -> Callable[[Any], None]:
    """Check that no text of a figure lies over another one or beyond the page."""
    return _assert_readable


def _assert_readable(figure: Any) -> None:
    figure.canvas.draw()
    texts: list[Any] = []
    for ax in figure.axes:
        texts += [ax.xaxis.label, ax.yaxis.label, ax.title, ax._left_title]
        texts += ax.get_legend().get_texts() if ax.get_legend() is not None else []
    boxes = {text: text.get_window_extent() for text in texts if text.get_text()}
    overlaps = [(a.get_text(), b.get_text()) for a, b in combinations(boxes, 2) if boxes[a].overlaps(boxes[b])]
    assert not overlaps
    page = figure.bbox.padded(1.0)
    beyond = [text.get_text() for text, box in boxes.items()
              if not (page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1)]  # fmt: skip
    assert not beyond
