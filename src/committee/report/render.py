"""The page: every section that applies, in one HTML file that needs no network.

The JavaScript of Vega-Lite is put into the page once (vl-convert brings it), charts are read from one block of JSON,
and a Content-Security-Policy allows these scripts, by their hashes, and nothing else: whatever a column or a class is
called, it cannot become code, and the page cannot ask the network for anything.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee import __version__
from committee.base.atomic_write import write_text
from committee.base.kernel_cache import cache_directory
from committee.base.prediction_only_error import PredictionOnlyError
from committee.base.text import pluralize
from committee.evaluation.comparison import Comparison
from committee.report._context import Evidence, TableNotes
from committee.report._section import LeftOut, Section
from committee.report.bias_variance import bias_variance
from committee.report.calibration import calibration
from committee.report.comparison import comparison as compared
from committee.report.confusion import confusion
from committee.report.data_quality import data_warnings
from committee.report.diversity import diversity
from committee.report.error_curves import error_curves
from committee.report.importances import importances
from committee.report.intervals import intervals
from committee.report.label_issues import suspicious
from committee.report.margins import margins
from committee.report.method_cards import properties_card
from committee.report.partial_dependence import partial_dependence
from committee.report.provenance import provenance
from committee.report.residuals import residuals
from committee.report.support_vectors import support_vectors
from committee.report.verdict import verdict
from committee.theory.decomposition import Decomposition

SECTIONS: tuple[Callable[[Evidence], Section | LeftOut], ...] = (
    verdict,
    compared,
    confusion,
    residuals,
    calibration,
    intervals,
    importances,
    partial_dependence,
    error_curves,
    margins,
    bias_variance,
    diversity,
    support_vectors,
    data_warnings,
    suspicious,
    properties_card,
    provenance,
)
"""In the order of the page: what a reader asks first comes first."""


def write_report(
    path: str | os.PathLike[str],
    model: Any,
    X: Any,
    y: Any,
    *,
    comparison: Comparison | None = None,
    table: TableNotes | None = None,
    bias_variance: Mapping[str, Decomposition] | None = None,
    on_training_data: bool | None = True,
    training_index: NDArray[np.int64] | None = None,
    sample_weight: ArrayLike | None = None,
    title: str | None = None,
    random_state: int = 0,
    callback: Callable[[str], None] | None = None,
) -> Path:
    """Write the page about a fitted model to `path`, whole or not at all.

    Parameters
    ----------
    path : the HTML file
    model : a fitted classifier or regressor
    X, y : the rows it was fitted on, or others with `on_training_data=False`
    comparison : what `committee.compare` returned, whose winner the model is
    table : name and target of the file the rows came from, what was noticed in it, the command to repeat
    bias_variance : decompositions of the errors of some methods by name, optional
    on_training_data : False for rows that the model was not fitted on, None if that is not known
    training_index : for rows that are a part of the training rows, the position of each among them
    sample_weight : the weights that were given to fit, if any; those of a comparison count in the verdict, the other
        sections count every row once
    title : headline of the page
    random_state : seed of everything that is drawn at random for the report
    callback : called with the name of each section before it is made

    Examples
    --------
    >>> import tempfile
    >>> from committee import AdaBoostClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = AdaBoostClassifier(n_estimators=20).fit(sonar.X[:, :10], sonar.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(Path(folder) / "report.html", model, sonar.X[:, :10], sonar.y)
    ...     page.stat().st_size < 5_000_000, page.read_text().count("<figure")
    (True, 14)
    """
    result = Evidence(
        model, X, y, comparison, table, is_training=on_training_data, training_places=training_index,
        weight=sample_weight, bias_variance=bias_variance, seed=random_state,
    )  # fmt: skip
    result.check_rows()
    made = list[Section | LeftOut]()
    for make in SECTIONS:
        if callback is not None:
            callback(make.__name__.replace("_", " "))
        made.append(_made(make, result))
    html = render(result, made, title or _title(result))
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, html)
    return target


def _made(make: Callable[[Evidence], Section | LeftOut], result: Evidence) -> Section | LeftOut:
    """The section; one that fails must not take the others with it, and is named with what went wrong."""
    name = make.__name__.replace("_", " ")
    try:
        return make(result)
    except PredictionOnlyError:
        return LeftOut(name.capitalize(), "the model was saved for prediction only, without what this needs")
    except Exception as error:
        warnings.warn(f"The section {name!r} of the report failed: {error!r}", RuntimeWarning, stacklevel=3)
        return LeftOut(name.capitalize(), f"it could not be made ({type(error).__name__}: {error})")


def _title(result: Evidence) -> str:
    if result.notes is not None:
        return f"Predicting {result.notes.target} from {result.notes.name}"
    return f"{result.method} on {pluralize(result.n_rows, 'row')}"


def render(result: Evidence, made: list[Section | LeftOut], title: str) -> str:
    """The sections as HTML."""
    import jinja2

    from committee.report._charts import CONFIG

    sections = [one for one in made if isinstance(one, Section)]
    charts = {figure.key: figure.spec for section in sections for figure in section.figures}
    library, script = javascript(), _read("page.js")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(_read("page.html.j2")).render(
        title=title,
        eyebrow=_eyebrow(result),
        sections=sections,
        left_out=[one for one in made if isinstance(one, LeftOut)],
        style=_read("page.css"),
        script=script,
        library=library,
        script_hashes=" ".join(_hash(code) for code in (library, script)),
        specs=as_json({"config": CONFIG, "charts": charts}),
        version=__version__,
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _eyebrow(result: Evidence) -> str:
    size = f"{pluralize(result.n_rows, 'row')}, {pluralize(len(result.names), 'column')}"
    what = f"{pluralize(len(result.classes), 'class', 'classes')}" if result.is_classifier else "a number to predict"
    source = f"{result.notes.name}: " if result.notes is not None else ""
    return f"{source}{size}, {what}"


@cache
def javascript() -> str:
    """Vega, Vega-Lite and vega-embed in one piece, about 0.9 MB, in the version that altair writes charts for.

    Bundling takes seconds, so the result is kept beside the compiled kernels.
    """
    from altair import SCHEMA_VERSION

    wanted = ".".join(SCHEMA_VERSION.lstrip("v").split(".")[:2])
    kept = cache_directory() / f"vega-lite-{wanted}-vl-convert-{version('vl-convert-python')}.js"
    return _kept_bundle(kept) or _bundle(wanted, kept)


def _kept_bundle(kept: Path) -> str:
    """The bundle of an earlier page; "" where there is none, or a damaged one."""
    try:
        digest, _, bundle = kept.read_text(encoding="utf-8").partition("\n")
    except (OSError, ValueError):
        return ""
    return bundle if bundle and digest == _hash(bundle) else ""


def _bundle(vega_lite: str, kept: Path) -> str:
    import vl_convert

    made = vl_convert.javascript_bundle(vl_version=vega_lite)  # pyright: ignore[reportCallIssue] (its stub is wrong)
    # the bundle has names at its top level that would clash with those of the page
    bundle = "(function(){" + made.replace("</script", "<\\/script") + "\n})();"
    with suppress(OSError):  # the page does not need the copy
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, f"{_hash(bundle)}\n{bundle}")
    return bundle


def as_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(code: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def _read(name: str) -> str:
    return (files("committee.report") / name).read_text(encoding="utf-8")
