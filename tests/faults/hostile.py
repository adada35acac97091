"""Documents made to hurt, from a seed: bombs, deep nesting, huge counts, and valid files damaged at random places.

`hostile(number, seed)` gives the same files on every machine. Each says how it may end; a damaged file may end in any
class of the closed list, a bomb only in those that name what it is.
"""

import gzip
import io
import random
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.faults import concealing
from tests.faults.samples import SAMPLES

ANY = frozenset[str]()
LARGE = frozenset({"bomb", "too_large", "out_of_memory", "timeout", "crashed"})
DEEP = frozenset({"corrupt", "too_large", "out_of_memory", "crashed", "unsupported", "timeout"})
READ = frozenset({"done", "abstained", "empty"})
HIDING = READ | LARGE | {"review"}


@dataclass(frozen=True)
class Hostile:
    """A file: its name, its bytes, and the states or failures it may end in (empty: any of them)."""

    name: str
    data: bytes
    ends: frozenset[str]


def hostile(number: int, seed: int = 20261122) -> Iterator[Hostile]:
    """So many files: every tenth is a bomb of some size, the others are damaged."""
    rng = random.Random(seed)
    bombs, samples = list(BOMBS.items()), sorted(SAMPLES.items())
    for index in range(number):
        if index % 10 == 0:
            name, (suffix, make, ends) = bombs[index // 10 % len(bombs)]
            yield Hostile(f"{index:06}-{name}.{suffix}", make(rng), ends)
        else:
            suffix, data = samples[index % len(samples)]
            yield Hostile(f"{index:06}-damaged.{suffix}", damaged(data, rng), ANY)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """With bytes changed, cut out, doubled, zeroed or replaced by large numbers at 1 to 20 places; or cut short."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 5, 20))):
        place, length = rng.randrange(max(1, len(changed))), rng.randint(1, 64)
        match rng.randrange(7):
            case 0:
                changed[place : place + 1] = bytes([rng.randrange(256)])
            case 1:
                del changed[place : place + length]
            case 2:
                changed[place:place] = changed[place : place + length] * rng.choice((1, 2, 50))
            case 3:
                changed[place : place + length] = bytes(len(changed[place : place + length]))
            case 4:
                changed[place : place + 4] = rng.choice((b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80"))
            case 5:
                changed[place : place + 1] = rng.choice((b"9" * 20, b"-1", b"<" * 100, b"(" * 100, b"{" * 100))
            case 6:
                del changed[place + rng.randrange(len(changed) + 1) // 4 :]
    return bytes(changed) or b"\x00"


def _zip(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, body in files.items():
            archive.writestr(zipfile.ZipInfo(name), body, method)
    return buffer.getvalue()


def _zeros(mib: int, wbits: int) -> bytes:
    """A deflate stream of so many MiB of zeros, made in pieces."""
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    return b"".join(packer.compress(bytes(2**20)) for _ in range(mib)) + packer.flush()


def _nested_zip(rng: random.Random) -> bytes:
    body = b"the innermost text %d" % rng.randrange(10**9)
    for level in range(rng.randint(6, 40)):
        body = _zip({f"{level}.zip": body})
    return body


def _many_files(rng: random.Random) -> bytes:
    return _zip({f"{number}.txt": b"" for number in range(rng.randint(10_001, 12_000))}, zipfile.ZIP_STORED)


def _zip_of_zeros(rng: random.Random) -> bytes:
    return _zip({"zeros.txt": bytes(rng.randint(65, 90) << 20)})


def _tar_of_zeros(rng: random.Random) -> bytes:
    return gzip.compress(_tar({"zeros.txt": bytes(rng.randint(70, 90) << 20)}))


def _tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, body in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return buffer.getvalue()


def _laughs(rng: random.Random) -> bytes:
    lines = "".join(f'<!ENTITY e{n} "&e{n - 1};&e{n - 1};&e{n - 1};">' for n in range(1, rng.randint(20, 60)))
    return f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "lol">{lines}]><x>&e19;</x>'.encode()


def _word(body: str) -> bytes:
    main = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return _zip(
        {
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Override PartName="/d.xml" '
            f'ContentType="{kind}"/></Types>'.encode(),
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="a" Type="{office}" '
            'Target="d.xml"/></Relationships>'.encode(),
            "d.xml": f'<w:document xmlns:w="{main}"><w:body>{body}</w:body></w:document>'.encode(),
        }
    )


def _deep_word(rng: random.Random) -> bytes:
    depth = rng.randint(20_000, 60_000)
    return _word("<w:sdt><w:sdtContent>" * depth + "<w:p/>" + "</w:sdtContent></w:sdt>" * depth)


def _large_word(rng: random.Random) -> bytes:
    return _word("<w:p><w:r><w:t>" + "x" * (rng.randint(270, 300) << 20) + "</w:t></w:r></w:p>")


def _deep_html(rng: random.Random) -> bytes:
    return b"<html><body>" + b"<div>" * rng.randint(30_000, 200_000) + b"the end"


def _deep_json(rng: random.Random) -> bytes:
    depth = rng.randint(20_000, 500_000)
    return b"[" * depth + b"1" + b"]" * depth


def _deep_rtf(rng: random.Random) -> bytes:
    depth = rng.randint(20_000, 500_000)
    return rb"{\rtf1 " + b"{" * depth + b"x" + b"}" * depth + b"}"


def _deep_mail(rng: random.Random) -> bytes:
    depth = rng.randint(500, 3000)
    heads = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(depth))
    return f"From: a@b.example\nTo: c@d.example\nSubject: x\nDate: now\n{heads}\n\ntext\n".encode()


def _many_parts(rng: random.Random) -> bytes:
    part = "--b\nContent-Disposition: attachment; filename=a.txt\n\nx\n"
    head = "From: a@b.example\nTo: c@d.example\nSubject: x\nContent-Type: multipart/mixed; boundary=b\n\n"
    return (head + part * rng.randint(10_001, 20_000) + "--b--\n").encode()


def _pages(rng: random.Random) -> bytes:
    """A PDF that says it has a billion pages, and has one, many times over."""
    count = rng.randint(2000, 5000)
    kids = " ".join(["3 0 R"] * count)
    return (
        f"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[{kids}]/Count 999999999>>"
        "endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj trailer<</Root 1 0 R>>"
    ).encode()


def _page_loop(rng: random.Random) -> bytes:
    number = rng.randint(2, 9)
    return (
        f"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[2 0 R 2 0 R]/Count {number}>>"
        "endobj trailer<</Root 1 0 R>>"
    ).encode()


def _flate_bomb(rng: random.Random) -> bytes:
    """A page whose content stream is deflated twice over."""
    stream = zlib.compress(_zeros(rng.randint(400, 600), 15), 9)
    head = (
        "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
        "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R>>endobj 4 0 obj<</Filter[/FlateDecode"
        f"/FlateDecode]/Length {len(stream)}>>stream\n"
    )
    return head.encode() + stream + b"\nendstream endobj trailer<</Root 1 0 R>>"


def _book(sheet: str) -> bytes:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
    return _zip(
        {
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Override PartName="/b.xml" '
            f'ContentType="{kind}"/></Types>'.encode(),
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="a" '
            f'Type="{office}/officeDocument" Target="b.xml"/></Relationships>'.encode(),
            "_rels/b.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="a" '
            f'Type="{office}/worksheet" Target="s.xml"/></Relationships>'.encode(),
            "b.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="A" r:id="a"/></sheets>'
            "</workbook>".encode(),
            "s.xml": f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>'.encode(),
        }
    )


def _far_cell(rng: random.Random) -> bytes:
    return _book(f'<row r="1048576"><c r="XFD1048576"><v>{rng.randrange(10**6)}</v></c></row>')


def _many_cells(rng: random.Random) -> bytes:
    row = "<row>" + "<c><v>1234567890.123456789</v></c>" * 500 + "</row>"
    return _book(row * rng.randint(2000, 3000))


def _repeated_cells(rng: random.Random) -> bytes:
    namespace = "urn:oasis:names:tc:opendocument:xmlns"
    content = (
        f'<office:document-content xmlns:office="{namespace}:office:1.0" xmlns:table="{namespace}:table:1.0" '
        f'xmlns:text="{namespace}:text:1.0"><office:body><office:spreadsheet><table:table table:name="A">'
        "<table:table-row "
        f'table:number-rows-repeated="{rng.randint(500_000, 1_048_576)}"><table:table-cell '
        'table:number-columns-repeated="16384" office:value-type="string"><text:p>x</text:p></table:table-cell>'
        "</table:table-row></table:table></office:spreadsheet></office:body></office:document-content>"
    ).encode()
    kind = b"application/vnd.oasis.opendocument.spreadsheet"
    return _zip({"mimetype": kind, "META-INF/manifest.xml": b"<manifest/>", "content.xml": content})


def _one_line(rng: random.Random) -> bytes:
    return b"word " * rng.randint(2_100_000, 2_500_000)


def _wide_table(rng: random.Random) -> bytes:
    return b",".join([b"1"] * rng.randint(100_000, 500_000)) + b"\n" + b"2\n" * 1000


Bomb = tuple[str, Callable[[random.Random], bytes], frozenset[str]]
BOMBS: dict[str, Bomb] = {
    "nested": ("zip", _nested_zip, READ | LARGE),
    "many-files": ("zip", _many_files, LARGE),
    "zeros": ("zip", _zip_of_zeros, LARGE),
    "tar-of-zeros": ("tar.gz", _tar_of_zeros, LARGE),
    "gz-of-zeros": ("gz", lambda rng: _zeros(rng.randint(70, 200), 31), LARGE),
    "laughs": ("xml", _laughs, DEEP | READ),
    "deep": ("docx", _deep_word, DEEP),
    "large": ("docx", _large_word, LARGE),
    "deep-page": ("html", _deep_html, DEEP),
    "deep-values": ("json", _deep_json, DEEP | READ),
    "deep-groups": ("rtf", _deep_rtf, DEEP | READ),
    "deep-parts": ("eml", _deep_mail, DEEP | READ | LARGE),
    "many-parts": ("eml", _many_parts, LARGE),
    "billion-pages": ("pdf", _pages, DEEP | READ | LARGE),
    "page-loop": ("pdf", _page_loop, DEEP | READ | LARGE),
    "flate": ("pdf", _flate_bomb, DEEP | READ | LARGE),
    "far-cell": ("xlsx", _far_cell, READ),
    "many-cells": ("xlsx", _many_cells, LARGE | READ),
    "repeated-cells": ("ods", _repeated_cells, LARGE),
    "one-line": ("txt", _one_line, LARGE),
    "wide": ("csv", _wide_table, READ | LARGE),
    "huge-picture": ("pdf", concealing.huge_picture, HIDING),
    "many-pictures": ("pdf", concealing.many_pictures, HIDING | {"needs_ocr"}),
    "many-rules": ("html", concealing.many_rules, HIDING),
    "doubling-variables": ("html", concealing.doubling_variables, HIDING),
    "mixed-marks": ("txt", concealing.mixed_marks, HIDING),
}
