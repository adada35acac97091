"""FORMAT.md is true of proofs, cosignatures and requests: its examples are what the package writes, and checks written
from the page alone accept them."""

from base64 import b64decode
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

import audit
from tests.audit.test_format import COMMITS, EXAMPLE, PUBLIC, STAMPS

WITNESS = EXAMPLE["witness public key"].strip()
NIGHTS = (1_795_298_400, 1_795_384_800)


def made(folder: Path) -> dict[str, str]:
    """The examples, made by the package."""
    keys = [folder / name for name in ("key", "witness key")]
    for key in keys:
        key.write_text(EXAMPLE[key.name], encoding="utf-8")
        key.chmod(0o600)
    log, state, stamps, notes = folder / "audit", folder / "state", iter(STAMPS), list[bytes]()
    audit.Log.create(log, key_path=keys[0], public_key=PUBLIC)
    with audit.Log.open(log, key_path=keys[0], public_key=PUBLIC, stamp=lambda: next(stamps)) as writer:
        for commit in COMMITS:
            writer.commit(commit)
            notes.append((log / "checkpoint").read_bytes())
    request = audit.request_witness(log, PUBLIC, notes[0])
    audit.cosign_checkpoint(notes[0], state, key_path=keys[1], log_key=PUBLIC, seconds=NIGHTS[0])
    given = audit.cosign_checkpoint(request, state, key_path=keys[1], seconds=NIGHTS[1])
    assert (state / "example.org%2Fcloister.checkpoint").read_bytes() == given.note
    assert (state / "example.org%2Fcloister.key").read_text() == PUBLIC + "\n"
    proof = audit.prove(log, PUBLIC, 1)
    return {
        "proof of entry 1": proof,
        "request": request.decode(),
        "cosigned": given.note.decode(),
        "witness public key": given.witness + "\n",
    }


def test_the_examples_are_what_is_written(tmp_path: Path) -> None:
    for name, text in made(tmp_path).items():
        assert text == EXAMPLE[name], name


def signed_text(note: str) -> str:
    """The text of a checkpoint, whose first signature is the log's."""
    text, signatures = note.rsplit("\n\n", 1)
    key = b64decode(PUBLIC.split("+", 2)[2])[1:]
    signature = b64decode(signatures.split("\n")[0].split(" ")[2])[4:]
    Ed25519PublicKey.from_public_bytes(key).verify(signature, (text + "\n").encode())
    return text + "\n"


def node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def test_a_check_from_the_page_accepts_the_proof() -> None:
    """Entry 1 of 3: its sibling is entry 0, on the left; entry 2 is passed upward and is on the right."""
    head, note = EXAMPLE["proof of entry 1"].split("\n\n", 1)
    header, extra, index, first, last = head.split("\n")
    assert (header, index) == ("c2sp.org/tlog-proof@v1", "index 1")
    entry = b64decode(extra.removeprefix("extra "))
    assert entry + b"\n" in EXAMPLE["entries/000000000000.jsonl"].encode()
    root = node(node(b64decode(first), sha256(b"\x00" + entry).digest()), b64decode(last))
    assert signed_text(note).split("\n")[:3] == ["example.org/cloister", "3", EXAMPLE["checkpoint"].split("\n")[2]]
    assert root == b64decode(EXAMPLE["checkpoint"].split("\n")[2])


def test_a_check_from_the_page_accepts_the_request() -> None:
    """From 1 entry to 3: the proof has entry 1 and entry 2; the old root is entry 0 itself."""
    head, note = EXAMPLE["request"].split("\n\n", 1)
    old, *hashes = head.split("\n")
    assert old == "old 1"
    first = sha256(b"\x00" + EXAMPLE["entries/000000000000.jsonl"].encode().split(b"\n")[0]).digest()
    second, third = map(b64decode, hashes)
    assert node(node(first, second), third) == b64decode(signed_text(note).split("\n")[2])


def test_a_check_from_the_page_accepts_the_cosignature() -> None:
    text = signed_text(EXAMPLE["cosigned"])
    line = EXAMPLE["cosigned"].split("\n")[-2]
    name, key_id, key = WITNESS.split("+", 2)
    raw = b64decode(key)
    assert raw[0] == 4
    assert bytes.fromhex(key_id) == sha256(name.encode() + b"\n" + raw).digest()[:4]
    dash, who, encoded = line.split(" ")
    blob = b64decode(encoded)
    assert (dash, who, blob[:4].hex(), int.from_bytes(blob[4:12], "big")) == ("—", name, key_id, NIGHTS[1])
    public = Ed25519PublicKey.from_public_bytes(raw[1:])
    public.verify(blob[12:], f"cosignature/v1\ntime {NIGHTS[1]}\n{text}".encode())
    with pytest.raises(InvalidSignature):
        public.verify(blob[12:], f"cosignature/v1\ntime {NIGHTS[1] + 1}\n{text}".encode())
