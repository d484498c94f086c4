"""HTML report about a model."""

from __future__ import annotations

from committee.report.context import TableNotes
from committee.report.render import write_report

__all__ = ["TableNotes", "write_report"]
