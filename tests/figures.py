"""Where the text of a figure may stand."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any


def assert_text_is_clear(figure: Any) -> None:
    """No text over text or beyond the page."""
    figure.canvas.draw()
    texts = [text for ax in figure.axes for text in (ax.xaxis.label, ax.yaxis.label, ax._left_title, *ax.texts)]
    texts += [text for ax in figure.axes if ax.get_legend() for text in ax.get_legend().get_texts()]
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    page = figure.bbox
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1 for box in boxes)


def assert_inside(display: Any, texts: Iterable[Any]) -> None:
    """All of these texts lie within the picture."""
    display.figure_.canvas.draw()
    page = display.figure_.bbox
    for text in texts:
        box = text.get_window_extent()
        assert page.x0 <= box.x0 < box.x1 <= page.x1, text.get_text()
        assert page.y0 <= box.y0 < box.y1 <= page.y1, text.get_text()
