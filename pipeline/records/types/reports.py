"""The record of a report for people, with what a later night needs of it to be compared with."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.records.types.base import Record, kind
from pipeline.records.types.documents import MadeFile


@dataclass(frozen=True, slots=True)
class Pace:
    """Documents that ended in equal times: `counts` of `seconds` each, from `start` (seconds since 1970) on."""

    start: int = 0
    seconds: int = 1
    counts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Shares:
    """Holds what became of the documents of a night: how many ended in each state, failed in each class, got each label
    (of fields: a value), and had a score in each twentieth of 0 to 1; when they ended. No text of a document is in
    it."""

    states: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, int] = field(default_factory=dict)
    scores: tuple[int, ...] = ()
    pace: Pace = field(default_factory=Pace)
    seconds: float = 0.0
    runs: int = 0


@kind("reported", "a report of a night was made for people, and `shares` to compare later nights with")
class Reported(Record):
    """The evening's date, the number of the first entry that it tells of, the settings (None: of several), the two
    files with their sha256s, the shares, and the entries whose rows it shows. Shares and rows of a private job are
    hidden."""

    night: str
    first: int
    job_digest: str | None
    html: MadeFile
    markdown: MadeFile
    shares: Shares | None
    rows: tuple[int, ...] | None

    @property
    def made_files(self) -> tuple[MadeFile, ...]:
        """The files in outbox/ that were made."""
        return self.html, self.markdown
