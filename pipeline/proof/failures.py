"""The files in failed/ are held against the failures in the log that nothing has ended since."""

import json
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path

from pipeline.atrest.files import AtRest
from pipeline.outbox.placement import reason_body, reason_facts
from pipeline.paths.names import REASON, failed_apart, failed_name
from pipeline.proof.finding import UNOPENED, Found
from pipeline.records.settings import software
from pipeline.records.types import Document, Record
from pipeline.states import State

Key = tuple[str, str, str | None]


class Failures:
    """Follows placement.py through the entries: which failure may lie under which names.

    A failure is one of a document at its path. Failed again, it is told anew, at one of two places; another answer at
    its path takes it away, and so does a file that grew from it.
    """

    def __init__(self) -> None:
        self._standing: dict[Key, list[Document]] = {}
        self._overwritten: dict[Key, list[Document]] = {}  # it may lie there still

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type. Of one that nothing opens it cannot be told what it names."""
        if not isinstance(entry, Document) or entry.closed or entry.is_decided:
            return
        path = entry.raw_path
        key, unread = (entry.job, path, entry.document), (entry.job, path, None)
        if entry.grown_from:
            self._standing.pop((entry.job, path, entry.grown_from), None)
        if entry.state == State.FAILED:
            self._standing.setdefault(key, []).append(entry)
        else:
            self._standing.pop(key, None)
        if key != unread and unread in self._standing:
            self._overwritten.setdefault(unread, []).extend(self._standing.pop(unread))

    def check(self, root: Path, at_rest: AtRest, files: Iterable[str], lacking: Container[str], found: Found) -> None:
        """`files` are those below failed/, as paths relative to the workspace; jobs that are `lacking` have entries
        that cannot be opened."""
        claims = self._claims()
        right: dict[tuple[int, bool], str] = {}  # (entry, whether of its reason) -> the document's name
        wrong: set[str] = set()
        for name in files:
            is_reason = name.endswith(REASON)
            claimed = [e for e in claims.get(name.removesuffix(REASON), ()) if is_reason or e.document]
            holds: list[Document] | None = None
            with found.reading(name, claimed[-1].n if claimed else None):
                path = root / name
                its = at_rest.holds
                holds = [
                    e for e in claimed if (_tells(path, e) if is_reason else its(path, e.job, e.document, e.document))
                ]
            if holds is None:
                wrong.add(name)
                continue
            right |= {(e.n, is_reason): name.removesuffix(REASON) for e in holds}
            if not claimed and name.split("/")[1] in lacking:
                found.leave(name, UNOPENED)
            elif not claimed:
                found.add_stray(name)
            elif not holds:
                wrong.add(name)
                found.alter(name, claimed[-1].n, "not what failed" if not is_reason else "not what the entry says")
            found.checked["failed"] += bool(holds) and is_reason
        for entry in (entries[-1] for entries in self._standing.values()):
            self._require(entry, right, wrong, found)

    def _claims(self) -> dict[str, list[Document]]:
        claims: dict[str, list[Document]] = defaultdict(list)
        for entries in (*self._overwritten.values(), *self._standing.values()):
            for entry in entries:
                for name in _names(entry):
                    claims[name].append(entry)
        return claims

    def _require(self, entry: Document, right: Mapping[tuple[int, bool], str], wrong: set[str], found: Found) -> None:
        places = list(_names(entry))
        free = next((name for name in places if name not in right.values()), places[0])
        for is_reason in (False, True) if entry.document else (True,):
            suffix = REASON * is_reason
            if (entry.n, is_reason) not in right and not wrong & {name + suffix for name in places}:
                what = "the reason of a failure" if is_reason else "the failed document"
                beside = right.get((entry.n, not is_reason), free)
                found.miss(beside + suffix, entry.n, f"{what} is no longer there")


def _names(entry: Document) -> Iterator[str]:
    path = entry.raw_path
    for name in (failed_name(path), failed_apart(path, entry.document)):
        yield f"failed/{entry.job}/{name}"


def _tells(path: Path, entry: Document) -> bool:
    """Every byte, where this version wrote it; else the facts, for sentences may be others."""
    body = path.read_bytes()
    if entry.software == software():
        return body == reason_body(entry)
    try:
        told = json.loads(body)
        return isinstance(told, dict) and reason_facts(entry) == {name: told.get(name) for name in reason_facts(entry)}
    except (ValueError, RecursionError):
        return False
