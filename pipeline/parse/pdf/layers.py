"""Whether a PDF has layers, which it may show or not; pdfium draws by them, but does not tell of them."""

import re
import zlib

from pipeline.parse.pdf.objects import marks_of, tag_of

_NAME = b"/OCProperties"
_PACKED = re.compile(rb"/ObjStm[^>]{0,300}>>\s{0,4}stream\r?\n|/ObjStm")
_STREAM = re.compile(rb"stream\r?\n")
_MOST = 32 * 2**20  # bytes unpacked in search of them


def may_have_layers(data: bytes) -> bool:
    """Whether a PDF may have layers: their name stands somewhere in it, plain or among objects that are packed."""
    if _NAME in data:
        return True
    left = _MOST
    for match in _PACKED.finditer(data):
        start = match if match.group().endswith(b"\n") else _STREAM.search(data, match.end(), match.end() + 2000)
        try:
            packed = memoryview(data)[start.end() :] if start else b""
            unpacked = zlib.decompressobj().decompress(packed, left)
        except zlib.error:  # encrypted, or packed in another way
            return True
        left -= len(unpacked)
        if left <= 0 or not unpacked or _NAME in unpacked:
            return True
    return False


def is_in_layer(item: int) -> bool:
    """Whether a page object is marked as part of a layer."""
    return "OC" in map(tag_of, marks_of(item))
