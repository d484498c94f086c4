"""scikit-learn estimators as members: seeds, fits with weights, checks of their predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import has_fit_parameter

from committee.base.array_types import Floats
from committee.sampling.resampling import draw
from committee.tabular.rows import take_rows
from committee.tree_engine.memory_guard import reject_too_many_copies

MAX_SEED = 2**31 - 1
"""Seeds of scikit-learn's estimators are smaller."""

MAX_ATTEMPTS = 20
"""Maximum number of samples drawn until one has two classes."""


# --- before the fit ---------------------------------------------------------------------------------------------------


def unfitted(estimator: Any, seed: int) -> Any:
    """Return a clone whose `random_state`, and those of nested estimators, are set from the seed."""
    copy: Any = clone(estimator)
    return copy.set_params(**{name: seed % MAX_SEED for name in copy.get_params() if name.endswith("random_state")})


def check_learner(estimator: Any, kind: Literal["classifier", "regressor"]) -> None:
    """Raise if a base learner is a class instead of an instance, or a classifier where a regressor is needed."""
    if isinstance(estimator, type):
        name = estimator.__name__
        raise TypeError(f"estimator is the class {name}: pass an instance of it, such as {name}().")
    if not hasattr(estimator, "__sklearn_tags__"):
        return
    if (is_regressor if kind == "classifier" else is_classifier)(estimator):
        other = "regressor" if kind == "classifier" else "classifier"
        raise ValueError(f"estimator must be a {kind}, {type(estimator).__name__} is a {other}: pass a {kind}.")


def rejects_weights(estimator: Any) -> bool:
    """Whether the user called `set_fit_request(sample_weight=False)`."""
    if "_metadata_request" not in getattr(estimator, "__dict__", {}):  # scikit-learn stores the request there
        return False
    request: Any = getattr(estimator.get_metadata_routing(), "fit", None)
    return request is not None and request.requests.get("sample_weight") is False


# --- fits under weights -----------------------------------------------------------------------------------------------


def fit_weighted(estimator: Any, X: Any, y: NDArray[Any], weight: Floats | None) -> Any:
    """Fit with sample weights; raise ValueError if there are any and the estimator does not accept them."""
    if weight is None:
        return estimator.fit(X, y)
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(f"{type(estimator).__name__} does not accept sample_weight: fit without it, or repeat rows.")
    return estimator.fit(X, y, sample_weight=weight)


def fit_constant(labels: NDArray[Any]) -> Any:
    """Return a classifier that predicts the only label; most classifiers reject a single class."""
    return DummyClassifier(strategy="most_frequent").fit(np.zeros((len(labels), 1)), labels)


def repeated_rows(counts: Floats, n_features: int, name: str) -> NDArray[np.int64]:
    """Repeat each row by its count; `name` is that of the estimator, for the error if memory is insufficient."""
    reject_too_many_copies(int(counts.sum()), n_features, name)
    return np.repeat(np.arange(counts.size), counts.astype(np.int64))


def resampled_rows(
    weight: Floats, codes: NDArray[np.int64], order: NDArray[np.int64], n_draws: int, seed: int
) -> NDArray[np.int64]:
    """Draw rows by weight until there are two classes; `order` sorts the rows by their values."""
    rows = np.empty(0, np.int64)
    for attempt in np.random.SeedSequence(seed).generate_state(MAX_ATTEMPTS, np.uint64):
        counts = draw(weight, order, n_draws, int(attempt))
        rows = np.repeat(np.arange(weight.size), counts.astype(np.int64))
        if np.ptp(codes[rows]) > 0:
            break
    return rows


def metadata_of_rows(metadata: Mapping[str, Any], rows: NDArray[np.int64], n_rows: int) -> dict[str, Any]:
    """Select the metadata of some of n rows: values with an entry for each row are indexed, others do not change."""
    return {name: _entries(value, rows, n_rows) for name, value in metadata.items()}


def _entries(value: Any, rows: NDArray[np.int64], n_rows: int) -> Any:
    if isinstance(value, str) or not hasattr(value, "__len__") or len(value) != n_rows:
        return value
    return take_rows(value if getattr(value, "ndim", 1) == 2 else np.asarray(value), rows)


# --- predictions ------------------------------------------------------------------------------------------------------


def predicted_codes(estimator: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the codes of the predicted classes; raise ValueError for other predictions."""
    predicted, n_rows = np.asarray(estimator.predict(X)), X.shape[0]
    codes = np.searchsorted(classes, predicted)
    if predicted.shape != (n_rows,) or np.any(classes.take(codes, mode="clip") != predicted):
        raise ValueError(
            f"{type(estimator).__name__} must predict for every row a class of the labels it was fitted on, "
            f"{classes[:5].tolist()}; its predict returned {_beginning(predicted)} of shape {predicted.shape} for "
            f"{n_rows} rows."
        )
    return codes.astype(np.int64, copy=False)


def predicted_values(estimator: Any, X: Any) -> Floats:
    """Return the predictions of a regressor, [n]; raise ValueError unless they are finite and one for each row."""
    return check_values(estimator, estimator.predict(X), X.shape[0])


def check_values(estimator: Any, predicted: Any, n_rows: int, hint: str = "") -> Floats:
    """Return predictions as an array [n]; raise ValueError unless they are finite and one for each row."""
    values = np.asarray(predicted, np.float64)
    if values.size != n_rows or not np.all(np.isfinite(values)):
        raise ValueError(
            f"{type(estimator).__name__} must predict a finite number for every row; its predict returned "
            f"{_beginning(values)} of shape {values.shape} for {n_rows} rows.{hint}"
        )
    return values.reshape(n_rows)


def predicted_probabilities(estimator: Any, X: Any, classes: NDArray[Any], hint: str = "") -> Floats:
    """Return the probabilities of the sorted classes, [n, K], 0 for those that the estimator was not fitted on."""
    n_rows, known = X.shape[0], np.searchsorted(classes, estimator.classes_)
    p = np.asarray(estimator.predict_proba(X), np.float64)
    if p.shape != (n_rows, known.size) or not np.all(np.isfinite(p)):
        raise ValueError(
            f"{type(estimator).__name__} must predict {known.size} finite probabilities for every row; its "
            f"predict_proba returned an array of shape {p.shape} for {n_rows} rows with {int(np.isnan(p).sum())} NaN "
            f"values.{hint}"
        )
    if known.size == len(classes):
        return p
    every = np.zeros((n_rows, len(classes)))
    every[:, known] = p
    return every


def _beginning(predicted: NDArray[Any]) -> str:
    return f"{predicted.ravel()[:5].tolist()}" + (" and so on," if predicted.size > 5 else ",")
