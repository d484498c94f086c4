"""The HTML page: every section that applies, in one self-contained file.

The JavaScript of Vega-Lite is embedded (from vl-convert), charts are read from one block of JSON, and a
Content-Security-Policy allows only these scripts, by their hashes: names of columns and classes cannot become code, and
nothing is loaded from the network.
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
from committee.report._charts import CONFIG
from committee.report._section import Omitted, Section
from committee.report.bias_variance import bias_variance
from committee.report.calibration import calibration
from committee.report.comparison import comparison as comparison_section
from committee.report.confusion import confusion
from committee.report.context import Context, Inputs, TableNotes, make_context
from committee.report.data_quality import data
from committee.report.importances import importances
from committee.report.intervals import intervals
from committee.report.label_issues import label_issues
from committee.report.margins import margins
from committee.report.members import members
from committee.report.method_cards import properties_card
from committee.report.partial_dependence import partial_dependence
from committee.report.provenance import provenance
from committee.report.residuals import residuals
from committee.report.summary import summary
from committee.report.support_vectors import support_vectors
from committee.report.training_history import training_history
from committee.theory.decomposition import Decomposition

SECTIONS: tuple[Callable[[Context], Section | Omitted], ...] = (
    summary, comparison_section, confusion, residuals, calibration, intervals, importances, partial_dependence,
    training_history, margins, bias_variance, members, support_vectors, data, label_issues, properties_card, provenance,
)  # fmt: skip
"""In the order of the page."""


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
    """Write an HTML report about a fitted model.

    The file is written completely or not at all.

    Parameters
    ----------
    path : str or path-like
        HTML file.
    model : fitted classifier or regressor
        Model of the report.
    X : array or DataFrame of shape (n_samples, n_features)
        Rows of the report.
    y : array of shape (n_samples,)
        Targets.
    comparison : Comparison, default=None
        Result of `compare`, whose selected method the model is.
    table : TableNotes, default=None
        Name of the file and of the target, warnings, and the command line that reproduces the report.
    bias_variance : dict of str to Decomposition, default=None
        Decompositions of the error of some methods.
    on_training_data : bool or None, default=True
        Whether X are the training rows; False for other rows, None if unknown.
    training_index : array of int, default=None
        For some of the training rows, the position of each row in the fit.
    sample_weight : array of shape (n_samples,), default=None
        Sample weights of the fit. The losses of a comparison are weighted; other sections are not.
    title : str, default=None
        Title of the page.
    random_state : int, default=0
        Seed of samples and permutations.
    callback : callable, default=None
        Called with the name of each section.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ValueError
        If X and y have different numbers of rows, or are not the training rows of a forest with out-of-bag rows.

    Examples
    --------
    >>> import tempfile
    >>> from committee import AdaBoostClassifier, write_report
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = AdaBoostClassifier(n_estimators=20).fit(sonar.X[:, :10], sonar.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(Path(folder) / "report.html", model, sonar.X[:, :10], sonar.y)
    ...     page.stat().st_size < 5_000_000, page.read_text().count("<figure")
    (True, 14)
    """
    inputs = Inputs(
        model, X, y, comparison, table, on_training_data, training_index, sample_weight, bias_variance, random_state
    )
    return write_page(path, make_context(inputs), title, callback)


def write_page(
    path: str | os.PathLike[str],
    context: Context,
    title: str | None = None,
    callback: Callable[[str], None] | None = None,
) -> Path:
    """Render all sections and write the page."""
    sections = list[Section | Omitted]()
    for render_section in SECTIONS:
        if callback is not None:
            callback(render_section.__name__.replace("_", " "))
        sections.append(_section(render_section, context))
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, render(context, sections, title or _title(context)))
    return target


def _section(render_section: Callable[[Context], Section | Omitted], context: Context) -> Section | Omitted:
    """A section; one that fails is omitted with a RuntimeWarning."""
    name = render_section.__name__.replace("_", " ")
    try:
        return render_section(context)
    except PredictionOnlyError:
        return Omitted(name.capitalize(), "the model was saved for prediction only")
    except Exception as error:
        warnings.warn(f"The section {name!r} of the report failed: {error!r}", RuntimeWarning, stacklevel=4)
        return Omitted(name.capitalize(), f"failed with {type(error).__name__}: {error}")


def _title(context: Context) -> str:
    if context.notes is not None:
        return f"Predicting {context.notes.target} from {context.notes.name}"
    return f"{context.method} on {pluralize(context.n_rows, 'row')}"


def render(context: Context, sections: list[Section | Omitted], title: str) -> str:
    """The page as HTML."""
    import jinja2

    shown = [one for one in sections if isinstance(one, Section)]
    charts = {figure.key: figure.spec for section in shown for figure in section.figures}
    library, script = javascript(), _read("page.js")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(_read("page.html.j2")).render(
        title=title,
        subtitle=_subtitle(context),
        sections=shown,
        omitted=[one for one in sections if isinstance(one, Omitted)],
        style=_read("page.css"),
        script=script,
        library=library,
        script_hashes=" ".join(_hash(code) for code in (library, script)),
        specs=as_json({"config": CONFIG, "charts": charts}),
        version=__version__,
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _subtitle(context: Context) -> str:
    size = f"{pluralize(context.n_rows, 'row')}, {pluralize(len(context.names), 'column')}"
    task = pluralize(context.classes.size, "class", "classes") if context.is_classifier else "regression"
    return f"{context.notes.name}: {size}, {task}" if context.notes is not None else f"{size}, {task}"


@cache
def javascript() -> str:
    """Vega, Vega-Lite and vega-embed, about 0.9 MB, in the version of altair.

    Bundling takes seconds: the bundle is kept in the cache directory, after its hash.
    """
    import vl_convert
    from altair import SCHEMA_VERSION

    wanted = ".".join(SCHEMA_VERSION.lstrip("v").split(".")[:2])
    name = f"vega-lite-{wanted}-vl-convert-{version('vl-convert-python')}.js"
    directory = cache_directory()
    if directory is not None:
        with suppress(OSError, ValueError):
            digest, _, bundle = (directory / name).read_text(encoding="utf-8").partition("\n")
            if bundle and digest == _hash(bundle):
                return bundle
    code = vl_convert.javascript_bundle(vl_version=wanted)  # pyright: ignore[reportCallIssue] (its stub is wrong)
    # a function, since its global names would clash with those of the page
    bundle = "(function(){" + code.replace("</script", "<\\/script") + "\n})();"
    if directory is not None:
        with suppress(OSError):
            write_text(directory / name, f"{_hash(bundle)}\n{bundle}")
    return bundle


def as_json(value: Any) -> str:
    """JSON that cannot close its script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(code: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def _read(name: str) -> str:
    return (files("committee.report") / name).read_text(encoding="utf-8")
