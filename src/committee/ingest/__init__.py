"""Tables from files: column types, the target, and new rows read like the training table.

The modules need polars: `pip install "committee[app]"`.
"""

from __future__ import annotations

from committee.ingest.column_types import ColumnSchema
from committee.ingest.files import TableError
from committee.ingest.schema import TableSchema
from committee.ingest.table import TrainingTable, read_table

__all__ = ["ColumnSchema", "TableError", "TableSchema", "TrainingTable", "read_table"]
