"""Cosignatures: their bytes, and notes that carry them."""

from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

import audit
from audit.cosign import (
    MAX_COSIGNATURES,
    WitnessKey,
    check_witnesses,
    cosign,
    cosigned_at,
    format_cosigned,
    format_witness_key,
    parse_cosigned,
    parse_witness_key,
    witness_key_of,
)
from audit.sign import Signer, open_signer, parse_public_key
from tests.audit.conftest import Site

WITNESS = "witness.example.org/ada"


@pytest.fixture(scope="session")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    path = tmp_path_factory.mktemp("witness") / "key"
    audit.generate_key(path, WITNESS)
    return open_signer(path)


@pytest.fixture
def note(site: Site) -> bytes:
    site.commit(3)
    return (site.folder / "checkpoint").read_bytes()


def test_a_cosignature_is_that_of_the_page(site: Site, note: bytes, witness: Signer) -> None:
    """From the words of tlog-cosignature alone."""
    cosigned = format_cosigned(cosign(parse_cosigned(note, parse_public_key(site.public_key)), witness, 1679315147))
    assert cosigned.startswith(note)
    dash, name, encoded = cosigned[len(note) :].decode().removesuffix("\n").split(" ")
    assert (dash, name) == ("—", WITNESS)
    raw = b64decode(encoded)
    assert raw[:4] == sha256(WITNESS.encode() + b"\n\x04" + witness.public.raw).digest()[:4]
    assert raw[4:12] == (1679315147).to_bytes(8, "big")
    text = note[: note.index(b"\n\n") + 1]
    signed = b"cosignature/v1\ntime 1679315147\n" + text
    Ed25519PublicKey.from_public_bytes(witness.public.raw).verify(raw[12:], signed)
    assert len(raw) == 76


def test_a_cosigned_note_is_read_again(site: Site, note: bytes, witness: Signer) -> None:
    key = parse_public_key(site.public_key)
    bare = parse_cosigned(note, key)
    given = cosign(bare, witness, 7)
    again = parse_cosigned(format_cosigned(given), key)
    assert again == given
    assert again.note == note
    assert cosigned_at(again, witness_key_of(witness.public)) == 7
    assert check_witnesses(again, [format_witness_key(witness_key_of(witness.public))]).popitem()[1] == 7
    later = cosign(again, witness, 8)
    assert len(later.lines) == 1
    assert cosigned_at(later, witness_key_of(witness.public)) == 8
    with pytest.raises(ValueError, match=f"not cosigned by {WITNESS}"):
        cosigned_at(bare, witness_key_of(witness.public))


def test_every_changed_byte_of_a_cosigned_note_is_noticed(site: Site, note: bytes, witness: Signer) -> None:
    key, mine = parse_public_key(site.public_key), witness_key_of(witness.public)
    data = format_cosigned(cosign(parse_cosigned(note, key), witness, 1679315147))
    for at in range(len(data)):
        for changed in (data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], data[:at], data[:at] + data[at + 1 :],
                        data[:at] + b"\n" + data[at:]):  # fmt: skip
            with pytest.raises(ValueError, match=r"\w"):
                cosigned_at(parse_cosigned(changed, key), mine)


def test_the_time_is_signed(site: Site, note: bytes, witness: Signer) -> None:
    key = parse_public_key(site.public_key)
    line = cosign(parse_cosigned(note, key), witness, 1000).lines[0]
    raw = line.id + (1001).to_bytes(8, "big") + line.signature[8:]
    forged = note + f"— {WITNESS} {b64encode(raw).decode()}\n".encode()
    with pytest.raises(ValueError, match="the cosignature is not one of"):
        cosigned_at(parse_cosigned(forged, key), witness_key_of(witness.public))


def test_cosignatures_of_strangers_do_not_matter_and_do_not_count(site: Site, note: bytes, witness: Signer) -> None:
    key = parse_public_key(site.public_key)
    line = "— stranger " + b64encode(b"1234" + bytes(64)).decode() + "\n"
    read = parse_cosigned(note + line.encode(), key)
    assert read.checkpoint.size == 3
    with pytest.raises(ValueError, match="not cosigned by"):
        check_witnesses(read, [format_witness_key(witness_key_of(witness.public))])
    full = parse_cosigned(note + line.encode() * MAX_COSIGNATURES, key)
    with pytest.raises(ValueError, match="the most that a checkpoint can have"):
        cosign(full, witness, 1)
    with pytest.raises(ValueError, match="1 to 17 lines"):
        parse_cosigned(note + line.encode() * (MAX_COSIGNATURES + 1), key)


@pytest.mark.parametrize(
    "line", ["", "x", "— ", "— a", "— a ", "— a QUJD", "- a QUJDREVG", "— a  QUJDREVG", "— a QUJDREVG="]
)
def test_other_lines_are_no_signatures(site: Site, note: bytes, line: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_cosigned(note + line.encode() + b"\n", parse_public_key(site.public_key))


def test_a_witness_has_a_public_key_of_its_own_kind(witness: Signer, tmp_path: Path) -> None:
    key = witness_key_of(witness.public)
    text = format_witness_key(key)
    assert parse_witness_key(text) == key
    name, hash, encoded = text.split("+", 2)
    assert (name, b64decode(encoded)[0]) == (WITNESS, 4)
    plain = audit.generate_key(tmp_path / "key", WITNESS)
    assert parse_witness_key(plain) == witness_key_of(parse_public_key(plain))
    for wrong in (
        "",
        "x",
        text + "=",
        text[1:],
        f"{name}+00000000+{encoded}",
        f"{name}+{hash}+AAAA",
        text[:-4],
        f"{name}+{hash}+é",
    ):
        with pytest.raises(audit.KeyRefused):
            parse_witness_key(wrong)


def test_a_key_made_elsewhere_cosigns(site: Site, note: bytes) -> None:
    """With signatures that this package did not make."""
    private = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    raw = private.public_key().public_bytes_raw()
    text = note[: note.index(b"\n\n") + 1]
    identity = sha256(b"w\n\x04" + raw).digest()[:4]
    blob = identity + (5).to_bytes(8, "big") + private.sign(b"cosignature/v1\ntime 5\n" + text)
    vkey = f"w+{identity.hex()}+{b64encode(bytes([4]) + raw).decode()}"
    data = note + f"— w {b64encode(blob).decode()}\n".encode()
    assert audit.verify(site.folder, site.public_key, against=data, witnesses=[vkey]).ok
    proof = audit.prove(site.folder, site.public_key, 1, data)
    assert audit.check_proof(proof, site.public_key, [vkey]).cosigned == {vkey: 5}
    stranger = format_witness_key(WitnessKey("wx", raw))
    with pytest.raises(audit.ProofRefused, match="not cosigned by wx"):
        audit.check_proof(proof, site.public_key, [stranger])
    (finding,) = audit.verify(site.folder, site.public_key, against=data, witnesses=[stranger]).findings
    assert "not cosigned by wx" in finding.message


def test_the_logs_own_signature_may_stand_anywhere(site: Site, note: bytes, witness: Signer) -> None:
    """As other programs write notes: a signed note's signatures have no order."""
    key, mine = parse_public_key(site.public_key), format_witness_key(witness_key_of(witness.public))
    text, _, own = note.partition(b"\n\n")
    line = format_cosigned(cosign(parse_cosigned(note, key), witness, 5))[len(note) :]
    stranger = "— stranger ".encode() + b64encode(b"1234" + bytes(64)) + b"\n"
    for lines in (line + own, stranger + line + own, line + own + stranger, own + stranger + line):
        read = parse_cosigned(text + b"\n\n" + lines, key)
        assert (read.checkpoint.size, read.note, check_witnesses(read, [mine])) == (3, note, {mine: 5})
        assert audit.verify(site.folder, site.public_key, against=text + b"\n\n" + lines, witnesses=[mine]).ok
        proof = audit.prove(site.folder, site.public_key, 1, text + b"\n\n" + lines)
        assert audit.check_proof(proof, site.public_key, [mine]).cosigned == {mine: 5}
    with pytest.raises(ValueError, match="signed more than once"):
        parse_cosigned(note + own, key)
    with pytest.raises(ValueError, match="not signed by"):
        parse_cosigned(text + b"\n\n" + line + stranger, key)
