"""A second person's machine, which cosigns a log's checkpoints and never two that contradict each other.

The log hands over a file: its checkpoint, or https://c2sp.org/tlog-witness's request with a proof that it extends what
was cosigned last:

    old 20852014                                        the entries of the checkpoint that was cosigned last
    PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=        the consistency proof
    ...
                                                        an empty line
    example.org/cloister                                today's checkpoint
    ...

The state is a folder with two files for each log, named by its origin as in a URL: `.key` has the log's public keys
that this witness was told to trust, the present one last; `.checkpoint` what it cosigned last. That is on the disk
before a cosignature leaves.
"""

import contextlib
import fcntl
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from audit.checkpoint import Checkpoint
from audit.cosign import Cosigned, cosign, cosigned_at, format_cosigned, format_witness_key, witness_key_of
from audit.durable import StrPath, make_folder_durably, write_file_atomically
from audit.errors import KeyRefused, LogUntrusted, LogUnwritable, ProofRefused
from audit.kept import judge_kept, parse_kept, signers_of
from audit.proof import check_consistency, prove_consistency
from audit.roots import open_tree
from audit.sign import PublicKey, Signer, format_public_key, open_signer, parse_public_key
from audit.store import TILES

_OLD = "old "


@dataclass(frozen=True)
class Request:
    """`note`, perhaps cosigned, extends the checkpoint over `old` entries, as `hashes` prove; None: nothing is said."""

    old: int | None
    hashes: tuple[bytes, ...]
    note: bytes


@dataclass(frozen=True)
class Witnessed:
    """The answer of a witness: the cosigned checkpoint, and its own public key. `before` is what it cosigned last,
    None at the first time."""

    note: bytes
    checkpoint: Checkpoint
    witness: str
    before: Checkpoint | None


def format_request(request: Request) -> bytes:
    if request.old is None:
        return request.note
    head = [f"{_OLD}{request.old}", *(b64encode(hash).decode() for hash in request.hashes), "", ""]
    return "\n".join(head).encode() + request.note


def parse_request(data: bytes) -> Request:
    """The strict inverse of format_request; ValueError for all other bytes. The checkpoint in it is not looked at."""
    if not data.startswith(_OLD.encode()):
        return Request(None, (), data)
    head, _, note = data.partition(b"\n\n")
    old, *hashes = head.decode().removeprefix(_OLD).split("\n")
    if not (old.isascii() and old.isdigit() and len(old) < 16):
        raise ValueError("the number after 'old' is none")
    request = Request(int(old), tuple(map(b64decode, hashes)), note)
    if format_request(request) != data:
        raise ValueError("not in the one form that a request to a witness has")
    return request


def request_witness(folder: StrPath, public_key: str, since: bytes | None = None) -> bytes:
    """Today's checkpoint; with a kept one (`since`), also the proof that it extends that. ProofRefused if not."""
    key = parse_public_key(public_key)
    today, note, tree = open_tree(Path(folder), key)
    if since is None:
        return note
    signers = signers_of(Path(folder), key, since)
    if finding := judge_kept(since, signers, today, tree):
        raise ProofRefused(f"the given checkpoint: {finding.message}")
    kept = parse_kept(since, (signer.key for signer in signers)).checkpoint
    hashes = prove_consistency(kept.size, today.size, tree.root)
    if kept.size:
        try:
            check_consistency(kept.size, today.size, hashes, kept.root, today.root)
        except ValueError as error:
            raise LogUntrusted(TILES, str(error)) from None
    return format_request(Request(kept.size, tuple(hashes), note))


def cosign_checkpoint(
    data: bytes,
    state: StrPath,
    *,
    key_path: StrPath,
    passphrase_path: StrPath | None = None,
    log_key: str | None = None,
    seconds: int,
) -> Witnessed:
    """Cosign what a log handed over, at this time, and remember it. `log_key` is needed the first time, and when the
    log's key has changed: whoever gives it says that it is right.

    ProofRefused for a roll-back, a fork, or what is not proved to extend the checkpoint that was cosigned last.
    KeyRefused for a key that is the log's own, or not the one that cosigned before.
    """
    signer = open_signer(key_path, passphrase_path)
    new_key = None if log_key is None else parse_public_key(log_key)
    try:
        request = parse_request(data)
        origin = request.note.decode().partition("\n")[0]
        if not origin:
            raise ValueError("it names no log")
        with _state_of(Path(state), origin) as memory:
            return _witness(request, memory, signer, new_key, seconds)
    except ValueError as error:
        raise ProofRefused(f"not cosigned: {error}") from None
    except OSError as error:
        raise LogUnwritable(f"{state}: {error.strerror or error}") from error


class _Memory:
    """The memory of a witness about one log."""

    def __init__(self, stem: Path) -> None:
        self._keys = stem.with_name(stem.name + ".key")
        self._last = stem.with_name(stem.name + ".checkpoint")

    def keys(self) -> list[PublicKey]:
        """The log's keys, the present one first."""
        try:
            lines = self._keys.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [parse_public_key(line) for line in reversed(lines)]

    def trust(self, keys: list[PublicKey]) -> None:
        lines = [format_public_key(key) + "\n" for key in reversed(keys)]
        write_file_atomically(self._keys, "".join(lines).encode())

    def last(self) -> Cosigned | None:
        """ValueError if the file is not what one of the log's keys signed."""
        try:
            data = self._last.read_bytes()
        except FileNotFoundError:
            return None
        return parse_kept(data, self.keys())

    def remember(self, note: bytes) -> None:
        write_file_atomically(self._last, note)


@contextlib.contextmanager
def _state_of(state: Path, origin: str) -> Iterator[_Memory]:
    """Held by one process at a time, so that no two cosign at once what contradicts each other."""
    make_folder_durably(state)
    handle = os.open(state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield _Memory(state / quote(origin, safe=""))
    finally:
        os.close(handle)


def _witness(request: Request, memory: _Memory, signer: Signer, new: PublicKey | None, seconds: int) -> Witnessed:
    known = memory.keys()
    keys = [new, *(key for key in known if key != new)] if new else known
    if any(key.raw == signer.public.raw for key in keys):
        raise KeyRefused("this is the log's own key; a witness is another person, with another key")
    if not keys:
        raise ValueError("this witness does not know the log; give its public key, which has to come from elsewhere")
    asked, last = _asked(request, keys[0]), memory.last()
    if last is not None:
        _check_extends(request, asked.checkpoint, last, signer, seconds)
    given = cosign(asked, signer, seconds)
    if keys != known:
        memory.trust(keys)
    memory.remember(format_cosigned(given))
    witness = format_witness_key(witness_key_of(signer.public))
    return Witnessed(format_cosigned(given), given.checkpoint, witness, last.checkpoint if last else None)


def _asked(request: Request, key: PublicKey) -> Cosigned:
    try:
        return parse_kept(request.note, [key])
    except ValueError as error:
        remedy = "if the log has another key now, its keeper has to give it to this witness: --log KEY"
        raise ValueError(f"{error}; {remedy}") from None


def _remembered_at(last: Cosigned, signer: Signer) -> int:
    try:
        return cosigned_at(last, witness_key_of(signer.public))
    except ValueError as error:
        fact = "what this folder remembers was cosigned with another key than this one"
        raise KeyRefused(f"{fact} ({error}); each witness has a key and a folder of its own") from None


def _check_extends(request: Request, asked: Checkpoint, last: Cosigned, signer: Signer, seconds: int) -> None:
    """ValueError unless `asked` is proved to extend what was cosigned last."""
    before, then = last.checkpoint, _remembered_at(last, signer)
    told = f"this witness cosigned {before.size} entries on {datetime.fromtimestamp(then, UTC):%Y-%m-%d %H:%M:%S} UTC"
    if seconds < then:
        raise ValueError(f"{told}, which is later than this machine's clock")
    if asked.size < before.size:
        raise ValueError(f"roll-back: {told}, and the checkpoint has {asked.size}")
    if asked.size == before.size and asked.root == before.root and asked != before:
        signed = f"{before.segment_bytes} bytes of the same entries, the checkpoint has {asked.segment_bytes}"
        raise ValueError(f"fork: {told} and {signed}")
    if asked.size == before.size and asked != before:
        raise ValueError(f"fork: {told} with the root {before.root.hex()}, the checkpoint has {asked.root.hex()}")
    if before.size in (0, asked.size):
        return
    if request.old != before.size:
        remedy = "`cloister audit witness --since` what it gave then makes one that does"
        raise ValueError(f"{told}; the file does not prove that the checkpoint extends just those: {remedy}")
    try:
        check_consistency(before.size, asked.size, request.hashes, before.root, asked.root)
    except ValueError as error:
        fact = "the log has forked, or the proof is wrong; keep the file as evidence"
        raise ValueError(f"fork: {told}, and the checkpoint does not extend them: {error}: {fact}") from None
