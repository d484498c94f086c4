"""What the command prints: tables of results, warnings, and the live view of a comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from committee.cli.console import console as console
from committee.cli.console import print_warnings as print_warnings
from committee.cli.wording import counted, listed
from committee.studies.comparison import Comparison, MethodResult, Step
from committee.studies.folds import stderr

MOST_TIES = 3
"""Methods named that err as much as the winner."""

FEW_ROWS = 30
"""Of so few an error is hardly known."""


def seconds_text(seconds: float) -> str:
    """A time for people.

    >>> seconds_text(0.0123), seconds_text(3.21), seconds_text(185), seconds_text(119.7)
    ('12 ms', '3.2 s', '3 min 5 s', '2 min 0 s')
    """
    if not np.isfinite(seconds):
        return "-"
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)  # before they are parted, or 119.7 s are 1 min 60 s
    return f"{minutes} min {rest} s"


def loss_text(metric: str, value: float, digits: int = 4) -> str:
    """Errors as percentages, other losses with so many digits.

    >>> loss_text("error", 0.1234), loss_text("rmse", 1234.567), loss_text("rmse", 1234.567, 2)
    ('12.3 %', '1235', '1200')
    """
    if not np.isfinite(value):
        return "-"
    if metric in ("error", "balanced error"):
        return f"{100 * value:.1f} %"
    shown = f"{value:.{digits}g}"
    return f"{float(shown):g}" if "e" in shown else shown


# --- the live view ----------------------------------------------------------------------------------------------------


class LiveComparison:
    """A table that fills while methods are judged; in a pipe or a log, one line for each method instead."""

    def __init__(self, out: Console, metric: str) -> None:
        self.out, self.metric = out, metric
        self.steps: dict[str, Step] = {}
        self.live = Live(self._view(), console=out, refresh_per_second=4, transient=True) if out.is_terminal else None

    def __enter__(self) -> LiveComparison:
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def __call__(self, step: Step) -> None:
        """One step further."""
        if step.state == "refitting":
            self._say(f"fitting {step.method} on all rows")
            return
        self.steps[step.method] = step
        if self.live is not None:
            self.live.update(self._view())
        elif step.state in ("done", "failed", "out of time"):
            # The error of some folds is not put beside that of all.
            error = f" {self.metric} {loss_text(self.metric, step.error)}" if step.state == "done" else ""
            note = f" ({step.note})" if step.state != "done" and step.note else ""
            self._say(f"{step.number}/{step.n_methods} {step.method}: {step.state}{error}{note}")

    def _say(self, line: str) -> None:
        self.out.print(line, markup=False)

    def _view(self) -> Group:
        table = Table(box=None, pad_edge=False)
        for title in ("method", "fold", self.metric, "since the start", ""):
            table.add_column(title, justify="left" if title in ("method", "") else "right", no_wrap=True)
        for step in self.steps.values():
            state = {"judged": "running", "starting": "starting"}.get(step.state, step.state)
            is_whole = step.state not in ("failed", "out of time")
            table.add_row(
                step.method, f"{step.fold}/{step.n_folds}", loss_text(self.metric, step.error) if is_whole else "-",
                seconds_text(step.seconds), state,
            )  # fmt: skip
        left = next((step.n_methods - step.number for step in reversed(self.steps.values())), 0)
        return Group(table, Text(f"{counted(left, 'method')} to come" if left else ""))


# --- results ----------------------------------------------------------------------------------------------------------


def mean_and_stderr(result: MethodResult) -> tuple[float, float]:
    """Of the chosen loss over the folds, with the standard error of `studies/folds.py`."""
    if not np.all(np.isfinite(result.errors)):
        return np.nan, np.nan
    return float(result.errors.mean()), float(stderr(result.errors[np.newaxis, :]))


def results_table(found: Comparison) -> Table:
    """The methods that were judged, from best to worst."""
    second = next(name for name in next(iter(found.results)).scores if name != found.metric)
    table = Table(box=None, pad_edge=False)
    for title in ("method", found.metric, "± se", second, "fit", "predict", ""):
        table.add_column(title, justify="left" if title in ("method", "") else "right", no_wrap=True)
    for result in found.ranking():
        mean, error = mean_and_stderr(result)
        table.add_row(
            result.name, loss_text(found.metric, mean), loss_text(found.metric, error, 2),
            loss_text(second, float(np.mean(result.scores[second]))),
            seconds_text(float(np.median(result.fit_seconds))),
            seconds_text(float(np.median(result.predict_seconds))),
            "chosen" if result.name == found.winner and is_choice(found) else "",
            style="bold" if result.name == found.winner else None,
        )  # fmt: skip
    return table


def is_choice(found: Comparison) -> bool:
    """Whether there was more than one method to choose from."""
    return len(found.results) > 1


def method_notes(found: Comparison) -> list[str]:
    """What methods that were judged have to say of themselves."""
    return [f"{each.name}: {each.note}" for each in found.results if each.status == "done" and each.note]


def left_out(found: Comparison) -> list[str]:
    """A line for each method that was not judged, with the reason."""
    lines = [f"{each.name}: {each.status}, {each.note}" for each in found.results if each.status != "done"]
    is_short = any(each.status == "out of time" for each in found.results)
    return [*lines, "A longer --budget judges those that were out of time."] if is_short else lines


def verdict(found: Comparison, no_model: float = np.nan, standing: str = "better") -> str:
    """The winner, and its error on rows that did not choose it.

    `no_model` is the loss of one answer to all of those rows, `standing` how the winner stands beside that.
    """
    metric = found.metric
    n_folds, mean = found.plan["n_folds"], mean_and_stderr(found.result(found.winner))
    words = f"{found.winner} has the smallest {metric} over {n_folds} folds{_ties(found)}."
    if not is_choice(found):
        shown = f"{loss_text(metric, mean[0])} (± {loss_text(metric, mean[1], 2)})"
        words = f"{found.winner} has the {metric} {shown} over {n_folds} folds."
    if found.held_out_scores:
        error, se = found.held_out_scores[metric], found.held_out_error_se
        what = "chose" if is_choice(found) else "taught it"
        words += (
            f" On {counted(found.held_out.size, 'row')} that {what} nothing its {metric} is "
            f"{loss_text(metric, error)} (± {loss_text(metric, se, 2)})"
        )
        words += _against_nothing(found, no_model, standing) + _few_rows(found)
    if np.isfinite(found.nested_error) and is_choice(found):
        words += (
            f" Choosing again without each fold gives {loss_text(metric, found.nested_error)} "
            f"(± {loss_text(metric, found.nested_se, 2)})."
        )
    return words


def _ties(found: Comparison) -> str:
    """Who errs exactly as much as the winner, if anybody does."""
    winner = found.result(found.winner)
    same = [r.name for r in found.ranking() if r.name != winner.name and r.errors.mean() == winner.errors.mean()]
    if not same:
        return ""
    return f", and so {'has' if len(same) == 1 else 'have'} {listed(same, MOST_TIES)}"


def _few_rows(found: Comparison) -> str:
    if found.held_out.size >= FEW_ROWS:
        return ""
    return f" {counted(found.held_out.size, 'row')} {'is' if found.held_out.size == 1 else 'are'} very few to judge by."


def _against_nothing(found: Comparison, no_model: float, standing: str) -> str:
    if found.winner == "constant" or not np.isfinite(no_model):
        return "."
    doubt = {"not clear": ": it is not clearly better", "no better": ": it is no better"}.get(standing, "")
    return f"; there, no model at all has {loss_text(found.metric, no_model)}{doubt}."


def as_json(value: Any) -> Any:
    """Plain values that JSON knows; nan becomes null."""
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
