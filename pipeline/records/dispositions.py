"""The log tells of inputs that got no row: ignored or pending, with the reason; each when it is new. And it tells of
files that were not read: how each lay, and its failure (inbox/unread.py).

Files that stay in a folder, such as one that no pattern takes, are seen by every run. They are told of once, and again
when the reason is another one. What was done before is not told of again: its own entry says so.
"""

import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field

import audit
from pipeline.records.types import Document, Inputs, Record

_ENTRY_BYTES = 48_000  # of paths: an entry may have 65,535 in all

Disposition = tuple[str, str, str]  # state, reason, path
Unread = tuple[str, str]
"""The digest of how a file lay, and the failure."""


@dataclass
class Dispositions:
    """The dispositions of one job: digest of a path -> state and reason that the log gave it last."""

    _said: dict[bytes, str] = field(default_factory=dict)

    def take(self, entry: Record) -> None:
        """Take in an entry of this job: the paths that it says got no row."""
        if isinstance(entry, Inputs):
            said = sys.intern(f"{entry.state} {entry.reason}")
            self._said.update((_digest(path), said) for path in entry.paths or ())

    def forget(self, path: str) -> None:
        """The path got a row: what comes there next is another file."""
        if self._said:
            self._said.pop(_digest(path), None)

    def to_plain(self) -> dict[str, str]:
        """The dispositions as JSON values."""
        return {key.hex(): said for key, said in self._said.items()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, str]) -> "Dispositions":
        """Read dispositions from what `to_plain` gives."""
        return cls({bytes.fromhex(key): sys.intern(said) for key, said in plain.items()})

    def news(self, inputs: Iterable[Disposition]) -> Iterator[Inputs]:
        """The records of those that the log does not have; it is taken to have them from now on."""
        grouped: dict[tuple[str, str], list[str]] = {}
        for state, reason, path in inputs:
            said, key = f"{state} {reason}", _digest(path)
            if self._said.get(key) != said:
                self._said[key] = sys.intern(said)
                grouped.setdefault((state, reason), []).append(path)
        for (state, reason), paths in grouped.items():
            for some in _pieces(paths):
                yield Inputs(state=state, reason=reason, paths=tuple(some))


def _digest(path: str) -> bytes:
    return hashlib.blake2b(path.encode(), digest_size=12).digest()


def _pieces(paths: Sequence[str]) -> Iterator[list[str]]:
    piece: list[str] = []
    size = 0
    for path in paths:
        size += len(audit.canonical(path)) + 1
        if piece and size > _ENTRY_BYTES:
            yield piece
            piece, size = [], len(audit.canonical(path)) + 1
        piece.append(path)
    if piece:
        yield piece


def remember(unread: MutableMapping[str, Unread], entry: Document) -> None:
    """Take in a document's entry, in the order of the log: what was read at a path since is no longer unread."""
    if entry.parent is not None:
        return
    if entry.document is None and entry.unread:
        unread[entry.path] = (entry.unread, entry.failure or "")
    else:
        unread.pop(entry.path, None)
