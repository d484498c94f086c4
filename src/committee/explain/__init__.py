"""What a fitted ensemble says about the data it was fitted on."""

from __future__ import annotations

from committee.explain.boosting_evidence import BoostingEvidence, boosting_evidence
from committee.explain.suspicious_rows import SuspiciousRows, suspicious_rows

__all__ = ["BoostingEvidence", "SuspiciousRows", "boosting_evidence", "suspicious_rows"]
