"""Fonts of a PDF whose letters may show nothing, though they have widths and are text."""

import ctypes
from ctypes import c_int, c_size_t, c_void_p

from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.objects import argument, fast

_COMMON = [ord(one) for one in "eat0Eino1rsA2TSR3h5"]
"""Characters of which nearly every font of letters or digits has one, the most frequent ones first."""
_SIZE = ctypes.c_float(10.0)

_is_embedded = fast(raw.FPDFFont_GetIsEmbedded, c_int)
_get_data = fast(raw.FPDFFont_GetFontData, c_int)
_count_segments = fast(raw.FPDFGlyphPath_CountGlyphSegments, c_int)
_get_path = fast(raw.FPDFFont_GetGlyphPath, c_void_p)
_get_font = fast(raw.FPDFTextObj_GetFont, c_void_p)
_bytes = c_size_t()


def font_of(text: int) -> int:
    """The font of a text object; 0 where it has none."""
    return _get_font(argument(text)) or 0


def may_be_blank(font: int) -> bool:
    """Whether a font's letters may show nothing: it is of Type 3, or none of its common letters has an outline."""
    if not font or not _is_embedded(argument(font)):
        return False
    return is_type_3(font) or not any(map(_has_outline, [font] * len(_COMMON), _COMMON))


def is_type_3(font: int) -> bool:
    """Whether the letters of an embedded font are drawn by content of the PDF: it has no program."""
    _bytes.value = 0
    _get_data(argument(font), None, _bytes, argument(ctypes.addressof(_bytes)))
    return not _bytes.value


def _has_outline(font: int, character: int) -> bool:
    path = _get_path(argument(font), character, _SIZE)
    return bool(path) and _count_segments(argument(path)) > 0
