"""The files that should lie in outbox/, archive/ and failed/ by the entries of the log."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import audit
from pipeline.outbox.deletion import Deletions, Rewritten
from pipeline.outbox.placement import archive_folder, staged_name
from pipeline.paths.names import archive_name, former_name
from pipeline.plan import Site
from pipeline.proof.failures import Failures
from pipeline.proof.finding import UNOPENED, Found
from pipeline.proof.holding import (
    FilesTask,
    PartTask,
    ProvedRow,
    archived_names,
    proved_row,
)
from pipeline.proof.openings import Openings
from pipeline.records.entries import UNPROVED, Untold, documents_at, entries_at
from pipeline.records.requests import is_signed
from pipeline.records.types import Document, Part, Placed, Record, Reported, ReviewerKeyAdmitted
from pipeline.states import ANSWERED, State

STAGING = ".staging"
_FILES = 500  # in one task


@dataclass
class Decisions:
    """Rows that a person decided: did a key that the log admits sign each decision? Made by taking every entry, in
    order."""

    _key: str | None = None
    _checked: int = 0
    _wrong: list[tuple[int, str]] = field(default_factory=list)
    _ids: set[str] = field(default_factory=set)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type. What nothing opens cannot be checked."""
        if isinstance(entry, ReviewerKeyAdmitted):
            self._key = entry.public_key
        elif isinstance(entry, Document) and entry.is_decided and not entry.closed:
            self._checked += 1
            review = entry.review
            if review is None:
                self._wrong.append((entry.n, "no run made the row, and no person decided it"))
            elif review.id in self._ids:
                self._wrong.append((entry.n, "the decision was taken up before"))
            elif not is_signed(self._key, entry.job, review):
                self._wrong.append((entry.n, "the key that was admitted then did not sign the decision"))
            elif entry.replaces != (review.of,):
                self._wrong.append((entry.n, "it does not take the place of the row that was seen"))
            if review is not None:
                self._ids.add(review.id)

    def check(self, found: Found) -> None:
        """Tell of what is wrong, and count what was checked."""
        for number, fact in self._wrong:
            found.alter(f"entry {number}", number, fact)
        found.checked["decisions"] = self._checked


class Expected:
    """Made by taking every entry, in order. Memory grows with the number of documents: a name and a sha256 for each
    Markdown, output and report file, a digest and a number for each file of the archive."""

    def __init__(self, site: Site) -> None:
        self.size = 0  # entries taken
        self._root, self._at_rest = site.root, site.at_rest
        self.placed: list[PartTask] = []  # parts that an entry says are in place, until they are asked for
        self._rows: list[ProvedRow] = []
        self._parts: set[str] = set()
        self._unplaced: dict[str, tuple[Part, list[ProvedRow]]] = {}
        self._made: dict[str, tuple[str, int]] = {}  # file -> sha256, entry; a later one replaced it
        self._reports: dict[str, str] = {}  # those of `_made` that are reports -> sha256 of what was there before
        self._kept: dict[bytes, int] = {}  # digest of a name in the archive -> the last entry that put it there
        self._openings = Openings(site.root)
        self._deletions = Deletions()
        self._failures = Failures()
        self._decisions = Decisions()
        self._unproved: list[str] = []

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        self.size = entry.n + 1
        self._openings.take(entry)
        match entry:
            case Document():
                self._take_document(entry)
            case Part():
                self._parts.add(entry.file)
                self._unplaced[entry.file] = entry, self._rows
                self._rows = []
            case Placed() if entry.file in self._unplaced:
                part, rows = self._unplaced.pop(entry.file)
                self.placed.append(PartTask(self._root, self._at_rest, part, rows, placed=True))
                self._leave_former(file.file for row in rows for file in row.made_files)
            case Reported():
                for file in entry.made_files:
                    self._reports[file.file] = self._made.get(file.file, ("", 0))[0]
                    self._made[file.file] = (file.sha256, entry.n)
                self._leave_former(file.file for file in entry.made_files)
            case Untold(forged=True):
                kind = entry.type.removeprefix(UNPROVED)
                self._unproved.append(f"entry {entry.n}, {kind}, was handed over, so it proves nothing")
            case ReviewerKeyAdmitted():
                self._decisions.take(entry)
            case _:
                self._deletions.take(entry)

    def _leave_former(self, names: Iterable[str]) -> None:
        """Expect nothing any more where an earlier version put files that were made anew under these names."""
        for name in names:
            if (former := former_name(name)) is not None:
                self._made.pop(former, None)

    def _take_document(self, entry: Document) -> None:
        row = proved_row(entry)
        self._rows.append(row)
        for file in row.made_files:
            self._made[file.file] = (file.sha256, entry.n)
        self._failures.take(entry)
        self._decisions.take(entry)
        if entry.state == State.FAILED or not entry.document or entry.is_decided:
            return
        folder = str(archive_folder(Path(), entry.job, entry.document))
        names = archived_names(row) if entry.state in ANSWERED else [f"bytes/{archive_name(row.raw_path)}"]
        self._kept |= {_digest(f"{folder}/{name}"): entry.n for name in names}

    def newly_placed(self) -> Iterator[PartTask]:
        """The parts that came to be in place since this was asked last."""
        tasks, self.placed = self.placed, []
        yield from tasks

    def unplaced(self) -> Iterator[PartTask]:
        """Parts of which no entry says yet that they are in place."""
        for part, documents in self._unplaced.values():
            yield PartTask(self._root, self._at_rest, part, documents, placed=False)

    def entry_notes(self) -> list[str]:
        """Notes on entries without authority, and on parts that may not be in place."""
        return self._unproved + [
            f"{file} may not be in place yet: a run holds it, or the next run ends it" for file in self._unplaced
        ]

    def made(self) -> Iterator[FilesTask]:
        """The Markdown and output files that should be there."""
        waiting = [entry for _, documents in self._unplaced.values() for entry in documents]
        staged = frozenset(file.file for entry in waiting for file in entry.made_files)
        kinds: dict[str, list[tuple[str, str, int]]] = {"markdown": [], "outputs": [], "reports": []}
        for name, (sha256, number) in self._made.items():
            kind = "reports" if name in self._reports else "markdown" if name.endswith(".md") else "outputs"
            kinds[kind].append((name, sha256, number))
        for kind, files in kinds.items():
            for at in range(0, len(files), _FILES):
                before = {name: self._reports[name] for name, *_ in files[at : at + _FILES] if name in self._reports}
                yield FilesTask(self._root, kind, files[at : at + _FILES], staged, before)

    def check_strays(self, found: Found) -> None:
        """Every file below outbox/, archive/ and failed/: did an entry make it? Those of failed/ are compared too."""
        returned: dict[str, int] = {}
        lacking = self._openings.lacking(self._deletions)
        for top in ("outbox", "archive"):
            for name in _walk(self._root, top, found):
                if not self._is_known(name) and name.split("/")[1] in lacking:
                    found.leave(name, UNOPENED)
                elif not self._is_known(name):
                    found.add_stray(name)
                elif (by := self._deleted_by(name)) is not None:
                    returned[name if top == "outbox" else name.rpartition("/")[0].rpartition("/")[0]] = by
        for name, by in returned.items():
            why = "which is not done yet: the next run ends it" if by in self._deletions.pending else "and is there"
            found.notes.append(f"{name} was deleted by entry {by}, {why}")
        self._decisions.check(found)
        self._failures.check(self._root, self._at_rest, list(_walk(self._root, "failed", found)), lacking, found)
        self._openings.check(self._deletions, found)

    def _is_known(self, name: str) -> bool:
        return name in self._parts or name in self._made or _digest(name) in self._kept

    def _deleted_by(self, name: str) -> int | None:
        """The entry that deleted this file, if no later one made it again."""
        gone = self._deletions
        if name in self._parts:
            return gone.parts.get(name)
        if name in self._made:
            return gone.markdown.get(self._made[name][1])
        return gone.archive.get(self._kept[_digest(name)])

    def rewritten(self, site: Site, found: Found) -> Iterator[PartTask]:
        """The parts of which rows were erased, as they are since."""
        for file, made in self._deletions.rows.items():
            if self._waits(file):
                found.notes.append(
                    f"rows of {file} go by entry {made[-1].by}, which is not done yet: the next run ends it"
                )
            if file in self._deletions.parts or (now := self._rewritten(file)) is None:
                continue
            (part,) = entries_at(site, [now.part])
            assert isinstance(part, Part)  # an erasure names it
            documents = documents_at(site, range(part.first, part.first + part.rows))
            kept = [proved_row(entry) for entry in documents if entry.n not in now.gone]
            yield PartTask(self._root, self._at_rest, replace(part, sha256=now.sha256), kept, placed=True)

    def _rewritten(self, file: str) -> Rewritten | None:
        """The part as the last erasure made it; the one before, while that waits for its place."""
        made = self._deletions.rows.get(file, [])
        done = made[:-1] if self._waits(file) else made
        return done[-1] if done else None

    def _waits(self, file: str) -> bool:
        """Whether a part without its erased rows is staged still."""
        made, place = self._deletions.rows.get(file), self._root / file
        staged = place.parent / STAGING / staged_name(file)
        return made is not None and made[-1].by in self._deletions.pending and staged.is_file()

    def private(self) -> str | None:
        """One sentence about private/ if it does not open all that it should."""
        return self._openings.told(self._deletions)

    def forget_deleted(self, found: Found) -> None:
        """Forget findings on what was deleted: it is not missing, and a part without its erased rows is not altered;
        nor is what a later entry may have replaced that cannot be opened."""
        gone = self._deletions
        self._leave_replaced(found)
        rows = {file for file in gone.rows if self._rewritten(file)}
        found.altered = [one for one in found.altered if one.where.split(" ")[0] not in rows]
        found.absent = [
            one for one in found.absent
            if not (
                one.where in gone.parts
                or one.where in rows
                or (one.where.startswith("failed/") and one.entry in gone.failed)
                or (one.where.startswith("archive/") and one.entry in gone.archive)
                or (one.where in self._made and one.entry in gone.markdown)
            )
        ]  # fmt: skip
        markdown = sum(number in gone.markdown for _, number in self._made.values())
        found.checked["deleted"] = len(gone.archive) + len(gone.parts) + markdown

    def _leave_replaced(self, found: Found) -> None:
        """Leave out what may belong to an entry that cannot be opened: a Markdown or output file to the last one of
        its name, a failed document to any of its name. A part or an archived document has one entry alone."""
        lacking = self._openings.lacking(self._deletions)
        for one in found.altered:
            top, _, rest = one.where.partition("/")
            last = lacking.get(rest.partition("/")[0], -1)
            replaced = one.where in self._made and self._made[one.where][1] < last
            if replaced or (top == "failed" and last >= 0):
                found.leave(one.where, f"it is not what entry {one.entry} says; {UNOPENED}", one.entry)
        left = {one.where for one in found.unjudged}
        found.altered = [one for one in found.altered if one.where not in left]


def _digest(name: str) -> bytes:
    return hashlib.blake2b(os.fsencode(name), digest_size=16).digest()


def _walk(root: Path, top: str, found: Found) -> Iterator[str]:
    """The regular files below root/top, in sorted order, as paths relative to root; everything else but folders is
    told, and what runs stage is counted."""
    staged = 0
    folders = [top]
    while folders:
        folder = folders.pop()
        for item in _items(root / folder, folder, found):
            name = f"{folder}/{item.name}"
            if item.is_dir(follow_symlinks=False):
                folders.append(name)
            elif f"/{STAGING}/" in name and name.split("/")[2] == STAGING:
                staged += 1
            elif item.is_file(follow_symlinks=False):
                yield name
            else:
                found.add_stray(name, "no file: a link, a pipe or a device")
    if staged:
        found.notes.append(
            f"{top}: {staged} files staged by a run; no results, removed when it ends or the next begins"
        )


def _items(path: Path, name: str, found: Found) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as items:
            return sorted(items, key=lambda item: item.name)
    except FileNotFoundError:  # no job has made it yet, or a run removed it
        return []
    except OSError as error:
        found.unreadable.append(audit.Finding(name, f"it cannot be looked into: {error.strerror}"))
        return []
