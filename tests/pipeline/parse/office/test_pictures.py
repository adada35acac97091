"""Pictures that hide what lies under them: the opacity of PNG files, told without undoing their filters."""

import struct
import zlib
from itertools import product

import pytest
from lxml import etree

from pipeline.parse.office.drawing.view import Pictures
from pipeline.parse.office.package import Package
from tests.hidden.packages import OFFICE, package, relations

A = "http://schemas.openxmlformats.org/drawingml/2006/main"


def filtered(rows: list[bytes], filters: list[int], pixel: int) -> bytes:
    """Rows as the filters of PNG leave them, from their definition (third edition, 9.2)."""
    done, above = b"", bytes(len(rows[0]))
    for row, kind in zip(rows, filters, strict=True):
        left, corner = bytes(pixel) + row[:-pixel], bytes(pixel) + above[:-pixel]
        predicted = [
            (0, a, b, (a + b) // 2, min((a, b, c), key=lambda one, p=a + b - c: abs(p - one)))[kind]
            for a, b, c in zip(left, above, corner, strict=True)
        ]
        done += bytes([kind]) + bytes((x - p) % 256 for x, p in zip(row, predicted, strict=True))
        above = row
    return done


def png(kind: int, bits: int, rows: list[bytes], filters: list[int], extra: bytes = b"", interlaced: int = 0) -> bytes:
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
    pixel = channels * bits // 8
    header = struct.pack(">IIBBBBB", len(rows[0]) // pixel, len(rows), bits, kind, 0, 0, interlaced)
    pixels = zlib.compress(filtered(rows, filters, pixel))
    chunks = [(b"IHDR", header), *([(b"tRNS", extra)] if extra else []), (b"IDAT", pixels[:9]), (b"IDAT", pixels[9:])]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


def is_opaque(data: bytes, change: str = "") -> bool:
    parts = {"a.xml": "<a/>", "_rels/a.xml.rels": relations(("image", "image.png")), "image.png": data}
    blip = etree.fromstring(
        f"<p><a:blip xmlns:a='{A}' xmlns:r='{OFFICE}/relationships' r:embed='rId1'>{change}</a:blip></p>"
    )
    return Pictures(Package(package({"a.xml": "x"}, parts))).is_opaque("a.xml", blip)


@pytest.mark.parametrize(("kind", "bits"), [(6, 8), (6, 16), (4, 8), (4, 16)])
def test_pictures_with_an_opacity_are_opaque_if_all_of_it_is_the_highest(kind: int, bits: int) -> None:
    depth, channels = bits // 8, 4 if kind == 6 else 2
    for filters in product(range(5), repeat=2):
        rows = [
            b"".join(bytes((7 * x + 50 * y + z) % 256 for z in range((channels - 1) * depth)) + b"\xff" * depth
                     for x in range(3))
            for y in range(2)
        ]  # fmt: skip
        assert is_opaque(png(kind, bits, rows, list(filters)))
        for row, place in product(range(2), range(3)):
            changed = [bytearray(one) for one in rows]
            changed[row][(place + 1) * channels * depth - 1] = 254
            assert not is_opaque(png(kind, bits, list(map(bytes, changed)), list(filters))), (filters, row, place)


def test_other_pictures() -> None:
    rows = [bytes(6), bytes(6)]
    assert is_opaque(png(2, 8, rows, [0, 0]))
    assert is_opaque(png(3, 8, rows, [0, 0]))
    assert not is_opaque(png(3, 8, rows, [0, 0], b"\0"))
    assert not is_opaque(png(6, 8, [b"\xff" * 8], [0], interlaced=1))
    assert not is_opaque(png(6, 8, [b"\xff" * 8], [0])[:-30])
    assert is_opaque(b"\xff\xd8\xff\xe0 a photograph")
    assert not is_opaque(b"GIF89a")
    assert not is_opaque(b"")
    assert not is_opaque(png(2, 8, rows, [0, 0]), f"<a:alphaModFix xmlns:a='{A}' amt='30000'/>")
