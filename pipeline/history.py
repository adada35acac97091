"""What the log already knows: documents done before, their rows, and parts that may not be in place yet."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.placement import raw_path
from pipeline.states import State

Entry = Mapping[str, Any]


@dataclass
class History:
    """The log, read once from its first entry, as one job with one digest of settings sees it.

    `done`: document -> its path, when it has an answer for these settings. `paths`: (path, document) of every file
    these settings have met, also failed ones. `inner`: (path, document, container) of those in containers.
    `last`: identity -> number of the entry that holds for this job. `failed`: document -> path -> what is known of
    those whose last row, whatever the settings, is a failure.
    `cut_off`: states that the last run (of any job) had committed, if it has no closing entry.
    `unplaced`: part entries (of every job) not yet said to be in place, each with its document entries.
    """

    done: dict[str, str] = field(default_factory=dict)
    paths: set[tuple[str, str]] = field(default_factory=set)
    inner: set[tuple[str, str, str]] = field(default_factory=set)
    last: dict[str, int] = field(default_factory=dict)
    failed: dict[str, dict[str, "FailedBefore"]] = field(default_factory=dict)
    unplaced: dict[str, tuple[Entry, list[Entry]]] = field(default_factory=dict)
    cut_off: Counter[str] | None = None


@dataclass(frozen=True, slots=True)
class FailedBefore:
    """A document that failed: where from (as the system knows it), how large, of which container, and why."""

    raw: str
    size: int
    parent: str | None
    failure: str


def identity(document: str, path: str, by_path: bool) -> str:
    """What a row is about: a document, or, where copies are processed too, a document at its path."""
    return f"{document} {path}" if by_path else document


def read_history(entries: Iterable[tuple[int, Entry]], job: str, job_digest: str, *, by_path: bool = False) -> History:
    """One pass over all entries; memory grows with the documents of this job only.

    `by_path`: the job processes copies too, so that a document at another path is another one.
    """
    history = History()
    documents: list[Entry] = []
    for number, entry in entries:
        match entry["type"]:
            case "run.started":
                history.cut_off = Counter()
            case "run.finished":
                history.cut_off = None
            case "document":
                documents.append(entry)
                if history.cut_off is not None:
                    history.cut_off[entry["state"]] += 1
                if entry["job"] == job and entry["document"]:
                    _remember(history, number, entry, job_digest, by_path)
            case "part":
                history.unplaced[entry["file"]] = (entry, documents)
                documents = []
            case "placed":
                history.unplaced.pop(entry["file"], None)
    return history


def _remember(history: History, number: int, entry: Entry, job_digest: str, by_path: bool) -> None:
    if entry["state"] != State.DUPLICATE:
        history.last[identity(entry["document"], entry["path"], by_path)] = number
    _remember_failure(history, entry, by_path)
    if entry["job_digest"] != job_digest:
        return
    history.paths.add((entry["path"], entry["document"]))
    if entry["parent"]:
        history.inner.add((entry["path"], entry["document"], entry["parent"]))
    if entry["state"] in (State.DONE, State.ABSTAINED, State.REVIEW):
        history.done.setdefault(entry["document"], entry["path"])


def _remember_failure(history: History, entry: Entry, by_path: bool) -> None:
    """A document that has ended otherwise has not failed, and neither have its copies."""
    document, path = entry["document"], entry["path"]
    if entry["state"] == State.FAILED:
        failure = FailedBefore(raw_path(entry), entry["size"], entry["parent"], entry["failure"])
        history.failed.setdefault(document, {})[path] = failure
    elif by_path or entry["state"] == State.DUPLICATE:
        history.failed.get(document, {}).pop(path, None)
    else:
        history.failed.pop(document, None)
