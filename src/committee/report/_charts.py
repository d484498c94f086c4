"""The charts of the page as Vega-Lite specifications, from plain arrays.

Colours are variables of the page's style sheet: charts are drawn as SVG, so they turn dark, light or fit for paper with
the page and are not drawn again. Widths are those of the column a chart stands in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.report._section import Color, Spec

try:
    import altair as alt
except ImportError as error:
    raise ImportError("The report needs altair, vl-convert-python and jinja2: pip install 'committee[app]'.") from error


INK, SOFT, LINE, PAPER = "var(--ink)", "var(--soft)", "var(--line)", "var(--card)"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif"
ROW = 30  # pixels of a line of bars or dots
DIGITS = 5  # significant, of the numbers in the page
LABEL_WIDTH, PHONE_WIDTH = 6, 250  # pixels: of a letter beside an axis, and of a chart without its labels on a phone

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
    # the title of a vertical axis lies above it: turned text is hard to read and takes width from a phone
    "axisY": {
        "titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleX": 0, "titleY": -8,
        "titleBaseline": "bottom", "domain": False, "ticks": False,
    },
    "axisX": {"grid": False, "titlePadding": 8},
    "text": {"font": FONT, "fontSize": 12, "fill": INK},
    "rule": {"color": SOFT},
}  # fmt: skip


class Curve(NamedTuple):
    """A line over the rounds."""

    label: str
    x: Floats
    y: Floats
    color: Color
    is_dashed: bool = False


def color(name: Color) -> str:
    return f"var(--{name})"


class Source(NamedTuple):
    """The rows of a chart by name: put into the specification at the end, since altair would check each of them."""

    name: str
    rows: list[dict[str, Any]]

    def chart(self) -> Any:
        return alt.Chart(alt.NamedData(self.name))


def records(name: str, /, **columns: Any) -> Source:
    """Columns as the rows of a chart, numbers cut to the digits that can be seen."""
    lists = [_plain(values) for values in columns.values()]
    return Source(name, [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)])


def _plain(values: Any) -> list[Any]:
    array = np.asarray(values)
    if array.dtype.kind != "f":
        return array.tolist()
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in array.tolist()]


ORIGIN = records("origin", x=[0])


def thin(values: Floats, most: int = 240) -> NDArray[np.int64]:
    """Places of at most so many points of a curve: all of a short one, else dense at the start and even later."""
    n = values.size
    if n <= most:
        return np.arange(n)
    early = np.geomspace(1, n, most // 2) - 1
    return np.unique(np.concatenate([early, np.linspace(0, n - 1, most // 2)]).round().astype(np.int64))


def _spec(chart: Any, height: int, *sources: Source) -> Spec:
    spec: Spec = chart.properties(width="container", height=height).to_dict(validate=False)  # tests validate them
    del spec["config"]  # the page has one for all
    return {**spec, "datasets": {source.name: source.rows for source in sources}}


def _line_at(place: Source) -> Any:
    """A dotted upright line at `x`."""
    return place.chart().mark_rule(strokeDash=[2, 3], color=SOFT).encode(x="x:Q")


def _diagonal(ends: Source, scale: alt.Scale) -> Any:
    """The line where both axes say the same."""
    line = ends.chart().mark_line(strokeDash=[4, 4], strokeWidth=1, color=SOFT)
    return line.encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale))


def dots(names: Sequence[str], value: Floats, error: Floats, best: int, axis: str, is_share: bool) -> Spec:
    """A dot with a bar of one standard error for each name, in the order given; the best one stands out."""
    format = "%" if is_share else PLAIN
    who = ["best" if i == best else "other" for i in range(len(names))]
    low = np.where(value >= 0.0, np.maximum(value - error, 0.0), value - error)  # no loss is smaller than none
    data = records("rows", name=list(names), value=value, low=low, high=value + error, who=who)
    base = data.chart().encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelColor=INK, labelPadding=8, grid=True)),
        color=alt.Color(
            "who:N", legend=None, scale=alt.Scale(domain=["best", "other"], range=[color("blue"), color("grey")])
        ),
        tooltip=[
            alt.Tooltip("name:N", title="method"),
            alt.Tooltip("value:Q", title=axis, format=".1%" if is_share else PLAIN),
        ],
    )
    bars = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=axis, scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(format=format, tickCount=5)),
        x2="high:Q",
    )
    points = base.mark_circle(size=110, opacity=1).encode(x="value:Q")
    return _spec(alt.layer(bars, points), ROW * len(names), data)


def curves(lines: Sequence[Curve], x: str, y: str, *, marked: float | None = None, top: float | None = None) -> Spec:
    """Lines over rounds, bounds broken; `marked` is a round to draw a line at, `top` the highest share shown."""
    label = np.concatenate([np.repeat(line.label, line.x.size) for line in lines])
    x_all, y_all = np.concatenate([line.x for line in lines]), np.concatenate([line.y for line in lines])
    data = records("rows", x=x_all, y=y_all, s=label)
    names = [line.label for line in lines]
    scale = alt.Scale(zero=float(np.nanmin(y_all)) >= 0.0, nice=True) if top is None else alt.Scale(domain=[0, top])
    axis = alt.Axis(tickCount=5) if top is None else alt.Axis(tickCount=5, format="%")
    colors = alt.Scale(domain=names, range=[color(line.color) for line in lines])
    dashes = alt.Scale(domain=names, range=[[5, 4] if line.is_dashed else [1, 0] for line in lines])
    chart: Any = data.chart().mark_line(strokeWidth=2, clip=True, interpolate="linear").encode(
        x=alt.X("x:Q", title=x, axis=alt.Axis(tickMinStep=1, tickCount=6, format=",d"), scale=alt.Scale(nice=False)),
        y=alt.Y("y:Q", title=y, scale=scale, axis=axis),
        color=alt.Color("s:N", legend=None, scale=colors),
        strokeDash=alt.StrokeDash("s:N", legend=None, scale=dashes),
        tooltip=[alt.Tooltip("s:N", title="curve"), alt.Tooltip("x:Q", title=x), alt.Tooltip("y:Q", title=y)],
    )  # fmt: skip
    mark = records("mark", x=[] if marked is None else [marked])
    if marked is not None:
        chart = alt.layer(_line_at(mark), chart)
    return _spec(chart, 260, data, mark)


class Steps(NamedTuple):
    """The share of rows with at most this margin, after a round."""

    round: int
    margin: Floats
    share: Floats


def margin_slider(steps: Sequence[Steps], last_round: int, axis: str) -> Spec:
    """The distribution of margins after the round that a slider chooses; those of the first and last one in grey."""
    ends = [step.round for step in steps[1:]] + [last_round + 1]
    data = records(
        "rows",
        m=np.concatenate([step.margin for step in steps]),
        s=np.concatenate([step.share for step in steps]),
        t=np.concatenate([np.repeat(step.round, step.margin.size) for step in steps]),
        u=np.concatenate([np.repeat(end, step.margin.size) for end, step in zip(ends, steps, strict=True)]),
    )
    slider = alt.param(
        name="chosen", value=last_round, bind=alt.binding_range(min=1, max=last_round, step=1, name="round ")
    )
    x = alt.X("m:Q", title=axis, scale=alt.Scale(domain=[-1, 1]), axis=alt.Axis(tickCount=5))
    y = alt.Y("s:Q", title="share of rows", scale=alt.Scale(domain=[0, 1]), axis=PERCENT, stack=None)
    base = data.chart().encode(x=x, y=y)
    still = base.mark_line(interpolate="step-after", strokeWidth=1, color=color("grey"), opacity=0.6)
    ghosts = still.transform_filter(f"datum.t == {steps[0].round} || datum.t == {steps[-1].round}").encode(detail="t:N")
    now = base.transform_filter("datum.t <= chosen && chosen < datum.u")
    area = now.mark_area(interpolate="step-after", color=color("blue"), opacity=0.12)
    line = now.mark_line(interpolate="step-after", strokeWidth=2.5, color=color("blue"))
    smallest = now.transform_aggregate(m="min(m)", t="min(t)").transform_calculate(
        text="'after ' + datum.t + (datum.t == 1 ? ' round' : ' rounds')",
        low="'smallest margin ' + format(datum.m, '.3f')",
    )
    corner: dict[str, Any] = {"align": "left", "fill": INK}
    texts = [
        smallest.mark_text(fontWeight=600, fontSize=14, **corner).encode(
            x=alt.value(10), y=alt.value(14), text="text:N"
        ),
        smallest.mark_text(**corner).encode(x=alt.value(10), y=alt.value(33), text="low:N"),
    ]
    return _spec(alt.layer(ghosts, area, line, _line_at(ORIGIN), *texts).add_params(slider), 280, data, ORIGIN)


def steps_chart(margin: Floats, share: Floats, axis: str) -> Spec:
    """One distribution of margins."""
    x = alt.X("m:Q", title=axis, scale=alt.Scale(domain=[-1, 1]), axis=alt.Axis(tickCount=5))
    y = alt.Y("s:Q", title="share of rows", scale=alt.Scale(domain=[0, 1]), axis=PERCENT, stack=None)
    data = records("rows", m=margin, s=share)
    base = data.chart().encode(x=x, y=y)
    area = base.mark_area(interpolate="step-after", color=color("blue"), opacity=0.12)
    line = base.mark_line(interpolate="step-after", strokeWidth=2.5, color=color("blue"))
    return _spec(alt.layer(area, line, _line_at(ORIGIN)), 260, data, ORIGIN)


def bars(names: Sequence[str], value: Floats, error: Floats, axis: str) -> Spec:
    """A bar for each name with one standard error; `axis` names the unit in tooltips."""
    data = records("rows", name=list(names), value=value, low=value - error, high=value + error)
    base = data.chart().encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelColor=INK, labelLimit=110, labelPadding=6)),
        tooltip=[alt.Tooltip("name:N", title="column"), alt.Tooltip("value:Q", title=axis, format=".3~g")],
    )
    high = float(np.nanmax(value + np.nan_to_num(error))) or 1.0
    low = min(0.0, float(np.nanmin(value - np.nan_to_num(error))))
    scale = alt.Scale(domain=[low, high], nice=False)
    body = base.mark_bar(color=color("blue"), height={"band": 0.66}, cornerRadiusEnd=2).encode(
        x=alt.X("value:Q", title=None, scale=scale, axis=alt.Axis(tickCount=4))
    )
    if np.isnan(error).all():
        return _spec(body, 22 * len(names), data)
    whisker = base.mark_rule(color=INK, strokeWidth=1.2).encode(x="low:Q", x2="high:Q")
    return _spec(alt.layer(body, whisker), 22 * len(names), data)


def dependence(x: NDArray[Any], mean: Floats, lines: Sequence[tuple[str, Color]], title: str, axis: str) -> Spec:
    """Mean predictions [g, lines] over the values of a column: lines over numbers, dots over categories."""
    is_number = x.dtype.kind in "fiu"
    labels = [label for label, _ in lines]
    places = np.repeat(np.asarray(x, np.float64) if is_number else np.array([str(v) for v in x]), len(lines))
    data = records("rows", x=places, y=mean.reshape(-1), s=np.tile(labels, len(x)))
    scale = alt.Scale(domain=labels, range=[color(one) for _, one in lines])
    across = (
        alt.X("x:Q", title=title, scale=alt.Scale(zero=False, nice=False), axis=alt.Axis(tickCount=5, format=PLAIN))
        if is_number
        else alt.X("x:N", title=title, sort=None, axis=_names_below([str(v) for v in x]))
    )
    base = data.chart().encode(
        x=across, y=alt.Y("y:Q", title=axis, scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=5)),
        color=alt.Color("s:N", legend=None, scale=scale),
        tooltip=[alt.Tooltip("s:N", title="output"), alt.Tooltip("x:Q" if is_number else "x:N", title=title),
                 alt.Tooltip("y:Q", title=axis, format=".3~g")],
    )  # fmt: skip
    marks = base.mark_line(strokeWidth=2) if is_number else base.mark_circle(size=70, opacity=1)
    return _spec(marks, 180, data)


def calibration(said: Floats, seen: Floats, low: Floats, high: Floats, n: NDArray[np.int64], x: str, y: str) -> Spec:
    """Observed shares over promised ones with their standard errors, beside the line where both are equal."""
    unit = alt.Scale(domain=[0, 1])
    ends, data = np.array([0.0, 1.0]), records("rows", x=said, y=seen, low=low, high=high, n=n)
    diagonal = records("diagonal", x=ends, y=ends)
    equal = _diagonal(diagonal, unit)
    base = data.chart().encode(
        x=alt.X("x:Q", title=x, scale=unit, axis=PERCENT),
        tooltip=[
            alt.Tooltip("x:Q", title=x, format=".1%"), alt.Tooltip("y:Q", title=y, format=".1%"),
            alt.Tooltip("n:Q", title="rows"),
        ],
    )  # fmt: skip
    up = base.mark_rule(strokeWidth=1.6, color=color("blue")).encode(
        y=alt.Y("low:Q", title=y, axis=PERCENT), y2="high:Q"
    )
    line = base.mark_line(strokeWidth=1.2, color=color("blue"), opacity=0.6).encode(y="y:Q")
    points = base.mark_circle(size=70, color=color("blue"), opacity=1).encode(y="y:Q")
    return _spec(alt.layer(equal, line, up, points), 300, data, diagonal)


def confusion(classes: Sequence[str], counts: NDArray[np.int64]) -> Spec:
    """A square for every pair of true and answered class: how many rows, and how dark a share of the true class."""
    k = len(classes)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    truth, answer = np.repeat(np.arange(k), k), np.tile(np.arange(k), k)
    labels = [str(label) for label in classes]
    data = records(
       "rows",
        truth=[labels[i] for i in truth], answer=[labels[j] for j in answer], n=counts.ravel(), share=share.ravel(),
        kind=["right" if i == j else "wrong" for i, j in zip(truth, answer, strict=True)],
    )  # fmt: skip
    base = data.chart().encode(
        x=alt.X("answer:N", sort=labels, title="answer", axis=_names_below(labels)),
        y=alt.Y("truth:N", sort=labels, title="truth", axis=alt.Axis(labelColor=INK, labelLimit=100)),
        tooltip=[
            "truth:N", "answer:N", alt.Tooltip("n:Q", title="rows"),
            alt.Tooltip("share:Q", title="of the true class", format=".1%"),
        ],
    )  # fmt: skip
    colors = alt.Scale(domain=["right", "wrong"], range=[color("blue"), color("red")])
    field = base.mark_rect(cornerRadius=3, stroke=PAPER, strokeWidth=2).encode(
        color=alt.Color("kind:N", legend=None, scale=colors),
        opacity=alt.Opacity("share:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0.06, 0.9])),
    )
    white = alt.condition("datum.share > 0.7", alt.value(PAPER), alt.value(INK))
    text = base.mark_text(fontSize=13, fontWeight=600).encode(text=alt.Text("n:Q", format=",d"), color=white)
    return _spec(alt.layer(field, text), (44 if k <= 8 else 30) * k, data)


def _names_below(labels: Sequence[str]) -> alt.Axis:
    """Upright where a phone has room for them side by side, else slanted."""
    needed = len(labels) * max(min(LABEL_WIDTH * len(label) + 8, 70) for label in labels)
    return alt.Axis(labelColor=INK, labelAngle=0 if needed <= PHONE_WIDTH else -35, labelLimit=70)


def scatter(answer: Floats, truth: Floats, x: str, y: str) -> Spec:
    """Truth over answer, beside the line where both are equal."""
    ends = np.array([min(answer.min(), truth.min()), max(answer.max(), truth.max())])
    scale = alt.Scale(domain=[float(f"{end:.{DIGITS}g}") for end in ends], nice=True)
    diagonal, data = records("diagonal", x=ends, y=ends), records("rows", x=answer, y=truth)
    points = data.chart().mark_circle(size=22, color=color("blue"), opacity=0.35)
    axis = alt.Axis(tickCount=5)
    points = points.encode(x=alt.X("x:Q", title=x, scale=scale, axis=axis), y=alt.Y("y:Q", title=y, scale=scale))
    return _spec(alt.layer(_diagonal(diagonal, scale), points), 300, data, diagonal)


def histogram(low: Floats, high: Floats, n: NDArray[np.int64], axis: str) -> Spec:
    """Rows in bins that lie side by side."""
    data = records("rows", low=low, high=high, n=n, zero=np.zeros(n.size))
    body = data.chart().mark_rect(color=color("blue"), opacity=0.75, stroke=PAPER, strokeWidth=1)
    body = body.encode(
        x=alt.X("low:Q", title=axis, scale=alt.Scale(nice=False), axis=alt.Axis(tickCount=6)),
        x2="high:Q",
        y=alt.Y("n:Q", title="rows", axis=alt.Axis(tickCount=4)),
        y2="zero:Q",
        tooltip=[alt.Tooltip("low:Q", title="from"), alt.Tooltip("high:Q", title="to"), alt.Tooltip("n:Q")],
    )
    return _spec(alt.layer(body, _line_at(ORIGIN)), 200, data, ORIGIN)


def intervals(answer: Floats, low: Floats, high: Floats, truth: Floats, y: str) -> Spec:
    """The interval of each of some rows, in the order of the answers, and where the truth lies."""
    inside = np.where((low <= truth) & (truth <= high), "inside", "outside")
    place = np.arange(1, answer.size + 1)
    data = records("rows", i=place, answer=answer, low=low, high=high, truth=truth, inside=inside)
    base = data.chart().encode(x=alt.X("i:Q", title="rows, in the order of the answer", axis=alt.Axis(labels=False)))
    value = alt.Scale(zero=False, nice=True)
    whisker = base.mark_rule(strokeWidth=3, color=color("blue"), opacity=0.3).encode(
        y=alt.Y("low:Q", title=y, scale=value), y2="high:Q"
    )
    colors = alt.Scale(domain=["inside", "outside"], range=[color("blue"), color("red")])
    points = base.mark_circle(size=34, opacity=1).encode(
        y="truth:Q", color=alt.Color("inside:N", legend=None, scale=colors),
        tooltip=[alt.Tooltip("truth:Q"), alt.Tooltip("low:Q", title="from"), alt.Tooltip("high:Q", title="to")],
    )  # fmt: skip
    return _spec(alt.layer(whisker, points), 260, data)


def stacked(names: Sequence[str], parts: Sequence[str], values: Floats, colors: Sequence[Color], axis: str) -> Spec:
    """A bar for each name, made of parts; values [names, parts]."""
    n, k = values.shape
    data = records(
       "rows",
        name=[names[i] for i in np.repeat(np.arange(n), k)], part=[parts[j] for j in np.tile(np.arange(k), n)],
        value=values.ravel(), order=np.tile(np.arange(k), n),
    )  # fmt: skip
    chart = data.chart().mark_bar(height={"band": 0.62}).encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelColor=INK, labelPadding=6)),
        x=alt.X("value:Q", title=axis, stack="zero", axis=alt.Axis(tickCount=5)),
        color=alt.Color(
            "part:N", legend=None, scale=alt.Scale(domain=list(parts), range=[color(name) for name in colors])
        ),
        order="order:Q",
        tooltip=["name:N", "part:N", "value:Q"],
    )  # fmt: skip
    return _spec(chart, ROW * n, data)


def kappa_error(kappa: Floats, error: Floats) -> Spec:
    """A point for each pair of members: how much they agree beyond chance, and how often they err."""
    data = records("rows", x=kappa, y=error)
    points = data.chart().mark_circle(size=26, color=color("blue"), opacity=0.35)
    points = points.encode(
        x=alt.X("x:Q", title="agreement of the pair beyond chance (kappa)", scale=alt.Scale(zero=False)),
        y=alt.Y("y:Q", title="mean error of the pair", scale=alt.Scale(zero=False), axis=alt.Axis(format="%")),
    )
    return _spec(points, 260, data)


def _short(value: float) -> str:
    """Two places without the zero before the point: it must fit a cell on a phone."""
    return f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 0.995 else f"{value:.0f}"


def agreement(names: Sequence[str], values: Floats) -> Spec:
    """Squares of a symmetric table of correlations."""
    k = len(names)
    i, j = np.repeat(np.arange(k), k), np.tile(np.arange(k), k)
    shown = [str(name) for name in names]
    data = records(
        "rows",
        a=[shown[m] for m in i],
        b=[shown[m] for m in j],
        value=values.ravel(),
        text=[_short(v) for v in values.ravel()],
    )
    base = data.chart().encode(
        x=alt.X("a:N", sort=shown, title=None, axis=alt.Axis(labelColor=INK, labelAngle=-35, labelLimit=90)),
        y=alt.Y("b:N", sort=shown, title=None, axis=alt.Axis(labelColor=INK, labelLimit=110)),
        tooltip=["a:N", "b:N", alt.Tooltip("value:Q", format=".2f")],
    )
    opacity = alt.Opacity("value:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0.04, 0.85], clamp=True))
    field = base.mark_rect(color=color("purple"), stroke=PAPER, strokeWidth=2, cornerRadius=3).encode(opacity=opacity)
    white = alt.condition("datum.value > 0.75", alt.value(PAPER), alt.value(INK))
    text = base.mark_text(fontSize=11).encode(text="text:N", color=white)
    return _spec(alt.layer(field, text), 30 * k, data)
