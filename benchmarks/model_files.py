"""Sizes of model files: every form against the arrays as they are, and scikit-learn's forest by joblib.

python -m benchmarks.model_files --trees 50
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FORMS: dict[str, dict[str, bool]] = {
    "not compressed": {"compress": False},
    "compressed": {},
    "compact": {"compact": True},
    "prediction only": {"prediction_only": True},
}


class Table(NamedTuple):
    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]


class Row(NamedTuple):
    """One model on one table."""

    model: str
    table: str
    form: str
    n_bytes: int
    load_ms: float


def tables() -> Iterator[Table]:
    """Made tables of the shapes that users complained about; the long one has two decimals."""
    rng = np.random.default_rng(0)
    for n, d in ((1495, 100), (14_000, 8)):
        X = rng.normal(size=(n, d))
        X = X.round(2) if d == 8 else X
        y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
        yield Table(f"{n:,} x {d}, regression", X, y)
        for k in (2, 18):
            yield Table(
                f"{n:,} x {d}, {k} classes", X, np.searchsorted(np.quantile(y, np.linspace(0, 1, k + 1)[1:-1]), y)
            )


def models(table: Table, n_trees: int) -> dict[str, Any]:
    """Fitted by name."""
    import committee

    kind = "Regressor" if "regression" in table.name else "Classifier"
    few = {"n_estimators": n_trees, "random_state": 0}
    return {
        "random forest": getattr(committee, f"RandomForest{kind}")(**few),
        "extra trees": getattr(committee, f"ExtraTrees{kind}")(**few),
        "bagging": getattr(committee, f"Bagging{kind}")(**few),
        "AdaBoost": getattr(committee, f"AdaBoost{kind}")(**few),
        "gradient boosting": getattr(committee, f"GradientBoosting{kind}")(**few, early_stopping=False),
    }


def measure(table: Table, n_trees: int, folder: Path) -> Iterator[Row]:
    """Rows of all models of a table, and of scikit-learn's forest."""
    import joblib
    import sklearn.ensemble

    from committee.storage import load_model, save_model

    path = folder / "model"
    for name, model in models(table, n_trees).items():
        model.fit(table.X, table.y)
        for form, options in FORMS.items():
            save_model(model, path, **options)
            yield Row(name, table.name, form, path.stat().st_size, _milliseconds(lambda: load_model(path)))
    kind = "Regressor" if "regression" in table.name else "Classifier"
    peer = getattr(sklearn.ensemble, f"RandomForest{kind}")(n_trees, random_state=0).fit(table.X, table.y)
    for form, level in (("joblib", 0), ("joblib compress=3", 3)):
        joblib.dump(peer, path, compress=level)
        yield Row(
            "scikit-learn's forest", table.name, form, path.stat().st_size, _milliseconds(lambda: joblib.load(path))
        )


def _milliseconds(act: Callable[[], Any]) -> float:
    begin = time.process_time()
    act()
    return 1e3 * (time.process_time() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description="Sizes of model files.")
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--only", default="", help="tables whose name holds this")
    options = parser.parse_args()
    print("| table | model | form | kB | of the first form | load, ms |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for table in tables():
            if options.only not in table.name:
                continue
            first = 0
            for row in measure(table, options.trees, Path(folder)):
                first = row.n_bytes if row.form in ("not compressed", "joblib") else first
                sizes = f"{row.n_bytes / 1e3:,.0f} | {100 * row.n_bytes / first:.1f} %"
                print(f"| {row.table} | {row.model} | {row.form} | {sizes} | {row.load_ms:.0f} |")


if __name__ == "__main__":
    main()
