"""The charts of the report as Vega-Lite specifications.

Colours are variables of the style sheet: the charts are SVG and follow the colour scheme of the page without being
drawn again. Their width is that of the column they are in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.report._section import Color, Key, Spec

try:
    import altair as alt
except ImportError as error:
    raise ImportError("The report needs altair, vl-convert-python and jinja2: pip install 'committee[app]'.") from error


INK, SOFT, LINE, PAPER = "var(--ink)", "var(--soft)", "var(--line)", "var(--card)"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif"
ROW = 30  # pixels per bar or dot
DIGITS = 5  # significant digits of the data
LABEL_WIDTH, PHONE_WIDTH = 6, 250  # pixels: of a letter of a label, and of a chart without its labels on a phone

PERCENT = alt.Axis(format="%", tickCount=5)
PLAIN = ",~r"  # 4,000 and 0.25, never 4e+3

CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": None,
    "view": {"stroke": None},
    "mark": {"aria": False},
    "axis": {
        "labelColor": SOFT, "titleColor": SOFT, "titleFontWeight": "normal", "labelFontSize": 12, "titleFontSize": 12,
        "gridColor": LINE, "domainColor": LINE, "tickColor": LINE, "labelLimit": 130, "aria": False,
    },
    # the title of a vertical axis is horizontal, above the axis
    "axisY": {
        "titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleX": 0, "titleY": -8,
        "titleBaseline": "bottom", "domain": False, "ticks": False,
    },
    "axisX": {"grid": False, "titlePadding": 8, "labelSeparation": 6},
    "text": {"font": FONT, "fontSize": 12, "fill": INK},
    "rule": {"color": SOFT},
}  # fmt: skip


def color(name: Color) -> str:
    return f"var(--{name})"


class Data(NamedTuple):
    """Named data, added to the specification at the end because altair would validate each row."""

    name: str
    rows: list[dict[str, Any]]

    def chart(self) -> Any:
        return alt.Chart(alt.NamedData(self.name))


def data(name: str, /, **columns: Any) -> Data:
    """Columns as rows, with floats rounded."""
    lists = [_rounded(values) for values in columns.values()]
    return Data(name, [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)])


def _rounded(values: Any) -> list[Any]:
    array = np.asarray(values)
    if array.dtype.kind != "f":
        return array.tolist()
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in array.tolist()]


ORIGIN = data("origin", x=[0])


def thin(values: Floats, n_max: int = 240) -> NDArray[np.int64]:
    """Positions of at most n_max points of a curve: dense at the start, then evenly spaced."""
    n = values.size
    if n <= n_max:
        return np.arange(n)
    early = np.geomspace(1, n, n_max // 2) - 1
    return np.unique(np.concatenate([early, np.linspace(0, n - 1, n_max // 2)]).round().astype(np.int64))


def _spec(chart: Any, height: int, *sources: Data) -> Spec:
    spec: Spec = chart.properties(width="container", height=height).to_dict(validate=False)  # validated by the tests
    del spec["config"]  # that of the page
    return {**spec, "datasets": {source.name: source.rows for source in sources}}


def _vertical_line(at: Data) -> Any:
    return at.chart().mark_rule(strokeDash=[2, 3], color=SOFT).encode(x="x:Q")


def _diagonal(ends: Data, scale: alt.Scale) -> Any:
    line = ends.chart().mark_line(strokeDash=[4, 4], strokeWidth=1, color=SOFT)
    return line.encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale))


def _names(title: str | None = None, limit: int = 130) -> alt.Y:
    axis = alt.Axis(labelColor=INK, labelLimit=limit, labelPadding=6)
    return alt.Y("name:N", sort=None, title=title, axis=axis)


def dots(names: Sequence[str], value: Floats, stderr: Floats, best: int, axis: str, is_rate: bool) -> Spec:
    """A dot with one standard error per name; the best one is highlighted."""
    format = "%" if is_rate else PLAIN
    role = ["best" if i == best else "other" for i in range(len(names))]
    low = np.where(value >= 0.0, np.maximum(value - stderr, 0.0), value - stderr)  # a loss is not negative
    rows = data("rows", name=list(names), value=value, low=low, high=value + stderr, role=role)
    colors = alt.Scale(domain=["best", "other"], range=[color("blue"), color("grey")])
    base = rows.chart().encode(
        y=_names(),
        color=alt.Color("role:N", legend=None, scale=colors),
        tooltip=[alt.Tooltip("name:N", title="method"),
                 alt.Tooltip("value:Q", title=axis, format=".1%" if is_rate else PLAIN)],
    )  # fmt: skip
    x = alt.X("low:Q", title=axis, scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(format=format, tickCount=5))
    bars = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q")
    points = base.mark_circle(size=110, opacity=1).encode(x="value:Q")
    return _spec(alt.layer(bars, points), ROW * len(names), rows)


class Curve(NamedTuple):
    """A line by iteration."""

    label: str
    x: Floats
    y: Floats
    color: Color
    is_dashed: bool = False

    @property
    def key(self) -> Key:
        return Key(self.label, self.color, self.is_dashed)


def curves(lines: Sequence[Curve], x: str, y: str, *, marked: float | None = None, top: float | None = None) -> Spec:
    """Lines by iteration, with a vertical line at `marked`; `top` is the end of an axis in percent."""
    label = np.concatenate([np.repeat(line.label, line.x.size) for line in lines])
    x_all, y_all = np.concatenate([line.x for line in lines]), np.concatenate([line.y for line in lines])
    rows = data("rows", x=x_all, y=y_all, s=label)
    names = [line.label for line in lines]
    scale = alt.Scale(zero=float(np.nanmin(y_all)) >= 0.0, nice=True) if top is None else alt.Scale(domain=[0, top])
    axis = alt.Axis(tickCount=5) if top is None else PERCENT
    colors = alt.Scale(domain=names, range=[color(line.color) for line in lines])
    dashes = alt.Scale(domain=names, range=[[5, 4] if line.is_dashed else [1, 0] for line in lines])
    chart: Any = rows.chart().mark_line(strokeWidth=2, clip=True, interpolate="linear").encode(
        x=alt.X("x:Q", title=x, axis=alt.Axis(tickMinStep=1, tickCount=6, format=",d"), scale=alt.Scale(nice=False)),
        y=alt.Y("y:Q", title=y, scale=scale, axis=axis),
        color=alt.Color("s:N", legend=None, scale=colors),
        strokeDash=alt.StrokeDash("s:N", legend=None, scale=dashes),
        tooltip=[alt.Tooltip("s:N", title="curve"), alt.Tooltip("x:Q", title=x), alt.Tooltip("y:Q", title=y)],
    )  # fmt: skip
    mark = data("mark", x=[] if marked is None else [marked])
    return _spec(chart if marked is None else alt.layer(_vertical_line(mark), chart), 260, rows, mark)


class MarginCurve(NamedTuple):
    """The fraction of rows with at most this margin, after a round."""

    round: int
    margin: Floats
    fraction: Floats


def _margin_axes(title: str) -> dict[str, Any]:
    unit = alt.Scale(domain=[0, 1])
    return {
        "x": alt.X("m:Q", title=title, scale=alt.Scale(domain=[-1, 1]), axis=alt.Axis(tickCount=5)),
        "y": alt.Y("s:Q", title="fraction of rows", scale=unit, axis=PERCENT, stack=None),
    }


def _margin_steps(base: Any) -> tuple[Any, Any]:
    area = base.mark_area(interpolate="step-after", color=color("blue"), opacity=0.12)
    return area, base.mark_line(interpolate="step-after", strokeWidth=2.5, color=color("blue"))


def margin_curve(curve: MarginCurve, title: str) -> Spec:
    """One distribution of margins."""
    rows = data("rows", m=curve.margin, s=curve.fraction)
    base = rows.chart().encode(**_margin_axes(title))
    return _spec(alt.layer(*_margin_steps(base), _vertical_line(ORIGIN)), 260, rows, ORIGIN)


def margin_slider(steps: Sequence[MarginCurve], title: str) -> Spec:
    """The distribution of margins after the round chosen by a slider; those of the first and last round in grey."""
    last = steps[-1].round
    ends = [*(step.round for step in steps[1:]), last + 1]
    rows = data(
        "rows",
        m=np.concatenate([step.margin for step in steps]),
        s=np.concatenate([step.fraction for step in steps]),
        t=np.concatenate([np.repeat(step.round, step.margin.size) for step in steps]),
        u=np.concatenate([np.repeat(end, step.margin.size) for end, step in zip(ends, steps, strict=True)]),
    )
    slider = alt.param(name="chosen", value=last, bind=alt.binding_range(min=1, max=last, step=1, name="round "))
    base = rows.chart().encode(**_margin_axes(title))
    fixed = base.mark_line(interpolate="step-after", strokeWidth=1, color=color("grey"), opacity=0.6)
    fixed = fixed.transform_filter(f"datum.t == {steps[0].round} || datum.t == {last}").encode(detail="t:N")
    now = base.transform_filter("datum.t <= chosen && chosen < datum.u")
    text = now.transform_aggregate(m="min(m)", t="min(t)").transform_calculate(
        round="'round ' + datum.t", low="'minimum margin ' + format(datum.m, '.3f')"
    )
    at: dict[str, Any] = {"align": "left", "fill": INK}
    texts = [
        text.mark_text(fontWeight=600, fontSize=14, **at).encode(x=alt.value(10), y=alt.value(14), text="round:N"),
        text.mark_text(**at).encode(x=alt.value(10), y=alt.value(33), text="low:N"),
    ]
    chart = alt.layer(fixed, *_margin_steps(now), _vertical_line(ORIGIN), *texts).add_params(slider)
    return _spec(chart, 280, rows, ORIGIN)


def bars(names: Sequence[str], value: Floats, stderr: Floats, axis: str) -> Spec:
    """A bar with one standard error per name."""
    rows = data("rows", name=list(names), value=value, low=value - stderr, high=value + stderr)
    tooltip = [alt.Tooltip("name:N", title="feature"), alt.Tooltip("value:Q", title=axis, format=".3~g")]
    base = rows.chart().encode(y=_names(limit=110), tooltip=tooltip)
    high = float(np.nanmax(value + np.nan_to_num(stderr))) or 1.0
    low = min(0.0, float(np.nanmin(value - np.nan_to_num(stderr))))
    body = base.mark_bar(color=color("blue"), height={"band": 0.66}, cornerRadiusEnd=2).encode(
        x=alt.X("value:Q", title=axis, scale=alt.Scale(domain=[low, high], nice=False), axis=alt.Axis(tickCount=4))
    )
    if np.isnan(stderr).all():
        return _spec(body, 22 * len(names), rows)
    whisker = base.mark_rule(color=INK, strokeWidth=1.2).encode(x="low:Q", x2="high:Q")
    return _spec(alt.layer(body, whisker), 22 * len(names), rows)


def dependence(x: NDArray[Any], mean: Floats, lines: Sequence[tuple[str, Color]], title: str, axis: str) -> Spec:
    """Mean predictions [g, lines] over the values of a column: lines for numeric columns, dots for categories."""
    is_numeric = x.dtype.kind in "fiu"
    labels = [label for label, _ in lines]
    values = np.repeat(np.asarray(x, np.float64) if is_numeric else np.array([str(v) for v in x]), len(lines))
    rows = data("rows", x=values, y=mean.reshape(-1), s=np.tile(labels, len(x)))
    colors = alt.Scale(domain=labels, range=[color(one) for _, one in lines])
    field, free = "x:Q" if is_numeric else "x:N", alt.Scale(zero=False, nice=True)
    across = (
        alt.X(field, title=title, scale=alt.Scale(zero=False, nice=False), axis=alt.Axis(tickCount=5, format=PLAIN))
        if is_numeric
        else alt.X(field, title=title, sort=None, axis=_names_below([str(v) for v in x]))
    )
    base = rows.chart().encode(
        x=across, y=alt.Y("y:Q", title=axis, scale=free, axis=alt.Axis(tickCount=5)),
        color=alt.Color("s:N", legend=None, scale=colors),
        tooltip=[alt.Tooltip("s:N", title="output"), alt.Tooltip(field, title=title),
                 alt.Tooltip("y:Q", title=axis, format=".3~g")],
    )  # fmt: skip
    return _spec(base.mark_line(strokeWidth=2) if is_numeric else base.mark_circle(size=70, opacity=1), 180, rows)


def calibration(expected: Floats, observed: Floats, stderr: Floats, x: str, y: str) -> Spec:
    """Observed over expected fractions with one standard error, beside the diagonal."""
    unit, ends = alt.Scale(domain=[0, 1]), np.array([0.0, 1.0])
    rows = data("rows", x=expected, y=observed, low=observed - stderr, high=observed + stderr)
    diagonal = data("diagonal", x=ends, y=ends)
    base = rows.chart().encode(
        x=alt.X("x:Q", title=x, scale=unit, axis=PERCENT),
        tooltip=[alt.Tooltip("x:Q", title=x, format=".1%"), alt.Tooltip("y:Q", title=y, format=".1%")],
    )
    bar = base.mark_rule(strokeWidth=1.6, color=color("blue"))
    bar = bar.encode(y=alt.Y("low:Q", title=y, axis=PERCENT), y2="high:Q")
    line = base.mark_line(strokeWidth=1.2, color=color("blue"), opacity=0.6).encode(y="y:Q")
    points = base.mark_circle(size=70, color=color("blue"), opacity=1).encode(y="y:Q")
    return _spec(alt.layer(_diagonal(diagonal, unit), line, bar, points), 300, rows, diagonal)


def confusion(classes: Sequence[str], counts: NDArray[np.int64]) -> Spec:
    """A confusion matrix; the opacity of a cell is its fraction of the actual class."""
    k = len(classes)
    fraction = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    i, j = np.repeat(np.arange(k), k), np.tile(np.arange(k), k)
    labels = [str(label) for label in classes]
    rows = data(
        "rows", actual=[labels[a] for a in i], predicted=[labels[b] for b in j], n=counts.ravel(),
        fraction=fraction.ravel(), kind=np.where(i == j, "correct", "error"),
    )  # fmt: skip
    base = rows.chart().encode(
        x=alt.X("predicted:N", sort=labels, title="Predicted", axis=_names_below(labels)),
        y=alt.Y("actual:N", sort=labels, title="Actual", axis=alt.Axis(labelColor=INK, labelLimit=100)),
        tooltip=["actual:N", "predicted:N", alt.Tooltip("n:Q", title="rows"),
                 alt.Tooltip("fraction:Q", title="of the actual class", format=".1%")],
    )  # fmt: skip
    colors = alt.Color(
        "kind:N", legend=None, scale=alt.Scale(domain=["correct", "error"], range=[color("blue"), color("red")])
    )
    size = (44 if k <= 8 else 30) * k
    return _spec(_cells(base, "fraction", 0.7, text=alt.Text("n:Q", format=",d"), color=colors), size, rows)


def _cells(base: Any, value: str, dark: float, text: Any, **encoding: Any) -> Any:
    """Squares with a text, white above the value `dark`."""
    opacity = alt.Opacity(f"{value}:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0.05, 0.88], clamp=True))
    field = base.mark_rect(stroke=PAPER, strokeWidth=2, cornerRadius=3).encode(opacity=opacity, **encoding)
    ink = alt.condition(f"datum.{value} > {dark}", alt.value(PAPER), alt.value(INK))
    return alt.layer(field, base.mark_text(fontSize=12, fontWeight=600).encode(text=text, color=ink))


def _names_below(labels: Sequence[str]) -> alt.Axis:
    """Horizontal if they fit side by side on a phone, else slanted."""
    needed = len(labels) * max(min(LABEL_WIDTH * len(label) + 8, 70) for label in labels)
    return alt.Axis(labelColor=INK, labelAngle=0 if needed <= PHONE_WIDTH else -35, labelLimit=70)


def scatter(x: Floats, y: Floats, x_title: str, y_title: str) -> Spec:
    """Points beside the diagonal."""
    ends = np.array([min(x.min(), y.min()), max(x.max(), y.max())])
    scale = alt.Scale(domain=[float(f"{end:.{DIGITS}g}") for end in ends], nice=True)
    diagonal, rows = data("diagonal", x=ends, y=ends), data("rows", x=x, y=y)
    points = rows.chart().mark_circle(size=22, color=color("blue"), opacity=0.35).encode(
        x=alt.X("x:Q", title=x_title, scale=scale, axis=alt.Axis(tickCount=5)),
        y=alt.Y("y:Q", title=y_title, scale=scale),
    )  # fmt: skip
    return _spec(alt.layer(_diagonal(diagonal, scale), points), 300, rows, diagonal)


def histogram(edges: Floats, n: NDArray[np.int64], axis: str) -> Spec:
    """Numbers of rows in bins."""
    rows = data("rows", low=edges[:-1], high=edges[1:], n=n, zero=np.zeros(n.size))
    body = rows.chart().mark_rect(color=color("blue"), opacity=0.75, stroke=PAPER, strokeWidth=1).encode(
        x=alt.X("low:Q", title=axis, scale=alt.Scale(nice=False), axis=alt.Axis(tickCount=6)),
        x2="high:Q",
        y=alt.Y("n:Q", title="rows", axis=alt.Axis(tickCount=4)),
        y2="zero:Q",
        tooltip=[alt.Tooltip("low:Q", title="from"), alt.Tooltip("high:Q", title="to"), alt.Tooltip("n:Q")],
    )  # fmt: skip
    return _spec(alt.layer(body, _vertical_line(ORIGIN)), 200, rows, ORIGIN)


def intervals(ends: Floats, actual: Floats, y: str) -> Spec:
    """Intervals [n, 2] of some rows and their actual targets."""
    low, high = ends.T
    side = np.where((low <= actual) & (actual <= high), "inside", "outside")
    rows = data("rows", i=np.arange(1, actual.size + 1), low=low, high=high, actual=actual, side=side)
    base = rows.chart().encode(x=alt.X("i:Q", title="rows, by predicted value", axis=alt.Axis(labels=False)))
    whisker = base.mark_rule(strokeWidth=3, color=color("blue"), opacity=0.3).encode(
        y=alt.Y("low:Q", title=y, scale=alt.Scale(zero=False, nice=True)), y2="high:Q"
    )
    colors = alt.Scale(domain=["inside", "outside"], range=[color("blue"), color("red")])
    points = base.mark_circle(size=34, opacity=1).encode(
        y="actual:Q", color=alt.Color("side:N", legend=None, scale=colors),
        tooltip=["actual:Q", alt.Tooltip("low:Q", title="from"), alt.Tooltip("high:Q", title="to")],
    )  # fmt: skip
    return _spec(alt.layer(whisker, points), 260, rows)


def stacked(names: Sequence[str], parts: Sequence[str], values: Floats, colors: Sequence[Color], axis: str) -> Spec:
    """A stacked bar per name; values [names, parts]."""
    n, k = values.shape
    rows = data(
        "rows", name=np.repeat(np.array(names, object), k), part=np.tile(np.array(parts, object), n),
        value=values.ravel(), order=np.tile(np.arange(k), n),
    )  # fmt: skip
    scale = alt.Scale(domain=list(parts), range=[color(name) for name in colors])
    chart = rows.chart().mark_bar(height={"band": 0.62}).encode(
        y=_names(),
        x=alt.X("value:Q", title=axis, stack="zero", axis=alt.Axis(tickCount=5)),
        color=alt.Color("part:N", legend=None, scale=scale),
        order="order:Q",
        tooltip=["name:N", "part:N", "value:Q"],
    )  # fmt: skip
    return _spec(chart, ROW * n, rows)


def kappa_error(kappa: Floats, error: Floats) -> Spec:
    """A kappa-error diagram."""
    rows, free = data("rows", x=kappa, y=error), alt.Scale(zero=False)
    points = rows.chart().mark_circle(size=26, color=color("blue"), opacity=0.35).encode(
        x=alt.X("x:Q", title="kappa", scale=free),
        y=alt.Y("y:Q", title="mean error of the pair", scale=free, axis=alt.Axis(format="%")),
    )  # fmt: skip
    return _spec(points, 260, rows)


def correlations(names: Sequence[str], values: Floats) -> Spec:
    """A correlation matrix."""
    k = len(names)
    shown = np.array([str(name) for name in names], object)
    text = [f"{v:.2f}".replace("0.", ".", 1) if abs(v) < 0.995 else f"{v:.0f}" for v in values.ravel()]  # for a phone
    rows = data("rows", a=np.repeat(shown, k), b=np.tile(shown, k), value=values.ravel(), text=text)
    order = shown.tolist()
    base = rows.chart().encode(
        x=alt.X("a:N", sort=order, title=None, axis=alt.Axis(labelColor=INK, labelAngle=-35, labelLimit=90)),
        y=alt.Y("b:N", sort=order, title=None, axis=alt.Axis(labelColor=INK, labelLimit=110)),
        tooltip=["a:N", "b:N", alt.Tooltip("value:Q", format=".2f")],
    )
    return _spec(_cells(base, "value", 0.75, text="text:N", color=alt.value(color("purple"))), 30 * k, rows)
