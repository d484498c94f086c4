"""LPBoost: the largest soft margin by column generation (Demiriz, Bennett and Shawe-Taylor 2002).

With u_it = y_i h_t(x_i), the vote of largest soft margin over the hypotheses h_t solves a linear program, and the
weights of the rows its dual:

    max rho - sum c_i xi_i    sum_t a_t u_it >= rho - xi_i,  sum a = 1,  a, xi >= 0
    min beta                  sum_i w_i u_it <= beta for all t,  sum w = 1,  0 <= w_i <= c_i

c_i = w0_i / nu, which is 1 / (nu n) for equal initial weights w0; without slacks (hard margin) no bound c_i on w_i.
Every round adds the hypothesis of largest edge under w, the dual constraint that w violates most, and solves again for
all coefficients. The optimum over all hypotheses lies between beta and that edge: the fit stops when they are within
tol. At most a fraction nu of the rows has a margin below rho.

The value is the mean margin of the fraction nu of the rows with the smallest margins, maximized over the votes. It is
positive iff nu exceeds the smallest hinge loss of a combination of the hypotheses (the primal with rho = 1, and its
dual):

    nu > min_{a >= 0} sum_i w0_i max(0, 1 - sum_t a_t u_it) = max sum v,  v'u_t <= 0 for all t,  0 <= v_i <= w0_i

One hypothesis of error e has the value 1 - 2 e / nu (for nu >= e), positive iff nu > 2 e. For a smaller nu the optimal
vote is a tie. nu="auto" therefore selects among multiples of 2 e, e the error of the first hypothesis, by
cross-validation over the hypotheses of AdaBoost, fitted once for each fold (Raetsch, Onoda and Mueller 2001).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from committee.base.array_types import Floats
from committee.base.parameters import at_least, fitted, fixed, fraction, non_negative, one_of, param
from committee.base.prediction_only_error import kept_from_fit
from committee.base.stacklevel import level_of_caller
from committee.boosting._weak_learners import TrainingRows, make_learner
from committee.boosting.adaboost import adaboost
from committee.boosting.classifier_base import BaseRoundBooster, Settings, ValidationVotes, Vote
from committee.boosting.multiplicative_weights import State, boost
from committee.boosting.votes import BinaryVotes, vote_fractions
from committee.ensemble.incremental import Run, seeds_of_rounds
from committee.ensemble.stopping import Patience, Stopping
from committee.ensemble.warm_start import check_n_estimators, check_same_data
from committee.members.member import Member, Predictions, WeakLearner
from committee.records.history import History
from committee.sampling.splits import NOT_TESTED, Split, fold_numbers, k_folds, rows_to_split
from committee.tabular.identity import distinct_rows
from committee.tabular.validation import read_known_classes
from committee.theory.minmax import duality_gap, warn_of_gap

MakeLearner = Callable[[TrainingRows], WeakLearner]

SMALLEST = 1e-10
"""Coefficients below it are rounding errors of the solver."""

ALL = "all hypotheses were generated"

HIGHS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": False}
"""The smallest tolerances, as primal and dual solutions are both used; presolve takes a quarter more time."""

FRACTIONS = (0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
"""Candidates of nu="auto", in units of 2 e."""

FALLBACK_FRACTION = 1.1
"""In the same units: above 1 the value is positive, but the first hypothesis has nearly all of the vote."""

MIN_NU = 0.01
N_FOLDS = 3
MAX_ROWS = 2000
"""Maximum number of rows of the cross-validation of nu."""

MAX_HYPOTHESES = 50
"""Maximum number of hypotheses in each fold of the cross-validation of nu."""


class Master(NamedTuple):
    """The optimum over the hypotheses found so far."""

    value: float  # beta = rho - sum c xi
    rho: float  # the soft margin
    coefficients: Floats  # [T]
    weight: Floats  # [n]


class LPRecord(NamedTuple):
    """Measurements of a round: a row of `history_`."""

    round: int
    error: float  # of the new hypothesis under the weights
    edge: float  # of the new hypothesis
    value: float  # beta with it
    rho: float
    gap: float  # edge - value, an upper bound on the increase of the value
    train_error: float
    min_margin: float
    n_active: int  # hypotheses with a coefficient other than zero
    validation_error: float


class LPTurn(NamedTuple):
    """The result of one round."""

    record: LPRecord
    member: Member | None  # None if the hypothesis is discarded
    master: Master
    stop: str


class Candidate(NamedTuple):
    """A candidate of nu="auto": a row of `nu_search_`."""

    nu: float
    value: float  # the smallest over the folds
    error: float  # on the held-out rows
    standard_error: float  # of its difference from the smallest error


class Generated(NamedTuple):
    """All hypotheses of a run; a warm start continues from here."""

    members: list[Member]  # every hypothesis generated
    stages: list[Floats]  # the coefficients after every round
    records: list[LPRecord]
    weight: Floats  # the dual weights, of distinct rows
    reason: str


class LPRun(Run):
    """A run that keeps the coefficients of each round, and the last weights."""

    def __init__(self, earlier: Generated, is_done: bool) -> None:
        super().__init__(earlier.members, (), earlier.records, earlier.reason if is_done else "")
        self.stages, self.weight = list(earlier.stages), earlier.weight

    def add(self, round_: LPTurn, record: LPRecord) -> None:
        if round_.member is not None:
            self.members.append(round_.member)
        self.records.append(record)
        self.stages.append(round_.master.coefficients)
        self.weight = round_.master.weight


def solve_master(agreement: Floats, cap: Floats | None) -> Master:
    """Solve the dual for the columns u_t of `agreement` [n, T]; `cap` are the upper bounds c of the weights."""
    n, n_columns = agreement.shape
    upper = np.full(n, np.inf) if cap is None else cap
    result: Any = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=np.column_stack([agreement.T, np.full(n_columns, -1.0)]),
        b_ub=np.zeros(n_columns),
        A_eq=np.append(np.ones(n), 0.0)[np.newaxis],
        b_eq=[1.0],
        bounds=np.column_stack([np.append(np.zeros(n), -np.inf), np.append(upper, np.inf)]),
        method="highs",
        options=HIGHS,
    )
    if result.status != 0:
        raise RuntimeError(f"HiGHS found no optimum of the linear program: {result.message}")
    a = -result.ineqlin.marginals
    a = np.where(a > SMALLEST, a, 0.0)
    w = np.maximum(result.x[:n], 0.0)
    a, w = a / a.sum(), w / w.sum()
    warn_of_gap(duality_gap(agreement, a, w, cap))
    return Master(float(result.fun), float(result.eqlin.marginals[0]), a, w)


def smallest_nu(agreement: Floats, start: Floats) -> float:
    """Compute the nu above which the value is positive: the smallest hinge loss of a combination of the columns."""
    n, n_columns = agreement.shape
    result: Any = linprog(
        -np.ones(n), A_ub=agreement.T, b_ub=np.zeros(n_columns), bounds=np.column_stack([np.zeros(n), start]),
        method="highs", options=HIGHS,
    )  # fmt: skip
    if result.status != 0:
        raise RuntimeError(f"HiGHS found no optimum of the linear program: {result.message}")
    return -float(result.fun)


def lpboost(
    weak_learner: WeakLearner,
    y: NDArray[np.int8],
    start: Floats,
    columns: Sequence[NDArray[Any]],
    seeds: Sequence[int],
    *,
    nu: float | None,
    tol: float,
    n_before: int = 0,
) -> Iterator[LPTurn]:
    """Generate columns round by round, from the columns u of earlier rounds."""
    cap = None if nu is None else start / nu
    u = np.column_stack([*columns, np.empty((y.size, 0))])
    known = {column.tobytes() for column in u.T}
    master = solve_master(u, cap) if columns else Master(-np.inf, -np.inf, np.empty(0), start)
    for t, seed in enumerate(seeds, start=n_before + 1):
        # Step 1: the hypothesis of largest edge under the dual weights
        h = weak_learner(master.weight, seed)
        new = np.asarray(h.predictions * y, np.float64)
        error = float(master.weight[new < 0.0].sum())
        edge = 1.0 - 2.0 * error
        # Step 2: stop if no dual constraint is violated: the vote is optimal
        stop = _optimal(edge, master.value, tol, new.tobytes() in known)
        member = None if stop else h.member
        # Step 3: solve for all coefficients
        if member is not None:
            u = np.column_stack([u, new])
            known.add(new.tobytes())
            master = solve_master(u, cap)
            stop = _optimal(edge, master.value, tol, False)
        # Step 4: the record
        margins = u @ master.coefficients
        wrong = np.where(y > 0, margins <= 0.0, margins < 0.0)  # the prediction of a tie is -1
        record = LPRecord(
            t, error, edge, master.value, master.rho, edge - master.value, float(start[wrong].sum()),
            float(margins.min()), int(np.count_nonzero(master.coefficients)), np.nan,
        )  # fmt: skip
        yield LPTurn(record, member, master, stop)
        if stop:
            return


def _optimal(edge: float, value: float, tol: float, is_known: bool) -> str:
    if edge - value <= tol:
        return f"no hypothesis has an edge above the value by more than {tol:g}: the optimum is reached"
    return "the weak learner returned an earlier hypothesis" if is_known else ""


def merge_equal_rows(rows: TrainingRows) -> tuple[TrainingRows, NDArray[np.int64]]:
    """Merge equal rows of one class and add their weights, in sorted order; return also the new position of each row.

    A linear program may have many optima: repeated, weighted and shuffled rows thus lead to the same one.
    """
    distinct = distinct_rows(rows.X, rows.codes)
    order = np.lexsort((rows.codes[distinct.first], *rows.X[distinct.first].T[::-1]))
    first = distinct.first[order]
    weight = distinct.total(rows.counts)[order]
    merged = TrainingRows(rows.columns, rows.X[first], rows.codes[first], rows.classes, weight, rows.seed)
    return merged, np.argsort(order)[distinct.of_row]


def nu_candidates(error: float, fractions: Sequence[float] = FRACTIONS) -> Floats:
    """Compute candidates of nu in ascending order: fractions of 2 e, e the error of the first hypothesis."""
    return np.unique(np.clip(np.round(2.0 * error * np.array(fractions), 4), MIN_NU, 1.0))


def cross_validate_nu(
    grid: Floats, rows: TrainingRows, make: MakeLearner, seeds: list[int], tol: float
) -> list[Candidate]:
    """Cross-validate the candidates; the result is empty for a single one, or if a class has too few rows."""
    folds = _folds(rows, seeds[0])
    if not folds or grid.size < 2:
        return []
    wrong = np.zeros((rows.codes.size, grid.size))
    value = np.full(grid.size, np.inf)
    for train, test in folds:
        wrong[test], worst = _validate_fold(grid, rows, Split(train, test), make, seeds)
        value = np.minimum(value, worst)
    weight = np.where(fold_numbers(folds, rows.codes.size) != NOT_TESTED, rows.weight, 0.0)
    weight /= weight.sum()
    error = np.where(value > tol, weight @ wrong, np.inf)
    more = wrong - wrong[:, [int(error.argmin())]]
    noise = np.sqrt(weight**2 @ more**2)
    return [Candidate(*map(float, each)) for each in zip(grid, value, weight @ wrong, noise, strict=True)]


def select_nu(candidates: Sequence[Candidate], tol: float, otherwise: float) -> float:
    """Select the largest nu of positive value whose error is within one standard error of the smallest."""
    usable = [each for each in candidates if each.value > tol]
    least = min((each.error for each in usable), default=np.inf)
    return max((each.nu for each in usable if each.error <= least + each.standard_error + SMALLEST), default=otherwise)


def _folds(rows: TrainingRows, seed: int) -> list[Split]:
    """Folds of at most MAX_ROWS of the rows."""
    to_split = rows_to_split(rows.X, rows.codes, is_class=True)
    some = np.random.default_rng(seed).permutation(rows.codes.size)[:MAX_ROWS]
    return k_folds(to_split.take(np.sort(some)), N_FOLDS, seed, every_class=True)


def _validate_fold(
    grid: Floats, rows: TrainingRows, fold: Split, make: MakeLearner, seeds: list[int]
) -> tuple[NDArray[np.bool_], Floats]:
    """Errors [test rows, nu] of the optimal votes over AdaBoost's hypotheses for each nu, and their values."""
    train, test = fold
    part = TrainingRows(rows.columns, rows.X[train], rows.codes[train], rows.classes, rows.weight[train])
    state = State(part.weight.copy(), np.empty(0), part.weight, (), (), (), (), "")
    turns = boost(make(part), BinaryVotes(part.y), state, adaboost, seeds)
    members = [turn.member for turn in turns if turn.member is not None]
    u = np.column_stack([np.asarray(member.predictions(part.X) * part.y, np.float64) for member in members])
    masters = [solve_master(u, part.weight / nu) for nu in grid]
    predictions = np.column_stack([member.predictions(rows.X[test]) for member in members])
    score = predictions @ np.column_stack([master.coefficients for master in masters])
    return (score > 0.0) != (rows.y[test] > 0)[:, np.newaxis], np.array([master.value for master in masters])


class LPBoostClassifier(BaseRoundBooster):
    """LPBoost: the vote with the largest margin, hard or soft (two classes).

    A linear program gives all coefficients in every round; its dual variables are the weights of the rows for the next
    hypothesis (column generation).

    Notes
    -----
    With a weak learner that does not maximize the edge, the fit ends when no better hypothesis is found, which need not
    be the optimum. `predict_proba` is the fraction of the vote for each class, not a calibrated probability. `staged_*`
    use the coefficients of each round.

    References
    ----------
    Demiriz, A., Bennett, K. P. and Shawe-Taylor, J. (2002). Linear programming boosting via column generation. Machine
    Learning 46, 225-254.

    Examples
    --------
    >>> from committee import LPBoostClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> X, y = sonar.X[::4], sonar.y[::4]
    >>> model = LPBoostClassifier(nu=None).fit(X, y)
    >>> round(float(model.history_.value[-1]), 4), round(float(model.margins(X, y).min()), 4)
    (0.2895, 0.2895)
    """

    nu: float | Literal["auto"] | None = param(
        one_of("auto"),
        fraction,
        None,
        default="auto",
        doc="Maximum fraction of the rows with a margin below rho; None is the hard margin, for classes that the "
        'hypotheses separate. Noise needs a large nu. "auto" selects a fraction of 2 e, e the error of the first '
        "hypothesis, by 3-fold cross-validation on at most 2,000 distinct rows with up to 50 hypotheses of AdaBoost: "
        "the largest nu within one standard error of the smallest error; 1.1 times 2 e if none has a positive value or "
        "the rows are too few.",
    )
    n_estimators: int = param(
        at_least(1),
        default=200,
        doc="Maximum number of hypotheses; those whose final coefficient is zero are dropped.",
    )
    tol: float = param(
        non_negative,
        default=1e-6,
        doc="The fit ends when edge and value, which enclose the optimum, differ by at most this.",
    )
    early_stopping: Literal["validation"] | None = param(
        one_of("validation"),
        None,
        default=None,
        doc='"validation" evaluates every round on X_val, y_val or on `validation_fraction` of the rows, stops after '
        "`n_iter_no_change` rounds without a smaller error, and keeps the vote of the best round.",
    )
    estimator_weights_: Floats = fitted(doc="Coefficients of the members, >= 0 with sum 1.")
    sample_weights_: Floats = fitted(doc="The dual weights of the training rows.")
    probability_slope_: float = fixed(1.0, doc="1: the probabilities are fractions of the vote.")
    history_: History = fitted(
        doc="A row for each round: error and edge of the new hypothesis, the value and the soft margin of the linear "
        "program, the gap between edge and value, training error, smallest margin, number of coefficients other than "
        "zero, and validation error (nan without validation rows)."
    )
    nu_: float | None = fitted(doc="The nu used; a warm start keeps it.")
    nu_search_: History | None = fitted(doc='A row for each candidate of nu="auto"; None if nu was given.')
    duality_gap_: float = fitted(doc="The smallest edge less the value: an upper bound on the distance to the optimum.")
    converged_: bool = fitted(doc="Whether the last gap is within `tol`.")
    _found: Generated = fitted()
    _n_stages: int = fitted()
    _two_classes_only = True

    def _boost(self, rows: TrainingRows, validation: ValidationVotes | None) -> dict[str, Any]:
        distinct, place = merge_equal_rows(rows)
        earlier = self._resume_or_start(rows, distinct)
        check_n_estimators(self.n_estimators, len(earlier.members))
        nu, fallback, search = self._select_nu(distinct, len(earlier.members))
        result = self._generate(distinct, validation, earlier, nu)
        if nu != fallback and self.early_stopping is None and result.records[-1].value <= self.tol:
            nu = fallback
            result = self._generate(distinct, validation, self._resume_or_start(rows, distinct), nu)
        return {
            **self._attributes(result, distinct),
            "nu_": nu,
            "nu_search_": search,
            "sample_weights_": result.weight[place] * rows.weight / distinct.weight[place],
            "_data_fingerprint": rows.fingerprint(),
        }

    def _generate(
        self, rows: TrainingRows, validation: ValidationVotes | None, earlier: Generated, nu: float | None
    ) -> Generated:
        """Generate hypotheses, continuing from those of an earlier fit."""
        run = LPRun(earlier, self._is_done(earlier))
        columns = [member.predictions(rows.X, self.n_jobs) * rows.y for member in run.members]
        seeds = self._seeds(rows)[len(run.members) :]
        rounds = lpboost(
            self._make_learner(rows),
            rows.y,
            rows.weight,
            columns,
            seeds,
            nu=nu,
            tol=self.tol,
            n_before=len(run.records),
        )
        held_out = [] if validation is None else [m.predictions(validation.X, self.n_jobs) for m in run.members]
        patience = Patience(self.n_iter_no_change, 0.0, is_active=self.early_stopping is not None)
        reason = self._extend(
            run, rounds, lambda turn: self._validated(turn, validation, held_out), Stopping(patience),
            n_rounds=len(seeds), status=lambda record: f"value {record.value:.4f}, gap {record.gap:.2g}",
        )  # fmt: skip
        return Generated(run.members, run.stages, run.records, run.weight, reason or ALL)

    def _validated(self, turn: LPTurn, validation: ValidationVotes | None, held_out: list[Predictions]) -> LPRecord:
        """The record of a round with the validation error of its vote; `held_out` is extended in place."""
        if validation is None:
            return turn.record
        if turn.member is not None:
            held_out.append(turn.member.predictions(validation.X, self.n_jobs))
        validation.votes.score[:] = np.column_stack(held_out) @ turn.master.coefficients
        return turn.record._replace(validation_error=validation.error())

    def _make_learner(self, rows: TrainingRows) -> WeakLearner:
        return make_learner(self._weak(), rows, weighting="reweight", kind="votes", n_jobs=self.n_jobs)

    def _seeds(self, rows: TrainingRows) -> list[int]:
        return seeds_of_rounds(rows.seed, 0, self.n_estimators)

    def _select_nu(self, rows: TrainingRows, n_done: int) -> tuple[float | None, float | None, History | None]:
        """The nu to use, the one to use if its value is not positive, and the candidates."""
        if self.nu != "auto":
            return self.nu, self.nu, None
        if n_done:
            return self.nu_, self.nu_, self.nu_search_
        seeds = self._seeds(rows)
        first = self._make_learner(rows)(rows.weight, seeds[0])
        error = float(rows.weight[first.predictions * rows.y < 0].sum())
        fallback = float(nu_candidates(error, [FALLBACK_FRACTION])[0])
        candidates = cross_validate_nu(nu_candidates(error), rows, self._make_learner, seeds[:MAX_HYPOTHESES], self.tol)
        return select_nu(candidates, self.tol, fallback), fallback, History.from_records(candidates)

    def _resume_or_start(self, rows: TrainingRows, distinct: TrainingRows) -> Generated:
        """The hypotheses of the previous fit, or none."""
        if not self._is_continued():
            return Generated([], [], [], distinct.weight, ALL)
        old: Generated = kept_from_fit(self, "_found")
        check_same_data(kept_from_fit(self, "_data_fingerprint"), rows.fingerprint())
        n = len(old.records if self._is_done(old) else old.members)  # repeat a last round without a member
        return old._replace(members=[*old.members], stages=old.stages[:n], records=old.records[:n])

    def _is_done(self, result: Generated) -> bool:
        return bool(result.records) and result.records[-1].gap <= self.tol

    def _best_round(self, records: list[LPRecord]) -> int:
        """The first round with the smallest validation error; without validation the last one."""
        if self.early_stopping is None:
            return len(records)
        return int(np.argmin([record.validation_error for record in records])) + 1

    def _attributes(self, result: Generated, rows: TrainingRows) -> dict[str, Any]:
        """The vote of the best round, without hypotheses of coefficient zero."""
        best = self._best_round(result.records)
        coefficients = result.stages[best - 1]
        kept = np.flatnonzero(coefficients)
        value = result.records[best - 1].value
        if value <= self.tol and self.early_stopping is None:  # early stopping selects by the error
            warnings.warn(
                f"The optimum over {len(result.members)} hypotheses is {value:.3g}: they leave no margin between the "
                f"classes, and the vote is close to a tie. {self._advice(result, rows)}", ConvergenceWarning,
                stacklevel=level_of_caller(),
            )  # fmt: skip
        return {
            **Vote.of([result.members[t] for t in kept], coefficients[kept], rows.n_classes).attributes(),
            "estimator_weights_": coefficients[kept],
            "estimator_errors_": np.array([result.records[t].error for t in kept]),
            "history_": History.from_records(result.records),
            "stop_reason_": result.reason,
            "duality_gap_": max(0.0, min(record.edge for record in result.records) - result.records[-1].value),
            "converged_": self._is_done(result),
            "_found": result,
            "_n_stages": best,
        }

    def _advice(self, result: Generated, rows: TrainingRows) -> str:
        u = np.column_stack([member.predictions(rows.X, self.n_jobs) * rows.y for member in result.members])
        limit = smallest_nu(np.asarray(u, np.float64), rows.weight)
        if limit >= 1.0 - self.tol:
            return "No nu changes this, as no vote of them is better than chance: use more hypotheses, or larger trees."
        return (
            f"The margin is positive for nu above {limit:.3g}: use nu='auto' or such a nu, more hypotheses, or larger "
            "trees."
        )

    # --- predictions -----------------------------------------------------------------------------------------------

    def _link(self, score: Floats, settings: Settings) -> Floats:
        return vote_fractions(score, settings["n_classes_"])

    def predict_proba(self, X: Any) -> Floats:
        """Predict (1 + f(x)) / 2, the fraction of the vote; a linear program has no link to probabilities."""
        return super().predict_proba(X)

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        table = self._read_rows(X)
        predictions = np.column_stack([member.predictions(table, self.n_jobs) for member in self._found.members])
        for coefficients in self._found.stages[: self._n_stages]:
            active = np.flatnonzero(coefficients)
            yield (predictions[:, active] @ coefficients[active])[:, np.newaxis]

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield the decision function after each round."""
        for score in self._staged_scores(X):
            yield self._decision(score, 1.0)

    def staged_margins(self, X: Any, y: Any) -> Iterator[Floats]:
        """Yield the margins after each round."""
        codes: NDArray[np.int64] | None = None
        for score in self._staged_scores(X):
            codes = read_known_classes(y, len(score), self.classes_) if codes is None else codes
            yield self._margins(score, codes, 1.0)
