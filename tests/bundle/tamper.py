"""Bundles that somebody tampered with, at random: each has to be found before anything is written.

    python -m tests.bundle.tamper --count 1000

prints how many were found by kind, and a line for each that was not; exit 1 if there is one. The same --seed draws the
same ones. Who tampers has no key that is trusted, but any other one, and knows the format: checksums of headers are
made right again.
"""

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import audit
from audit.standalone import WrongError
from jobs.bundle.install import install
from jobs.bundle.reader import BLOCK, MANIFEST, SIGNATURE, padding
from jobs.bundle.versions import this_machine
from tests.bundle.disk import Disk, make_disk
from tests.bundle.small import join_members, sign

Members = list[tuple[str, bytes]]
SEED = 20261127


def split_members(data: bytes) -> Members:
    """The members of an archive that is as it has to be."""
    members, at = [], 0
    while data[at]:
        name, size = data[at : at + 100].rstrip(b"\0").decode(), int(data[at + 124 : at + 135], 8)
        members.append((name, data[at + BLOCK : at + BLOCK + size]))
        at += BLOCK + size + len(padding(size))
    return members


def flip(data: bytes, rng: random.Random) -> bytes:
    """One bit is another one; half of them among headers, manifest and signature."""
    place = rng.randrange(len(data) if rng.random() < 0.5 else 4 * BLOCK)
    return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]


def cut(data: bytes, rng: random.Random) -> bytes:
    """The end is missing, as it is when a disk was taken out too early."""
    return data[: rng.choice((rng.randrange(len(data)), len(data) - rng.randrange(1, 2 * BLOCK)))]


def half_copied(data: bytes, rng: random.Random) -> bytes:
    """The file has its length, but from some block on only zeros."""
    place = rng.randrange(len(data) // BLOCK - 2) * BLOCK
    return data[:place] + bytes(len(data) - place)


def append(data: bytes, rng: random.Random) -> bytes:
    """Something lies behind the end: zeros, bytes, or one more archive."""
    return data + rng.choice((bytes(BLOCK), b"\n", rng.randbytes(999), join_members([("more", b"more")])))


def insert(data: bytes, rng: random.Random) -> bytes:
    """Bytes lie in between."""
    place = rng.randrange(len(data))
    return data[:place] + rng.choice((b"\0", bytes(BLOCK), rng.randbytes(BLOCK))) + data[place:]


def swap(data: bytes, rng: random.Random) -> bytes:
    """Two files have each other's place, or each other's name."""
    members = split_members(data)
    one, other = rng.sample(range(len(members)), 2)
    if rng.random() < 0.5:
        members[one], members[other] = members[other], members[one]
    else:
        (a, x), (b, y) = members[one], members[other]
        members[one], members[other] = (a, y), (b, x)
    return join_members(members)


def rename(data: bytes, rng: random.Random) -> bytes:
    """A file has another name, also one that leads out of the folder."""
    members = split_members(data)
    place = rng.randrange(len(members))
    name = rng.choice(("../../etc/cron.d/x", "/etc/passwd", "models/x.gguf", members[place][0].upper(), "a/./b"))
    members[place] = (name, members[place][1])
    return join_members(members)


def add(data: bytes, rng: random.Random) -> bytes:
    """There is a file more, or one twice."""
    members = split_members(data)
    again = rng.choice(members)
    more = rng.choice((again, (again[0], b"other bytes"), ("models/more.gguf", b"more"), ("../../x", b"x")))
    members.insert(rng.randrange(len(members) + 1), more)
    return join_members(members)


def remove(data: bytes, rng: random.Random) -> bytes:
    """A file is missing."""
    members = split_members(data)
    del members[rng.randrange(len(members))]
    return join_members(members)


def become_link(data: bytes, rng: random.Random) -> bytes:
    """A file is a link, a device or a folder, or has another mode or owner."""
    members, at = split_members(data), 0
    for _, content in members[: rng.randrange(len(members))]:
        at += BLOCK + len(content) + len(padding(len(content)))
    block = bytearray(data[at : at + BLOCK])
    place, new = rng.choice(((156, b"1"), (156, b"2"), (156, b"5"), (156, b"x"), (157, b"/etc"), (100, b"0004755")))
    block[place : place + len(new)] = new
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return data[:at] + bytes(block) + data[at + BLOCK :]


def replace(data: bytes, rng: random.Random) -> bytes:
    """A file has other bytes of its length, and the manifest says so; the signature is the old one."""
    members = split_members(data)
    place = rng.randrange(2, len(members))
    old = members[place][1]
    members[place] = (members[place][0], bytes([old[0] ^ 1]) + old[1:])
    return join_members([(MANIFEST, tell(members[0][1], place - 2, members[place][1])), *members[1:]])


def sign_anew(data: bytes, rng: random.Random, key: Path) -> bytes:
    """As `replace`, and another key signed it; sometimes under the name of the right one."""
    members = split_members(replace(data, rng))
    note = sign(members[0][1], key)
    old = members[1][1]
    if rng.random() < 0.5:  # the line of the right key, over a text that it never signed
        note = note.partition(b"\n\n")[0] + b"\n\n" + old.partition(b"\n\n")[2]
    return join_members([members[0], (SIGNATURE, note), *members[2:]])


def tell(manifest: bytes, place: int, content: bytes) -> bytes:
    """The manifest, with the digest of what a file has now."""
    told = json.loads(manifest)
    carried = [each for each in told["files"] if each["carried"]]
    carried[place]["sha256"] = sha256(content).hexdigest()
    return audit.canonical(told) + b"\n"


KINDS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    each.__name__: each
    for each in (flip, cut, half_copied, append, insert, swap, rename, add, remove, become_link, replace)
}


def tamper(disk: Disk, folder: Path, count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """So many tamperings: how many were found, by kind, and a line for each that was not, or that wrote something."""
    other = folder / "keys" / "other.key"
    other.parent.mkdir(mode=0o700)
    audit.generate_key(other, "test.example/bundles")
    kinds = KINDS | {"sign_anew": lambda data, rng: sign_anew(data, rng, other)}
    found, wrong = Counter[str](), list[str]()
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        name, kind = rng.choice(("first", "update")), rng.choice(sorted(kinds))
        before = disk.bundle(name).read_bytes()
        data = kinds[kind](before, rng)
        if data == before:  # two files of equal bytes were swapped
            continue
        told = attempt(folder, data, disk.public_key)
        found[kind] += told is None
        wrong += [f"{number}: {kind} of {name}: {told}"] if told else []
    return found, wrong


def attempt(folder: Path, data: bytes, key: str) -> str | None:
    """None if this archive is refused before anything is written, else what happened."""
    archive, root = folder / "tampered.bundle", folder / "opt" / "cloister"
    archive.write_bytes(data)
    try:
        install(archive, root, key, "2026-11-27", this_machine(), lambda step: None)
    except WrongError:
        return None if not root.parent.exists() else "found, but something was written before"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "installed"


def main() -> int:
    """The program; 1 if a tampering was not found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found, wrong = tamper(make_disk(Path(folder) / "disk"), Path(folder), options.count, options.seed)
    print(f"{found.total():,} of {options.count:,} found, nothing written: {dict(sorted(found.items()))}")
    for line in wrong:
        print(line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
