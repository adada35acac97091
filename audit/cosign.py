"""Cosignatures of witnesses, as https://c2sp.org/tlog-cosignature has them for Ed25519 (cosignature/v1), and notes that
carry some behind the log's own signature.

    signed          "cosignature/v1\\n" "time " SECONDS "\\n" TEXT       TEXT is the checkpoint's, as the log signed it
    signature       SECONDS in 8 bytes, big-endian || 64 bytes of Ed25519 signature
    key id          SHA-256(NAME "\\n" 0x04 || public key)[:4]
    public key      NAME "+" hex(key id) "+" base64(0x04 || 32 bytes)

The signed message does not name the witness, so a key belongs to one witness only. One key file may be used for a log
and for a witness: the messages cannot be confused, as the second line of a checkpoint is a number.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256

from audit.checkpoint import Checkpoint, parse_checkpoint
from audit.errors import KeyRefused
from audit.sign import PublicKey, Signer, format_public_key, is_signed, parse_public_key

MAX_COSIGNATURES = 16
_COSIGNATURE = b"\x04"
_DASH = "— "


@dataclass(frozen=True)
class WitnessKey:
    name: str
    raw: bytes  # 32

    @property
    def id(self) -> bytes:
        return sha256(self.name.encode() + b"\n" + _COSIGNATURE + self.raw).digest()[:4]


@dataclass(frozen=True)
class SignatureLine:
    """One line of a note behind its text: "— NAME base64(key id || signature)"."""

    name: str
    id: bytes
    signature: bytes


@dataclass(frozen=True)
class Cosigned:
    """A checkpoint as the log signed it (`note`, without cosignatures), with this key, and what others put below it."""

    checkpoint: Checkpoint
    key: PublicKey
    note: bytes
    lines: tuple[SignatureLine, ...]


def format_witness_key(key: WitnessKey) -> str:
    return f"{key.name}+{key.id.hex()}+{b64encode(_COSIGNATURE + key.raw).decode()}"


def parse_witness_key(text: str) -> WitnessKey:
    """KeyRefused unless `text` is exactly what format_witness_key gives for some key, or a public key as logs have
    them: then it is the witness with that name and key."""
    name, _, rest = text.partition("+")
    try:
        raw = b64decode(rest.partition("+")[2], validate=True)
    except ValueError:
        raw = b""
    if raw[:1] == b"\x01":
        return witness_key_of(parse_public_key(text))
    key = WitnessKey(name, raw[1:])
    if not name or len(raw) != 33 or raw[:1] != _COSIGNATURE or format_witness_key(key) != text:
        raise KeyRefused("this is no witness's public key; expected NAME+HASH+BASE64")
    return key


def witness_key_of(key: PublicKey) -> WitnessKey:
    """The name and key with which the owner of `key` cosigns."""
    return WitnessKey(key.origin, key.raw)


def parse_cosigned(data: bytes, key: PublicKey) -> Cosigned:
    """ValueError unless `data` is a checkpoint that `key` signed once, with at most 16 well-formed signatures of others
    before or after that. Those are not checked: nobody said whose they are."""
    text, lines = split_note(data)
    parsed = [_parse_line(line) for line in lines]
    own = [line for line in parsed if (line.name, line.id) == (key.origin, key.id)]
    if len(own) > 1:
        raise ValueError(f"signed more than once by {format_public_key(key)}")
    first = own[0] if own else parsed[0]  # parse_checkpoint tells what is wrong with it
    note = f"{text}\n{_format_line(first)}".encode()
    others = tuple(line for line in parsed if line is not first)
    return Cosigned(parse_checkpoint(note, key), key, note, others)


def split_note(data: bytes) -> tuple[str, list[str]]:
    """The text of a note, ending with a newline, and the lines of its signatures. ValueError if it is none by its
    form."""
    text, _, signatures = data.decode().rpartition("\n\n")
    lines = signatures.split("\n")[:-1]
    if not text or not signatures.endswith("\n") or not 1 <= len(lines) <= 1 + MAX_COSIGNATURES:
        raise ValueError("not a checkpoint: a text, an empty line, and 1 to 17 lines of signatures")
    return f"{text}\n", lines


def format_cosigned(cosigned: Cosigned) -> bytes:
    return cosigned.note + "".join(map(_format_line, cosigned.lines)).encode()


def cosign(cosigned: Cosigned, signer: Signer, seconds: int) -> Cosigned:
    """Add a witness's cosignature to a checkpoint, in the place of one that this witness gave earlier."""
    key = witness_key_of(signer.public)
    stamp = seconds.to_bytes(8, "big")
    line = SignatureLine(key.name, key.id, stamp + signer.sign_raw(_message(cosigned.note, seconds)))
    others = [each for each in cosigned.lines if (each.name, each.id) != (key.name, key.id)]
    if len(others) >= MAX_COSIGNATURES:
        raise ValueError(f"there are {len(others)} cosignatures already, the most that a checkpoint can have")
    return replace(cosigned, lines=(*others, line))


def cosigned_at(cosigned: Cosigned, key: WitnessKey) -> int:
    """When this witness cosigned it, in seconds since 1970; ValueError if it did not."""
    mine = [each.signature for each in cosigned.lines if (each.name, each.id) == (key.name, key.id)]
    if not mine:
        raise ValueError(f"not cosigned by {key.name}")
    if len(mine) > 1 or len(mine[0]) != 72:
        raise ValueError(f"not one cosignature of {key.name}, as it should have")
    seconds = int.from_bytes(mine[0][:8], "big")
    if not is_signed(PublicKey(key.name, key.raw), mine[0][8:], _message(cosigned.note, seconds)):
        raise ValueError(f"the cosignature is not one of {format_witness_key(key)}")
    return seconds


def check_witnesses(cosigned: Cosigned, witnesses: Iterable[str]) -> dict[str, int]:
    """When each of these witnesses' public keys cosigned it; ValueError if one of them did not."""
    keys = {text: parse_witness_key(text) for text in witnesses}
    return {text: cosigned_at(cosigned, key) for text, key in keys.items()}


def _message(note: bytes, seconds: int) -> bytes:
    text = note[: note.rindex(b"\n\n") + 1]
    return b"cosignature/v1\ntime %d\n" % seconds + text


def _parse_line(line: str) -> SignatureLine:
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    raw = b64decode(encoded, validate=True)
    parsed = SignatureLine(name, raw[:4], raw[4:])
    if not name or len(raw) < 5 or _format_line(parsed) != line + "\n":
        raise ValueError("a line below the checkpoint's signature is no signature")
    return parsed


def _format_line(line: SignatureLine) -> str:
    return f"{_DASH}{line.name} {b64encode(line.id + line.signature).decode()}\n"
