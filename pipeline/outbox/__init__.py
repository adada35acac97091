"""Rows to Parquet and Markdown: the commit, redo and undo."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.outbox.running import Running
    from pipeline.outbox.schema import result_sha256
    from pipeline.outbox.space import look_before_run
    from pipeline.outbox.tables import FORMATS
    from pipeline.outbox.tables.base import TableRefusedError
    from pipeline.outbox.tables.writing import original_of, write_table

__getattr__, __dir__ = surface(__name__, __file__)
