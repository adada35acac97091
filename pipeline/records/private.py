"""Jobs that are private: the log holds commitments, and private/<job>/ what opens them.

Who has the log alone, and guesses a document, cannot tell whether it was in the job: everything in its entries that is
a function of its bytes or its name is committed to with a salt of its own. What stays in the clear is when, where and
by what it was computed, in which state it ended, and which row of which part it has. The sha256 of a part is in the
clear too, but over a salt that stands in the part alone (schema.py).

A hidden entry's member `private` is the number that names its file of openings, which holds those of one commit: a
line of JSON for each entry, with value and salt of each member. It is on the disk before the commit that needs it.
"""

import errno
import json
import re
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import audit
from pipeline.records.types import Json, Record

Opening = dict[str, list[Any]]  # member -> salt, value

_CLEAR: dict[str, frozenset[str]] = {
    "document": frozenset({
        "type", "run", "job", "state", "supersedes", "replaces", "finished_at", "part", "row", "job_digest", "model",
        "model_sha256", "tokenizer_sha256", "numerics", "engine", "software", "parse_options",
    }),
    "inputs": frozenset({"type", "run", "job", "state"}),
    "reported": frozenset({"type", "run", "job", "night", "first", "job_digest", "html", "markdown"}),
}  # fmt: skip
"""Types of records of which members are hidden -> those that are not. Whatever else they have is: names, texts that may
hold names, and any function of a document's bytes, against which a guess could be held. Earlier versions hid less."""
_LEFT_OUT = {"run.finished": ("tokens", "forecast")}
"""Members that are null in a private job's log: sums of what its entries hide, or made of these."""


OPENINGS_NAME = re.compile(r"(\d{12})\.jsonl(\.tmp)?", re.ASCII)
"""How a file of openings is called, or one that was being written: by its first entry's number."""


def openings_file(root: Path, job: str, first: int) -> Path:
    """Where what opens the entries of one commit lies."""
    return root / "private" / job / f"{first:012d}.jsonl"


@dataclass(frozen=True, slots=True)
class AsItIs:
    """A record whose JSON goes into the log as it is: members of it are hidden, or it was handed over."""

    json: Json

    def to_json(self) -> Json:
        """The members that are committed."""
        return self.json


def hide(records: Sequence[Record], first: int) -> tuple[list[AsItIs], dict[int, Opening]]:
    """The records that are to be the entries from `first` on, hidden, and what opens them."""
    hidden, openings = [], {}
    for number, record in enumerate(records, first):
        said = record.to_json()
        if record.type not in _CLEAR:
            hidden.append(AsItIs({**said, **dict.fromkeys(_LEFT_OUT.get(record.type, ()))}))
            continue
        made = {key: audit.commit_to(value) for key, value in said.items() if key not in _CLEAR[record.type]}
        openings[number] = {key: [salt, said[key]] for key, (_, salt) in made.items()}
        hidden.append(AsItIs({**said, **{key: commitment for key, (commitment, _) in made.items()}, "private": first}))
    return hidden, openings


def write_openings(file: Path, openings: Mapping[int, Opening]) -> None:
    """Durably, for the eyes of this user alone. OSError."""
    for folder in (file.parent.parent, file.parent):
        if not folder.is_dir():
            folder.mkdir(mode=0o700)
            audit.sync_folder(folder.parent)
    audit.write_file_atomically(file, format_openings(openings), mode=0o600)


def format_openings(openings: Mapping[int, Opening]) -> bytes:
    """The bytes of a file of openings."""
    lines = (json.dumps({"n": number, **opening}, ensure_ascii=True) for number, opening in openings.items())
    return "".join(f"{line}\n" for line in lines).encode()


def parse_openings(data: bytes) -> dict[int, Opening]:
    """Read what `format_openings` gives; empty if these are not the bytes of such a file."""
    try:
        rows = [json.loads(line) for line in data.decode().splitlines()]
        found = {row.pop("n"): row for row in rows}
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return {}
    return found if all(type(number) is int for number in found) else {}


def read_openings(file: Path) -> dict[int, Opening]:
    """Empty if there is no such file, it may not be read, or it is not one."""
    try:
        return parse_openings(openings_bytes(file))
    except OSError:
        return {}


def openings_bytes(file: Path) -> bytes:
    """The bytes of a file of openings; nothing if a pipe is in its place, for which nobody waits. OSError."""
    return b"" if file.is_fifo() else file.read_bytes()


def refuse_open(root: Path) -> None:
    """Refuse openings that others than their owner may read. PermissionError with the remedy."""
    folder = root / "private"
    if folder.exists() and stat.S_IMODE(folder.stat().st_mode) & 0o077:
        raise PermissionError(errno.EACCES, f"others may read it, too; `chmod 700 {folder}`", str(folder))


def remove_unused_openings(root: Path, used: Collection[tuple[str, int]]) -> None:
    """Remove those of commits that did not happen. What has other names is left, for `verify` to tell. OSError."""
    wanted = {openings_file(root, job, first) for job, first in used}
    for file in root.glob("private/*/*.jsonl*"):
        if file not in wanted and OPENINGS_NAME.fullmatch(file.name) and not file.is_dir():
            file.unlink()


class Reader:
    """Opens the entries of one pass over the log; keeps what the last commit needed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._file: Path | None = None
        self._openings: dict[int, Opening] = {}

    def __call__(self, entry: dict[str, Any]) -> dict[str, Any]:
        """The entry with its values. If any of its hidden members is not opened, none is: `closed` names them all, the
        path stays a commitment, and the others are None."""
        if "private" not in entry:
            return entry
        file = openings_file(self._root, entry["job"], entry["private"])
        if file != self._file:
            self._file, self._openings = file, read_openings(file)
        hidden = hidden_members(entry)
        opening = self._openings.get(entry["n"], {})
        said = {key: opening[key] for key in hidden if _is_pair(opening.get(key))}
        values = {key: value for key, (salt, value) in said.items() if audit.check_commitment(entry[key], salt, value)}
        if values.keys() == set(hidden):
            return {**entry, **values, "closed": []}
        return {**entry, **{key: entry[key] if key == "path" else None for key in hidden}, "closed": hidden}


def hidden_members(entry: Mapping[str, Any]) -> list[str]:
    """The members of an entry, as the log has it, that are commitments."""
    return sorted(key for key, value in entry.items() if audit.is_commitment(value))


def _is_pair(said: Any) -> bool:
    return isinstance(said, list) and len(said) == 2 and isinstance(said[0], str)


def opened_by(root: Path, entry: Record) -> Path | None:
    """The file that opens an entry's hidden members; None if it has none."""
    return None if entry.private is None else openings_file(root, entry.job, entry.private)


def refuse_closed(root: Path, entry: Record) -> None:
    """audit.LogUntrusted where what is committed can be ended only by names that nothing opens."""
    if entry.closed and (opened := opened_by(root, entry)):
        file = opened.relative_to(root)
        message = f"does not open entry {entry.n}, and what was begun with its document cannot be ended without"
        raise audit.LogUntrusted(str(file), message, "restore private/ from a backup")


def forget(root: Path, entries: Iterable[Record]) -> None:
    """Remove what opens these entries; may be repeated. OSError."""
    files: dict[Path, set[int]] = {}
    for entry in entries:
        if file := opened_by(root, entry):
            files.setdefault(file, set()).add(entry.n)
    for file, numbers in files.items():
        before = read_openings(file)
        if numbers & before.keys():
            write_openings(file, {n: opening for n, opening in before.items() if n not in numbers})
