"""Hostile exports, drawn at random from the format's own grammar: every field of every file absent, empty, negative,
huge or of another type; every file missing, doubled, cut, a link or a folder. Nobody here has the log's key, but for
`signed_anew`: checkpoints that the key itself signs and that say what no log has.

A forging is a function of a folder, which it changes, and a random.Random.
"""

import contextlib
import hashlib
import json
import os
import random
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import audit
from audit.sign import Signer, sign_note

# fmt: off
ODD_NUMBERS = (0, 1, -1, -256, 255, 256, 257, 2**31, 2**53 - 1, -(2**53), 10**18, 10**40, 0.5, 1e300, -0.0)
ODD_TEXTS = (
    "", "0", "-1", "x", "\x1b[2J\x1b]0;WHOLE\x07", "\x9b2J", "\u202ewhole\u2066", "WHOLE\r", "../../etc/passwd",
    "/dev/zero", "é" * 300, "\0", "\ud800", "9999-12-31T00:00:00.000000Z", "0001-01-01T00:00:00.000000Z", "0" * 64, "+",
    "\n\n",
)
# fmt: on
DEEP = 900
"""How deep a hostile value is nested."""

Forging = Callable[["Forger", random.Random], None]


class Forger:
    """An export that is being changed; `signer` has the log's key, `stranger` another of the same origin."""

    def __init__(self, folder: Path, signer: Signer, stranger: Signer) -> None:
        self.folder = folder
        self.signer = signer
        self.stranger = stranger

    def names(self) -> list[str]:
        """All files, sorted."""
        return names_of(self.folder)

    def read(self, name: str) -> bytes:
        """A file's bytes; none if it is gone, no file, or has a name that no file can have."""
        path = self.folder / name
        try:
            return path.read_bytes() if path.is_file() else b""
        except OSError:
            return b""

    def write(self, name: str, data: bytes) -> None:
        """A file, in the place of whatever is there."""
        path = self.folder / name
        if path.is_symlink() or path.is_fifo():
            path.unlink()
        if not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def names_of(folder: Path) -> list[str]:
    """The files below a folder, and links and whatever else is none, sorted."""
    found = []
    for above, _, files in os.walk(folder):
        found += [os.path.relpath(os.path.join(above, name), folder) for name in files]  # noqa: PTH118
    return sorted(found)


def odd_value(rng: random.Random, value: Any) -> Any:
    """Another value for a member: of another type, of another size, or near the right one."""
    near: list[Any] = []
    if type(value) is int:
        near = [value + 1, value - 1, -value, value + 256, value // 2, bool(value), float(value) + 0.5, str(value)]
    elif isinstance(value, str):
        near = [value[:-1], value + " ", value.upper(), value[::-1], [value], value.encode().hex()]
    elif isinstance(value, list):
        near = [value[:1], value * 2, value[::-1], [*value[:-1], -1], [True, *value[1:]]]
    elif isinstance(value, dict) and value:
        name = rng.choice(sorted(value))
        near = [{n: v for n, v in value.items() if n != name}, {**value, name: odd_value(rng, value[name])},
                {**value, rng.choice(ODD_TEXTS): value[name]}]  # fmt: skip
    plain = [None, True, False, [], {}, rng.choice(ODD_NUMBERS), rng.choice(ODD_TEXTS)]
    return rng.choice([*near, *near, *plain])


def nested(rng: random.Random) -> str:
    """JSON that is nested too deep."""
    depth = rng.choice((64, 65, DEEP, 100_000))
    return rng.choice(("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, "[" * depth))


def odd_object(rng: random.Random, data: bytes) -> bytes:
    """The canonical form of an object with a member changed, gone, added or doubled; or nearly canonical."""
    value = json.loads(data)
    name = rng.choice(sorted(value))
    match rng.randrange(8):
        case 0:
            del value[name]
        case 1:
            value[rng.choice((*ODD_TEXTS, "handed"))] = odd_value(rng, None)
        case 2:
            return data.replace(b"{", b'{"v":1,', 1)
        case 3:
            return rng.choice(
                (data.replace(b":", b": ", 1), data.replace(b"1", b"1.0", 1), data + b" ", b"\xff" + data)
            )
        case 4:
            return data[:-1] + b',"z":' + nested(rng).encode() + b"}"
        case _:
            value[name] = odd_value(rng, value[name])
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def odd_note(rng: random.Random, note: bytes) -> bytes:
    """The text of a checkpoint (without signatures) with a line changed, gone, added or doubled."""
    lines = note.decode().partition("\n\n")[0].split("\n")
    at = rng.randrange(len(lines))
    line = rng.choice((
        "", *map(str, ODD_NUMBERS), "=", "A===", b64encode(bytes(31)).decode(), b64encode(bytes(33)).decode(),
        b64encode(bytes(32)).decode(), lines[at] + "=", lines[at][:-2] + "9=", lines[at] + " ", "\u0663", "+3",
        "0" + lines[at],
        "segment-bytes -1", rng.choice(ODD_TEXTS).replace("\n", "").encode("utf-8", "replace").decode(),
    ))  # fmt: skip
    match rng.randrange(5):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, line)
        case _:
            lines[at] = line
    return "\n".join(lines).encode() + b"\n"


# What can be done to an export. Each of these is drawn as often as any other.


def change_file(forger: Forger, rng: random.Random) -> None:
    """Bytes flipped, cut, doubled or put in; all of them gone; those of another file."""
    name = rng.choice(forger.names())
    data = forger.read(name)
    at = rng.randrange(len(data) or 1)
    other = forger.read(rng.choice(forger.names()))
    flipped = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :] if data else b"x"
    choices = (flipped, flipped, flipped, b"", data[:at], data + data, data[:at] + b"\x1b[2J" + data[at:], other,
               data[:-1], data + b"\n", b"\0" * len(data), b"[]\n", b"{}\n", b"\n")  # fmt: skip
    forger.write(name, rng.choice(choices))


def move_file(forger: Forger, rng: random.Random) -> None:
    """A file that is missing, doubled, a link, a link to nothing, a pipe, or a folder."""
    name = rng.choice(forger.names())
    path, data = forger.folder / name, forger.read(name)
    other = rng.choice((name + ".x", "x", f"x/{name}", f"{name[:-1]}~", f"{name}\x1b[2J", "\u202e", "WHOLE\n",
                        name.upper(), re.sub(r"\d", "1", name), re.sub(r"^log/", "log/log/", name)))  # fmt: skip
    match rng.randrange(7):
        case 0:
            forger.write(other, data)
            return
        case 1:
            forger.write(other, data)
            path.unlink()
        case 2:
            path.unlink()
        case 3:
            path.unlink()
            path.mkdir()
        case 4:
            path.unlink()
            path.mkdir()
            forger.write(f"{name}/{path.name}", data)
        case 5:
            path.unlink()
            forger.write("y", data)
            path.symlink_to(rng.choice((forger.folder / "y", Path("/dev/zero"), Path("/nowhere"), forger.folder)))
        case 6:
            path.unlink()
            os.mkfifo(path)


def nest_folders(forger: Forger, rng: random.Random) -> None:
    """A file far below, or a folder with the name of one."""
    folder = rng.choice(("", "log/", "log/tile/", "keys/"))
    forger.write(folder + "d/" * rng.choice((1, 11, 12, 13, 40)) + "f", b"x")


def change_about(forger: Forger, rng: random.Random) -> None:
    forger.write(
        "export.json", odd_object(rng, forger.read("export.json")[:-1]) + rng.choice((b"\n", b"\n", b"\n", b"", b"x"))
    )


def narrow(forger: Forger, rng: random.Random) -> None:
    """Fewer records, and a range that has just these; with the bundles, the state and the neighbours fitted to it."""
    about = json.loads(forger.read("export.json"))
    first, end, size = about["first"], about["end"], about["size"]
    new_first = rng.randint(0, size)
    about["first"], about["end"] = new_first, rng.randint(new_first, size)
    if rng.random() < 0.3:
        about["first"] = about["end"] = rng.choice((0, size, end, first))
    about["bundles"] = [max(about["first"] - 1, 0) // 256 * 256, min(about["end"] + 1, size)]
    lines = dict(enumerate(forger.read("records.jsonl").splitlines(keepends=True), first))
    forger.write("records.jsonl", b"".join(lines.get(n, b"") for n in range(about["first"], about["end"])))
    for name in [name for name in forger.names() if "/entries/" in name and rng.random() < 0.5]:
        (forger.folder / name).unlink()
    forger.write("export.json", audit.canonical(about) + b"\n")


def change_key(forger: Forger, rng: random.Random) -> None:
    name = rng.choice([name for name in forger.names() if name.startswith("keys/") and name.endswith(".pub")])
    key = forger.read(name).decode().removesuffix("\n")
    origin, hash_, data = key.split("+", 2)
    odd = rng.choice(ODD_TEXTS).encode("utf-8", "replace").decode()
    keys = (
        f"{odd}+{hash_}+{data}",
        f"{origin}+{odd}+{data}",
        f"{origin}+{hash_}+{odd}",
        origin,
        f"{origin}+{hash_}",
        f"{key}=",
    )
    forger.write(name, rng.choice(keys).encode() + rng.choice((b"\n", b"", b"\n\n", b"x")))


def change_checkpoint(forger: Forger, rng: random.Random) -> None:
    """Under the old signature, none, or several; or under that of a stranger, whose key lies in keys/ perhaps."""
    note = forger.read("log/checkpoint")
    text, signature = odd_note(rng, note), note.partition(b"\n\n")[2]
    replace_note(forger, rng, rng.choice((
        text + b"\n" + signature, text + b"\n" + signature * 2, text + b"\n", text, note + signature,
        note.replace(b"\n\n", b"\n\nx\n"), sign_note(text.decode(), forger.stranger),
        sign_note(note.decode().partition("\n\n")[0] + "\n", forger.stranger), note + note,
    )))  # fmt: skip


def signed_anew(forger: Forger, rng: random.Random) -> None:
    """A checkpoint that says what none can say, signed by the log's own key."""
    note = forger.read("log/checkpoint")
    text, old = odd_note(rng, note), note.partition(b"\n\n")[0].split(b"\n")
    if text.split(b"\n")[:3] == old[:3]:  # whoever has the key may count the bytes as he likes
        lines = text.decode().split("\n")
        lines[1] = rng.choice(("-1", "-256", str(10**18), "0", "00", "\u0661", "1e3"))
        text = "\n".join(lines).encode()
    replace_note(forger, rng, sign_note(text.decode(), forger.signer))


def replace_note(forger: Forger, rng: random.Random, note: bytes) -> None:
    """The checkpoint, and sometimes the same in all proofs."""
    old = forger.read("log/checkpoint")
    forger.write("log/checkpoint", note)
    if rng.random() < 0.5:
        for name in [name for name in forger.names() if name.endswith(".proof")]:
            forger.write(name, forger.read(name).replace(old, note))
    if rng.random() < 0.3:
        (forger.folder / "export.proof").unlink(missing_ok=True)
    if rng.random() < 0.3:
        forger.write("keys/log.pub", audit.public_key_of(forger.folder.parent / "stranger.key").encode() + b"\n")


def change_proof(forger: Forger, rng: random.Random) -> None:
    """A line of a proof; or the entry that it proves; or one proof in the place of another."""
    proofs = [name for name in forger.names() if name.endswith(".proof")]
    if proofs:
        name = rng.choice(proofs)
        forger.write(name, odd_proof(rng, forger.read(name), forger.read(rng.choice(proofs))))


def odd_proof(rng: random.Random, data: bytes, other: bytes = b"") -> bytes:
    """A tlog-proof with a line changed, gone, added or doubled, of another entry, or another proof."""
    head, _, note = data.partition(b"\n\n")
    lines = head.decode("utf-8", "replace").split("\n")
    at = rng.randrange(len(lines))
    odd = rng.choice((*ODD_TEXTS, *map(str, ODD_NUMBERS))).encode("utf-8", "replace").decode()
    match rng.randrange(8):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[rng.randrange(len(lines))])
        case 2 if len(lines) > 1 and lines[1].startswith("extra "):
            entry = odd_object(rng, b64decode(lines[1][6:]))
            lines[1] = f"extra {b64encode(entry).decode()}"
        case 3 if len(lines) > 2:
            lines[2] = f"index {rng.choice((odd, lines[2][6:] + '0', '0' + lines[2][6:], '-' + lines[2][6:]))}"
        case 4:
            return rng.choice((other, b"", head, head + b"\n\n", note, data[:-1], data + b"\n", b"\n\n", data.upper()))
        case 5:
            return head + b"\n\n" + odd_note(rng, note) + b"\n" + note.partition(b"\n\n")[2]
        case 6:
            lines[at] = lines[at] + odd
        case _:
            lines[at] = odd
    return "\n".join(lines).encode() + b"\n\n" + note


def change_bundle(forger: Forger, rng: random.Random) -> None:
    """An entry in a bundle, perhaps with its hash in the tile and its line in records.jsonl; or the lengths."""
    bundles = [name for name in forger.names() if "/entries/" in name]
    if not bundles or not (data := forger.read(name := rng.choice(bundles))):
        return
    entries, at = [], 0
    while at + 2 < len(data):
        length = int.from_bytes(data[at : at + 2], "big")
        entries.append(data[at + 2 : at + 2 + length])
        at += 2 + length
    one, two = rng.randrange(len(entries)), rng.randrange(len(entries))
    old = entries[one]
    entries[one] = rng.choice((odd_object(rng, old), entries[two], b"", b"[]", nested(rng).encode()[:60_000]))
    bundle = b"".join((len(each) & 0xFFFF).to_bytes(2, "big") + each for each in entries)
    forger.write(name, rng.choice((bundle, bundle, bundle, bundle + b"\0", b"\xff\xff" + data, data + b"\0\0")))
    tile = name.replace("entries", "0", 1)
    if rng.random() < 0.5 and len(hashes := forger.read(tile)) >= 32 * len(entries):
        leaf = hashlib.sha256(b"\0" + entries[one]).digest()
        forger.write(tile, hashes[: 32 * one] + leaf + hashes[32 * one + 32 :])
    if rng.random() < 0.5:
        forger.write("records.jsonl", forger.read("records.jsonl").replace(old + b"\n", entries[one] + b"\n"))


def change_sums(forger: Forger, rng: random.Random) -> None:
    lines = forger.read("SHA256SUMS").decode("utf-8", "replace").splitlines(keepends=True) or ["\n"]
    at = rng.randrange(len(lines))
    odd = rng.choice(ODD_TEXTS).encode("utf-8", "replace").decode()
    others = (lines[:at] + lines[at + 1 :], [*lines, lines[at]], lines[::-1], [*lines, f"{'0' * 64}  {odd}\n"],
              [*lines[:at], odd, *lines[at + 1 :]], [line.upper() for line in lines])  # fmt: skip
    forger.write("SHA256SUMS", "".join(rng.choice(others)).encode())


FORGINGS: dict[str, Forging] = {
    "a file changed": change_file,
    "a file moved": move_file,
    "folders nested": nest_folders,
    "export.json changed": change_about,
    "records left out, and the range made to fit": narrow,
    "a key changed": change_key,
    "the checkpoint changed": change_checkpoint,
    "a false checkpoint signed by the log's key": signed_anew,
    "a proof changed": change_proof,
    "an entry changed": change_bundle,
    "SHA256SUMS changed": change_sums,
}


def fit(forger: Forger) -> None:
    """Whatever nobody signed made to fit the files: the sha256 in export.json, and SHA256SUMS."""
    try:
        about = json.loads(forger.read("export.json"))
        about["files"] = {name: hashlib.sha256(forger.read(name)).hexdigest() for name in about["files"]}
        forger.write("export.json", audit.canonical(about) + b"\n")
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    digests = [(hashlib.sha256(forger.read(name)).hexdigest(), name) for name in forger.names() if name != "SHA256SUMS"]
    text = "".join(f"{digest}  {name}\n" for digest, name in digests)
    forger.write("SHA256SUMS", text.encode("utf-8", "surrogateescape"))


def forge(forger: Forger, rng: random.Random) -> str:
    """One hostile export; what was done. A second forging may find nothing left that it can change."""
    first, *more = done = rng.choices(sorted(FORGINGS), k=rng.choice((1, 1, 1, 2)))
    FORGINGS[first](forger, rng)
    for name in more:
        with contextlib.suppress(ValueError, TypeError, LookupError, OSError, RecursionError):
            FORGINGS[name](forger, rng)
    if rng.random() < 0.3 and (forger.folder / "export.proof").is_file():
        (forger.folder / "export.proof").unlink()
        done.append("no export.proof")
    if rng.random() < 0.5:
        fit(forger)
        done.append("made to fit")
    return ", ".join(done)
