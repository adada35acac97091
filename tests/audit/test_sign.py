import json
import os
import struct
from base64 import b64decode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from audit import sign
from audit.checkpoint import Checkpoint, format_body, format_checkpoint, parse_body, parse_checkpoint
from audit.private import others_in
from audit.sign import (
    PublicKey,
    Signer,
    format_public_key,
    is_signed,
    open_note,
    parse_public_key,
    read_key_file,
    read_signer,
)
from tests.audit.test_format import EXAMPLE

# The example of golang.org/x/mod/sumdb/note: a foreign implementation's key and note.
PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz\n"
PUBLIC = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
NOTE = (
    TEXT
    + "\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
).encode()


def write_key(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    return read_signer(write_key(tmp_path / "key", PRIVATE), parse_public_key(PUBLIC))


def test_a_foreign_note_is_read_and_made(signer: Signer) -> None:
    assert open_note(NOTE, signer.public) == TEXT
    assert signer.sign(TEXT) == NOTE


def test_every_changed_byte_of_a_note_is_noticed(signer: Signer) -> None:
    for at in range(len(NOTE)):
        for bits in (0x01, 0x20, 0x80):
            with pytest.raises(ValueError, match=r"\w"):
                open_note(NOTE[:at] + bytes([NOTE[at] ^ bits]) + NOTE[at + 1 :], signer.public)
    for at in range(len(NOTE)):
        for changed in (NOTE[:at], NOTE[:at] + NOTE[at + 1 :], NOTE[:at] + b"\n" + NOTE[at:]):
            if changed != NOTE:
                with pytest.raises(ValueError, match=r"\w"):
                    open_note(changed, signer.public)


def test_a_note_has_one_signature_only(signer: Signer) -> None:
    signature = NOTE.splitlines(keepends=True)[-1]
    with pytest.raises(ValueError, match=r"\w"):
        open_note(NOTE + signature, signer.public)
    with pytest.raises(ValueError, match=r"\w"):
        open_note(NOTE.replace(b"PeterNeumann x", b"Peter x"), signer.public)


def test_a_new_key_signs_and_is_private(tmp_path: Path) -> None:
    public = audit.generate_key(tmp_path / "key", "example.org/log")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    made = read_signer(tmp_path / "key", parse_public_key(public))
    assert open_note(made.sign("x\n"), parse_public_key(public)) == "x\n"
    assert format_public_key(made.public) == public


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    public = audit.generate_key(tmp_path / "key", "a")
    with pytest.raises(audit.KeyRefused, match="never overwritten"):
        audit.generate_key(tmp_path / "key", "a")
    assert read_signer(tmp_path / "key", parse_public_key(public))
    (tmp_path / "dangling").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(audit.KeyRefused):
        audit.generate_key(tmp_path / "dangling", "a")
    with pytest.raises(audit.KeyRefused, match="cannot be written"):
        audit.generate_key(tmp_path / "missing" / "key", "a")


@pytest.mark.parametrize("origin", ["", "a b", "a+b", "a\nb", " a", "a\u00a0b", "a\x00", "a\u2028b"])
def test_an_origin_names_a_log(tmp_path: Path, origin: str) -> None:
    with pytest.raises(audit.KeyRefused, match="cannot name a log"):
        audit.generate_key(tmp_path / "key", origin)
    assert not (tmp_path / "key").exists()


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o775, 0o707, 0o702, 0o1777])
def test_a_key_that_others_may_replace_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "keys"
    folder.mkdir()
    public = audit.generate_key(folder / "key", "test.example/log")
    audit.Log.create(tmp_path / "audit", key_path=folder / "key", public_key=public)
    folder.chmod(mode)
    refused = f"{folder}: others may replace .*mode {mode:04o}.*chmod go-w {folder}"
    with pytest.raises(audit.KeyRefused, match=refused):
        audit.Log.open(tmp_path / "audit", key_path=folder / "key", public_key=public)
    (tmp_path / "link").symlink_to(folder / "key")
    with pytest.raises(audit.KeyRefused, match=refused):
        audit.public_key_of(tmp_path / "link")
    with pytest.raises(audit.KeyRefused, match=refused):
        audit.generate_key(folder / "another", "test.example/log")
    assert [path.name for path in folder.iterdir()] == ["key"]
    folder.chmod(0o755)
    audit.Log.open(tmp_path / "audit", key_path=folder / "key", public_key=public).close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_a_key_that_belongs_to_somebody_else_is_refused(tmp_path: Path) -> None:
    path = write_key(tmp_path / "key", PRIVATE)
    os.chown(path, 12345, -1)
    with pytest.raises(audit.KeyRefused, match=f"belongs to user 12345.*chown root {path}"):
        audit.public_key_of(path)
    os.chown(path, 0, -1)
    os.chown(tmp_path, 12345, -1)
    with pytest.raises(audit.KeyRefused, match=f"the folder of the signing key belongs to user 12345.*{tmp_path}"):
        audit.public_key_of(path)
    os.chown(tmp_path, 0, -1)
    audit.public_key_of(path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o601])
def test_a_key_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = write_key(tmp_path / "key", PRIVATE, mode)
    with pytest.raises(audit.KeyRefused, match=f"mode 0{mode:o}.*chmod 600"):
        read_signer(path, parse_public_key(PUBLIC))


def acl(*entries: tuple[int, int, int]) -> bytes:
    """(tag, rights, id), as linux/posix_acl_xattr.h has them."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


NOBODY = 0xFFFFFFFF
OWN = ((0x01, 6, NOBODY), (0x04, 0, NOBODY), (0x10, 4, NOBODY), (0x20, 0, NOBODY))


@pytest.mark.parametrize(
    ("more", "others"),
    [([], False), ([(0x02, 4, 1000)], False), ([(0x02, 4, 1001)], True), ([(0x02, 0, 1001)], False),
     ([(0x08, 4, 1000)], True), ([(0x04, 4, NOBODY)], True), ([(0x20, 1, NOBODY)], True)],
)  # fmt: skip
def test_an_access_control_list_says_who_else_reads(more: list[tuple[int, int, int]], others: bool) -> None:
    kept = [entry for entry in OWN if entry[0] not in {tag for tag, _, _ in more} - {0x02}]
    assert others_in(acl(*sorted([*kept, *more])), 1000) == others


def test_a_credential_of_systemd_is_read(tmp_path: Path) -> None:
    """systemd leaves it to root and names the service's user in a list, so the mode is 0440."""
    path = write_key(tmp_path / "key", PRIVATE)
    try:
        os.setxattr(path, "system.posix_acl_access", acl(*sorted([*OWN, (0x02, 4, os.geteuid())])))
    except OSError:
        pytest.skip("no access control lists here")
    assert path.stat().st_mode & 0o777 == 0o640
    assert read_signer(path, parse_public_key(PUBLIC))
    os.setxattr(path, "system.posix_acl_access", acl(*sorted([*OWN, (0x02, 4, os.geteuid() + 1)])))
    with pytest.raises(audit.KeyRefused, match="others may read it"):
        read_signer(path, parse_public_key(PUBLIC))


def test_another_key_is_refused(tmp_path: Path) -> None:
    public = audit.generate_key(tmp_path / "key", "PeterNeumann")
    with pytest.raises(audit.KeyRefused, match="the trusted key is PeterNeumann"):
        read_signer(tmp_path / "key", parse_public_key(PUBLIC))
    with pytest.raises(audit.KeyRefused):
        read_signer(write_key(tmp_path / "other", PRIVATE), parse_public_key(public))


def test_what_is_no_key_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path in (tmp_path / "missing", tmp_path, tmp_path / "pipe"):
        with pytest.raises(audit.KeyRefused):
            read_signer(path, parse_public_key(PUBLIC))
    for text in ("", "x", PUBLIC, PRIVATE[:-1], PRIVATE + "\n", PRIVATE.replace("c74f", "c74e"), PRIVATE[:-9] + "\n"):
        with pytest.raises(audit.KeyRefused, match="no signing key"):
            read_signer(write_key(tmp_path / "key", text), parse_public_key(PUBLIC))


@pytest.fixture
def weak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passphrases that cost nothing."""
    monkeypatch.setattr(sign, "_SCRYPT_N", 16)


def test_a_key_with_a_passphrase(tmp_path: Path) -> None:
    secret = write_key(tmp_path / "secret", "correct horse\n")
    public = audit.generate_key(tmp_path / "key", "example.org/log", secret)
    text = (tmp_path / "key").read_text()
    assert text.startswith("ENCRYPTED+KEY+example.org/log+")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert format_public_key(read_key_file(tmp_path / "key").public) == public
    signer = read_signer(tmp_path / "key", parse_public_key(public), secret)
    assert open_note(signer.sign("x\n"), parse_public_key(public)) == "x\n"
    with pytest.raises(audit.KeyRefused, match="protected by a passphrase; name the file"):
        read_signer(tmp_path / "key", parse_public_key(public))


def test_the_bytes_of_a_key_with_a_passphrase(tmp_path: Path) -> None:
    """The example of FORMAT.md."""
    secret = write_key(tmp_path / "secret", EXAMPLE["passphrase"])
    path = write_key(tmp_path / "key", EXAMPLE["key with that passphrase"])
    signer = read_signer(path, parse_public_key(EXAMPLE["public key"].strip()), secret)
    assert signer.sign("x\n") == read_signer(write_key(tmp_path / "plain", EXAMPLE["key"]), signer.public).sign("x\n")


@pytest.mark.usefixtures("weak")
def test_every_changed_byte_of_a_protected_key_is_noticed(tmp_path: Path) -> None:
    secret = write_key(tmp_path / "secret", "correct horse")
    key = parse_public_key(audit.generate_key(tmp_path / "key", "log", secret))
    data = (tmp_path / "key").read_bytes()
    assert read_signer(tmp_path / "key", key, write_key(tmp_path / "same", "correct horse\n"))
    for at in range(len(data)):
        for changed in (data[:at], data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], data[:at] + b"A" + data[at:]):
            (tmp_path / "key").write_bytes(changed)
            with pytest.raises(audit.KeyRefused):
                read_signer(tmp_path / "key", key, secret)


@pytest.mark.usefixtures("weak")
def test_passphrases_that_are_refused(tmp_path: Path) -> None:
    secret = write_key(tmp_path / "secret", "correct horse\n")
    key = parse_public_key(audit.generate_key(tmp_path / "key", "log", secret))
    refused = {
        "correct  horse": "does not open it",
        "correct horse\n\n": "does not open it",
        "": "the file is empty",
        "\n": "the file is empty",
        "x" * 4097: "longer than 4096 bytes",
    }
    for text, message in refused.items():
        with pytest.raises(audit.KeyRefused, match=message) as raised:
            read_signer(tmp_path / "key", key, write_key(tmp_path / "other", text))
        assert text.strip() == "" or text.strip() not in str(raised.value)
    with pytest.raises(audit.KeyRefused, match="passphrase cannot be read"):
        read_signer(tmp_path / "key", key, tmp_path / "missing")
    for mode in (0o640, 0o604, 0o660):
        with pytest.raises(audit.KeyRefused, match=f"secret: others may read it.*mode 0{mode:o}.*chmod 600"):
            read_signer(tmp_path / "key", key, write_key(secret, "correct horse", mode))
        with pytest.raises(audit.KeyRefused, match="others may read it"):
            audit.generate_key(tmp_path / "another", "log", secret)
    assert not (tmp_path / "another").exists()


def test_every_changed_character_of_a_public_key_is_noticed() -> None:
    assert parse_public_key(PUBLIC).origin == "PeterNeumann"
    for at in range(len(PUBLIC)):
        for changed in (
            PUBLIC[:at] + PUBLIC[at + 1 :],
            PUBLIC[:at] + "A" + PUBLIC[at + 1 :],
            PUBLIC[:at] + " " + PUBLIC[at:],
        ):
            if changed != PUBLIC:
                with pytest.raises(audit.KeyRefused):
                    parse_public_key(changed)


def test_checkpoints_have_one_form(signer: Signer) -> None:
    checkpoint = Checkpoint("PeterNeumann", 342, bytes(range(32)), 512044)
    note = format_checkpoint(checkpoint, signer)
    assert note.startswith(b"PeterNeumann\n342\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\nsegment-bytes 512044\n\n")
    assert parse_checkpoint(note, signer.public) == checkpoint


@pytest.mark.parametrize(
    ("old", "new"),
    [("342", "0342"), ("342", "+342"), ("342", "3_42"), ("342", "٣42"), ("342", "-1"), ("AAEC", "AAE"),
     ("Hh8=", "Hh9="), ("segment-bytes 512044", "segment-bytes 0512044"), ("segment-bytes 512044", "segment-bytes"),
     ("512044\n", "512044"), ("512044\n", "512044\nmore\n"), ("512044\n", "512044\n\n"), ("segment-bytes 512044\n", ""),
     ("342\n", "342\r\n")],
)  # fmt: skip
def test_other_bodies_are_refused_even_when_signed(signer: Signer, old: str, new: str) -> None:
    body = format_body(Checkpoint("PeterNeumann", 342, bytes(range(32)), 512044))
    with pytest.raises(ValueError, match=r"\w"):
        parse_checkpoint(signer.sign(body.replace(old, new)), signer.public)


def test_another_logs_checkpoint_is_refused(signer: Signer) -> None:
    note = format_checkpoint(Checkpoint("another.example/log", 0, bytes(32), 0), signer)
    with pytest.raises(ValueError, match="of the log 'another"):
        parse_checkpoint(note, signer.public)


@given(st.integers(0, 2**60), st.binary(min_size=32, max_size=32), st.integers(0, 2**60))
def test_a_body_is_read_back(size: int, root: bytes, segment_bytes: int) -> None:
    checkpoint = Checkpoint("o", size, root, segment_bytes)
    assert parse_body(format_body(checkpoint)) == checkpoint


def test_wycheproof(data: Path) -> None:
    groups = json.loads((data / "vectors/wycheproof-ed25519/ed25519_test.json").read_text())["testGroups"]
    cases = [
        (PublicKey("o", bytes.fromhex(group["publicKey"]["pk"])), case) for group in groups for case in group["tests"]
    ]
    assert len(cases) == 151
    for key, case in cases:
        verified = is_signed(key, bytes.fromhex(case["sig"]), bytes.fromhex(case["msg"]))
        assert verified == (case["result"] == "valid"), case


def test_the_raw_key_is_in_the_public_key() -> None:
    assert b64decode(PUBLIC.rpartition("+")[2])[1:] == parse_public_key(PUBLIC).raw


def test_what_is_given_as_a_public_key_is_not_repeated(tmp_path: Path) -> None:
    audit.generate_key(tmp_path / "key", "test.example/log")
    private = (tmp_path / "key").read_text().strip()
    for secret in (private, private[:-1], "a password+0+AAAA"):
        with pytest.raises(audit.KeyRefused) as raised:
            parse_public_key(secret)
        assert secret not in str(raised.value)
        assert secret[-6:] not in str(raised.value)
