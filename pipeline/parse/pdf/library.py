"""pdfium: the one place that loads it, and those of its functions that are called for every object of every page.

These take and give plain numbers for pointers and keep the interpreter's lock: a call then costs a third.
"""

import ctypes
from collections import deque
from collections.abc import Callable
from ctypes import addressof, c_int, c_uint, c_ulong, c_void_p
from struct import Struct
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from pypdfium2.version import PYPDFIUM_INFO

from pipeline.parse.pdf.geometry import Rectangle

__all__ = ["VERSION", "pdfium", "raw", "string"]

VERSION = f"pypdfium2 {PYPDFIUM_INFO.version}"
TEXT, PATH, IMAGE, SHADING, FORM = 1, 2, 3, 4, 5  # types of page objects
Colour = tuple[int, int, int, int]  # red, green, blue and alpha, 0 to 255
_TAG = 64  # characters of a tag
_NOWHERE = (-1e9, -1e9, -1e9, -1e9)


def _fast(function: Any, result: Any, *arguments: Any) -> Callable[..., Any]:
    prototype: Any = ctypes.PYFUNCTYPE(result, *arguments)
    address: int = ctypes.cast(function, c_void_p).value or 0
    call: Callable[..., Any] = prototype(address)
    return call


_P = c_void_p
count_objects = _fast(raw.FPDFPage_CountObjects, c_int, _P)
get_object = _fast(raw.FPDFPage_GetObject, _P, _P, c_int)
count_inner = _fast(raw.FPDFFormObj_CountObjects, c_int, _P)
get_inner = _fast(raw.FPDFFormObj_GetObject, _P, _P, c_ulong)
type_of = _fast(raw.FPDFPageObj_GetType, c_int, _P)
count_marks = _fast(raw.FPDFPageObj_CountMarks, c_int, _P)
render_mode = _fast(raw.FPDFTextObj_GetTextRenderMode, c_int, _P)
set_active = _fast(raw.FPDFPageObj_SetIsActive, c_int, _P, c_int)
clip_of = _fast(raw.FPDFPageObj_GetClipPath, _P, _P)
count_clips = _fast(raw.FPDFClipPath_CountPaths, c_int, _P)
count_clip_segments = _fast(raw.FPDFClipPath_CountPathSegments, c_int, _P, c_int)
clip_segment = _fast(raw.FPDFClipPath_GetPathSegment, _P, _P, c_int, c_int)
object_of_character = _fast(raw.FPDFText_GetTextObject, _P, _P, c_int)
_get_fill = _fast(raw.FPDFPageObj_GetFillColor, c_int, _P, _P, _P, _P, _P)
_get_bounds = _fast(raw.FPDFPageObj_GetBounds, c_int, _P, _P, _P, _P, _P)
_get_matrix = _fast(raw.FPDFPageObj_GetMatrix, c_int, _P, _P)
_get_size = _fast(raw.FPDFTextObj_GetFontSize, c_int, _P, _P)
_get_point = _fast(raw.FPDFPathSegment_GetPoint, c_int, _P, _P, _P)
_get_mark = _fast(raw.FPDFPageObj_GetMark, _P, _P, c_ulong)
_get_mark_name = _fast(raw.FPDFPageObjMark_GetName, c_int, _P, _P, c_ulong, _P)
_get_pixels = _fast(raw.FPDFImageObj_GetImagePixelSize, c_int, _P, _P, _P)
_get_draw_mode = _fast(raw.FPDFPath_GetDrawMode, c_int, _P, _P, _P)

# Where pdfium writes its answers about one object: red, green, blue, alpha; a matrix, or the sides of a box.
_memory = (c_uint * 10)()
_RED, _GREEN, _BLUE, _ALPHA, _MATRIX = (addressof(_memory) + 4 * place for place in range(5))
_LEFT, _BOTTOM, _RIGHT, _TOP = (addressof(_memory) + 4 * place for place in range(4, 8))
_bytes = memoryview(_memory).cast("B")
_wholes, _reals = _bytes[:16].cast("I"), _bytes[16:].cast("f")
# The same about each of many texts: colour, size, matrix; of these the last two numbers are a place.
_PLACES = (0, 4, 8, 12, 16, 20)
_corners = Struct("=4f").unpack_from
_RECORD, _STATE, _SIDES = Struct("=36s8x"), Struct("=4I5f"), Struct("=4f")


def fill_of(item: int) -> Colour | None:
    """The colour of an area; None where it is no plain one."""
    if not _get_fill(item, _RED, _GREEN, _BLUE, _ALPHA):
        return None
    return _wholes[0], _wholes[1], _wholes[2], _wholes[3]


def bounds_of(item: int) -> Rectangle:
    """The box around an object, in the space of the form that it is in; nowhere near it, where it has none."""
    if not _get_bounds(item, _LEFT, _BOTTOM, _RIGHT, _TOP):
        return _NOWHERE
    return _reals[0], _reals[1], _reals[2], _reals[3]


def matrix_of(item: int) -> tuple[float, float, float, float, float, float]:
    """Of a form: from its own space to that of what it is in."""
    _get_matrix(item, _MATRIX)
    return _reals[0], _reals[1], _reals[2], _reals[3], _reals[4], _reals[5]


class Paint:
    """How the texts of a page are painted, asked for all of them at once.

    `modes` are the ways of painting, `cut` tells which have a border, and `states` are colour, size and matrix, to be
    taken apart by `colour_and_size`; b"" where the colour is no plain one.
    """

    def __init__(self, texts: list[int]) -> None:
        memory = ctypes.create_string_buffer(_RECORD.size * len(texts) + 1)
        start = addressof(memory)
        each = [range(start + place, start + place + _RECORD.size * len(texts), _RECORD.size) for place in _PLACES]
        self.modes: list[int] = list(map(render_mode, texts))
        self.cut = [clips > 0 for clips in map(count_clips, map(clip_of, texts))]
        filled = list(map(_get_fill, texts, *each[:4]))
        deque(map(_get_size, texts, each[4]), 0)
        deque(map(_get_matrix, texts, each[5]), 0)
        self.states: list[bytes] = [state for (state,) in _RECORD.iter_unpack(memoryview(memory)[:-1])]
        if 0 in filled:
            self.states = [state if fill else b"" for state, fill in zip(self.states, filled, strict=True)]


def colour_and_size(state: bytes) -> tuple[Colour | None, float]:
    """The colour, and the square of the smaller one of width and height of its letters.

    In the space of the form that the text is in.
    """
    if not state:
        return None, float("inf")
    red, green, blue, alpha, size, a, b, c, d = _STATE.unpack(state)
    return (red, green, blue, alpha), size * size * min(a * a + b * b, c * c + d * d)


def all_bounds(items: list[int]) -> list[Rectangle]:
    """`bounds_of` each of many."""
    memory = ctypes.create_string_buffer(_SIDES.size * len(items) + 1)
    start = addressof(memory)
    each = [range(start + place, start + place + _SIDES.size * len(items), _SIDES.size) for place in _PLACES[:4]]
    found = list(map(_get_bounds, items, *each))
    boxes: list[Rectangle] = list(_SIDES.iter_unpack(memoryview(memory)[:-1]))
    return [box if one else _NOWHERE for box, one in zip(boxes, found, strict=True)] if 0 in found else boxes


def is_filled(path: int) -> bool:
    """Whether an area is painted, rather than a line drawn."""
    return bool(_get_draw_mode(path, _RED, _GREEN)) and _wholes[0] != 0


def point_of(segment: int) -> tuple[float, float]:
    """The end of a segment of a path."""
    _get_point(segment, _LEFT, _BOTTOM)
    return _reals[0], _reals[1]


def pixels_of(image: int) -> int:
    """How many pixels a picture has."""
    _get_pixels(image, _RED, _GREEN)
    return _wholes[0] * _wholes[1]


def corners_of(border: int, place: int) -> Rectangle:
    """The box between two opposite corners of a path of four sides: the whole one, if that is upright."""
    _get_point(clip_segment(border, place, 0), _LEFT, _BOTTOM)
    _get_point(clip_segment(border, place, 2), _RIGHT, _TOP)
    x0, y0, x1, y1 = _corners(_memory, 16)
    return (x0 if x0 < x1 else x1), (y0 if y0 < y1 else y1), (x1 if x0 < x1 else x0), (y1 if y0 < y1 else y0)


def mark_names(item: int) -> set[str]:
    """The tags of the marked content that an object is part of."""
    names, size = set(), c_ulong()
    for place in range(count_marks(item)):
        buffer = (ctypes.c_ushort * _TAG)()
        if _get_mark_name(_get_mark(item, place), addressof(buffer), ctypes.sizeof(buffer), addressof(size)):
            names.add(bytes(buffer)[: max(0, size.value - 2)].decode("utf-16-le", "replace"))
    return names


def string(read: Callable[[Any, int], int]) -> str:
    """What a function of pdfium writes as UTF-16LE into a buffer; it returns the size in bytes with the final zero."""
    size = read(None, 0)
    if size <= 2:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    read(buffer, size)
    return bytes(buffer)[: size - 2].decode("utf-16-le", "replace")


def pointer(handle: Any) -> int:
    """The address behind a handle of pypdfium2, to which the handle must be kept."""
    return ctypes.cast(getattr(handle, "raw", handle), c_void_p).value or 0
