"""What the benchmarks of support vector machines say of a fit: objective and gap from their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm as peer

from benchmarks.svm import dual_evidence
from benchmarks.tables import classes
from committee.svm.kernel_functions import Gaussian, Laplacian
from committee.svm.svc import SVC


@pytest.mark.parametrize("C", [0.5, 10.0])
def test_objective_and_gap_are_those_of_the_machine(C: float) -> None:
    split = classes(300, 5)
    X = np.asarray(split.X, np.float64)
    ours = SVC(C=C, gamma=0.2).fit(X, split.y)
    objective, gap = dual_evidence(ours, X, split.y, C, Gaussian(gamma=0.2))
    assert objective == pytest.approx(ours.binary_svms_[0].objective, rel=1e-9)
    assert gap == pytest.approx(ours.binary_svms_[0].kkt_gap, abs=1e-6)
    loose = peer.SVC(C=C, gamma=0.2, tol=0.1).fit(X, split.y)
    worse, wide = dual_evidence(loose, X, split.y, C, Gaussian(gamma=0.2))
    assert worse > objective
    assert 0.001 < wide <= 0.1001


def test_another_kernel_is_found_out() -> None:
    split = classes(300, 5)
    model = SVC(gamma=0.2).fit(split.X, split.y)
    assert dual_evidence(model, np.asarray(split.X, np.float64), split.y, 1.0, Laplacian(gamma=0.2))[1] > 0.1
