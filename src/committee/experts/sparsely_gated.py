"""The sparsely gated mixture of experts, in one layer or several.

Noisy top-k gates with balance losses are Shazeer et al. (2017), see `noisy_top_k.py`; layers stacked on layers are
Eigen, Ranzato and Sutskever (2013), see `deep_mixture.py`; the experts are small neural networks, see
`_neural_layers.py`. All parameters are fitted together by stochastic gradient descent:

    for every epoch
        for every batch of rows, in a new order
            eps ~ N(0, 1)                               noise of the gates, so that every expert receives rows
            theta <- adam(theta, gradient of the objective on the batch)
        evaluate on the held-out rows, without noise; stop when their loss no longer decreases, keep the best theta

Before anything is drawn, equal rows are merged and their weights are added: the order of the rows does not matter, and
an integer weight w is equivalent to repeating a row w times.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.base.parameters import (
    CATEGORICAL_FEATURES,
    CLASS_WEIGHT,
    RANDOM_STATE,
    Estimator,
    at_least,
    fitted,
    inner_fraction,
    non_negative,
    one_of,
    param,
    positive,
)
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.stacklevel import level_of_caller
from committee.base.transaction import all_or_nothing
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.ensemble.online import Rows, without_order
from committee.experts._neural_layers import Layer, start, views
from committee.experts.adam import Adam
from committee.experts.deep_mixture import (
    Batch,
    Losses,
    Network,
    make_network,
    objective,
    predictions,
    row_losses,
    scores,
)
from committee.experts.noisy_top_k import hard_load, importance, squared_variation
from committee.records.history import History
from committee.sampling.splits import hold_out, rows_to_split
from committee.tabular.class_weight import class_weights
from committee.tabular.encoder import EncoderOptions, fit_encoder
from committee.tabular.schema import Columns
from committee.tabular.validation import (
    read_one_target,
    read_table,
    read_targets_classification,
    read_training_table,
    read_weights,
    reject_missing_cells,
)

MIN_ROWS_TO_STOP = 500
"""With fewer distinct rows, early_stopping="auto" holds out none."""

NOISE = 0.1
"""Relative increase of the training loss that the noise of the gates may cause on a few rows."""

LIMIT = 1e6
"""Largest absolute value of a standardised column."""

MIN_BATCH, MAX_BATCH, BATCHES = 32, 256, 50
"""batch_size="auto" makes about 50 batches an epoch within these sizes."""


class Plan(NamedTuple):
    """How to train."""

    batch_size: int
    learning_rate: float
    n_epochs: int
    is_noisy: bool
    seed: int


class Capacity(NamedTuple):
    """How evenly a layer uses its experts: an entry of `capacity_`."""

    load: Floats  # [E], fraction of the rows that an expert receives: the sum is k
    importance: Floats  # [E], mean gate value: the sum is 1
    load_cv: float  # deviation / mean over the experts
    importance_cv: float
    max_over_mean_load: float


class Epoch(NamedTuple):
    """A row of `history_`."""

    epoch: int
    train_loss: float  # mean over the batches, each before its step and under its noise
    importance_loss: float  # CV^2, summed over the layers, mean over the batches
    load_loss: float
    validation_loss: float  # nan where no rows are held out
    expert_load: tuple[float, ...]  # fraction of the training rows that each expert received, layer after layer


def sparsely_gated_mixture(network: Network, theta: Floats, rows: Batch, plan: Plan) -> Iterator[Epoch]:
    """Train theta, which is changed in place, epoch by epoch."""
    rng, adam = np.random.default_rng(plan.seed), Adam(theta.size)
    n = len(rows.X)
    n_batches = math.ceil(n / plan.batch_size)
    for epoch in range(1, plan.n_epochs + 1):
        rate = plan.learning_rate * (1.0 - (epoch - 1) / plan.n_epochs)  # small steps at the end average noise out
        seen: list[Losses] = []
        sizes: list[int] = []
        for chosen in np.array_split(rng.permutation(n), n_batches):
            batch = rows.take(chosen)
            eps = [rng.standard_normal((len(chosen), shape.n_experts)) for shape in network.shapes if plan.is_noisy]
            losses, gradient = objective(network, theta, batch, eps or None)
            adam.step(theta, gradient, rate)
            seen.append(losses)
            sizes.append(len(chosen))
        data, of_importance, of_load, _ = np.average(np.array(seen), axis=0, weights=sizes)
        load = np.concatenate([each.load for each in measure_capacity(network, theta, rows)])
        yield Epoch(epoch, float(data), float(of_importance), float(of_load), math.nan, tuple(load.tolist()))


def mean_loss(network: Network, theta: Floats, rows: Batch) -> float:
    """Mean loss of the predictions, without noise."""
    loss, _ = row_losses(network, scores(network, theta, rows.X), rows.y)
    return float(np.average(loss, weights=rows.weight))


def measure_capacity(network: Network, theta: Floats, rows: Batch) -> list[Capacity]:
    """Load and importance of the experts of each layer, without noise."""
    sums = np.zeros((len(network.shapes), 2, network.shapes[0].n_experts))
    for block, works in predictions(network, theta, rows.X):
        for layer, work in enumerate(works):
            weight = rows.weight[block]
            sums[layer] += hard_load(work.gating, weight), importance(work.gating, weight)
    sums /= rows.weight.sum()
    return [_capacity(*amounts) for amounts in sums]


def _capacity(load: Floats, mean_gate: Floats) -> Capacity:
    load_cv, importance_cv = (math.sqrt(squared_variation(amount)[0]) for amount in (load, mean_gate))
    return Capacity(load, mean_gate, load_cv, importance_cv, float(load.max() / load.mean()))


def split_rows(rows: Rows, fraction: float, seed: int) -> tuple[Rows, Rows] | None:
    """Training and validation rows; None if there are too few rows."""
    to_split = rows_to_split(rows.X, rows.codes if rows.codes.size else rows.target, is_class=rows.codes.size > 0)
    result = hold_out(to_split, fraction, seed)
    return None if result is None else (rows.take(result.train), rows.take(result.test))


class BaseSparselyGatedMixture(Estimator):
    """The deep, sparsely gated mixture; a subclass reads the target and converts scores to predictions."""

    n_experts: int = param(at_least(1), default=8, doc="Number of experts of each layer.")
    top_k: int | None = param(
        at_least(1), None, default=2, doc="Number of experts that a row is sent to; None for all, the dense mixture."
    )
    n_layers: int = param(at_least(1), default=1, doc="Number of mixtures stacked on each other.")
    hidden_units: int = param(at_least(1), default=16, doc="Hidden units of an expert.")
    layer_width: int = param(at_least(1), default=16, doc="Number of outputs of a layer that the next layer reads.")
    noisy_gating: bool = param(
        "boolean", default=True, doc="Whether to add noise to the gates in training; its size is fitted."
    )
    importance_loss: float = param(
        non_negative,
        default=0.1,
        doc="Weight of the squared coefficient of variation of the mean gate values in the loss.",
    )
    load_loss: float = param(
        non_negative,
        default=0.1,
        doc="Weight of the squared coefficient of variation of the number of rows per expert in the loss.",
    )
    alpha: float = param(non_negative, default=1e-4, doc="L2 penalty of the weights of the experts.")
    learning_rate: float = param(
        positive,
        default=0.01,
        doc="Learning rate of Adam in the first epoch; it decreases linearly to 0 after `max_iter` epochs.",
    )
    batch_size: int | Literal["auto"] = param(
        at_least(1),
        one_of("auto"),
        default="auto",
        doc='Distinct rows per step. "auto" makes about 50 steps an epoch, of 32 to 256 rows.',
    )
    max_iter: int = param(at_least(1), default=100, doc="Maximum number of epochs.")
    early_stopping: bool | Literal["auto"] = param(
        "boolean",
        one_of("auto"),
        default="auto",
        doc='Whether to hold out validation rows, and to stop and select the best epoch by their loss; "auto" does so '
        "from 500 rows on. Otherwise the training loss is used.",
    )
    validation_fraction: float = param(inner_fraction, default=0.1, doc="Fraction of the rows held out for validation.")
    n_iter_no_change: int = param(
        at_least(1), default=20, doc="Number of epochs without an improvement by `tol` after which training stops."
    )
    tol: float = param(non_negative, default=1e-4, doc="Smallest decrease of the loss that counts as an improvement.")
    categorical_features: Any = param(*CATEGORICAL_FEATURES, default="from_dtype")
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    verbose: int = param("verbose", default=0)

    history_: History = fitted(
        doc="A row for each epoch: training loss, balance losses, validation loss and load of the experts."
    )
    n_iter_: int = fitted(doc="Number of epochs.")
    best_epoch_: int = fitted(doc="The epoch whose parameters were kept.")
    stop_reason_: str = fitted()
    start_loss_: float = fitted(doc="Loss of the training rows before the first epoch.")
    loss_: float = fitted(doc="Loss of the training rows with the parameters that were kept.")
    capacity_: list[Capacity] = fitted(
        doc="Load and importance of the experts of each layer on the training rows, with their coefficients of "
        "variation."
    )
    expert_load_: Floats = fitted(doc="Fraction of the training rows that each expert receives, [n_layers, n_experts].")
    columns_: Columns = fitted()
    n_features_in_: int = fitted()
    feature_names_in_: NDArray[Any] = fitted()

    # --- what a subclass chooses --------------------------------------------------------------------------------------

    def _read_target(self, y: Any, X: Floats, weight: Floats) -> Rows:
        """The rows with their targets; sets the attributes that describe the target."""
        raise NotImplementedError

    def _reweigh(self, rows: Rows) -> Rows:
        return rows

    def _n_classes(self) -> int:
        return 0

    def _as_batch(self, rows: Rows) -> Batch:
        """Rows with standardised columns and targets."""
        raise NotImplementedError

    # --- fitting ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train the network.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Categorical columns become one column for each category.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            An integer weight w is equivalent to repeating the row w times.
        """
        self._validate_params()
        if self.top_k is not None and self.top_k > self.n_experts:
            raise ValueError(
                f"top_k={self.top_k} is larger than n_experts={self.n_experts}: pass a smaller top_k, or None for all "
                "experts."
            )
        if self.top_k == 1 < self.n_experts:
            warnings.warn(
                "top_k=1: the gate value of a single expert is always 1, so the gate cannot be fitted to y; use "
                "top_k=2 or more.",
                UserWarning,
                stacklevel=level_of_caller(),
            )
        with all_or_nothing(self), one_blas_thread():  # more threads would change bits
            self._train(self._read(X, y, sample_weight))
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """The distinct rows with weight, in the order of their content."""
        columns, table = read_training_table(
            self, X, categorical_features=self.categorical_features, sample_weight=sample_weight
        )
        reject_missing_cells(table, columns, type(self).__name__, columns.is_categorical)
        self.columns_ = columns
        weight = read_weights(sample_weight, len(table))
        X_read = np.ascontiguousarray(table, np.float64)
        rows = self._read_target(y, X_read, np.ones(len(table)) if weight is None else weight)
        rows = self._reweigh(without_order(rows.take(rows.weight > 0.0)))
        return rows.take(rows.weight > 0.0)

    def _train(self, rows: Rows) -> None:
        seeds = [int(seed) for seed in member_seeds(self.random_state, 3)]
        self._encoder = fit_encoder(self.columns_, rows.X, rows.weight, EncoderOptions(categories="standardised"))
        parts = split_rows(rows, self.validation_fraction, seeds[0]) if self._holds_out(len(rows.X)) else None
        training, validation = (rows, None) if parts is None else parts
        train = self._as_batch(training)
        train = train._replace(weight=train.weight / train.weight.mean())
        self._network = self._make_network(train.X.shape[1])
        theta = start(self._network.shapes, np.random.default_rng(seeds[1]))
        plan = Plan(self._batch_size(len(train.X)), self.learning_rate, self.max_iter, self.noisy_gating, seeds[2])
        self.start_loss_ = mean_loss(self._network, theta, train)
        with np.errstate(over="ignore", invalid="ignore"):  # a run that overflows raises an error below
            self._run(theta, train, None if validation is None else self._as_batch(validation), plan)
        self.loss_ = mean_loss(self._network, self._theta, train)
        self._warn_if_no_progress()
        self.capacity_ = measure_capacity(self._network, self._theta, train)
        self.expert_load_ = np.array([each.load for each in self.capacity_])

    def _holds_out(self, n_rows: int) -> bool:
        return n_rows >= MIN_ROWS_TO_STOP if self.early_stopping == "auto" else bool(self.early_stopping)

    def _batch_size(self, n_rows: int) -> int:
        if self.batch_size == "auto":
            return min(max(n_rows // BATCHES, MIN_BATCH), MAX_BATCH)
        return self.batch_size

    def _make_network(self, n_features: int) -> Network:
        n_outputs = self._n_classes() or 1
        widths = [n_features, *[self.layer_width] * (self.n_layers - 1), n_outputs]
        prices = float(self.importance_loss), float(self.load_loss), float(self.alpha)
        top_k = self.n_experts if self.top_k is None else self.top_k
        return make_network(widths, self.n_experts, self.hidden_units, top_k, self._n_classes(), prices)

    def _run(self, theta: Floats, train: Batch, validation: Batch | None, plan: Plan) -> None:
        """Run epochs until the loss stops decreasing or `max_iter` is reached; keep the best parameters."""
        records: list[Epoch] = []
        best, best_epoch, waited = math.inf, 0, 0
        kept, reason = theta.copy(), f"all {self.max_iter} epochs were run"
        epochs = sparsely_gated_mixture(self._network, theta, train, plan)
        with progress(type(self).__name__, self.max_iter, self.verbose) as tick:
            for record in epochs:
                if validation is not None:
                    record = record._replace(validation_loss=mean_loss(self._network, theta, validation))
                self._reject_divergence(record, theta)
                records.append(record)
                tick(f"training loss {record.train_loss:.4f}")
                loss = record.train_loss if validation is None else record.validation_loss
                waited = 0 if loss < best - self.tol else waited + 1
                if loss < best:
                    best, best_epoch = loss, record.epoch
                    kept[:] = theta
                if waited >= self.n_iter_no_change:
                    reason = f"the loss decreased by no more than {self.tol:g} in {waited} epochs"
                    break
        self.history_ = History.from_records(records)
        self.n_iter_, self.best_epoch_, self.stop_reason_ = len(records), best_epoch, reason
        self._theta = kept

    def _warn_if_no_progress(self) -> None:
        """Warn if the training loss increased by more than noise: stochastic steps give no other certificate."""
        if not self.loss_ <= (1.0 + NOISE) * self.start_loss_ + self.tol:
            warnings.warn(
                f"Training made no progress in {self.n_iter_} epochs: the loss of the training rows is "
                f"{self.loss_:.4g}, before the first epoch it was {self.start_loss_:.4g}. Use a smaller learning_rate "
                f"than {self.learning_rate:g}, a larger max_iter, or a smaller alpha.",
                ConvergenceWarning,
                stacklevel=level_of_caller(),
            )

    def _reject_divergence(self, record: Epoch, theta: Floats) -> None:
        if not math.isfinite(record.train_loss) or not np.all(np.isfinite(theta)):
            raise ValueError(
                f"The loss diverged to infinity in epoch {record.epoch} with learning_rate={self.learning_rate}: use a "
                "smaller one, or a larger batch_size."
            )

    # --- predictions --------------------------------------------------------------------------------------------------

    def _inputs(self, X: Any) -> Floats:
        table = read_table(self, X)
        reject_missing_cells(table, self.columns_, type(self).__name__, self.columns_.is_categorical)
        return self._standardised(table)

    def _standardised(self, table: NDArray[np.floating]) -> Floats:
        """The inputs of the network; extreme values are limited, since they must not end in inf - inf."""
        with np.errstate(over="ignore", invalid="ignore"):
            columns = self._encoder(table)
        return np.clip(np.nan_to_num(columns, copy=False, nan=0.0), -LIMIT, LIMIT)

    def _scores(self, X: Any) -> Floats:
        inputs = self._inputs(X)
        return scores(self._network, self._theta, inputs)

    @property
    def layers_(self) -> list[Layer]:
        """The parameters of each layer, for standardised columns."""
        return views(self._theta, self._network.shapes)

    def gate_proba(self, X: Any, layer: int = 0) -> Floats:
        """Gate values G(x) of the experts of a layer, [n, experts]; 0 for experts that a row is not sent to."""
        inputs = self._inputs(X)
        n_layers = len(self._network.shapes)
        if layer not in range(n_layers):
            raise ValueError(f"layer must be a number from 0 to {n_layers - 1}; got {layer!r}.")
        out = np.empty((len(inputs), self._network.shapes[0].n_experts))
        for rows, works in predictions(self._network, self._theta, inputs):
            out[rows] = works[layer].gating.dense()
        return out

    def capacity(self, X: Any, sample_weight: ArrayLike | None = None) -> list[Capacity]:
        """Load, importance and their coefficients of variation of each layer on these rows."""
        inputs = self._inputs(X)
        weight = read_weights(sample_weight, len(inputs))
        rows = Batch(inputs, np.zeros(len(inputs)), np.ones(len(inputs)) if weight is None else weight)
        return measure_capacity(self._network, self._theta, rows)


class SparselyGatedMixtureClassifier(ClassifierMixin, BaseSparselyGatedMixture):
    """Sparsely gated mixture of neural experts, in one or several layers, for classification.

    A gate sends every row to the `top_k` experts with the largest values and mixes their outputs; experts are small
    neural networks with one hidden layer. Columns are standardised, a category becomes a column.

    Training minimises the log-loss by Adam.

    References
    ----------
    Shazeer, N. et al. (2017). Outrageously large neural networks: the sparsely-gated mixture-of-experts layer. ICLR.

    Eigen, D., Ranzato, M. and Sutskever, I. (2013). Learning factored representations in a deep mixture of experts.
    arXiv 1312.4314.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> from committee.experts.sparsely_gated import SparselyGatedMixtureClassifier
    >>> vehicle = load_dataset("vehicle")
    >>> model = SparselyGatedMixtureClassifier(random_state=0).fit(vehicle.X[::2], vehicle.y[::2])
    >>> round(model.score(vehicle.X[1::2], vehicle.y[1::2]), 1)
    0.8
    >>> model.expert_load_.shape, round(float(model.expert_load_.sum()), 6)  # two experts for each row
    ((1, 8), 2.0)
    """

    class_weight: Mapping[Any, float] | Literal["balanced"] | None = param(*CLASS_WEIGHT, default=None)

    classes_: NDArray[Any] = fitted()

    def _read_target(self, y: Any, X: Floats, weight: Floats) -> Rows:
        self.classes_, codes = read_targets_classification(y, len(X))
        return Rows(X, codes, codes, weight)

    def _reweigh(self, rows: Rows) -> Rows:
        if self.class_weight is None:
            return rows
        by_class = class_weights(self.class_weight, rows.codes, self.classes_, rows.weight)
        weight = read_weights(rows.weight * by_class[rows.codes], len(rows.X), "sample_weight times class_weight")
        assert weight is not None
        return rows._replace(weight=weight)

    def _n_classes(self) -> int:
        return len(self.classes_)

    def _as_batch(self, rows: Rows) -> Batch:
        return Batch(self._standardised(rows.X), rows.codes, rows.weight)

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities, [n, classes]."""
        return softmax(self._scores(X), axis=1)

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_function(self, X: Any) -> Floats:
        """The scores [n, classes]; for two classes the log-odds of the second, [n]."""
        score = self._scores(X)
        return score[:, 1] - score[:, 0] if score.shape[1] == 2 else score

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest score."""
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]


class SparselyGatedMixtureRegressor(RegressorMixin, PredictionIntervals, BaseSparselyGatedMixture):
    """Sparsely gated mixture of neural experts, in one or several layers, for regression.

    A gate sends every row to the `top_k` experts with the largest values and mixes their outputs; experts are small
    neural networks with one hidden layer. Columns are standardised, a category becomes a column.

    Training minimises the squared error of the standardised target by Adam; losses are half squared errors.

    References
    ----------
    Shazeer, N. et al. (2017). Outrageously large neural networks: the sparsely-gated mixture-of-experts layer. ICLR.

    Eigen, D., Ranzato, M. and Sutskever, I. (2013). Learning factored representations in a deep mixture of experts.
    arXiv 1312.4314.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.experts.sparsely_gated import SparselyGatedMixtureRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1.0, 1.0, (500, 2))
    >>> y = np.where(X[:, 0] > 0.0, 3.0 * X[:, 1], np.sin(5.0 * X[:, 1])) + 0.1 * rng.normal(size=500)
    >>> model = SparselyGatedMixtureRegressor(random_state=0).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 1)
    0.9
    """

    def _read_target(self, y: Any, X: Floats, weight: Floats) -> Rows:
        target = read_one_target(y, len(X), type(self).__name__)
        return Rows(X, target, np.empty(0, np.int64), weight)

    def _as_batch(self, rows: Rows) -> Batch:
        y = (rows.target - self._centre) / self._scale if self._scale > 0.0 else np.zeros(len(rows.X))
        return Batch(self._standardised(rows.X), y, rows.weight)

    def _train(self, rows: Rows) -> None:
        self._centre = float(np.average(rows.target, weights=rows.weight))
        deviation = math.sqrt(float(np.average((rows.target - self._centre) ** 2, weights=rows.weight)))
        self._scale = deviation if deviation > 1e-12 * abs(self._centre) else 0.0  # rounding is no deviation
        super()._train(rows)

    def predict(self, X: Any) -> Floats:
        """The gated sum of the experts' predictions."""
        score = self._scores(X)[:, 0]
        return self._centre + self._scale * score
