"""Rotation: a log's key hands over to another one, in an entry that both of them signed.

    {"type":"key.rotated", "old_key":PUBLIC KEY, "new_key":PUBLIC KEY, "note":NOTE, ...}

NOTE is a signed note whose text is the checkpoint of all entries before this one, and two lines more:

    example.org/cloister                              origin, of both keys
    342                                               entries before this one: its number
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=      their root
    segment-bytes 512044
    old-key example.org/cloister+49567f00+AQOh…
    new-key example.org/cloister+8a1c33d2+AbZk…

    — example.org/cloister SVZ/AO…                    by the old key
    — example.org/cloister ihwz0h…                    by the new key

It is the last thing that the old key signs: the checkpoint that covers the entry is the new key's first. So whoever has
the old key alone learns from it which entries that key vouches for, and who signs from then on; whoever has the new
key alone learns which key it was that signed before.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.checkpoint import Checkpoint, format_body, parse_body
from audit.durable import StrPath
from audit.entry import Entry, parse_entry
from audit.errors import KeyRefused, LogUntrusted
from audit.report import Finding
from audit.roots import StoredTree
from audit.sign import PublicKey, Signer, format_public_key, open_note, parse_public_key, sign_note
from audit.store import (
    CHECKPOINT,
    ENTRIES,
    Line,
    Listing,
    is_segment,
    list_folder,
    open_file,
    read_checkpoint,
    read_lines,
)
from audit.stored import StoredTiles

ROTATED = "key.rotated"
_MARK = b'"type":"key.rotated"'  # as it stands in every such entry, for its form is canonical
_CHUNK = 2**20


@dataclass(frozen=True)
class Rotation:
    """Entry `n`: `old_key` signed checkpoints of at most `n` entries, `new_key` those of more. `before` is what both
    signed: the state of the log without this entry. `time` is the entry's."""

    n: int
    old_key: str
    new_key: str
    before: Checkpoint
    time: str


def format_rotation(before: Checkpoint, old: Signer, new: Signer) -> dict[str, Any]:
    """The members of the entry that follows the checkpoint `before`. KeyRefused if `new` cannot follow `old`."""
    if new.public.origin != old.public.origin:
        raise KeyRefused(f"the new key is of {new.public.origin!r}, this log is {old.public.origin!r}")
    if new.public.id == old.public.id:
        raise KeyRefused("the new key is the one that signs already (or has its id, by chance): make another")
    note = sign_note(_statement(before, old.public, new.public), old, new).decode()
    keys = {"old_key": format_public_key(old.public), "new_key": format_public_key(new.public)}
    return {"type": ROTATED, **keys, "note": note}


def parse_rotation(entry: Entry) -> Rotation:
    """The rotation that an entry of that type says, signed by both keys; ValueError if it is not, or in another form,
    or was moved."""
    old_key, new_key, note = (_text_of(entry, name) for name in ("old_key", "new_key", "note"))
    old, new = _parse_key(old_key), _parse_key(new_key)
    text = open_note(note.encode(), old, new)
    before = parse_body("\n".join(text.split("\n")[:-3]) + "\n")
    if text != _statement(before, old, new) or not before.origin == old.origin == new.origin or old.id == new.id:
        raise ValueError("its note is of another log, of other keys, or not in the one form that it has")
    if before.size != entry["n"]:
        raise ValueError(f"its note was signed for entry {before.size}")
    return Rotation(before.size, old_key, new_key, before, entry["time"])


def rotations(folder: StrPath, public_key: str) -> list[Rotation]:
    """How the keys followed one another up to `public_key`, the oldest first. Each is proved by both signatures, hence
    all of them by `public_key`, which must have signed the checkpoint (LogUntrusted). That they stand among entries
    which are the signed ones is a matter of `verify`."""
    read_checkpoint(Path(folder), parse_public_key(public_key))
    chain: list[Rotation] = []
    for rotation in reversed(list(_read_rotations(Path(folder)))):
        if rotation.new_key == (chain[-1].old_key if chain else public_key):
            chain.append(rotation)
    return chain[::-1]


def key_history(folder: StrPath, public_key: str) -> list[str]:
    """The public keys that signed this log before `public_key` did, the oldest first: by these a checkpoint that was
    kept may be signed. Proved as in `rotations`."""
    return [rotation.old_key for rotation in rotations(folder, public_key)]


def current_key(folder: StrPath, public_key: str) -> str:
    """The public key that signs the log today: `public_key` itself, or the one it handed over to, or that one did.
    LogUntrusted if none of them signed the checkpoint."""
    found, folder = public_key, Path(folder)
    if _signs(folder, found):
        return found
    for rotation in _read_rotations(folder):
        if rotation.old_key == found:
            found = rotation.new_key
            if _signs(folder, found):
                return found
    raise LogUntrusted(CHECKPOINT, f"not signed by {public_key}, nor by a key that this one handed over to")


def _statement(before: Checkpoint, old: PublicKey, new: PublicKey) -> str:
    return f"{format_body(before)}old-key {format_public_key(old)}\nnew-key {format_public_key(new)}\n"


def _text_of(entry: Entry, name: str) -> str:
    if not isinstance(entry.get(name), str):
        raise ValueError(f"{name} is {entry.get(name)!r}, expected a string")
    return str(entry[name])


def _parse_key(text: str) -> PublicKey:
    try:
        return parse_public_key(text)
    except KeyRefused as error:
        raise ValueError(str(error)) from None


def _signs(folder: Path, public_key: str) -> bool:
    try:
        read_checkpoint(folder, parse_public_key(public_key))
    except LogUntrusted:
        return False
    return True


def _read_rotations(folder: Path) -> Iterator[Rotation]:
    """All that are rightly signed, in the order of the log; what else calls itself so is for `verify` to name."""
    for line in _read_marked(folder, list_folder(folder)):
        try:
            yield parse_rotation(parse_entry(line.data, line.n))
        except ValueError:
            continue


def judge_rotations(
    folder: Path, listing: Listing, signed: Checkpoint, key: PublicKey, stored: StoredTiles
) -> list[Finding]:
    """The findings on the handovers in a log whose entries and tiles are known to be those that `key` signed: each
    must be signed by both keys, over the entries that stand before it; and the last must be to `key`."""
    findings, expected, now = list[Finding](), None, format_public_key(key)
    tree = StoredTree(signed.size, stored)
    for line in _read_marked(folder, listing):
        if line.n >= signed.size:
            break
        entry = parse_entry(line.data, line.n)
        if entry["type"] != ROTATED:
            continue
        try:
            rotation = parse_rotation(entry)
            _check_before(rotation, tree, _bytes_before(line, listing))
            if expected not in (None, rotation.old_key):
                raise ValueError(f"hands over from {rotation.old_key}, but {expected} signed then")
            expected = rotation.new_key
        except ValueError as error:
            findings.append(Finding(line.where, f"no handover of keys: {error}", line.n))
    if expected not in (None, now):
        findings.append(Finding(CHECKPOINT, f"signed by {now}, but the last handover was to {expected}"))
    return findings


def _check_before(rotation: Rotation, tree: StoredTree, segment_bytes: int) -> None:
    before = rotation.before
    if (root := tree.root(0, rotation.n)) != before.root:
        raise ValueError(f"its note is of entries with the root {before.root.hex()}, those before it have {root.hex()}")
    if before.segment_bytes != segment_bytes:
        raise ValueError(f"its note is of {before.segment_bytes} bytes of entries, {segment_bytes} stand before it")


def _bytes_before(line: Line, listing: Listing) -> int:
    return sum(size for path, size in listing.segments().items() if path < line.segment) + line.at


def _read_marked(folder: Path, listing: Listing) -> Iterator[Line]:
    """The lines in which the type is named. Segments without one are passed over quickly."""
    for path, size in listing.segments().items():
        if is_segment(path) and _is_marked(folder, path):
            first = int(path.removeprefix(f"{ENTRIES}/").removesuffix(".jsonl"))
            yield from (line for line in read_lines(folder, {path: size}, first) if _MARK in line.data)


def _is_marked(folder: Path, path: str) -> bool:
    seen = b""
    with open_file(folder, path) as file:
        while data := file.read(_CHUNK):
            seen = seen[1 - len(_MARK) :] + data
            if _MARK in seen:
                return True
    return False
