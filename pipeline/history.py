"""What the log already knows: documents done before, their rows, and parts that may not be in place yet."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.states import State

Entry = Mapping[str, Any]


@dataclass
class History:
    """The log, read once from its first entry, as one job with one digest of settings sees it.

    `done`: document -> its path, when it has an answer for these settings. `paths`: (path, document) of every file
    these settings have met, also failed ones. `last`: document -> number of the entry that holds for this job.
    `cut_off`: states that the last run (of any job) had committed, if it has no closing entry.
    `unplaced`: part entries (of every job) not yet said to be in place, each with its document entries.
    """

    done: dict[str, str] = field(default_factory=dict)
    paths: set[tuple[str, str]] = field(default_factory=set)
    last: dict[str, int] = field(default_factory=dict)
    unplaced: dict[str, tuple[Entry, list[Entry]]] = field(default_factory=dict)
    cut_off: Counter[str] | None = None


def read_history(entries: Iterable[tuple[int, Entry]], job: str, job_digest: str) -> History:
    """One pass over all entries; memory grows with the documents of this job only."""
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
                    _remember(history, number, entry, job_digest)
            case "part":
                history.unplaced[entry["file"]] = (entry, documents)
                documents = []
            case "placed":
                history.unplaced.pop(entry["file"], None)
    return history


def _remember(history: History, number: int, entry: Entry, job_digest: str) -> None:
    if entry["state"] != State.DUPLICATE:
        history.last[entry["document"]] = number
    if entry["job_digest"] != job_digest:
        return
    history.paths.add((entry["path"], entry["document"]))
    if entry["state"] in (State.DONE, State.ABSTAINED, State.REVIEW):
        history.done.setdefault(entry["document"], entry["path"])
