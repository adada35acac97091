"""FORMAT.md is true: its example is what the package writes, and a verifier written from the page alone accepts it."""

import json
import re
from base64 import b64decode
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

import audit

PAGE = (Path(audit.__file__).parent / "FORMAT.md").read_text(encoding="utf-8")
EXAMPLE = dict(re.findall(r"^`([^`]+)`[^\n]*\n\n```\n(.*?)```$", PAGE, flags=re.M | re.S))
PUBLIC = EXAMPLE["public key"].strip()
STAMPS = [
    audit.Stamp(
        "2026-11-20T22:00:00.000000Z", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", 86_400_000_000, "archive-1", "cloister"
    ),
    audit.Stamp(
        "2026-11-20T22:00:03.500000Z", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", 86_403_500_000, "archive-1", "cloister"
    ),
]
COMMITS: list[list[dict[str, object]]] = [
    [{"type": "run.started", "run": "2026-11-20-1"}],
    [
        {"type": "document", "run": "2026-11-20-1", "path": "inbox/Verträge/nda.pdf", "score": 0.8125},
        {"type": "run.finished", "run": "2026-11-20-1", "seen": 1},
    ],
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    key = tmp_path / "key"
    key.write_text(EXAMPLE["key"], encoding="utf-8")
    key.chmod(0o600)
    audit.Log.create(tmp_path / "audit", key_path=key, public_key=PUBLIC)
    stamps = iter(STAMPS)
    with audit.Log.open(tmp_path / "audit", key_path=key, public_key=PUBLIC, stamp=lambda: next(stamps)) as log:
        for commit in COMMITS:
            log.commit(commit)
    return tmp_path / "audit"


def test_the_example_is_what_is_written(folder: Path) -> None:
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert files.pop("lock") == b""
    assert files.pop("tile/0/000.p/3") == bytes.fromhex(EXAMPLE["tile/0/000.p/3"])
    assert files == {name: EXAMPLE[name].encode() for name in ("checkpoint", "entries/000000000000.jsonl")}


ROTATED = audit.Stamp(
    "2026-11-21T08:00:00.000000Z", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", 122_400_000_000, "archive-1", "cloister"
)


def rotate(folder: Path) -> None:
    key, new = folder.parent / "key", folder.parent / "new key"
    new.write_text(EXAMPLE["new key"], encoding="utf-8")
    new.chmod(0o600)
    with audit.Log.open(folder, key_path=key, public_key=PUBLIC, stamp=lambda: ROTATED) as log:
        log.rotate({"run": ""}, key_path=new, public_key=EXAMPLE["new public key"].strip())


def test_the_example_of_a_rotation_is_what_is_written(folder: Path) -> None:
    rotate(folder)
    lines = (folder / "entries/000000000000.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    assert lines[:3] == EXAMPLE["entries/000000000000.jsonl"].splitlines(keepends=True)
    assert lines[3:] == [EXAMPLE["entry 3"]]
    assert json.loads(lines[3])["note"] == EXAMPLE["its note"]
    assert (folder / "checkpoint").read_text(encoding="utf-8") == EXAMPLE["checkpoint after it"]


def signed_by(note: str, *public_keys: str) -> str:
    """The text of a note with exactly these signatures, from the page alone."""
    text, lines = note.rsplit("\n\n", 1)
    for line, public_key in zip(lines.splitlines(), public_keys, strict=True):
        origin, key_id, key = public_key.split("+", 2)
        dash, name, signature = line.split(" ")
        assert (dash, name, b64decode(signature)[:4].hex()) == ("—", origin, key_id)
        Ed25519PublicKey.from_public_bytes(b64decode(key)[1:]).verify(b64decode(signature)[4:], f"{text}\n".encode())
    return f"{text}\n"


def test_a_verifier_from_the_page_follows_a_rotation(folder: Path) -> None:
    """Who has the old key alone comes to the new one, and to the entries for which the old one vouches."""
    checkpoint = (folder / "checkpoint").read_text(encoding="utf-8")
    rotate(folder)
    lines = (folder / "entries/000000000000.jsonl").read_bytes().split(b"\n")[:-1]
    entry = next(entry for entry in map(json.loads, lines) if entry["type"] == "key.rotated")
    assert entry["old_key"] == PUBLIC
    text = signed_by(entry["note"], PUBLIC, entry["new_key"])
    assert text == f"{signed_by(checkpoint, PUBLIC)}old-key {PUBLIC}\nnew-key {entry['new_key']}\n"
    _, size, root, _ = text.split("\n", 3)
    assert int(size) == entry["n"]
    assert tree([sha256(b"\x00" + line).digest() for line in lines[: int(size)]]) == b64decode(root)
    assert len(check(folder, entry["new_key"])) == 4


def check(folder: Path, public_key: str) -> list[object]:
    """A verifier from the page alone: the entries of a log that is intact, else an exception."""
    origin, key_id, key = public_key.split("+", 2)
    raw = b64decode(key)[1:]
    assert bytes.fromhex(key_id) == sha256(f"{origin}\n\x01".encode() + raw).digest()[:4]
    text, signature = (folder / "checkpoint").read_bytes().decode().rsplit("\n\n", 1)
    signed = b64decode(signature.split(" ")[2])
    assert signature.split(" ")[1] == origin
    assert signed[:4].hex() == key_id
    Ed25519PublicKey.from_public_bytes(raw).verify(signed[4:], (text + "\n").encode())
    name, size, root, extension = text.split("\n")
    assert name == origin

    lines = b"".join(path.read_bytes() for path in sorted((folder / "entries").iterdir()))
    assert extension == f"segment-bytes {len(lines)}"
    entries = lines.split(b"\n")[:-1]
    assert len(entries) == int(size)
    hashes = [sha256(b"\x00" + entry).digest() for entry in entries]
    assert tree(hashes) == b64decode(root)
    for level in range(2):
        whole = [tree(hashes[i : i + 256**level]) for i in range(0, len(hashes) // 256**level * 256**level, 256**level)]
        for n in range(0, len(whole), 256):
            tile = whole[n : n + 256]
            path = f"tile/{level}/{n // 256:03d}" + (f".p/{len(tile)}" if len(tile) < 256 else "")
            assert (folder / path).read_bytes() == b"".join(tile)
    return [json.loads(entry) for entry in entries]


def tree(hashes: list[bytes]) -> bytes:
    if len(hashes) < 2:
        return hashes[0] if hashes else sha256(b"").digest()
    split = 1 << (len(hashes) - 1).bit_length() - 1
    return sha256(b"\x01" + tree(hashes[:split]) + tree(hashes[split:])).digest()


def test_a_verifier_from_the_page_accepts_it(folder: Path) -> None:
    assert check(folder, PUBLIC) == [entry for _, entry in audit.read_entries(folder, PUBLIC)]
    text = (folder / "checkpoint").read_text(encoding="utf-8")
    (folder / "checkpoint").write_text(text.replace("\n3\n", "\n2\n"), encoding="utf-8")
    with pytest.raises(InvalidSignature):
        check(folder, PUBLIC)


def test_a_verifier_from_the_page_accepts_larger_logs(folder: Path) -> None:
    with audit.Log.open(folder, key_path=folder.parent / "key", public_key=PUBLIC) as log:
        log.commit([{"type": "x", "run": "r", "i": i} for i in range(5000)])
    assert len(check(folder, PUBLIC)) == 5003
    assert audit.verify(folder, PUBLIC).ok
