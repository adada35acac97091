"""state/handover/: records of commands that could not write the log, for the one who holds it.

Whoever may write there may forge one, so only types that prove nothing are taken (entries.py), and the entry says that
it was handed over. Whatever else lies there is never committed: it is moved aside, to NAME.refused, and the log says so
once.

A record is a file ID.json, there whole or not at all. Whoever holds the log commits it with its next commit, with the
ID in it, and removes the file after that. Killed in between, the next holder finds the ID among the entries that came
after the file was written, and only removes it: each record is in the log once.
"""

import contextlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import audit
from pipeline.plan import Site
from pipeline.records.drop import Drop, LeftFile, RefusedFile, kept_name
from pipeline.records.entries import check_handed, from_json, read_entries
from pipeline.records.private import AsItIs
from pipeline.records.types import HandoverRefused, Json, ReadCheckpoint, Record, Verified
from pipeline.text.visible import shown

_NAME = re.compile(r"[0-9a-f]{32}\.json", re.ASCII)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z", re.ASCII)
_MOST_TEXT = 256  # characters of a boot id or a host's name
_MEMBERS = {"id", "record", "size", "time", "boot", "uptime_us", "host"}
_MAX_BYTES = 32_768  # an entry may have 65,535
_AT_ONCE = 256  # the others go with the commit after it


def folder_of(site: Site) -> Path:
    """Where records wait."""
    return _drop(site).path


def hand_over(site: Site, record: Record) -> None:
    """Leave a record for the one who holds the log. OSError; audit.AuditError; ValueError for one that is too long, or
    may not be handed over."""
    said = record.to_json()
    check_handed(said)
    name, stamp = secrets.token_hex(16), asdict(audit.stamp_now())
    stamp.pop("user")  # the file's owner says it
    size = audit.read_checkpoint(site.audit, site.public_key).size
    body = audit.canonical({"id": name, "record": said, "size": size, **stamp})
    if len(body) > _MAX_BYTES:
        raise ValueError(f"a record of {len(body):,} bytes; at most {_MAX_BYTES:,} can be handed over")
    _drop(site).leave(f"{name}.json", body)


def waiting(site: Site) -> list[str]:
    """The names of the files that wait, sorted."""
    return _drop(site).names()


@dataclass(frozen=True)
class _Handed:
    """A record that was handed over, to be committed, and how many entries there were when it was written."""

    record: AsItIs
    id: str
    size: int
    time: str


def _drop(site: Site) -> Drop[_Handed]:
    return Drop(site, "handover", _MAX_BYTES, partial(_parse, site))


@dataclass
class Handover:
    """The records that wait for this holder of the log. `done`: names that are in the log, should their files have
    stayed."""

    site: Site
    done: set[str] = field(default_factory=set)
    _taken: dict[str, str | None] = field(default_factory=dict)  # name of a file -> where it is moved aside

    def collect(self) -> list[AsItIs | HandoverRefused]:
        """Records to be committed next, of at most 256 files. Call `clear` once they are. AuditError."""
        names = [name for name in waiting(self.site) if name not in self.done][:_AT_ONCE]
        handed, refused = list[_Handed](), list[HandoverRefused]()
        self._taken = {}
        for name, owner, said in _drop(self.site).taken(names):
            if isinstance(said, RefusedFile):
                self._taken[name] = kept = kept_name(name)
                why = shown(said.why)[:200]
                refused.append(HandoverRefused(file=shown(name), owner=owner, reason=why, kept=kept))
            else:
                handed.append(said)
                self._taken[name] = None
        committed = self._committed(handed)
        fresh = sorted((each for each in handed if each.id not in committed), key=lambda each: each.time)
        return [*refused, *(each.record for each in fresh)]

    def clear(self) -> None:
        """Remove the files of records that are in the log now, and move aside what was refused."""
        if not self._taken:
            return
        self.done.update(self._taken)
        drop = _drop(self.site)
        drop.remove(name for name, kept in self._taken.items() if kept is None)
        for name, kept in self._taken.items():
            if kept is not None:
                with contextlib.suppress(OSError):
                    drop.rename(name, drop.free_name(kept))
        self._taken = {}

    def _committed(self, handed: Sequence[_Handed]) -> set[str]:
        """The names of those that are in the log already: an entry with their id came after they were written."""
        wanted = {each.id for each in handed}
        start = min((each.size for each in handed), default=None)
        if start is None:
            return set()
        handed_over = (entry.handed for entry in read_entries(self.site, start))
        return {each.id for each in handed_over if each and each.id in wanted}


def _parse(site: Site, name: str, left: LeftFile) -> _Handed:
    """ValueError for what is no record that may be handed over. audit.AuditError."""
    told = audit.parse_canonical(left.whole())
    if not isinstance(told, dict) or told.keys() != _MEMBERS or not _NAME.fullmatch(name):
        raise ValueError("not what a command writes")
    texts = [told[key] for key in ("id", "boot", "host")]
    numbers = [told[key] for key in ("size", "uptime_us")]
    fit = all(isinstance(text, str) and len(text) <= _MOST_TEXT for text in texts)
    timed = isinstance(told["time"], str) and _TIME.fullmatch(told["time"])
    if not fit or not timed or any(type(n) is not int or n < 0 for n in numbers):
        raise ValueError("not what a command writes")
    record = told["record"]
    if f"{told['id']}.json" != name or not isinstance(record, dict) or record.get("run") != "":
        raise ValueError("not what a command writes")
    check_handed(record)
    stamp = {key: told[key] for key in ("id", "time", "boot", "uptime_us", "host")}
    whole = AsItIs({**record, "handed": {**stamp, "user": left.owner}})
    _check_log(site, whole.json, told["size"])
    return _Handed(whole, told["id"], told["size"], told["time"])


def _check_log(site: Site, said: Json, size: int) -> None:
    """ValueError where a record names a state of the log that never was. audit.AuditError."""
    record = from_json(said)
    sizes = [size, *([record.size] if isinstance(record, Verified | ReadCheckpoint) else [])]
    size = audit.read_checkpoint(site.audit, site.public_key).size
    if max(sizes) > size:
        raise ValueError(f"it tells of {max(sizes):,} entries, and the log has {size:,}")
    if isinstance(record, Verified):
        root = audit.root_of(site.audit, site.public_key, record.size)
        if root.hex() != record.root:
            raise ValueError(f"the first {record.size:,} entries of the log have another root than it tells")
