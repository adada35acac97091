"""Is the log whole, and do results and archive agree with it? Two verdicts: integrity and completeness."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import audit
import engine
from pipeline.plan import Site
from pipeline.proof.expected import Expected
from pipeline.proof.finding import Found
from pipeline.proof.holding import PartTask, check_files, check_part, check_rewritten
from pipeline.records.entries import read_entries
from pipeline.records.types import Record

Progress = Callable[[int, int], None]
_MANY = 5_000  # entries: with fewer, starting processes takes longer than it saves
_ATTEMPTS = 5


@dataclass(frozen=True)
class Verification:
    """Integrity is the log itself: `integrity` says what is wrong with it, or lies beside its entries.

    Completeness is all that it proves: `altered` are results, archived or failed documents that differ from it, `added`
    are files beside them that nobody made; `absent` is what it proves and is no longer there; `unreadable` is what the
    system did not let us compare. Where entries of private jobs cannot be opened, `private` says so in a sentence, and
    `unjudged` is what they may tell of. All are held only against a log whose entries are whole (`sound`). `notes` are
    what else a reader should know, `checked` counts what was held against an entry.
    """

    size: int
    root: bytes
    integrity: tuple[audit.Finding, ...]
    altered: tuple[audit.Finding, ...]
    added: tuple[audit.Finding, ...]
    absent: tuple[audit.Finding, ...]
    unreadable: tuple[audit.Finding, ...]
    unjudged: tuple[audit.Finding, ...]
    private: str | None
    notes: tuple[str, ...]
    checked: Mapping[str, int]

    @property
    def ok(self) -> bool:
        """Nothing was tampered with; something may have been taken away."""
        return not (self.integrity or self.altered or self.added)

    @property
    def complete(self) -> bool:
        """All that the log proves is there, and nothing else."""
        return self.ok and not (self.absent or self.unreadable or self.unjudged)

    @property
    def read(self) -> bool:
        """Everything could be read and judged that is there."""
        return not (self.unreadable or self.unjudged or self.private)

    @property
    def sound(self) -> bool:
        """Whatever is wrong with the log says nothing against its entries."""
        return all(finding.beside for finding in self.integrity)


def verify(
    site: Site,
    progress: Progress | None = None,
    *,
    against: bytes | None = None,
    witnesses: Sequence[str] = (),
    processes: int | None = None,
) -> Verification:
    """Check every byte of the log, then every part, row, Markdown file, archived and failed document that it names, and
    every file beside them. `progress` is called with (done, total), where each entry counts twice. `against` is a
    checkpoint that was kept elsewhere, cosigned by `witnesses`: see audit.verify.

    A long log is verified by `processes`, else by as many as there are CPUs; they find the same in less time. They are
    spawned, so a script that verifies one must be one that can be imported.
    """
    tell = progress or (lambda done, total: None)
    count = processes or engine.threads()
    report = audit.verify(
        site.audit, site.public_key, lambda done, size: tell(done, 2 * size),
        against=against, witnesses=witnesses, processes=count,
    )  # fmt: skip
    found, private = Found(), None
    if report.sound:
        private = _check(site, report.size, found, tell, count if report.size >= _MANY else 1)
    return Verification(
        report.size,
        report.root,
        tuple(report.findings),
        tuple(found.altered),
        added=tuple(found.added),
        absent=tuple(found.absent),
        unreadable=tuple(found.unreadable),
        unjudged=tuple(found.unjudged),
        private=private,
        notes=(*report.notes, *found.notes),
        checked=found.checked,
    )


def _check(site: Site, size: int, found: Found, tell: Progress, processes: int) -> str | None:
    """Check all files; those that may change while a run goes on last, and again if the log has grown. A sentence about
    private/ if it does not open all that it should."""
    expected = Expected(site)
    with audit.workers(processes) as run:
        found.join(run(check_part, _parts(expected, read_entries(site), size, tell)))
        for _ in range(_ATTEMPTS):
            last = Found()
            last.join(run(check_part, expected.unplaced()))
            last.join(run(check_files, expected.made()))
            expected.check_strays(last)
            grown = audit.read_checkpoint(site.audit, site.public_key).size
            expected.forget_deleted(last)
            if grown == expected.size or not (_accuses(found) or _accuses(last)):
                break
            found.join(run(check_part, _parts(expected, read_entries(site, expected.size), size, tell)))
    found.join([last])
    expected.forget_deleted(found)
    for task in expected.rewritten(site, found):
        found.join([check_rewritten(task)])
    found.notes += expected.entry_notes()
    return expected.private()


def _accuses(found: Found) -> bool:
    """Whether anything in it may be of entries that came meanwhile."""
    return bool(found.altered or found.added or found.absent or found.unreadable or found.unjudged)


def _parts(expected: Expected, entries: Iterable[Record], size: int, tell: Progress) -> Iterator[PartTask]:
    for entry in entries:
        if entry.n % 1000 == 0:
            tell(size + min(entry.n, size), 2 * size)
        expected.take(entry)
        if expected.placed:
            yield from expected.newly_placed()
