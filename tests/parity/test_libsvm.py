"""The kernel machines against LIBSVM 3.24 (Debian's libsvm-tools), on heart_scale and svmguide1.

LIBSVM's figures were printed by svm-train with its defaults (C = 1, gamma = 1 / d, tolerance 1e-3) unless said. Ours
are exact to rounding on heart_scale, LIBSVM's within its tolerance, so objectives may differ by 1e-4 of themselves,
never in LIBSVM's favour by more than rounding, and support vectors near a bound may count differently: 2 of them. The
tables are not shipped: they are read from the folder that COMMITTEE_DATA names, and the tests skip without.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from committee.svm.binary_svm import BinarySVM
from committee.svm.nu_svm import NuSVC
from committee.svm.svc import SVC
from committee.svm.svr import SVR

FOLDER = os.environ.get("COMMITTEE_DATA")


@cache
def load(name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    path = Path(FOLDER or "") / f"{name}.csv"
    if FOLDER is None or not path.exists():
        pytest.skip(f"{name} is not shipped: name the folder of public data in COMMITTEE_DATA")
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]


class Printed(NamedTuple):
    """What svm-train prints."""

    objective: float
    rho: float
    n_support: int
    n_bounded: int
    accuracy: float


HEART = {
    "rbf": Printed(-100.877288, 0.424462, 132, 107, 86.6667),
    "linear": Printed(-92.473356, -1.050690, 101, 88, 84.8148),
    "poly": Printed(-131.800243, -0.165688, 177, 151, 85.9259),
    "sigmoid": Printed(-110.099362, -0.333939, 124, 116, 85.1852),
}


def assert_as_printed(
    machine: BinarySVM, objective: float, n_support: int, n_bounded: int, sharp: float = 1e-4
) -> None:
    assert machine.objective == pytest.approx(objective, rel=sharp)
    assert machine.objective <= objective + 1e-6 * abs(objective)
    assert abs(len(machine.support) - n_support) <= 2
    assert abs(machine.n_bounded - n_bounded) <= 2
    assert machine.duality_gap <= 1e-8 * abs(objective)
    assert machine.kkt_gap <= 1e-8


@pytest.mark.filterwarnings("ignore:Not a valid kernel")
@pytest.mark.parametrize("kernel", list(HEART))
def test_heart(kernel: str) -> None:
    X, y = load("heart_scale")
    printed = HEART[kernel]
    model = SVC(kernel=kernel, gamma="auto").fit(X, y)
    assert_as_printed(model.binary_svms_[0], printed.objective, printed.n_support, printed.n_bounded)
    # rho is as sharp as LIBSVM's tolerance on the gradient, 1e-3; its sign is that of the first label in the file, +1
    assert -model.intercept_[0] == pytest.approx(printed.rho, abs=2e-3)
    assert 100.0 * model.score(X, y) == pytest.approx(printed.accuracy, abs=1e-3)


def test_heart_nu() -> None:
    X, y = load("heart_scale")
    machine = NuSVC(nu=0.3, gamma="auto").fit(X, y).binary_svms_[0]
    # LIBSVM prints the objective and C after the division by rho and its square, which its tolerance leaves at 5e-4;
    # the objective that is minimised is sharp to 1e-4
    assert machine.objective == pytest.approx(206.719493 / 11.690656**2, rel=1e-4)
    assert 1.0 / machine.scale == pytest.approx(11.690656, rel=1e-3)
    assert abs(len(machine.support) - 113) <= 2
    assert abs(machine.n_bounded - 49) <= 2
    assert machine.kkt_gap <= 1e-8


def test_heart_regression() -> None:
    X, y = load("heart_scale")
    model = SVR(gamma="auto", epsilon=0.1).fit(X, y)
    assert_as_printed(model.binary_svms_[0], -95.509946, 200, 145)
    assert -model.intercept_[0] == pytest.approx(0.225125, abs=2e-3)
    assert np.mean((model.predict(X) - y) ** 2) == pytest.approx(0.413585, rel=1e-4)


def to_unit_range(X: Any, like: Any) -> Any:
    """svm-scale: every column of the training table to [-1, 1]."""
    low, high = like.min(axis=0), like.max(axis=0)
    return 2.0 * (X - low) / (high - low) - 1.0


@pytest.mark.filterwarnings("ignore:The columns of X differ in scale")
@pytest.mark.parametrize(
    ("scaled", "C", "gamma", "accuracy", "objective", "n_support"),
    [
        (False, 1.0, "auto", 66.925, -1061.528918, 3053),
        (True, 1.0, "auto", 96.15, -507.307046, 630),
        (True, 2.0, 2.0, 96.875, -595.595777, 368),
    ],
    ids=["raw", "scaled", "tuned"],
)
def test_the_three_accuracies_of_the_libsvm_guide(
    scaled: bool, C: float, gamma: Any, accuracy: float, objective: float, n_support: int
) -> None:
    (X, y), (X_test, y_test) = load("svmguide1_train"), load("svmguide1_test")
    if scaled:
        X, X_test = to_unit_range(X, X), to_unit_range(X_test, X)
    model = SVC(C=C, gamma=gamma).fit(X, y)
    # One of the 4000 rows lies 2e-4 from the plane of the scaled machine, within LIBSVM's tolerance: at the optimum it
    # is on the other side (so it is for LIBSVM at a tolerance of 1e-4), which is 0.025 %
    assert 100.0 * model.score(X_test, y_test) == pytest.approx(accuracy, abs=0.026)
    machine = model.binary_svms_[0]
    assert machine.objective == pytest.approx(objective, rel=1e-5)
    # with kernel rows in float32 the run ends at the tolerance, as LIBSVM's does: a few rows more or less
    assert abs(len(machine.support) - n_support) <= max(2, 0.01 * n_support)
    assert machine.kkt_gap <= 1e-3
    assert machine.duality_gap <= 1e-3 * abs(objective)
