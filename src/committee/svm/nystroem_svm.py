"""Kernel SVMs by the Nystroem approximation, for a million rows (Williams and Seeger 2001; Chapelle 2007).

In the features p(x) of `_nystroem_map`, a kernel SVM with a squared loss is a linear one,

    min over v, b of  P = 1/2 |v|^2 + C sum_i c_i loss(y_i, v p(x_i) + b)^2,    |v|^2 = u'K u for f = u k(x) + b

which three parts solve:

    1. Newton's method (`primal_newton`) on a sample of the rows, small enough to keep its features
    2. passes over all rows: P, its gradient and the predictions f; k(x) is computed again in every pass, block by block
    3. steps s = -B g, where B begins as the inverse Hessian of the sample and is updated by every pass (L-BFGS: Liu and
       Nocedal 1989); if the full step does not decrease P enough (Armijo), another one with the updated B is tried;
       after that a line search between the old and the new predictions needs no further pass

so P decreases from pass to pass. Several classes, one against the rest, share k(x) in every pass. A run ends when half
the decrement g B g, about the distance to the minimum, is below tol times P.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from committee.base.array_types import Floats
from committee.base.parameters import RANDOM_STATE, at_least, fitted, non_negative, one_of, param, positive
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.records.history import History
from committee.svm._base import EPSILON, BaseKernelParameters
from committee.svm._decision import Expansion
from committee.svm._linear_base import (
    BaseLargeClassifier,
    BaseLargeRegressor,
    BaseLargeSVM,
    Costs,
    TrainingRows,
    warn_of_no_convergence,
)
from committee.svm._linear_problem import LinearProblem, add_gram, excess, flat_plane, relative_gap
from committee.svm.kernel_algebra import Kernel, Points, Precision
from committee.svm.kernel_functions import NAMES, Precomputed
from committee.svm.landmarks import Choice, candidates, choose_landmarks
from committee.svm.mercer import warn_of_invalid
from committee.svm.nystroem_map import CostMatrix, NystroemMap, lost_trace, make_blocks, nystroem_map, sweep
from committee.svm.primal_newton import primal_newton

MIN_LANDMARKS, MAX_LANDMARKS = 50, 2000
"""Landmarks of n_landmarks="auto": 4 sqrt(n) between these."""

EXACT_CELLS = 5_000_000
"""Maximum number of kernel values in float64; more are float32."""

SAMPLE_CELLS, SAMPLE_ROWS = 40_000_000, 50_000
"""Maximum number of feature values and of rows of the sample."""

ROWS_PER_LANDMARK, MAX_CELLS = 20, 100_000_000
"""Minimum number of rows of the sample per landmark, else its Hessian misses directions; maximum of its features."""

CLOSE = 0.01
"""Relative tolerance for the sample: its minimum differs by more than that from the one over all rows."""

SETTLE_ROWS = 100_000
"""Maximum number of rows that a kernel is settled on."""

MEMORY = 10
"""Number of steps in the L-BFGS memory."""

SUFFICIENT = 1e-4
"""Armijo's constant."""

MAX_HALVINGS = 30
MAX_REJECTIONS = 3


class LandmarkRecord(NamedTuple):
    """The measurements of a pass: a row of `history_`."""

    problem: int  # which class, for more than two
    step: int  # passes so far
    objective: float
    gradient_norm: float
    excess: float  # half the decrement g B g: about how far the objective is above its minimum
    step_length: float  # of the step that led here; 0 if it was too long
    n_support: int  # rows outside the tube, or inside the margin
    landmark_loss: float  # fraction of the trace that the landmarks lose


class Descent(NamedTuple):
    """The state of one binary problem: the last accepted place (v, b), and a candidate for the next pass."""

    candidate: Floats  # [r + 1]
    inverse: Callable[[Floats], Floats]  # the inverse Hessian of the sample times a vector
    costs: Costs
    epsilon: float
    place: Floats = np.empty(0)
    value: float = np.inf  # P at the place
    g: Floats = np.empty(0)  # its gradient
    f: Floats = np.empty(0)  # predictions of all rows
    s: Floats = np.empty(0)  # the full step
    decrease: float = 0.0  # -g s
    t: float = 0.0  # the candidate is place + t s
    memory: tuple[tuple[Floats, Floats], ...] = ()  # steps, and how they changed the gradient
    n_support: int = 0
    n_rejected: int = 0
    is_done: bool = False


def descend(at: Descent, cost: float, gradient: Floats, f: Floats, n_support: int, tol: float) -> Descent:
    """Accept the candidate, given its cost, gradient and predictions from a pass, or prepare a shorter step."""
    value = cost + 0.5 * float(at.candidate[:-1] @ at.candidate[:-1])
    g = gradient + np.append(at.candidate[:-1], 0.0)
    memory = _remember(at, g)
    if not value <= at.value - SUFFICIENT * at.t * at.decrease:
        # The curvature measured by the pass is kept, and mostly gives the right length; else search for one
        return _aim(at._replace(memory=memory, n_rejected=1)) if at.n_rejected == 0 else _shorten(at, f)
    here = at._replace(place=at.candidate, value=value, g=g, f=f, memory=memory, n_support=n_support, n_rejected=0)
    here = _aim(here)
    return here._replace(is_done=0.5 * here.decrease <= tol * value)


def _remember(at: Descent, g: Floats) -> tuple[tuple[Floats, Floats], ...]:
    """The last steps and how they changed the gradient, with the step to the candidate, whose gradient is g."""
    if not at.place.size:
        return at.memory
    s, y = at.candidate - at.place, g - at.g
    is_curved = float(s @ y) > 1e-12 * float(np.linalg.norm(s) * np.linalg.norm(y))
    return (*at.memory[1 - MEMORY :], (s, y)) if is_curved else at.memory


def _aim(at: Descent) -> Descent:
    """Make the full step from the place the next candidate."""
    s = -_two_loops(at.g, at.memory, at.inverse)
    return at._replace(candidate=at.place + s, s=s, decrease=-float(at.g @ s), t=1.0)


def _two_loops(g: Floats, memory: tuple[tuple[Floats, Floats], ...], inverse: Callable[[Floats], Floats]) -> Floats:
    """B g: the inverse Hessian of the sample, corrected by the last steps."""
    q, taken = g.copy(), list[float]()
    for s, y in reversed(memory):
        a = float(s @ q) / float(s @ y)
        q -= a * y
        taken.append(a)
    q = inverse(q)
    for (s, y), a in zip(memory, reversed(taken), strict=True):
        q += (a - float(y @ q) / float(s @ y)) * s
    return q


def _shorten(at: Descent, f: Floats) -> Descent:
    """A shorter step, evaluated by predictions interpolated between those of the place and the candidate."""
    move = (f - at.f) / at.t
    for t in at.t * 0.5 ** np.arange(1, MAX_HALVINGS):
        if _value_after(at, float(t), move) <= at.value - SUFFICIENT * t * at.decrease:
            n_rejected = at.n_rejected + 1
            return at._replace(
                candidate=at.place + t * at.s, t=float(t), n_rejected=n_rejected, is_done=n_rejected >= MAX_REJECTIONS
            )
    return at._replace(is_done=True)  # rounding hides any decrease


def _value_after(at: Descent, t: float, move: Floats) -> float:
    low, high = excess(at.costs.y, at.f + t * move, at.epsilon)
    v = at.place[:-1] + t * at.s[:-1]
    return 0.5 * float(v @ v) + float(at.costs.up @ low**2) + float(at.costs.down @ high**2)


def nystroem_svm(
    mapping: NystroemMap,
    X: NDArray[np.floating],
    start: Sequence[Descent],
    *,
    epsilon: float,
    tol: float,
    max_iter: int,
    n_jobs: int | None,
    tick: Callable[[str], None] = lambda _: None,
) -> tuple[list[Descent], list[LandmarkRecord]]:
    """Minimise all binary problems together, pass by pass over the rows; return their states and the records."""
    descents, records = list(start), list[LandmarkRecord]()
    lost, blocks = lost_trace(mapping, X), make_blocks(mapping, X)
    for step in range(1, max_iter + 1):
        active = [k for k, descent in enumerate(descents) if not descent.is_done]
        if not active:
            break
        y, up, down = (np.column_stack(parts) for parts in zip(*(descents[k].costs for k in active), strict=True))
        place = np.column_stack([descents[k].candidate for k in active])
        result = sweep(mapping, blocks, CostMatrix(y, up, down, epsilon), place[:-1], place[-1], n_jobs)
        for j, k in enumerate(active):
            before, f = descents[k], result.f[:, j].copy()
            here = descend(before, float(result.value[j]), result.gradient[:, j], f, int(result.n_support[j]), tol)
            descents[k], t = here, before.t if here.place is not before.place else 0.0
            norm = float(np.linalg.norm(here.g))
            records.append(LandmarkRecord(k, step, here.value, norm, 0.5 * here.decrease, t, here.n_support, lost))
        tick(f"objective {sum(descent.value for descent in descents):.5g}")
    return descents, records


def begin(features: Floats, costs: Costs, factor: float, epsilon: float, is_all: bool) -> tuple[Floats, Any]:
    """The minimum over a sample, each row counted `factor` times, and the inverse Hessian there."""
    problem = LinearProblem(features, costs.y, factor * costs.up, factor * costs.down, epsilon, True, 0.0)
    place = np.zeros(features.shape[1] + 1)
    for plane, record, _ in primal_newton(problem, tol=1e-4, max_iter=200, start=flat_plane(features.shape[1])):
        place = np.append(plane.w, plane.b)
        if not is_all and record.excess <= CLOSE * record.objective:
            break
    low, high = excess(costs.y, features @ place[:-1] + place[-1], epsilon)
    H = np.eye(place.size)
    H[-1, -1] = 0.0
    c = 2.0 * (problem.up * (low > 0.0) + problem.down * (high > 0.0))
    add_gram(H, features, c, True)
    H[-1, -1] = H[-1, -1] or 1.0
    H[np.diag_indices_from(H)] *= 1.0 + 1e-12
    factored = cho_factor(H, check_finite=False)
    return place, lambda g: cho_solve(factored, g, check_finite=False)


class BaseNystroemSVM(BaseLargeSVM, BaseKernelParameters):
    """Base class of the Nystroem SVMs."""

    n_landmarks: int | Literal["auto"] = param(
        one_of("auto"),
        at_least(1),
        default="auto",
        kw_only=False,
        doc="Number of landmarks (Nystroem components). More landmarks approximate the kernel better and cost time in "
        'proportion; with as many as distinct rows the kernel is exact. "auto" is 4 sqrt(n_samples), between 50 and '
        "2,000.",
    )
    landmarks: Choice = param(
        one_of("uniform", "kmeans", "leverage"),
        default="kmeans",
        doc="How landmarks are chosen: centres of clusters, rows drawn at random, or rows drawn by their leverage "
        "scores.",
    )
    kernel: Any = param(
        one_of(*set(NAMES) - {"precomputed"}),
        callable,
        default="rbf",
        doc='The kernel, as in `SVC`, but not "precomputed".',
    )
    tol: float = param(
        positive,
        default=1e-3,
        doc="The passes stop when the estimated relative distance of the objective from its minimum is below it.",
    )
    max_iter: int = param(at_least(1), default=30, doc="Maximum number of passes over the rows.")
    random_state: RandomState = param(
        *RANDOM_STATE, default=None, doc="Seed of the choice of landmarks and of the starting sample."
    )

    landmarks_: Floats = fitted(doc="The landmarks, in standardised columns with `scale=True`.")
    landmark_coef_: Floats = fitted(doc="Coefficients of the kernel values of the landmarks, [n_binary, n_landmarks].")
    landmark_loss_: float = fitted(
        doc="Fraction of the trace of the kernel matrix that the landmarks lose; if it is large, use more landmarks."
    )
    excess_: Floats = fitted(doc="Estimated relative distance of each objective from its minimum.")

    def _epsilon(self) -> float:
        return 0.0

    def _fit_costs(self, rows: TrainingRows, costs: Sequence[Costs]) -> None:
        rng = np.random.default_rng(int(member_seeds(self.random_state, 1)[0]))
        kernel = self._settle_kernel(rows)
        mapping = self._map(kernel, rows, costs, rng)
        start = self._start(mapping, rows.X, costs, rng)
        with progress("passes", self.max_iter, self.verbose) as tick:
            descents, records = nystroem_svm(
                mapping, rows.X, start, epsilon=self._epsilon(), tol=self.tol, max_iter=self.max_iter,
                n_jobs=self.n_jobs, tick=tick,
            )  # fmt: skip
        self._set_results(mapping, descents, records)

    def _settle_kernel(self, rows: TrainingRows) -> Kernel:
        kernel = self._make_kernel()
        if isinstance(kernel, Precomputed):
            raise ValueError("A precomputed Gram matrix has no rows to choose landmarks from: use SVC or SVR.")
        some = slice(None, None, -(-len(rows.X) // SETTLE_ROWS))
        return kernel.settle(np.asarray(rows.X[some], np.float64), rows.weight[some])

    def _map(self, kernel: Kernel, rows: TrainingRows, costs: Sequence[Costs], rng: np.random.Generator) -> NystroemMap:
        result = candidates(rows.raw, rows.X, rows.weight, rng)
        warn_of_invalid(kernel, kernel.points(result.X))
        m = self.n_landmarks
        if m == "auto":
            m = int(np.clip(4.0 * np.sqrt(len(rows.X)), MIN_LANDMARKS, MAX_LANDMARKS))
        chosen = choose_landmarks(self.landmarks, result, int(m), kernel, 0.5 / self.C, rng)
        return nystroem_map(kernel, chosen, self._precision(kernel, chosen, rows, costs))

    def _precision(self, kernel: Kernel, chosen: Floats, rows: TrainingRows, costs: Sequence[Costs]) -> Precision:
        """float32 for many kernel values that are in its range."""
        single = kernel.points(chosen, np.float32)
        largest = max(max(float(np.abs(part).max()) for part in each) for each in costs)
        is_plain = _is_single(single) and not kernel.is_far_apart(single) and 1e-15 < largest < 1e15
        return np.float32 if is_plain and len(rows.X) * len(chosen) > EXACT_CELLS else np.float64

    def _start(
        self, mapping: NystroemMap, X: NDArray[np.floating], costs: Sequence[Costs], rng: np.random.Generator
    ) -> list[Descent]:
        n, m = len(X), mapping.points.n
        size = min(n, max(min(SAMPLE_CELLS // m, SAMPLE_ROWS), min(ROWS_PER_LANDMARK * m, MAX_CELLS // m)))
        some: Any = slice(None) if size == n else np.sort(rng.choice(n, size, replace=False))
        features = mapping.features(X[some])
        descents: list[Descent] = []
        for each in costs:
            part = Costs(*(values[some] for values in each))
            place, inverse = begin(features, part, n / size, self._epsilon(), size == n)
            descents.append(Descent(place, inverse, each, self._epsilon()))
        return descents

    def _set_results(self, mapping: NystroemMap, descents: Sequence[Descent], records: list[LandmarkRecord]) -> None:
        v = np.column_stack([descent.place for descent in descents])
        coef = mapping.T.T @ v[:-1]
        self.kernel_, self.landmarks_ = mapping.kernel, mapping.landmarks
        self.landmark_coef_, self.intercept_ = coef.T, v[-1]
        self.landmark_loss_ = records[-1].landmark_loss
        self.objective_ = np.array([descent.value for descent in descents])
        self.n_iter_ = records[-1].step
        self.history_ = History.from_records(records)
        self._expansion = Expansion(mapping.kernel, mapping.points, coef, v[-1])
        self.excess_ = np.array([relative_gap(0.5 * descent.decrease, descent.value) for descent in descents])
        self.converged_ = bool(np.all(self.excess_ <= self.tol))
        if not self.converged_:
            name, what = type(self).__name__, "the estimated relative excess over the minimum"
            reached = float(self.excess_.max())
            warn_of_no_convergence(name, self.n_iter_, self.max_iter, what, reached, self.tol, stacklevel=5)

    def _scores(self, table: NDArray[np.floating]) -> Floats:
        X = np.asarray(table, np.float64) if self.scaling_ is None else self.scaling_.apply(table)
        return self._expansion.values(np.asarray(X, np.float64), self.n_jobs)


def _is_single(points: Points) -> bool:
    return points.values.dtype == np.float32 and all(_is_single(part) for part in points.parts)


class NystroemSVC(BaseLargeClassifier, BaseNystroemSVM):
    """Kernel support vector classifier for many rows, by the Nystroem approximation.

    The kernel is approximated by its values at some hundred landmarks, and the squared hinge loss is minimised by a few
    passes over the rows. More than two classes are separated one against the rest.

    References
    ----------
    Williams, C. K. I. and Seeger, M. (2001). Using the Nystroem method to speed up kernel machines. NIPS 13, 682-688.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> from committee import NystroemSVC
    >>> sonar = load_dataset("sonar")
    >>> model = NystroemSVC(50, scale=True, random_state=0).fit(sonar.X[::2], sonar.y[::2])
    >>> round(model.score(sonar.X[1::2], sonar.y[1::2]), 3), round(model.landmark_loss_, 3)
    (0.865, 0.219)
    """


class NystroemSVR(BaseLargeRegressor, BaseNystroemSVM):
    """Kernel support vector regression for many rows, by the Nystroem approximation.

    The kernel is approximated by its values at some hundred landmarks, and the squared epsilon-insensitive loss is
    minimised by a few passes over the rows.

    References
    ----------
    Williams, C. K. I. and Seeger, M. (2001). Using the Nystroem method to speed up kernel machines. NIPS 13, 682-688.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import NystroemSVR
    >>> x = np.linspace(0.0, 6.0, 200)[:, None]
    >>> model = NystroemSVR(30, C=100.0, epsilon=0.0, random_state=0).fit(x, np.sin(x[:, 0]))
    >>> round(float(np.abs(model.predict(x) - np.sin(x[:, 0])).max()), 3)
    0.009
    """

    epsilon: float = param(non_negative, default=0.1, doc=EPSILON)

    def _epsilon(self) -> float:
        return self.epsilon
