"""The picture of the exclusive-or study."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

matplotlib = pytest.importorskip("matplotlib")

from committee_reproductions.plots.exclusive_or import XorDisplay  # noqa: E402
from committee_reproductions.xor import xor_study  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_exclusive_or_in_three_panels() -> None:
    import matplotlib.pyplot as plt

    study = xor_study()
    display = XorDisplay.from_study(study)
    assert len(display.ax_) == 3
    assert_allclose(np.array(display.ax_[0].lines[-1].get_data()).ravel(), [0.0, 0.0], atol=1e-12)
    assert "margin 2" in display.ax_[1].get_title()
    assert "f = xy" in display.ax_[2].get_title()
    with pytest.raises(ValueError, match="three axes, the second with projection"):
        XorDisplay.from_study(study, ax=plt.subplots(1, 3)[1])
