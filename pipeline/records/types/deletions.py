"""Records of what is deleted, by rule or on request, and of the holds that forbid it."""

from dataclasses import dataclass

from pipeline.records.types.base import Record, kind


@dataclass(frozen=True, slots=True)
class RewrittenPart:
    """A part that was written anew without the rows of `entries`: the number of its entry, and its new sha256."""

    file: str
    part: int
    sha256: str
    entries: tuple[int, ...]


@kind("deleted.by_rule", "what the job keeps no longer is to be deleted")
class DeletedByRule(Record):
    """The rule and its days; the entries whose archived bytes and text go, the files of rows that go, and the entries
    whose Markdown and output files, or whose report, go."""

    rule: str = ""
    days: float = 0
    archive: tuple[int, ...]
    parts: tuple[str, ...]
    markdown: tuple[int, ...]


@kind("erased", "a document is to be erased")
class Erased(Record):
    """The entries that cannot be opened again; those whose archived bytes and text, whose copy in failed/, and whose
    Markdown and output files, or whose report, go; the parts that go or are written anew without its rows; and the
    reason given."""

    entries: tuple[int, ...]
    archive: tuple[int, ...]
    failed: tuple[int, ...]
    markdown: tuple[int, ...]
    parts: tuple[str, ...]
    rows: tuple[RewrittenPart, ...]
    reason: str = ""

    @property
    def numbers(self) -> frozenset[int]:
        """All entries that it names."""
        of_rows = (number for part in self.rows for number in part.entries)
        return frozenset((*self.entries, *self.archive, *self.failed, *self.markdown, *of_rows))


Deletion = DeletedByRule | Erased
"""The records that announce a deletion; `Deleted` says that it is done."""


@kind("deleted", "a deletion is done")
class Deleted(Record):
    """The number of the entry that announced it."""

    deletion: int


@kind("hold", "documents may not be deleted")
class Held(Record):
    """Entries of the documents, and why they are held."""

    entries: tuple[int, ...]
    reason: str


@kind("released", "a hold has ended")
class Released(Record):
    """The number of the entry that held them, and why they are released."""

    hold: int
    reason: str
