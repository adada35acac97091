"""What is written encrypted comes back, and nothing that was done to it does."""

import base64
import hashlib
import io
import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.atrest.ciphers import TAG, new_key
from pipeline.atrest.errors import DamagedError
from pipeline.atrest.files import AtRest
from pipeline.atrest.sealed import CHUNK, HEAD, SealedFile, name_of, read_chunks, read_head
from pipeline.atrest.store import store_of
from pipeline.outbox.parts import open_part

GOLDEN = Path(__file__).parents[2] / "golden" / "atrest.json"
KEY = new_key()
NAME = name_of("job", "ab" * 32)
FIRST = HEAD + CHUNK + TAG  # where the second chunk begins
BODY = random.Random(5).randbytes(3 * CHUNK + 17)


def sealed(body: bytes, key: bytes = KEY, pieces: int = 50_001) -> bytes:
    """An encrypted file of a body that is written in pieces."""
    out = io.BytesIO()
    file = SealedFile(out, "job", lambda name: {NAME: key}[name])
    for at in range(0, len(body), pieces):
        file.write(body[at : at + pieces])
    file.finish("ab" * 32)
    return out.getvalue()


def opened(data: bytes, tmp_path: Path, key: bytes = KEY) -> bytes:
    """The clear bytes of a file."""
    path = tmp_path / "sealed"
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    try:
        head = read_head(fd)
        assert head is not None
        return b"".join(read_chunks(path, fd, head, key))
    finally:
        os.close(fd)


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 17])
@pytest.mark.parametrize("pieces", [1 << 20, 50_001, CHUNK])
def test_what_was_written_is_read(tmp_path: Path, size: int, pieces: int) -> None:
    data = sealed(BODY[:size], pieces=pieces)
    assert opened(data, tmp_path) == BODY[:size]
    assert len(data) == HEAD + size + TAG * max(1, -(-size // CHUNK))
    assert size < 16 or BODY[:16] not in data


def test_the_same_bytes_are_never_encrypted_to_the_same() -> None:
    assert sealed(b"text")[HEAD:] != sealed(b"text")[HEAD:]


def _swapped(data: bytes, one: int, other: int) -> bytes:
    """The file with two of its chunks in each other's place."""
    chunks = [data[at : at + CHUNK + TAG] for at in range(HEAD, len(data), CHUNK + TAG)]
    chunks[one], chunks[other] = chunks[other], chunks[one]
    return data[:HEAD] + b"".join(chunks)


def _shorter(data: bytes, size: int) -> bytes:
    """The file, cut, with a head that says so."""
    return data[: HEAD - 68] + size.to_bytes(8, "big") + data[HEAD - 60 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut in a chunk": lambda data: data[:-1],
    "cut between chunks": lambda data: data[:FIRST],
    "cut between chunks, and the head says so": lambda data: _shorter(data, CHUNK)[:FIRST],
    "longer": lambda data: data + b"\0",
    "a chunk twice": lambda data: data + data[HEAD:FIRST],
    "chunks in another order": lambda data: _swapped(data, 0, 1),
    "the head of another file": lambda data: sealed(BODY)[:HEAD] + data[HEAD:],
    "the chunks of another file": lambda data: data[:HEAD] + sealed(BODY)[HEAD:],
    "one chunk of another file": lambda data: data[:HEAD] + sealed(BODY)[HEAD:FIRST] + data[FIRST:],
    "no bytes behind the head": lambda data: data[:HEAD],
    "cut in the head": lambda data: data[: HEAD - 1],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found(tmp_path: Path, damage: str) -> None:
    with pytest.raises(DamagedError, match="not as it was written"):
        opened(DAMAGES[damage](sealed(BODY)), tmp_path)


def test_every_bit_counts(tmp_path: Path) -> None:
    """But for those of the beginning, without which a file is none of ours: its sha256 is then another one."""
    data, chance = sealed(BODY), random.Random(11)
    for at in (*range(16, HEAD), *(chance.randrange(HEAD, len(data)) for _ in range(100))):
        changed = bytearray(data)
        changed[at] ^= 1 << chance.randrange(8)
        with pytest.raises(DamagedError):
            opened(bytes(changed), tmp_path)


def test_another_key_opens_nothing(tmp_path: Path) -> None:
    with pytest.raises(DamagedError, match="head"):
        opened(sealed(BODY), tmp_path, new_key())


def test_what_was_encrypted_once_is_read_by_every_version(tmp_path: Path) -> None:
    """A key, the keys that it wraps, a document and a part, as the code of 2026-11-27 wrote them."""
    for name, data in json.loads(GOLDEN.read_text()).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data))
    (tmp_path / "keys" / "rest.key").chmod(0o600)
    at_rest = AtRest(store_of(tmp_path), tmp_path / "keys" / "rest.key")
    at_rest.check()
    document, body = tmp_path / "archive" / "lease.txt", b"The landlord leases the flat to the tenant.\n"
    assert at_rest.read_bytes(document) == body
    assert at_rest.is_of(document, "sort", hashlib.sha256(body).hexdigest())
    with open_part(at_rest, tmp_path / "outbox" / "sort" / "part-1.parquet") as part:
        assert part.read().to_pylist() == [{"path": "lease.txt", "label": "lease"}]
