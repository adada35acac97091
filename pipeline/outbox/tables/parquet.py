"""Parquet, with decimals, dates and moments as such."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.outbox.tables.base import DIGITS, SCALE, Cell, Column, Kind, Line
from pipeline.text.visible import storable

_AT_ONCE = 10_000
_TYPES = {
    Kind.TEXT: pa.string(),
    Kind.LINK: pa.string(),
    Kind.INTEGER: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.DECIMAL: pa.decimal128(DIGITS, SCALE),
    Kind.DATE: pa.date32(),
    Kind.MOMENT: pa.timestamp("ms", tz="UTC"),
}


def write(path: Path, columns: Sequence[Column], lines: Iterable[Line]) -> int:
    """Write the table; how many lines it has. OSError."""
    schema = pa.schema([(column.name, _TYPES[column.kind]) for column in columns])
    count, left = 0, iter(lines)
    with path.open("wb") as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while some := list(islice(left, _AT_ONCE)):
            cells = [
                pa.array([_plain(line[at]) for line in some], field.type, from_pandas=False)
                for at, field in enumerate(schema)
            ]
            writer.write_table(pa.Table.from_arrays(cells, schema=schema))
            count += len(some)
    return count


def _plain(cell: Cell) -> Cell:
    return storable(cell) if isinstance(cell, str) else cell
