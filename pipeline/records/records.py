"""Reading a record of any type of its JSON form, and which records commands may make and hand over.

What was handed over (handover.py) may come from anyone who can write into the workspace's state/, so only types that
prove nothing may be handed over, and each of their values is checked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.records.types import KINDS, Record, members_of
from pipeline.records.types.values import fits

HANDED = frozenset(name for name, kind in KINDS.items() if kind.HANDED)
"""The types that may be handed over: reads, checks, and the service's beginning and end. Whatever proves something or
changes what holds (exports, erasures, holds, releases, models brought in, admitted or revoked, jobs that went back to
one) is written by its command alone."""

UNPROVED = "handed."
"""What the type of an entry begins with, as it is read, that was handed over and may not be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold(Record):
    """An entry of which only `said` can be told.

    Either its type is not known to this version; or it was handed over and may not be, for earlier versions took some,
    and whoever may write to state/handover/ can have made it: then its type is `handed.TYPE`, so that nobody takes it
    for what it says it is.
    """

    @property
    def type(self) -> str:
        """The type in `said`."""
        return str(self.said["type"])

    @property
    def forged(self) -> bool:
        """Whether it was handed over and may not be."""
        return self.type.startswith(UNPROVED)


def from_json(said: Mapping[str, Any]) -> Record:
    """The record of an entry, opened where it is private. ValueError where a member is missing that its type has."""
    if "handed" in said:
        said = without_authority(said)
    kind = KINDS.get(said["type"])
    return Untold(run=said["run"], job=said.get("job") or "", said=said) if kind is None else kind.from_json(said)


def without_authority(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """The entry; under the type `handed.TYPE` if it was handed over and may not be."""
    forged = "handed" in said and said["type"] not in HANDED
    return {**said, "type": f"{UNPROVED}{said['type']}"} if forged else said


def says(kind: str) -> str | None:
    """The meaning of records of a type, in words; None for a type that this version does not know."""
    if kind.startswith(UNPROVED):
        return "it was handed over, so it proves nothing"
    return KINDS[kind].SAYS if kind in KINDS else None


def check_record(record: Mapping[str, Any]) -> None:
    """ValueError unless a command may make this record, given as JSON: of a type of the table, with exactly its
    members."""
    kind = KINDS.get(str(record.get("type")))
    if kind is None or not kind.COMMAND:
        raise ValueError(f"no command makes records of type {record.get('type')!r}")
    found, members = set(record) - {"run", "type"}, members_of(kind)
    wrong = found ^ members.keys() or {n for n in found if not fits(record[n], members[n])}
    if wrong:
        raise ValueError(f"a record of type {record['type']} with other members or values: {', '.join(sorted(wrong))}")


def check_handed(record: Mapping[str, Any]) -> None:
    """ValueError unless this record may be handed over."""
    check_record(record)
    if record["type"] not in HANDED:
        raise ValueError(f"a record of type {record['type']} proves something, and is never handed over")
