"""One entry of the log: a flat JSON object, one canonical line of at most 65,535 bytes.

The caller gives `type`, `run` and whatever belongs to that type; the log adds `v` (the version of this format), `n`
(the entry's number, from 0, without gaps) and the stamp of the commit (`time`, `boot`, `uptime_us`, `host`, `user`).
"""

import re
from collections.abc import Mapping
from typing import Any

from audit.canonical import MAX_INT, canonical, parse_canonical
from audit.stamp import Stamp

VERSION = 1
MAX_BYTES = 65_535  # C2SP tlog-tiles writes an entry's length in 16 bits; a longer one could not be exported

Entry = dict[str, Any]

_TIME = re.compile(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d\.\d{6}Z", re.ASCII)
_STAMP = ("time", "boot", "uptime_us", "host", "user")
_TEXTS = ("type", "run", "time", "boot", "host", "user")
_OWN = frozenset({"v", "n", *_STAMP})


def format_entry(record: Mapping[str, Any], n: int, stamp: Stamp) -> bytes:
    """The bytes of entry `n`, without the newline that ends its line; ValueError for a record that cannot be one."""
    if taken := _OWN & record.keys():
        raise ValueError(f"a record may not have {', '.join(sorted(taken))}: the log writes that itself")
    data = canonical(_checked({**record, **vars(stamp), "v": VERSION, "n": n}, n))
    if len(data) > MAX_BYTES:
        raise ValueError(f"an entry of type {record['type']} has {len(data)} bytes, at most {MAX_BYTES} are allowed")
    return data


def parse_entry(data: bytes, n: int) -> Entry:
    """The strict inverse: ValueError unless `data` is the canonical form of a well-formed entry with the number `n`."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"longer than {MAX_BYTES} bytes")
    entry = parse_canonical(data)
    if not isinstance(entry, dict):
        raise ValueError(f"found a {type(entry).__name__}, expected an object")
    return _checked(entry, n)


def stamp_of(entry: Entry) -> Stamp:
    return Stamp(**{name: entry[name] for name in _STAMP})


def _checked(entry: Entry, n: int) -> Entry:
    if type(entry.get("v")) is int and entry["v"] > VERSION:
        raise ValueError(f"format version {entry['v']}, which a newer Cloister wrote; expected {VERSION}")
    if entry.get("v") != VERSION or type(entry["v"]) is not int:
        raise ValueError(f"format version {entry.get('v')!r}, expected {VERSION}")
    if entry.get("n") != n or type(entry["n"]) is not int:
        raise ValueError(f"numbered {entry.get('n')!r}, expected {n}")
    if wrong := [name for name in _TEXTS if not isinstance(entry.get(name), str)]:
        raise ValueError(f"{wrong[0]} is {entry.get(wrong[0])!r}, expected a string")
    if not _TIME.fullmatch(entry["time"]):
        raise ValueError(f"time is {entry['time']!r}, expected UTC as 2026-11-20T22:00:00.000000Z")
    if type(entry.get("uptime_us")) is not int or not 0 <= entry["uptime_us"] <= MAX_INT:
        raise ValueError(f"uptime_us is {entry.get('uptime_us')!r}, expected microseconds")
    return entry
