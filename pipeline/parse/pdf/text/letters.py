"""Whether a font's letters have the shapes that they must have, as far as every Latin typeface agrees.

A font may say of its letters that they are others than it draws (ISO 32000-2, 9.10.3). Typefaces differ, but in none
is an "m" narrower than an "i", does an "e" rise above an "h", or an "n" reach further down than a "p": a font in which
much of that is so draws other letters than are read. Widths are asked for first; only where they look odd, or tell
nothing, outlines are compared.
"""

import ctypes
from collections.abc import Sequence
from ctypes import addressof, c_float, c_int, c_size_t, c_void_p
from itertools import chain, product
from typing import Any

from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.geometry import Rectangle, around_points
from pipeline.parse.pdf.objects import argument, fast

_ABSENT = 0xE5A7  # for private use: no font has it
_MEASURED = [*map(ord, "ilmo"), _ABSENT]
_NARROW = 2  # of them are narrow, the next ones wide
_DEFAULT = 1000.0  # the width of letters of which a font says nothing
_SAMPLE = "p"
_THIN, _BROAD = "ijlt", "mw"
_LOW, _HIGH = "acemnorsuvwxz", "bdhkl"
_FLAT, _DEEP = "abcdehiklmnorstuvwx", "gpqy"
_LETTERS = sorted({*_LOW, *_HIGH, *_DEEP, *_THIN})
_COMMON = [ord(one) for one in "eat0Eino1rsA2TSR3h5"]
"""Characters of which nearly every font of letters or digits has one, the most frequent ones first."""
_SIZE = c_float(1000.0)
_CLEARLY = 1.1  # times as wide or high
_DEEPER = 80.0  # thousandths of the size
_FEWEST = 24  # comparisons
_STEPS = (0.25, 0.5, 0.75, 1.0)  # of a curve
_PARTS = 6
_HANDLES = 2  # of a curve, before its end
_LIES = 0.2  # of them that must fail

_is_embedded = fast(raw.FPDFFont_GetIsEmbedded, c_int)
_get_data = fast(raw.FPDFFont_GetFontData, c_int)
_get_font = fast(raw.FPDFTextObj_GetFont, c_void_p)
_bytes = c_size_t()
_get_width = fast(raw.FPDFFont_GetGlyphWidth, c_int)
_get_path = fast(raw.FPDFFont_GetGlyphPath, c_void_p)
_count = fast(raw.FPDFGlyphPath_CountGlyphSegments, c_int)
_get_segment = fast(raw.FPDFGlyphPath_GetGlyphPathSegment, c_void_p)
_get_type = fast(raw.FPDFPathSegment_GetType, c_int)
_get_point = fast(raw.FPDFPathSegment_GetPoint, c_int)

_point = (c_float * 2)()
_X, _Y = argument(addressof(_point)), argument(addressof(_point) + 4)


class Letters:
    """The judgement on the letters of one document's fonts, remembered by their widths and some of their outlines."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], bool] = {}

    def are_others(self, font: int) -> bool:
        """Whether the outlines of a font's letters cannot be those of the letters that they are said to be."""
        if not font:
            return False
        widths = list[float]()
        for one in _MEASURED:
            _point[0] = 0.0
            _get_width(argument(font), one, _SIZE, _X)
            widths.append(_point[0])
        if not _are_odd(widths):
            return False
        known = *widths, *start_of(font, _SAMPLE)
        if known not in self._known:
            self._known[known] = _contradicts(font)
        return self._known[known]


def _are_odd(widths: Sequence[float]) -> bool:
    """Whether these widths of narrow letters, wide ones and one that is absent call for a look at the outlines."""
    *some, absent = widths
    if len(set(some)) == 1:
        return some[0] != _DEFAULT
    narrow, wide = ([one for one in part if one != absent] for part in (some[:_NARROW], some[_NARROW:]))
    return bool(narrow and wide) and max(narrow) >= min(wide)


def _contradicts(font: int) -> bool:
    """Whether the outlines of the letters that there are cannot be theirs."""
    absent = _box(font, _ABSENT)
    boxes = {one: box for one in _LETTERS if (box := _box(font, ord(one))) and box != absent}
    thin, broad, low, high, flat, deep = (
        [boxes[one] for one in some if one in boxes] for some in (_THIN, _BROAD, _LOW, _HIGH, _FLAT, _DEEP)
    )
    fails = [one[2] - one[0] > _CLEARLY * (other[2] - other[0]) for one, other in product(thin, broad)]
    fails += [one[3] > _CLEARLY * other[3] for one, other in product(low, high)]
    fails += [one[1] < other[1] - _DEEPER for one, other in product(flat, deep)]
    return len(fails) >= _FEWEST and sum(fails) >= _LIES * len(fails)


def outline_of(font: int, character: str) -> tuple[tuple[tuple[float, float], ...], ...]:
    """The closed lines around a letter, in thousandths of the font's size; curves as a few points."""
    contours: list[list[tuple[float, float]]] = []
    handles: list[tuple[float, float]] = []
    for segment in _segments(font, ord(character)):
        kind, point = _get_type(segment), _at(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO or not contours:
            contours.append([point])
            handles.clear()
        elif kind == raw.FPDF_SEGMENT_BEZIERTO and len(handles) < _HANDLES:
            handles.append(point)
        elif kind == raw.FPDF_SEGMENT_BEZIERTO:
            contours[-1] += [_on_curve((contours[-1][-1], *handles, point), step) for step in _STEPS]
            handles.clear()
        else:
            contours[-1].append(point)
    return tuple(map(tuple, contours))


def _on_curve(points: tuple[tuple[float, float], ...], step: float) -> tuple[float, float]:
    shares = [(1 - step) ** 3, 3 * step * (1 - step) ** 2, 3 * step * step * (1 - step), step**3]
    x, y = (sum(share * point[axis] for share, point in zip(shares, points, strict=True)) for axis in (0, 1))
    return x, y


def start_of(font: int, character: str) -> tuple[float, ...]:
    """A mark of a letter's outline that hardly two have in common: the number of its parts, and where a few begin."""
    if not _get_path(argument(font), ord(character), _SIZE):
        return (-1,)
    segments = _segments(font, ord(character))
    return (len(segments), *chain.from_iterable(map(_at, segments[:: max(1, len(segments) // _PARTS)])))


def _box(font: int, character: int) -> Rectangle | None:
    """The box around the outline of a letter, in thousandths of the font's size; None where it has none."""
    points = list(map(_at, _segments(font, character)))
    return around_points(points) if points else None


def _segments(font: int, character: int) -> list[Any]:
    """The parts of a letter's outline, as arguments of pdfium's functions."""
    path = argument(_get_path(argument(font), character, _SIZE) or 0)
    return [argument(_get_segment(path, place)) for place in range(_count(path) if path else 0)]


def _at(segment: Any) -> tuple[float, float]:
    _get_point(segment, _X, _Y)
    return _point[0], _point[1]


def font_of(text: int) -> int:
    """The font of a text object; 0 where it has none."""
    return _get_font(argument(text)) or 0


def may_be_blank(font: int) -> bool:
    """Whether a font's letters may show nothing: it is of Type 3, or none of its common letters has an outline."""
    if not font or not _is_embedded(argument(font)):
        return False
    return is_type_3(font) or not any(_segments(font, one) for one in _COMMON)


def is_type_3(font: int) -> bool:
    """Whether the letters of an embedded font are drawn by content of the PDF: it has no program."""
    _bytes.value = 0
    _get_data(argument(font), None, _bytes, argument(ctypes.addressof(_bytes)))
    return not _bytes.value
