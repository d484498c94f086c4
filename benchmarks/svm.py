"""Support vector machines at equal tolerance; beside time the dual objective, and the KKT gap recomputed in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import svm as peer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge, SGDClassifier
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline

from benchmarks import tables
from benchmarks.harness import Benchmark, Call, Goal, Setup
from benchmarks.quality import Load, smoothed_log_loss
from benchmarks.tables import Scale, Split, size
from committee.svm import linear_svm, nu_svm, one_class, svc, svr
from committee.svm.kernel_algebra import Kernel
from committee.svm.kernel_functions import Gaussian, Laplacian
from committee.svm.nystroem_svm import NystroemSVC, NystroemSVR
from committee.svm.tuning import tune_svc

Make = Callable[[], Any]
Floats = NDArray[np.float64]

OURS, SKLEARN, INTELEX, CALLABLE = "committee", "sklearn", "intelex", "sklearn callable"
NYSTROEM, RIDGE, EXACT = "sklearn Nystroem + SGD", "sklearn Nystroem + Ridge", "committee exact on a part"
TOL = 1e-3
BLOCK = 2000
"""Rows of a block of the Gram matrix when gaps are recomputed."""

AT_BOUND = 1e-7
"""Fraction of C within which a coefficient counts as lying at it."""

EPOCHS, COMPONENTS = 5, 1000
SGD_BLOCK = 20_000
EXACT_ROWS = 100_000


def benchmarks(scale: Scale) -> list[Benchmark]:
    return [
        *_gaussian(scale),
        *_real_data(scale),
        _predict(scale),
        _probabilities(scale),
        _laplacian(scale),
        *_other_machines(scale),
        *_linear(scale),
        *_landmarks(scale),
        _tuning(scale),
    ]


# --- kernel machines -------------------------------------------------------------------------------------------------


def _gaussian(scale: Scale) -> list[Benchmark]:
    rows: list[Benchmark] = []
    for n_full, d, most in ((5_000, 30, 0.25), (20_000, 30, 0.12), (20_000, 200, 0.06), (60_000, 30, 0.12)):
        n = scale.rows(n_full)
        load = partial(tables.classes, n, d)
        goals = (Goal(OURS, most, SKLEARN), Goal(OURS, 0.5, INTELEX))
        rows.append(_machine(f"gaussian-{size(n, d)}", f"gaussian kernel, {size(n, d)}, C=1", load, 1.0, None, goals))
    return rows


def _real_data(scale: Scale) -> list[Benchmark]:
    sets: dict[str, tuple[str, Load]] = {
        "a9a": ("income as 123 indicators, 33k", partial(a9a, scale)),
        "spambase": ("spam, 3k x 57, standardised", partial(spambase, scale)),
        "svmguide1": ("astroparticles, 3k x 4, standardised", partial(svmguide1, scale)),
    }
    rows: list[Benchmark] = []
    for name, (what, load) in sets.items():
        for C, most in ((1.0, 0.2), (10.0, 0.3)):
            task = f"{what}, gaussian kernel with gamma = 1/d, C={C:g}"
            rows.append(_machine(f"{name}-C{C:g}", task, load, C, "auto", (Goal(OURS, most, SKLEARN),)))
    return rows


def _machine(
    name: str, task: str, load: Load, C: float, gamma: str | None, goals: tuple[Goal, ...]
) -> Benchmark:  # fmt: skip
    def gamma_of() -> float:
        X = load().X
        return 1.0 / X.shape[1] if gamma == "auto" else float(1.0 / (X.shape[1] * X.astype(np.float64).var()))

    makers: dict[str, Callable[..., Any]] = {
        OURS: partial(svc.SVC, n_jobs=1), SKLEARN: peer.SVC, INTELEX: partial(_intelex, "SVC"),
    }  # fmt: skip
    contenders = {
        contender: _fit_setup(lambda make=make: make(C=C, gamma=gamma_of(), tol=TOL), load)
        for contender, make in makers.items()
    }
    quality = partial(_evaluate_svm, load, C, lambda: Gaussian(gamma=gamma_of()))
    return Benchmark(f"svm/{name}", task, contenders, quality, goals=goals, covers=("SVC",))


def _predict(scale: Scale) -> Benchmark:
    n, d = scale.rows(20_000), 30
    load = partial(tables.classes, n, d, 2, n)

    def asking(make: Make) -> Setup:
        def setup() -> Call:
            split = load()
            model = make().fit(split.X, split.y)
            return lambda: model.predict(split.X_test)

        return setup

    def evaluate(predictions: NDArray[Any]) -> Mapping[str, float]:
        return {"accuracy": float(np.mean(predictions == load().y_test))}

    makers: dict[str, Make] = {
        OURS: partial(svc.SVC, n_jobs=1), SKLEARN: peer.SVC, INTELEX: partial(_intelex, "SVC"),
    }  # fmt: skip
    return Benchmark(
        f"svm/predict-{size(n, d)}", f"predict of {size(n, d)}, gaussian kernel, fitted on as many rows",
        {name: asking(make) for name, make in makers.items()}, evaluate,
        goals=(Goal(OURS, 1.0, SKLEARN), Goal(OURS, 1.0, INTELEX)), covers=("SVC",),
    )  # fmt: skip


def _probabilities(scale: Scale) -> Benchmark:
    n, d = scale.rows(5_000), 30
    load = partial(tables.classes, n, d)
    contenders = {
        OURS: _fit_setup(partial(svc.SVC, probability=True, n_jobs=1), load),
        SKLEARN: _fit_setup(partial(peer.SVC, probability=True, random_state=0), load),
    }

    def evaluate(model: Any) -> Mapping[str, float]:
        split = load()
        share = model.predict_proba(split.X_test)
        contradictions = np.mean(model.classes_[share.argmax(axis=1)] != model.predict(split.X_test))
        return {"log-loss": smoothed_log_loss(split.y_test, share), "contradicts predict": float(contradictions)}

    task = f"fit with probabilities, gaussian kernel, {size(n, d)}"
    return Benchmark(f"svm/probabilities-{size(n, d)}", task, contenders, evaluate, covers=("SVC",))


def _laplacian(scale: Scale) -> Benchmark:
    n, d = scale.rows(5_000), 30
    load = partial(tables.classes, n, d)
    gamma = 1.0 / d
    contenders = {
        OURS: _fit_setup(partial(svc.SVC, kernel="laplacian", gamma=gamma, tol=TOL, n_jobs=1), load),
        CALLABLE: _fit_setup(partial(peer.SVC, kernel=partial(laplacian_kernel, gamma=gamma), tol=TOL), load),
    }
    return Benchmark(
        f"svm/laplacian-{size(n, d)}", f"laplacian kernel, {size(n, d)}, C=1", contenders,
        partial(_evaluate_svm, load, 1.0, lambda: Laplacian(gamma=gamma)), goals=(Goal(OURS, 0.1, CALLABLE),),
        covers=("SVC",),
    )  # fmt: skip


class Other(NamedTuple):
    """A machine that is compared with scikit-learn's of the same name."""

    name: str
    kind: Any
    is_class: bool
    params: dict[str, Any]


def _other_machines(scale: Scale) -> list[Benchmark]:
    n, d = scale.rows(5_000), 30
    others = (
        Other("SVR", svr.SVR, False, {"C": 10.0, "epsilon": 0.5}),
        Other("NuSVC", nu_svm.NuSVC, True, {"nu": 0.3}),
        Other("NuSVR", nu_svm.NuSVR, False, {"C": 10.0, "nu": 0.5}),
        Other("OneClassSVM", one_class.OneClassSVM, True, {"nu": 0.1}),
    )
    rows: list[Benchmark] = []
    for other in others:
        load = partial(tables.classes, n, d) if other.is_class else partial(tables.values, n, d)
        makers: dict[str, Make] = {
            OURS: partial(other.kind, tol=TOL, n_jobs=1, **other.params),
            SKLEARN: partial(getattr(peer, other.name), tol=TOL, **other.params),
        }
        contenders = {contender: _fit_setup(make, load) for contender, make in makers.items()}
        rows.append(Benchmark(
            f"svm/{other.name}-{size(n, d)}", f"{other.name}, gaussian kernel, {size(n, d)}", contenders,
            partial(_evaluate_predictions, load), covers=(other.name,),
        ))  # fmt: skip
    return rows


# --- linear machines, landmarks, tuning ------------------------------------------------------------------------------


def _linear(scale: Scale) -> list[Benchmark]:
    n, d = scale.rows(200_000), 50
    rows: list[Benchmark] = []
    for name, loss, load, goals in (
        ("LinearSVC", "squared_hinge", partial(tables.classes, n, d), (Goal(OURS, 0.1, SKLEARN),)),
        ("LinearSVC", "hinge", partial(tables.classes, n, d), ()),
        ("LinearSVR", "squared_epsilon_insensitive", partial(tables.values, n, d), ()),
    ):
        ours: Any = getattr(linear_svm, name)
        theirs: Any = getattr(peer, name)
        # The same problem: scikit-learn's has the intercept in its penalty
        makers: dict[str, Make] = {
            OURS: partial(ours, loss=loss, penalize_intercept=True, random_state=0),
            SKLEARN: partial(theirs, loss=loss, dual="auto", random_state=0),
        }
        contenders = {contender: _fit_setup(make, load) for contender, make in makers.items()}
        quality = partial(_evaluate_linear, load, loss)
        task = f"{name}, {loss.replace('_', ' ')}, {size(n, d)}, C=1"
        rows.append(
            Benchmark(f"svm/{name}-{loss}-{size(n, d)}", task, contenders, quality, goals=goals, covers=(name,))
        )
    return rows


def _landmarks(scale: Scale) -> list[Benchmark]:
    n, d = scale.rows(1_000_000), 30
    load = partial(tables.classes, n, d)
    part = min(scale.rows(EXACT_ROWS), n)
    contenders: dict[str, Setup] = {
        OURS: _fit_setup(partial(NystroemSVC, n_jobs=1, random_state=0), load),
        EXACT: _fit_setup(partial(svc.SVC, n_jobs=1), partial(_first_rows, load, part)),
        NYSTROEM: _fit_setup(NystroemSGD, load),
    }
    million = Benchmark(
        f"svm/landmarks-{size(n, d)}",
        f"landmarks, gaussian kernel, {size(n, d)} ({COMPONENTS} for the peer); the exact machine on {size(part, d)}",
        contenders, partial(_evaluate_predictions, load),
        goals=(Goal(OURS, 60.0, kind="seconds"), Goal(OURS, 1.0, NYSTROEM)), covers=("NystroemSVC",),
        peers=(NYSTROEM,),
    )  # fmt: skip
    m = scale.rows(100_000)
    numbers = partial(tables.values, m, d)
    regression = Benchmark(
        f"svm/landmarks-numbers-{size(m, d)}", f"{COMPONENTS} landmarks, numbers, gaussian kernel, {size(m, d)}",
        {
            OURS: _fit_setup(partial(NystroemSVR, COMPONENTS, n_jobs=1, random_state=0), numbers),
            RIDGE: _fit_setup(NystroemRidge, numbers),
        },
        partial(_evaluate_predictions, numbers), covers=("NystroemSVR",),
    )  # fmt: skip
    return [million, regression]


class NystroemSGD:
    """scikit-learn's Nystroem features and stochastic gradient descent, block by block: all at once would need 8 GB."""

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> NystroemSGD:
        rng = np.random.default_rng(0)
        sample = X[rng.choice(len(X), min(len(X), SGD_BLOCK), replace=False)]
        self.features = _nystroem(X, len(sample)).fit(sample)
        self.model = SGDClassifier(alpha=1.0 / len(X), average=True, random_state=0)
        for _ in range(EPOCHS):
            order = rng.permutation(len(X))
            for start in range(0, len(X), SGD_BLOCK):
                rows = order[start : start + SGD_BLOCK]
                self.model.partial_fit(self.features.transform(X[rows]), y[rows], classes=np.unique(y))
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        return self.model.predict(self.features.transform(X))


def _nystroem(X: NDArray[Any], n_rows: int) -> Nystroem:
    gamma = float(1.0 / (X.shape[1] * X.astype(np.float64).var()))
    return Nystroem(gamma=gamma, n_components=min(COMPONENTS, n_rows), random_state=0)


class NystroemRidge:
    """scikit-learn's Nystroem features and ridge regression."""

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> NystroemRidge:
        self.model = make_pipeline(_nystroem(X, len(X)), Ridge(0.5)).fit(X, y)
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        return self.model.predict(X)


def _tuning(scale: Scale) -> Benchmark:
    n, d = scale.rows(3_000), 30
    load = partial(tables.classes, n, d)
    penalties, gammas = [0.5, 1.0, 2.0, 4.0, 8.0], [0.003, 0.01, 0.03]
    folds = StratifiedKFold(5)

    def by_us() -> Call:
        split = load()
        model = svc.SVC(n_jobs=1)
        return lambda: tune_svc(split.X, split.y, C=penalties, gamma=gammas, estimator=model, cv=folds)

    def by_them() -> Call:
        split = load()
        search = GridSearchCV(peer.SVC(), {"C": penalties, "gamma": gammas}, cv=folds)
        return lambda: search.fit(split.X, split.y)

    def evaluate(result: Any) -> Mapping[str, float]:
        error = result.error if hasattr(result, "error") else 1.0 - result.best_score_
        return {"smallest error": float(error)}

    task = f"C and gamma by five folds, {len(penalties)} x {len(gammas)} cells, {size(n, d)}"
    return Benchmark(f"svm/tuning-{size(n, d)}", task, {OURS: by_us, SKLEARN: by_them}, evaluate, covers=("tune_svc",))


# --- tables ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def a9a(scale: Scale) -> Split:
    return _named_split("a9a_train.csv.gz", "a9a_test.csv.gz", scale)


@lru_cache(maxsize=1)
def svmguide1(scale: Scale) -> Split:
    return _standardised(_named_split("svmguide1_train.csv", "svmguide1_test.csv", scale))


@lru_cache(maxsize=1)
def spambase(scale: Scale) -> Split:
    frame = tables.shared("spambase.csv.gz")
    y = np.unique(frame.pop("spam").to_numpy(str), return_inverse=True)[1]
    rows = np.random.default_rng(0).permutation(len(frame))[: len(frame) // scale.divisor]
    n = len(rows) * 3 // 4
    X = frame.to_numpy(np.float64)
    return _standardised(Split(X[rows[:n]], y[rows[:n]], X[rows[n:]], y[rows[n:]]))


def _named_split(train: str, test: str, scale: Scale) -> Split:
    parts: list[Any] = []
    for name in (train, test):
        frame = tables.shared(name)
        y = np.unique(frame.pop("y").to_numpy(), return_inverse=True)[1]
        rows = np.random.default_rng(0).permutation(len(frame))[: len(frame) // scale.divisor]
        parts += [frame.to_numpy(np.float64)[rows], y[rows]]
    return Split(*parts)


def _standardised(split: Split) -> Split:
    mean, deviation = split.X.mean(axis=0), split.X.std(axis=0)
    deviation[deviation == 0.0] = 1.0
    return split._replace(X=(split.X - mean) / deviation, X_test=(split.X_test - mean) / deviation)


def _first_rows(load: Load, n: int) -> Split:
    split = load()
    return split._replace(X=split.X[:n], y=split.y[:n])


# --- from a model to a row -------------------------------------------------------------------------------------------


def _intelex(name: str, **params: Any) -> Any:
    from sklearnex import svm

    return getattr(svm, name)(n_jobs=1, **params)


def _fit_setup(make: Make, load: Load) -> Setup:
    def setup() -> Call:
        split = load()
        model = make()
        return lambda: model.fit(split.X, split.y)

    return setup


def _evaluate_svm(load: Load, C: float, kernel_of: Callable[[], Kernel], model: Any) -> Mapping[str, float]:
    """Accuracy, support vectors, dual objective and KKT gap, the latter from kernel values in float64."""
    split = load()
    objective, gap = dual_evidence(model, np.asarray(split.X, np.float64), split.y, C, kernel_of())
    return {
        "accuracy": float(np.mean(model.predict(split.X_test) == split.y_test)),
        "support vectors": len(model.support_),
        "objective": objective,
        "KKT gap / tol": gap / TOL,
    }


def dual_evidence(model: Any, X: Floats, y: NDArray[Any], C: float, kernel: Kernel) -> tuple[float, float]:
    """The dual objective 1/2 a'Qa - sum a and the KKT gap of a fitted machine of two classes, from its definition."""
    side = np.where(y == model.classes_[1], 1.0, -1.0)
    coef = np.asarray(model.dual_coef_, np.float64)[0]
    support = np.asarray(model.support_, np.int64)
    alpha = np.zeros(len(y))
    alpha[support] = np.abs(coef)
    settled = kernel.settle(X)
    vectors, g = settled.points(X[support]), np.empty(len(y))
    for start in range(0, len(y), BLOCK):
        some = settled.points(X[start : start + BLOCK])
        gram = np.empty((some.n, vectors.n))
        settled.fill(some, vectors, gram)
        g[start : start + some.n] = gram @ coef
    f = g - side
    below, above = alpha < C * (1.0 - AT_BOUND), alpha > C * AT_BOUND
    may_increase, may_decrease = np.where(side > 0.0, below, above), np.where(side > 0.0, above, below)
    return float(0.5 * coef @ g[support] - alpha.sum()), float(f[may_decrease].max() - f[may_increase].min())


def _evaluate_linear(load: Load, loss: str, model: Any) -> Mapping[str, float]:
    """The objective of the problem with the intercept in the penalty, and the predictions."""
    split = load()
    w, b = np.ravel(model.coef_).astype(np.float64), float(np.ravel(model.intercept_)[0])
    f = np.asarray(split.X, np.float64) @ w + b
    is_class = "hinge" in loss
    beyond = np.maximum(0.0, 1.0 - np.where(split.y == 1, f, -f)) if is_class else np.abs(split.y - f)
    cost = float(np.sum(beyond**2 if loss.startswith("squared") else beyond))
    return {"objective": 0.5 * (float(w @ w) + b * b) + cost, **_evaluate_predictions(load, model)}


def _evaluate_predictions(load: Load, model: Any) -> Mapping[str, float]:
    """Accuracy, R2, or the fraction of outliers."""
    split = load()
    predictions = model.predict(split.X_test)
    if set(np.unique(predictions)) == {-1, 1} and -1 not in split.y_test:
        return {"fraction of outliers": float(np.mean(predictions < 0))}
    if split.y_test.dtype.kind == "f":
        return {"R2": float(r2_score(split.y_test, predictions))}
    return {"accuracy": float(np.mean(predictions == split.y_test))}
