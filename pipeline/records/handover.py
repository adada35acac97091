"""state/handover/: records of commands that could not write the log, for the one who holds it.

Whoever may write there may forge one, so only types that prove nothing are taken (records.py), and the entry says that
it was handed over. Whatever else lies there is never committed: it is moved aside, to NAME.refused, and the log says so
once.

A record is a file ID.json, there whole or not at all. Whoever holds the log commits it with its next commit, with the
ID in it, and removes the file after that. Killed in between, the next holder finds the ID among the entries that came
after the file was written, and only removes it: each record is in the log once.
"""

import contextlib
import hashlib
import os
import pwd
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import audit
from pipeline.paths.beneath import open_beneath
from pipeline.plan import Site
from pipeline.records.entries import read_entries
from pipeline.records.private import AsItIs
from pipeline.records.records import check_handed, from_json
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
    return site.state / "handover"


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
    folder_of(site).mkdir(parents=True, exist_ok=True)
    with _opened(site):  # is it no link?
        pass
    audit.write_file_atomically(folder_of(site) / f"{name}.json", body)


def waiting(site: Site) -> list[str]:
    """The names of the files that wait, sorted."""
    try:
        with _opened(site) as folder, os.scandir(folder) as items:
            return sorted(item.name for item in items if Path(item.name).suffix == ".json")
    except OSError:
        return []


@contextlib.contextmanager
def _opened(site: Site) -> Iterator[int]:
    """The folder's descriptor. OSError, also for a link: what lies elsewhere is neither read, removed nor renamed."""
    folder = os.open(folder_of(site), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield folder
    finally:
        os.close(folder)


@dataclass(frozen=True)
class _Handed:
    """A file that was read: the record to be committed, and how many entries there were when it was written. One that
    was refused has no id, and its record says where it is kept."""

    record: AsItIs | HandoverRefused
    id: str | None
    size: int
    time: str = ""

    @property
    def kept(self) -> str | None:
        """The name under which a file that was refused is kept."""
        return self.record.kept if isinstance(self.record, HandoverRefused) else None


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
        if not names:
            return []
        read = {name: _read(self.site, name) for name in names}
        handed = {name: each for name, each in read.items() if each}
        self._taken = {name: each.kept for name, each in handed.items()}
        committed = self._committed([each for each in handed.values() if each.id])
        fresh = sorted((each for each in handed.values() if each.id not in committed), key=lambda each: each.time)
        return [each.record for each in fresh]

    def clear(self) -> None:
        """Remove the files of records that are in the log now, and move aside what was refused."""
        if not self._taken:
            return
        self.done.update(self._taken)
        with contextlib.suppress(OSError), _opened(self.site) as folder:
            for name, kept in self._taken.items():
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=folder) if kept is None else _move_aside(folder, name, kept)
        self._taken = {}

    def _committed(self, handed: Sequence[_Handed]) -> set[str]:
        """The names of those that are in the log already: an entry with their id came after they were written."""
        wanted = {each.id for each in handed}
        start = min((each.size for each in handed), default=None)
        if start is None:
            return set()
        handed_over = (entry.handed for entry in read_entries(self.site, start))
        return {each.id for each in handed_over if each and each.id in wanted}


def _move_aside(folder: int, name: str, kept: str) -> None:
    """Where a file of the same name was refused before, under a name of its own. OSError."""
    with contextlib.suppress(FileNotFoundError):
        os.stat(kept, dir_fd=folder, follow_symlinks=False)
        kept = f"{secrets.token_hex(16)}.refused"
    os.rename(name, kept, src_dir_fd=folder, dst_dir_fd=folder)


def _read(site: Site, name: str) -> _Handed | None:
    """The record that one file hands over; if it is none, the record that says so. None for a file that has just
    gone."""
    owner = ""
    try:
        with os.fdopen(open_beneath(site.state, f"handover/{name}", os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            owner = _name_of(status.st_uid)
            if not stat.S_ISREG(status.st_mode):
                raise ValueError("not a regular file")
            handed = _parse(name, file.read(_MAX_BYTES + 1), owner)
            _check_log(site, handed.record.to_json(), handed.size)
            return handed
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        kept = f"{hashlib.sha256(os.fsencode(name)).hexdigest()[:32]}.refused"  # a name as long as any can be
        told = shown(str(reason))[:200]
        return _Handed(HandoverRefused(file=shown(name), owner=owner, reason=told, kept=kept), None, 0)


def _parse(name: str, data: bytes, owner: str) -> _Handed:
    """ValueError for what is no record that may be handed over."""
    if len(data) > _MAX_BYTES:
        raise ValueError(f"longer than {_MAX_BYTES:,} bytes")
    told = audit.parse_canonical(data)
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
    whole = AsItIs({**record, "handed": {**stamp, "user": owner}})
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


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
