"""Console output of a comparison: its progress, the table of the methods, a summary."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from committee.base.stats import standard_error_of_folds
from committee.base.text import format_seconds, join_names, pluralize
from committee.cli.console import console as console
from committee.cli.console import print_warnings as print_warnings
from committee.evaluation.choice import FOR_DEPENDENT_ROWS
from committee.evaluation.comparison import Comparison, ComparisonStep, MethodResult
from committee.evaluation.metrics import format_loss

MAX_TIES = 3
"""Methods with the loss of the winner that are named."""

WIDE = 110
"""Width of the console from which the table of the methods has all columns."""

FEW_ROWS = 30
"""Held-out rows below which a warning is printed."""


# --- the live view ----------------------------------------------------------------------------------------------------


class LiveComparison:
    """Table of the methods, updated while they are evaluated; in a pipe or a log, lines instead."""

    def __init__(self, out: Console, metric: str, n_methods: int = 0) -> None:
        self.out, self.metric, self.n_methods = out, metric, n_methods
        self.steps: dict[str, ComparisonStep] = {}
        self.last: ComparisonStep | None = None
        self.since = time.monotonic()
        self.printed = set[str]()
        self.live = (
            Live(get_renderable=self._view, console=out, refresh_per_second=4, transient=True)
            if out.is_terminal
            else None
        )

    def __enter__(self) -> LiveComparison:
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def __call__(self, step: ComparisonStep) -> None:
        """Show one step of the comparison."""
        if self.last is None or (step.method, step.state) != (self.last.method, self.last.state):
            self.since = time.monotonic()
        self.last = step
        if step.state != "refitting":
            self.steps[step.method] = step
        if self.live is None:
            line = self._line(step)
            if line:
                self.out.print(line, markup=False)

    def _line(self, step: ComparisonStep) -> str:
        """The line of this step in a log, "" if it was printed before."""
        key, line = f"{step.method} {step.state}", ""
        note = f" ({step.note})" if step.note else ""
        loss = f"{self.metric} {format_loss(self.metric, step.loss)}"
        head = f"{step.number}/{step.n_methods} {step.method}"
        if step.state == "refitting":
            key, line = f"{key} {step.note.partition(',')[0]}", _refit_words(step)
        elif step.state in ("failed", "out of time"):
            line = f"{head}: {step.state}{note}"
        elif step.state == "evaluated":
            key = f"{key} {step.fold}"
            if step.fold == 1 or step.n_methods == 1:
                line = f"{head}: fold {step.fold} of {step.n_folds}, {loss}{note}, {format_seconds(step.seconds)}"
        elif step.state in ("done", "partial"):
            line = f"{head}: {step.state} {loss}{note}" if step.state == "done" else ""
        if key in self.printed:
            return ""
        self.printed.add(key)
        return line

    def _view(self) -> Group:
        table = Table(box=None, pad_edge=False)
        for title in ("method", "folds", self.metric, "since the start", ""):
            table.add_column(title, justify="left" if title in ("method", "") else "right", no_wrap=True)
        for step in self.steps.values():
            state = {"evaluated": step.note, "starting": "running", "done": step.note, "partial": step.note}
            is_known = step.state not in ("failed", "out of time")
            table.add_row(
                step.method, f"{step.fold}/{step.n_folds}", format_loss(self.metric, step.loss) if is_known else "-",
                format_seconds(step.seconds), state.get(step.state, step.state),
            )  # fmt: skip
        return Group(table, Text(self._now()))

    def _now(self) -> str:
        """The current fit and its elapsed time."""
        if self.last is None:
            return ""
        elapsed = format_seconds(time.monotonic() - self.since)
        if self.last.state == "refitting":
            return f"{_refit_words(self.last)}: {elapsed} so far"
        to_come = max((self.n_methods or self.last.n_methods) - len(self.steps), 0)
        return f"{pluralize(to_come, 'method')} to come" if to_come else "more folds of the best methods"


def _refit_words(step: ComparisonStep) -> str:
    about = (
        f" (about {format_seconds(step.forecast_seconds)})"
        if step.forecast_seconds >= 1.0 and "round" not in step.note
        else ""
    )
    return f"fitting {step.method} {step.note or 'on all rows'}{about}"


# --- results ----------------------------------------------------------------------------------------------------------


def mean_and_stderr(result: MethodResult) -> tuple[float, float]:
    """Mean of the chosen loss over the folds and its standard error; nan where there is one fold."""
    known = result.losses[np.isfinite(result.losses)]
    return result.mean_loss, float(standard_error_of_folds(known[np.newaxis, :])) if known.size > 1 else np.nan


def results_table(found: Comparison, width: int = WIDE) -> Table:
    """The methods that were evaluated, from best to worst; "~" marks losses estimated from some of the folds.

    Numbers are never truncated: on a narrow console the table has fewer columns, and remarks are wrapped.
    """
    others = [name for name in next(iter(found.results)).metric_losses if name != found.metric][
        : 2 if width >= WIDE else 1
    ]
    times = ("fit", "predict") if width >= WIDE else ("fit",)
    titles = ("method", f"{found.metric} ± se", *others, *times)
    rows = [_cells(found, result, others, times) for result in found.ranking()]
    table = Table(box=None, pad_edge=False)
    for k, title in enumerate(titles):
        longest = max(len(title), *(len(row[k]) for row in rows))
        table.add_column(title, justify="right" if k else "left", no_wrap=True, min_width=longest)
    table.add_column("", overflow="fold")
    for result, row in zip(found.ranking(), rows, strict=True):
        table.add_row(*row, remarks(found, result), style="bold" if result.name == found.winner else None)
    return table


def _cells(found: Comparison, result: MethodResult, others: Sequence[str], times: Sequence[str]) -> list[str]:
    mean, error = mean_and_stderr(result)
    seconds = {"fit": result.fit_seconds, "predict": result.predict_seconds}
    return [
        result.name, ("~" if result.status == "partial" else "") + format_loss(found.metric, mean, stderr=error),
        *(format_loss(name, _mean_score(result, name)) for name in others),
        *(format_seconds(float(np.nanmedian(seconds[name]))) for name in times),
    ]  # fmt: skip


def _mean_score(result: MethodResult, metric: str) -> float:
    known = result.metric_losses[metric][np.isfinite(result.metric_losses[metric])]
    return float(known.mean()) if known.size else np.nan


def remarks(found: Comparison, result: MethodResult) -> str:
    """How a loss was estimated, and whether it is below that of the constant."""
    words = ["chosen"] if result.name == found.winner and is_choice(found) else []
    if result.beats_constant is False and result.name != "constant":
        words.append("no better than the constant")
    if result.status == "partial":
        words.append(f"{result.n_evaluated} of {pluralize(result.losses.size, 'fold')}")
    if result.setting:
        words.append(result.setting)
    if result.calibration is not None:
        words.append("calibrated")
    return ", ".join(words)


def is_choice(found: Comparison) -> bool:
    """Whether more than one method was compared."""
    return len(found.results) > 1


def method_notes(found: Comparison) -> list[str]:
    """Notes about the methods that were evaluated."""
    notes = [f"{each.name}: {each.note}" for each in found.ranking() if each.note]
    if any(each.status == "partial" for each in found.results):
        notes.append(
            "~ estimated from some of the folds, by comparison with the best method on the same folds. A longer "
            "--time-budget evaluates all folds."
        )
    return notes


def left_out(found: Comparison) -> list[str]:
    """A line for each method that was not evaluated."""
    lines = [f"{e.name}: {e.status}, {e.note}" for e in found.results if e.status in ("failed", "out of time")]
    is_short = any(each.status == "out of time" for each in found.results)
    return [*lines, "A longer --time-budget evaluates the methods that were out of time."] if is_short else lines


def verdict(found: Comparison, no_model: float = np.nan, standing: str = "better") -> str:
    """Summary: the winner and its loss on the held-out rows.

    `no_model` is the loss of a constant on these rows, `standing` how the winner compares with it.
    """
    metric, winner = found.metric, found.result(found.winner)
    mean = mean_and_stderr(winner)
    n_folds = pluralize(winner.n_evaluated, "fold")
    words = _constant_warning(found, winner)
    if is_choice(found):
        words += _choice(found, n_folds)
    else:
        shown = f"{format_loss(metric, mean[0], stderr=mean[1])}"
        words += f"{found.winner} has the {metric} {shown} over {n_folds}."
    if found.held_out_losses:
        error, se = found.held_out_losses[metric], found.held_out_loss_se
        n_rows = pluralize(found.held_out_rows.size, "held-out row")
        words += f" On {n_rows} its {metric} is {format_loss(metric, error, stderr=se)}"
        words += _against_constant(found, no_model, standing) + _also(found) + _few_rows(found)
        words += f" {found.learning_curve_note}" if found.learning_curve_note else ""
    if np.isfinite(found.nested_loss) and is_choice(found):
        words += (
            f" The nested estimate, with the method for each fold chosen on the other folds, is "
            f"{format_loss(metric, found.nested_loss, stderr=found.nested_loss_se)}."
        )
    return words + _how(found, winner)


def _constant_warning(found: Comparison, winner: MethodResult) -> str:
    """Warning about a winner that is no better than the constant."""
    if winner.name == "constant":
        return "No method is better than the constant. " if is_choice(found) else ""
    if winner.beats_constant is False:
        return f"{winner.name} is no better than the constant: these columns do not predict the target. "
    return ""


def _also(found: Comparison) -> str:
    """The error of a winner that was chosen by another metric."""
    if found.task != "classification" or found.metric == "error" or "error" not in found.held_out_losses:
        return ""
    return f" {format_loss('error', found.held_out_losses['error'])} of these rows are misclassified."


def _how(found: Comparison, winner: MethodResult) -> str:
    words = f" It was evaluated and fitted with {winner.setting} because of the time budget." if winner.setting else ""
    if winner.calibration is not None:
        words += " Its probabilities are calibrated."
    return words + (f" {found.model_note}" if found.model_note else "")


def _choice(found: Comparison, n_folds: str) -> str:
    """Why the winner was chosen (`evaluation/choice.py`)."""
    winner, metric = found.result(found.winner), found.metric
    smaller = [result for result in found.ranking() if result.mean_loss < winner.mean_loss]
    if not smaller:
        return f"{winner.name} has the smallest {metric} over {n_folds}{_ties(found)}."
    best = min(smaller, key=lambda result: result.mean_loss)
    if found.model_note:  # it has the reason
        return f"{winner.name} is chosen; {best.name} has a smaller {metric} over {n_folds}."
    why = "a combination of models has a lower variance than one of them"
    if winner.name == FOR_DEPENDENT_ROWS:
        why = "it generalises better to new groups or later rows than more flexible models"
    return (
        f"{winner.name} is chosen: its {metric} over {n_folds} is within one standard error of the smallest "
        f"({best.name}), and {why}."
    )


def _ties(found: Comparison) -> str:
    """The methods with the same loss as the winner."""
    winner = found.result(found.winner)
    same = [r.name for r in found.ranking() if r.name != winner.name and r.mean_loss == winner.mean_loss]
    if not same:
        return ""
    return f", and so {'has' if len(same) == 1 else 'have'} {join_names(same, MAX_TIES)}"


def _few_rows(found: Comparison) -> str:
    if found.held_out_rows.size >= FEW_ROWS:
        return ""
    n = found.held_out_rows.size
    return f" {pluralize(n, 'row')} {'is' if n == 1 else 'are'} very few for an estimate."


def _against_constant(found: Comparison, no_model: float, standing: str) -> str:
    if found.winner == "constant" or not np.isfinite(no_model):
        return "."
    doubt = {"not clear": ": it is not clearly better", "no better": ": it is no better"}.get(standing, "")
    return f"; the constant has {format_loss(found.metric, no_model)}{doubt}."


def as_json(value: Any) -> Any:
    """Convert to JSON types; nan becomes null."""
    if isinstance(value, np.ndarray):
        return as_json(value.tolist())
    if isinstance(value, np.generic):
        return as_json(value.item())
    if isinstance(value, dict):
        return {str(key): as_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(each) for each in value]
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, (str, int, bool)) else str(value)
