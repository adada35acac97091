"""Every type of record in the log, and the members that its writer gives it: the table in README.md is made of this.

The log adds `v`, `n`, `time`, `boot`, `uptime_us`, `host` and `user` to each. `run` is "" where none is meant.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """What records of a type say. `command`: made outside of runs, so it may be handed to the one who holds the log."""

    says: str
    members: tuple[str, ...]
    command: bool = False


def _kind(says: str, members: str, *, command: bool = False) -> Kind:
    return Kind(says, tuple(members.split()), command)


KINDS: dict[str, Kind] = {
    "read.results": _kind("rows were shown", "job failed limit", command=True),
    "read.story": _kind("a document's story was shown", "document", command=True),
    "verified": _kind("the log was verified", "size root integrity altered absent", command=True),
    "handover.refused": _kind("what lay in state/handover/ was no record", "file owner reason"),
    "hold": _kind("documents may not be deleted", "entries reason"),
    "released": _kind("a hold has ended", "hold reason"),
    "deleted.by_rule": _kind("what the job keeps no longer is to be deleted", "rule days archive parts markdown"),
    "deleted": _kind("a deletion is done", "deletion"),
    "clock.stepped": _kind("the clock was set", "seconds before"),
}


def check_record(record: Mapping[str, Any]) -> None:
    """ValueError unless a command may make this record: a type of the table, with exactly its members."""
    kind = KINDS.get(record.get("type", ""))
    if kind is None or not kind.command:
        raise ValueError(f"no command makes records of type {record.get('type')!r}")
    expected, found = {"type", *kind.members}, set(record) - {"run"}
    if found != expected:
        wrong = ", ".join(sorted(found ^ expected))
        raise ValueError(f"a record of type {record['type']} has exactly its members; wrong: {wrong}")
