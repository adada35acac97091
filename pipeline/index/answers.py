"""The answers of the rows of a part, as far as lists show them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.atrest.files import AtRest
from pipeline.document import Row
from pipeline.errors import BadPartError
from pipeline.outbox.parts import open_part
from pipeline.tasks import TASKS, task_of

_BATCH = 512
_CHARACTERS = 200
_LEFT_OUT = (".evidence.", ".passages.", ".verbatim", "body", "error.message")
"""Members of answers that are long, and of which lists show nothing."""


@dataclass(frozen=True, slots=True)
class Answered:
    """Holds what a row says in short: `score` and `certainty` as `Item` has them."""

    task: str | None = None
    label: str | None = None
    score: float | None = None
    certainty: float | None = None
    answer: str = ""


def answers(at_rest: AtRest, part: Path) -> Iterator[tuple[int, Answered]]:
    """The entry of each row of a part, and what the row says. BadPartError; OSError where it is not there."""
    try:
        with open_part(at_rest, part) as file:
            wanted = [path for path in _paths(file) if _is_wanted(path)]
            for batch in file.iter_batches(batch_size=_BATCH, columns=wanted):
                names = dict.fromkeys(batch.schema.names)
                for columns in _without_empty(batch).to_pylist():
                    row = Row(names | columns)
                    yield row.audit_index, answered(row)
    except (pa.ArrowException, ValueError, LookupError, TypeError) as error:
        raise BadPartError(part) from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise BadPartError(part) from error


def answered(row: Row) -> Answered:
    """The short form of a row, or of some of its columns."""
    task = task_of(row)
    if task is None or task not in TASKS:
        return Answered(task)
    lines = (f"{line.name}{line.text}" for line in TASKS[task].lines(row))
    return Answered(task, row.get("label"), *TASKS[task].scores(row), shortened("; ".join(lines)))


def shortened(text: str) -> str:
    """The text in one line, cut with an ellipsis."""
    line = " ".join(text[: 4 * _CHARACTERS].split())
    return line if len(line) <= _CHARACTERS else line[: _CHARACTERS - 1] + "…"


def _paths(file: pq.ParquetFile) -> list[str]:
    return [file.schema.column(number).path for number in range(len(file.schema))]


def _is_wanted(path: str) -> bool:
    return path.split(".")[0] in _TOP and not any(each in f".{path}." for each in _LEFT_OUT)


_TOP = {"audit_index", "task", *(column.name for kind in TASKS.values() for column in kind.columns)}


def _without_empty(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch without columns that are null in all rows: those of other tasks."""
    return batch.select([name for name in batch.schema.names if batch.column(name).null_count < len(batch)])
