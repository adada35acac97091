"""What the log already knows: documents done before, their rows, and parts that may not be in place yet."""

from collections import Counter
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pipeline.records.current import Identity, answers_copies, replaced
from pipeline.records.dispositions import Dispositions
from pipeline.records.paths import raw_path
from pipeline.records.private import is_closed
from pipeline.records.records import DELETIONS
from pipeline.records.register import Register
from pipeline.records.unread import Unread, remember
from pipeline.states import State

_ANSWERED = (State.DONE, State.ABSTAINED, State.REVIEW)

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Held:
    """A document in a container: its size (0 if it could not be had), and what it unpacked to, in all."""

    size: int
    documents: int
    bytes: int


class Paths(Protocol):
    """A set of (path, document)."""

    def add(self, met: tuple[str, str], /) -> None: ...

    def __contains__(self, met: tuple[str, str | None], /) -> bool: ...


@dataclass
class History:
    """The log, read once from its first entry, as one job with one digest of settings sees it.

    `done`: document -> its path, when it has an answer for these settings. `paths`: (path, document) of every file
    these settings have met, also failed ones. `inner`: container -> (path, document) of those in it -> what they hold,
    of containers that have no answer yet: a run was cut off, or they failed.
    `last`: the entries of this job whose rows are current (current.py). `copies`: its last run answered copies too.
    `failed`: (document, path) -> what is known of
    those whose last row, whatever the settings, is a failure.
    `unread`: path -> how a file lay there that was not read, and its failure (unread.py), whatever the settings.
    `has_settings`: whether the log has these settings themselves, beside their digest.
    `cut_off`: states that the last run (of any job) had committed, if it has no closing entry.
    `unplaced`: part entries (of every job) not yet said to be in place, each with its document entries.
    `openings`: (job, number) of the files that open hidden entries. `closed`: hidden entries that nothing opens and
    nobody erased: to this history they are not there.
    `answered`: part -> the documents that are `done` by a row of it. `deletions`: those not yet said to be done.
    `register`, `dispositions`: what is known of keys, jobs and models, and of this job's inputs that have no row.
    `empty`: the entry of this job's last run, if that had nothing to do.
    """

    done: MutableMapping[str, str] = field(default_factory=dict)
    paths: Paths = field(default_factory=set[tuple[str, str]])
    inner: dict[str, dict[tuple[str, str | None], Held]] = field(default_factory=dict)
    last: MutableMapping[Identity, int] = field(default_factory=dict)
    failed: MutableMapping[tuple[str, str], "FailedBefore"] = field(default_factory=dict)
    unread: MutableMapping[str, Unread] = field(default_factory=dict)
    unplaced: dict[str, tuple[Entry, list[Entry]]] = field(default_factory=dict)
    has_settings: bool = False
    openings: set[tuple[str, int]] = field(default_factory=set)
    closed: set[int] = field(default_factory=set)
    answered: MutableMapping[str, list[str]] = field(default_factory=dict)
    deletions: dict[int, Entry] = field(default_factory=dict)
    cut_off: Counter[str] | None = None
    copies: bool = False
    register: Register = field(default_factory=Register)
    dispositions: Dispositions = field(default_factory=Dispositions)
    empty: Entry | None = None

    def forget(self, parts: Iterable[str]) -> None:
        """The rows of these parts are deleted: the documents that they answered are new when they come again."""
        for part in parts:
            for document in self.answered.pop(part, ()):
                self.done.pop(document, None)

    def erase(self, entries: set[int], failed: set[int]) -> None:
        """Nobody can open these entries any more; copies in failed/ of some are gone."""
        self.closed -= entries
        for key in [key for key, before in self.failed.items() if before.number in failed]:
            del self.failed[key]


@dataclass(frozen=True, slots=True)
class FailedBefore:
    """A document that failed: where from (as the system knows it), how large, of which container, and why."""

    raw: str
    size: int
    parent: str | None
    failure: str
    number: int


def read_history(
    entries: Iterable[tuple[int, Entry]], job: str, job_digest: str, history: History | None = None
) -> History:
    """One pass over all entries, or over those after what `history` knows; memory grows with the documents of this job
    only."""
    history = history or History()
    documents: list[Entry] = []
    for number, entry in entries:
        closed = _keep_opening(history, number, entry)
        match entry["type"]:
            case "run.started":
                history.cut_off = Counter()
                history.register.take(entry)
                if entry["job"] == job:
                    history.empty, history.copies = None, answers_copies(entry.get("duplicates"))
            case "run.empty" if entry["job"] == job:
                history.empty = entry
            case "inputs":
                if entry["job"] == job and not closed:
                    history.dispositions.take(entry)
            case "run.finished" | "run.stopped":
                history.cut_off = None
            case "settings":
                history.has_settings |= entry["job_digest"] == job_digest
            case "document":
                documents.append(entry)
                if history.cut_off is not None:
                    history.cut_off[entry["state"]] += 1
                if entry["job"] == job and not closed:
                    _remember(history, number, entry, job_digest)
            case "part":
                history.unplaced[entry["file"]] = (entry, documents)
                documents = []
            case "placed":
                history.unplaced.pop(entry["file"], None)
            case "deleted":
                history.deletions.pop(entry["deletion"], None)
            case kind if kind in DELETIONS:
                history.deletions[number] = entry
                history.forget(entry["parts"])
                if entry["type"] == "erased":
                    history.erase(set(entry["entries"]), set(entry["failed"]))
            case _:
                history.register.take(entry)
    return history


def _keep_opening(history: History, number: int, entry: Entry) -> bool:
    """Note what opens a hidden entry; whether nothing does."""
    if "private" in entry:
        history.openings.add((entry["job"], entry["private"]))
    if is_closed(entry):
        history.closed.add(number)
        return True
    return False


def _remember(history: History, number: int, entry: Entry, job_digest: str) -> None:
    document, path = entry["document"], entry["path"]
    replaced(history.last, entry, number, history.copies)
    history.dispositions.forget(path)
    if entry["job_digest"] == job_digest:
        _remember_inner(history, entry)
    remember(history.unread, entry)
    if document is None:
        return
    if entry["state"] == State.FAILED:
        failure = FailedBefore(raw_path(entry), entry["size"], entry["parent"], entry["failure"], number)
        history.failed[document, path] = failure
        if history.done.get(document) == path:
            del history.done[document]
    else:
        history.failed.pop((document, path), None)
    if entry["job_digest"] == job_digest and entry["state"] in _ANSWERED and document not in history.done:
        history.done[document] = path
        history.answered.setdefault(entry["part"], []).append(document)
    if entry["job_digest"] == job_digest and not entry["parent"]:
        history.paths.add((path, document))


def _remember_inner(history: History, entry: Entry) -> None:
    """An answered container is over: what was in it is met again only with a container that comes again."""
    document, parent = entry["document"], entry["parent"]
    brought = history.inner.get(document, {}) if entry["state"] != State.DUPLICATE else {}
    if parent:
        documents = sum(1 + held.documents for held in brought.values())
        unpacked = sum(held.size + held.bytes for held in brought.values())
        held = Held(entry["size"] if document else 0, documents, unpacked)
        history.inner.setdefault(parent, {})[entry["path"], document] = held
    if entry["state"] in _ANSWERED:
        history.inner.pop(document, None)
