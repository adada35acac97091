"""Small documents of many kinds, from a seed, as they lie in an inbox: with copies, containers and failing ones.

`papers(number)` gives so many files; what the containers hold comes on top.
"""

import base64
import io
import random
import zipfile
from collections.abc import Iterator

from tests.faults.samples import SAMPLES

_WORDS = ("the", "landlord", "leases", "flat", "to", "tenant", "rent", "is", "due", "invoice", "total", "of", "month")
_PLAIN = {
    "txt": "{0}\n",
    "md": "# Paper\n\n{0}\n\n- one\n- two\n",
    "html": "<html><body><h1>Paper</h1><p>{0}</p></body></html>",
    "json": '{{"paper": "{0}"}}',
    "csv": "name,amount\n{0},1200\n",
    "xml": "<Invoice><Note>{0}</Note></Invoice>",
    "eml": "From: Anna <anna@example.org>\nSubject: paper\n\n{0}\n",
}
_FAILING = {
    "empty.txt": b"",
    "broken.pdf": b"%PDF-1.7\nbroken",
    "torn.docx": SAMPLES["docx"][:9000],
    "torn.xlsx": SAMPLES["xlsx"][:2000],
    "thing.bin": bytes(range(256)) * 4,
}
_WHOLE = ("docx", "pdf", "xlsx", "rtf", "odt", "epub", "txt.gz")


def papers(number: int, seed: int = 20261122) -> Iterator[tuple[str, bytes]]:
    """(path, bytes) of so many files: of ten about one is a copy, one fails, one holds others or is of an office
    format, and the rest is text of some kind."""
    rng, plain = random.Random(seed), [("first.txt", text(random.Random(seed)).encode())]
    for index in range(number):
        folder = f"{'abcdefgh'[index * 8 // number]}/"
        match index % 10:
            case 3:
                name, data = plain[rng.randrange(len(plain))]
                yield f"{folder}{index:04}-copy-{name}", data
            case 5:
                name = rng.choice(sorted(_FAILING))
                yield f"{folder}{index:04}-{name}", _FAILING[name]
            case 7 if index % 20 == 7:
                yield f"{folder}{index:04}-held.{'zip' if index % 40 == 7 else 'eml'}", held(rng, plain, index)
            case 7:
                suffix = _WHOLE[index // 20 % len(_WHOLE)]
                yield f"{folder}{index:04}.{suffix}", SAMPLES[suffix]
            case _:
                suffix = rng.choice(sorted(_PLAIN))
                plain.append((f"{index:04}.{suffix}", _PLAIN[suffix].format(text(rng)).encode()))
                yield f"{folder}{index:04}.{suffix}", plain[-1][1]


def text(rng: random.Random) -> str:
    """A sentence or many; no two are the same."""
    words = rng.choices(_WORDS, k=rng.choice((8, 30, 30, 120)))
    return f"{' '.join(words)} {rng.randrange(10**9)}."


def held(rng: random.Random, plain: list[tuple[str, bytes]], index: int) -> bytes:
    """A container with a text, a copy, a failing document, and one time in two another container."""
    name, copied = plain[rng.randrange(len(plain))]
    inside = {"a/own.txt": text(rng).encode(), f"b/{name}": copied, "broken.pdf": _FAILING["broken.pdf"]}
    if rng.random() < 0.5:
        inside["more.zip"] = zipped({"deep.md": text(rng).encode(), "copy.txt": inside["a/own.txt"]})
    return zipped(inside) if index % 40 == 7 else mailed(inside)


def zipped(files: dict[str, bytes]) -> bytes:
    """The same bytes for the same files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, body in files.items():
            archive.writestr(zipfile.ZipInfo(name), body)
    return buffer.getvalue()


def mailed(files: dict[str, bytes]) -> bytes:
    """A mail with these attachments."""
    head = "From: Anna <anna@example.org>\nSubject: papers\nMIME-Version: 1.0\n"
    parts = [f"{head}Content-Type: multipart/mixed; boundary=frontier\n\n--frontier\n\nThe papers.".encode()]
    for name, body in files.items():
        kind = f"application/octet-stream\nContent-Disposition: attachment; filename={name.rpartition('/')[2]}"
        kind = f"--frontier\nContent-Type: {kind}\nContent-Transfer-Encoding: base64\n\n"
        parts.append(kind.encode() + base64.encodebytes(body))
    return b"\n".join(parts) + b"\n--frontier--\n"
