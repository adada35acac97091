"""Whether a picture in an Office document hides what lies under it."""

import struct

from lxml import etree

from pipeline.parse.office.package import Package

_R_EMBED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed"
_JPEG, _BMP, _PNG = b"\xff\xd8\xff", b"BM", b"\x89PNG\r\n\x1a\n"
_WITHOUT_ALPHA = {0, 2}  # colour types of PNG: grey and RGB, unless a chunk tRNS names a colour that is not drawn
_HEAD = 1 << 16  # bytes, before which the pixels of a picture begin
_FADING = ("alphaModFix", "alphaMod", "alphaRepl", "clrChange")


def is_opaque_picture(package: Package, part: str, picture: etree._Element) -> bool:
    """Whether all of a picture (p:pic) in a part is drawn: a format or a file without transparency, not made paler."""
    blip = next(picture.iter("{*}blip"), None)
    if blip is None or any(next(blip.iterchildren("{*}" + name), None) is not None for name in _FADING):
        return False
    relation = package.relations(part).get(blip.get(_R_EMBED, ""))
    if relation is None or relation.external or not package.has(relation.target):
        return False
    data = package.head(relation.target, _HEAD)
    return data.startswith((_JPEG, _BMP)) or _is_opaque_png(data)


def _is_opaque_png(data: bytes) -> bool:
    """By the chunks before the first of pixels (PNG, third edition, 11.2 and 11.3.1)."""
    if not data.startswith(_PNG) or len(data) < 26 or data[25] not in _WITHOUT_ALPHA:
        return False
    at = len(_PNG)
    while at + 8 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        if kind in {b"tRNS", b"IDAT"}:
            return bool(kind == b"IDAT")
        at += 12 + length
    return False
