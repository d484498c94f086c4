"""What a fitted ensemble says about the data it was fitted on."""

from __future__ import annotations

from committee.explain.suspicious_rows import SuspiciousRows, suspicious_rows

__all__ = ["SuspiciousRows", "suspicious_rows"]
