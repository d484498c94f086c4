"""One HTML page that says what a model is worth, and why."""

from __future__ import annotations

from committee.report.evidence import TableNotes
from committee.report.page import write_report

__all__ = ["TableNotes", "write_report"]
