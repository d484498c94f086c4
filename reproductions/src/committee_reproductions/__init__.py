"""Published experiments of ensemble learning, run again with committee; `committee reproduce` runs them."""

from __future__ import annotations

from committee_reproductions._experiments import CrossValidation
from committee_reproductions.boosting_curves import BoostingCurves, boosting_curves, draw_boosting_curves
from committee_reproductions.registry import REPRODUCTIONS, Reproduction, draw
from committee_reproductions.results import Claim, Outcome, ReproductionResult, Row

__all__ = [
    "REPRODUCTIONS",
    "BoostingCurves",
    "Claim",
    "CrossValidation",
    "Outcome",
    "Reproduction",
    "ReproductionResult",
    "Row",
    "boosting_curves",
    "draw",
    "draw_boosting_curves",
]
