"""Whether a picture in an Office document hides what lies under it."""

import struct
import zlib

from lxml import etree

from pipeline.parse.office.package import Package

_R_EMBED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed"
_JPEG, _BMP, _PNG = b"\xff\xd8\xff", b"BM", b"\x89PNG\r\n\x1a\n"
_FADING = ("alphaModFix", "alphaMod", "alphaRepl", "clrChange")
_MOST = 1 << 25  # bytes of a picture, and of its pixels, that are looked at
_PIXEL = {(6, 8): 4, (6, 16): 8, (4, 8): 2, (4, 16): 4}  # bytes of one, by colour type and bits, with an opacity


class Pictures:
    """The pictures of a package, each looked at once."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._known: dict[str, bool] = {}

    def is_opaque(self, part: str, picture: etree._Element) -> bool:
        """Whether all of a picture (p:pic) in a part is drawn: it has no transparency and is not made paler."""
        blip = next(picture.iter("{*}blip"), None)
        if blip is None or any(next(blip.iterchildren("{*}" + name), None) is not None for name in _FADING):
            return False
        relation = self._package.relations(part).get(blip.get(_R_EMBED, ""))
        if relation is None or relation.external or not self._package.has(relation.target):
            return False
        if relation.target not in self._known:
            self._known[relation.target] = _is_opaque(self._package.head(relation.target, _MOST))
        return self._known[relation.target]


def _is_opaque(data: bytes) -> bool:
    """Whether a picture hides all below it, by its format or its chunks (PNG, third edition, 5.3 and 11)."""
    if not data.startswith(_PNG) or len(data) < 29:
        return data.startswith((_JPEG, _BMP))
    width, height, bits, kind, _, _, interlaced = struct.unpack_from(">IIBBBBB", data, 16)
    at, pieces = len(_PNG), list[bytes]()
    while at + 8 <= len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        if name == b"tRNS":
            return False
        if name == b"IDAT" and (kind, bits) not in _PIXEL:
            return True
        pieces += [data[at + 8 : at + 8 + length]] if name == b"IDAT" else []
        at += 12 + length
    size = height * (1 + width * _PIXEL.get((kind, bits), _MOST))
    if interlaced or size > _MOST:
        return False
    try:
        rows = zlib.decompressobj().decompress(b"".join(pieces), max(size, 1))
        return len(rows) == size and _is_filled(rows, width, _PIXEL[kind, bits], bits // 8)
    except zlib.error:
        return False


def _is_filled(rows: bytes, width: int, pixel: int, depth: int) -> bool:
    """Whether every opacity is the highest, told from the rows as filters left them (9.2), of so many bytes a pixel.

    Each of the five filters leaves one pattern of a row without transparency below another one.
    """
    length = 1 + width * pixel
    for start in range(0, len(rows), length):
        first, rest = (_FIRST_ROW if start == 0 else _NEXT_ROWS).get(rows[start], (0, 0))
        for place in range(pixel - depth, pixel):
            found = rows[start + 1 + place : start + length : pixel]
            if found != bytes([first]) + bytes([rest]) * (width - 1):
                return False
    return bool(rows)


# What a filter leaves of the opacity 255 in the first pixel of a row and in the others: none, sub, up, average, Paeth.
_FIRST_ROW = {0: (255, 255), 1: (255, 0), 2: (255, 255), 3: (255, 128), 4: (255, 0)}
_NEXT_ROWS = {0: (255, 255), 1: (255, 0), 2: (0, 0), 3: (128, 0), 4: (0, 0)}
