"""The rows that a report shows: what a person has to know of one, in a few words, and how it is found again."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pipeline.document import Row
from pipeline.errors import BadPartError
from pipeline.outbox.results import rows_numbered
from pipeline.outbox.schema import result_sha256
from pipeline.outbox.tables.writing import original_of as kept_original
from pipeline.pages.text import one_line
from pipeline.plan import Site
from pipeline.records.entries import documents_at
from pipeline.records.types import Document
from pipeline.states import ANSWERED
from pipeline.tasks import TASKS, kind_of

_ANSWER: Final = 160  # characters
_REASON: Final = 200
_PATH: Final = 160


@dataclass(frozen=True)
class ShownRow:
    """A row for a person. `score`: that of its least certain value, None where nothing was scored; `sha256` of its
    bytes, None if it could not be read; `where`: the first place that its answer rests on."""

    n: int
    job: str
    path: str
    sha256: str | None
    state: str
    failure: str | None
    answer: str
    reason: str
    score: float | None
    where: str

    @property
    def shown_path(self) -> str:
        """The path in one line."""
        return one_line(self.path, _PATH)


def shown_row(row: Row, job: str) -> ShownRow:
    """Make what is shown of a row of the job."""
    return ShownRow(
        row.audit_index,
        job,
        row.path,
        row.document,
        state=row.state,
        failure=row.failure,
        answer=answer_of(row, _ANSWER),
        reason=one_line(row.reason or "", _REASON),
        score=certainty(row),
        where=_where(row),
    )


def answer_of(row: Row, most: int, *, doubtful_first: bool = True) -> str:
    """The answer of a row in one line of so many characters, the least certain values first or as they stand; empty
    where there is none."""
    kind = TASKS.get(row.task or "")
    lines = list(kind.lines(row)) if kind and row.state in ANSWERED else []
    if doubtful_first:
        lines.sort(key=lambda line: 1.0 if line.score is None else line.score)
    said = (f"{line.name}{line.text}" + (f" ({line.score:.2f})" if line.score is not None else "") for line in lines)
    return one_line("; ".join(said), most)


def certainty(row: Row) -> float | None:
    """The score of the label, or of the least certain value; None where the answer has none."""
    kind = kind_of(row)
    return kind.scores(row)[0] if kind and any(kind.topics(row)) else None


def _where(row: Row) -> str:
    place = next(iter(row.evidence), None)
    if place is None:
        return ""
    return f"page {place.page}" if place.page else one_line(place.section or "", 60)


def rows_of(site: Site, numbers: Collection[int]) -> Iterator[Row]:
    """The rows of these entries, as far as they are in their parts and as the log proves them."""
    parts: dict[str, dict[int, Document]] = defaultdict(dict)
    for entry in documents_at(site, numbers):
        parts[entry.part][entry.n] = entry
    for name, entries in parts.items():
        try:
            for row in rows_numbered(site.at_rest, site.root / name, entries):
                if result_sha256(row) == entries[row.audit_index].result_sha256:
                    yield row
        except (BadPartError, OSError):
            continue


def original_of(root: Path, row: ShownRow) -> str | None:
    """The link from outbox/JOB/_reports/ to the bytes of a row's document, if they are kept: a relative URL."""
    found = kept_original(root, row.job, row.path, row.sha256, row.state)
    return None if found is None else quote(f"../../../{found.relative_to(root)}".encode(errors="surrogateescape"))
