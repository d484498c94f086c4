"""Encodings of tables in files of version 0.1.0, converted to a `TableEncoder`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from committee.tabular.encoder import MISSING_FLAG, RankCurve, TableEncoder

State = dict[str, Any]

CLIPPED = 5.0
"""Limit of the columns of a representation."""


def from_numeric_columns(state: State) -> State:
    """Convert the columns of a numeric pipeline, whose `fill` was that of the original numbers."""
    is_number = np.isnan(state["category"])
    fill = np.where(is_number, (state["fill"] - state["mean"]) / state["deviation"], 0.0)
    fill = np.where(state["category"] == MISSING_FLAG, 1.0, fill)
    return _encoder(state, state["mean"], state["deviation"], fill, limit=1e50)


def from_design(state: State) -> State:
    """Convert the design matrix of a mixture, whose numbers were divided by `unit` first."""
    unit = state["unit"]
    return _encoder(state, state["mean"] * unit, state["deviation"] * unit, np.zeros(unit.size), has_ones=True)


def from_number_column(state: State) -> State:
    """Convert a numeric column of a representation, and its indicator of missing values."""
    is_ranked, n = state["quantiles"].size > 0, 1 + state["has_missing"]
    shift, scale = (0.0, 1.0) if is_ranked else (state["shift"], state["scale"])
    columns = {
        "source": np.full(n, state["column"], np.int64),
        "category": np.array([np.nan, MISSING_FLAG][:n]),
        "names": _names(state["column"], n),
    }
    fill = np.array([0.0, 1.0][:n])
    result = _encoder(columns, np.array([shift, 0.0][:n]), np.array([scale, 1.0][:n]), fill, limit=CLIPPED)
    curves = (RankCurve(0, state["quantiles"], state["scores"]),) if is_ranked else ()
    return {**result, "curves": curves}


def from_category_column(state: State) -> State:
    """Convert the indicators of the categories of a column of a representation."""
    n = state["codes"].size
    columns = {
        "source": np.full(n, state["column"], np.int64),
        "category": state["codes"].astype(np.float64),
        "names": _names(state["column"], n),
    }
    return _encoder(columns, state["shares"], np.ones(n), -state["shares"], limit=CLIPPED)


def from_parts(state: State) -> State:
    """Convert a representation, whose columns were stored one by one."""
    if "parts" not in state:
        return state
    parts: Sequence[TableEncoder] = state["parts"]
    encoder = None if state["kind"] == "codes" else _joined(parts)
    return {"kind": state["kind"], "encoder": encoder, "landmarks": state["landmarks"]}


def encoder_of_network(state: State) -> State:
    """Rename the design matrix of a sparsely gated mixture, which used it without the column of ones."""
    if "state.design" not in state:
        return state
    others = {name: value for name, value in state.items() if name != "state.design"}
    return {**others, "state.encoder": state["state.design"]._replace(has_ones=False)}


def _joined(parts: Sequence[TableEncoder]) -> TableEncoder:
    start = np.cumsum([0, *(part.source.size for part in parts)])[:-1].tolist()
    pairs = zip(start, parts, strict=True)
    curves = tuple(curve._replace(column=k + curve.column) for k, part in pairs for curve in part.curves)
    empty = [np.empty(0)]
    shift, scale, fill, category = (
        np.concatenate([*empty, *(getattr(part, name) for part in parts)])
        for name in ("shift", "scale", "fill", "category")
    )
    source = np.concatenate([np.empty(0, np.int64), *(part.source for part in parts)])
    names = tuple(name for part in parts for name in part.names)
    return TableEncoder(source, category, shift, scale, fill, names, CLIPPED, False, curves)


def _names(column: int, n: int) -> tuple[str, ...]:
    return (f"x[{column}]",) * n


def _encoder(
    columns: State, shift: Any, scale: Any, fill: Any, *, limit: float = np.inf, has_ones: bool = False
) -> State:
    return {
        **{name: columns[name] for name in ("source", "category", "names")},
        "shift": shift, "scale": scale, "fill": fill, "limit": limit, "has_ones": has_ones, "curves": (),
    }  # fmt: skip
