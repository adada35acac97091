"""The report of a verification."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Finding:
    """Something that is wrong. `where` names the entry (with its file and line), the checkpoint or another file.
    `beside`: something beside the entries, against which it says nothing."""

    where: str
    message: str
    entry: int | None = None
    beside: bool = False


@dataclass(frozen=True)
class VerifyReport:
    """`size` entries with the root `root` are signed; if there are no findings they are all there, unchanged, and
    nothing else is. Notes are what a writer that was interrupted, or runs now, leaves: no part of the log, removed at
    the next start."""

    origin: str
    size: int
    root: bytes
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.findings

    @property
    def sound(self) -> bool:
        """All entries are there, as they were signed, whatever lies beside them."""
        return all(finding.beside for finding in self.findings)
