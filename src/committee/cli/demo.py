"""`committee demo`: a pruned tree and a boosted ensemble on built-in data, told step by step."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from rich.table import Table
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

from committee.boosting.adaboost import AdaBoostClassifier
from committee.data.samples import load_sample
from committee.theory.minmax import minmax_over_stumps
from committee.trees.decision_tree import DecisionTreeClassifier
from committee.trees.export import export_text

MAX_CURVE_ROWS = 12


def run_demo(console: Console, picture: Path) -> None:
    """Show a tree and a boosted ensemble; pictures are saved to `picture` and beside it."""
    show_tree(console, picture)
    console.print()
    show_boosting(console, picture)


def show_tree(console: Console, picture: Path) -> None:
    """Fit a pruned tree on the glass data and print what it found."""
    sample = load_sample("glass")
    X_train, X_test, y_train, y_test = train_test_split(
        sample.X, sample.y, test_size=1 / 3, stratify=sample.y, random_state=0
    )
    console.print(f"[bold]Glass[/bold]: {sample.description}")
    console.print(f"{len(y_train)} splinters to learn from, {len(y_test)} held out to test on.\n")

    tree = DecisionTreeClassifier(ccp_alpha="cv", random_state=0).fit(X_train, y_train)
    console.print(_pruning_table(tree))
    console.print(
        "The smallest tree whose error is within one standard error of the best is kept: "
        f"[bold]{tree.tree_.n_leaves} leaves[/bold].\n"
    )

    console.print("[bold]The tree[/bold]")
    console.print(export_text(tree, feature_names=sample.feature_names), markup=False, soft_wrap=True)

    predicted = tree.predict(X_test)
    console.print(f"\n[bold]Accuracy on the held-out third: {np.mean(predicted == y_test):.3f}[/bold]")
    console.print(_confusion_table(y_test, predicted, tree.classes_))
    _save_picture(console, tree, sample.feature_names, picture)


def show_boosting(console: Console, picture: Path) -> None:
    """Boost stumps on the sonar data and print what the theory knows of every round."""
    sample = load_sample("sonar")
    split: Any = train_test_split(sample.X, sample.y, test_size=1 / 3, stratify=sample.y, random_state=0)
    X_train, X_test, y_train, y_test = split
    console.print(f"[bold]Sonar[/bold]: {sample.description}")
    console.print(f"{len(y_train)} echoes to learn from, {len(y_test)} held out to test on.\n")
    model = AdaBoostClassifier(n_estimators=300).fit(X_train, y_train, X_val=X_test, y_val=y_test)
    console.print(_rounds_table(model))
    signs = np.where(y_train == model.classes_[1], 1, -1)
    best = minmax_over_stumps(X_train, signs).value
    console.print(
        "The exponential risk bounds the training error, on every round. The smallest margin is "
        f"[bold]{model.history_.smallest_margin[-1]:.3f}[/bold]; no vote of stumps can have more than {best:.3f}.\n"
    )
    console.print(f"[bold]Accuracy on the held-out third: {model.score(X_test, y_test):.3f}[/bold]")
    _save_boosting_pictures(console, model, X_train, y_train, best, picture)


def _rounds_table(model: AdaBoostClassifier) -> Table:
    table = Table(title="AdaBoost, round by round", title_justify="left")
    columns = {
        "edge": "edge",
        "coefficient": "a",
        "exponential_risk": "risk",
        "train_error": "training error",
        "smallest_margin": "smallest margin",
        "validation_error": "test error",
    }
    for title in ("round", *columns.values()):
        table.add_column(title, justify="right")
    for i in (0, 1, 4, 9, 19, 49, 99, 199, 299):
        table.add_row(str(i + 1), *(f"{model.history_[name][i]:.3g}" for name in columns))
    return table


def _save_boosting_pictures(
    console: Console, model: AdaBoostClassifier, X: NDArray[Any], y: NDArray[Any], best: float, picture: Path
) -> None:
    if find_spec("matplotlib") is None:
        return
    from committee.plots import ErrorCurveDisplay, MarginDistributionDisplay

    errors, margins = picture.with_name("errors.png"), picture.with_name("margins.png")
    ErrorCurveDisplay.from_estimator(model).figure_.savefig(errors, dpi=150, bbox_inches="tight")
    shown = MarginDistributionDisplay.from_estimator(model, X, y, largest_margin=best)
    shown.figure_.savefig(margins, dpi=150, bbox_inches="tight")
    console.print(f"Pictures of the errors and of the margins are in [bold]{errors}[/bold] and [bold]{margins}[/bold].")


def _pruning_table(tree: DecisionTreeClassifier) -> Table:
    """The cross-validated error along the pruning path, thinned to a readable number of rows, the choice kept."""
    curve = tree.pruning_
    shown = np.linspace(0, len(curve.alpha) - 1, MAX_CURVE_ROWS).round().astype(int)
    table = Table(title="Pruning: error in cross-validation", title_justify="left")
    for name in ("ccp_alpha", "leaves", "error", "standard error", ""):
        table.add_column(name, justify="right")
    notes = {curve.best: "smallest error", curve.chosen: "chosen"}
    for i in np.union1d(shown, list(notes)):
        figures = (f"{curve.alpha[i]:.5f}", f"{curve.mean_error[i]:.3f}", f"{curve.std_error[i]:.3f}")
        table.add_row(figures[0], str(curve.n_leaves[i]), *figures[1:], notes.get(i, ""))
    return table


def _confusion_table(y_true: ArrayLike, y_predicted: ArrayLike, classes: NDArray[Any]) -> Table:
    table = Table(title="Truth by rows, prediction by columns", title_justify="left")
    table.add_column("")
    for name in classes:
        table.add_column(str(name), justify="right")
    for name, counts in zip(classes, confusion_matrix(y_true, y_predicted, labels=classes), strict=True):
        table.add_row(str(name), *map(str, counts))
    return table


def _save_picture(
    console: Console, tree: DecisionTreeClassifier, feature_names: tuple[str, ...], picture: Path
) -> None:
    if find_spec("matplotlib") is None:
        console.print("Install matplotlib to get a picture of the tree as well.")
        return
    from committee.plots import PruningDisplay, TreeDisplay

    picture.parent.mkdir(parents=True, exist_ok=True)
    TreeDisplay.from_estimator(tree, feature_names=feature_names).figure_.savefig(picture, dpi=150, bbox_inches="tight")
    curve = picture.with_name("pruning.png")
    PruningDisplay.from_estimator(tree).figure_.savefig(curve, dpi=150, bbox_inches="tight")
    console.print(f"Pictures of the tree and of its pruning are in [bold]{picture}[/bold] and [bold]{curve}[/bold].")
