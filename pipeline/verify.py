"""Is the log whole, and do results and archive agree with it? Two verdicts: integrity and completeness."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import audit
from pipeline.deletion import Deletions, read_deletions
from pipeline.entries import read_entries
from pipeline.placement import archive_folder, file_sha256
from pipeline.plan import Site
from pipeline.schema import result_sha256
from pipeline.states import State

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Verification:
    """`integrity`: the log itself; `altered`: results or archived bytes that differ from the log. Either is tampering.

    `absent` names what the log proves and is no longer there; `notes` what else a reader should know.
    """

    size: int
    root: bytes
    integrity: tuple[audit.Finding, ...]
    altered: tuple[audit.Finding, ...]
    absent: tuple[audit.Finding, ...]
    notes: tuple[str, ...]
    checked: Mapping[str, int]

    @property
    def ok(self) -> bool:
        """Nothing was tampered with."""
        return not self.integrity and not self.altered


def verify(
    site: Site,
    progress: Callable[[int, int], None] | None = None,
    *,
    against: bytes | None = None,
    witnesses: Iterable[str] = (),
) -> Verification:
    """Check every byte of the log, and that it extends a kept checkpoint which these witnesses cosigned; then every
    part, Markdown file and archived document that it names."""
    report = audit.verify(site.audit, site.public_key, progress, against=against, witnesses=witnesses)
    results = _Results(site.root)
    if report.ok:
        results.deletions = read_deletions(read_entries(site))
        results.check(entry for _, entry in read_entries(site))
    return Verification(
        report.size, report.root, tuple(report.findings), tuple(results.altered), tuple(results.absent),
        (*report.notes, *results.notes), results.checked,
    )  # fmt: skip


class _Results:
    """The second verdict, entry by entry."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.altered: list[audit.Finding] = []
        self.absent: list[audit.Finding] = []
        self.notes: list[str] = []
        self.checked = {"parts": 0, "rows": 0, "markdown": 0, "archived": 0, "deleted": 0}
        self.deletions = Deletions()
        self.returned: dict[str, int] = {}  # what was deleted and is there -> the entry that deleted it

    def check(self, entries: Iterable[Entry]) -> None:
        """Hold parts, Markdown files and archive against the log."""
        rows: list[Entry] = []
        markdown: dict[str, tuple[str, int]] = {}  # file -> sha256, entry
        parts: set[str] = set()
        unplaced: set[str] = set()
        for entry in entries:
            match entry["type"]:
                case "document":
                    rows.append(entry)
                    if file := entry["markdown"]:
                        markdown[file["file"]] = (file["sha256"], entry["n"])  # a later one replaced it
                case "part":
                    self._part(entry, rows)
                    parts.add(entry["file"])
                    unplaced.add(entry["file"])
                    rows = []
                case "placed":
                    unplaced.discard(entry["file"])
        for name, (sha256, number) in markdown.items():
            if not self._is_deleted(name, self.deletions.markdown.get(number)):
                self._same(name, sha256, number, "markdown")
        self._unknown(parts)
        self._returned()
        self.notes += [f"{file} may not be in place yet: a run holds it, or the next run ends it" for file in unplaced]

    def _part(self, part: Entry, entries: list[Entry]) -> None:
        deleted = self._is_deleted(part["file"], self.deletions.parts.get(part["file"]))
        if not deleted and self._same(part["file"], part["sha256"], part["n"], "parts"):
            table = pq.ParquetFile(self.root / part["file"]).iter_batches(256)
            rows = (row for batch in table for row in batch.to_pylist())
            for entry, row in zip(entries, rows, strict=True):
                self.checked["rows"] += 1
                if row["audit_index"] != entry["n"] or result_sha256(row) != entry["result_sha256"]:
                    self._alter(f"{part['file']} row {entry['row']}", entry["n"], "the row is not the one it proves")
        for entry in entries:
            if entry["document"] and entry["state"] != State.FAILED:
                self._archived(entry)

    def _archived(self, entry: Entry) -> None:
        folder = archive_folder(self.root, entry["job"], entry["document"])
        where, number = str(folder.relative_to(self.root)), entry["n"]
        if self._is_deleted(where, self.deletions.archive.get(number)):
            return
        self.returned.pop(where, None)  # it came again
        if entry["state"] == State.DUPLICATE:
            return
        if not folder.is_dir():
            self.absent.append(audit.Finding(where, f"entry {number}: the archived document is gone", number))
            return
        self.checked["archived"] += 1
        if {file_sha256(path) for path in folder.glob("bytes/*")} != {entry["document"]}:
            self._alter(where, number, "the archived bytes are not those that were processed")
        text = folder / "text" / f"{entry['text_sha256']}.txt"
        if not text.is_file() or file_sha256(text) != entry["text_sha256"]:
            self._alter(where, number, "the archived text is not the one that was computed on")

    def _is_deleted(self, name: str, by: int | None) -> bool:
        """Whether entry `by` says that it was deleted; then nothing is missing."""
        if by is None:
            return False
        self.checked["deleted"] += 1
        if (self.root / name).exists():
            self.returned[name] = by
        return True

    def _returned(self) -> None:
        for name, by in self.returned.items():
            why = "which is not done yet: the next run ends it" if by in self.deletions.pending else "and is there"
            self.notes.append(f"{name} was deleted by entry {by}, {why}")

    def _same(self, name: str, sha256: str, number: int, kind: str) -> bool:
        """Whether a file is there with these bytes; if not, why not is noted."""
        path = self.root / name
        if not path.is_file():
            self.absent.append(audit.Finding(name, f"entry {number} proves it, but it is no longer there", number))
            return False
        self.checked[kind] += 1
        if (found := file_sha256(path)) != sha256:
            self._alter(name, number, f"sha256 is {found}, the entry says {sha256}")
            return False
        return True

    def _unknown(self, parts: set[str]) -> None:
        for path in sorted(self.root.glob("outbox/*/*.parquet")):
            if (name := str(path.relative_to(self.root))) not in parts:
                self.altered.append(audit.Finding(name, "no entry of the log made this file", None))

    def _alter(self, where: str, number: int, message: str) -> None:
        self.altered.append(audit.Finding(where, f"entry {number}: {message}", number))
