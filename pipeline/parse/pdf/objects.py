"""pdfium's functions that are called for every object of every page, and questions to many objects at once.

Objects are known by their addresses. These functions hold the interpreter's lock and take pointers only as `argument`
makes them, once for all calls: a call then costs a fifth of what it costs through the library's own prototypes. A plain
number is a C int to them.
"""

import ctypes
from collections.abc import Callable, Iterable, Iterator
from ctypes import addressof, c_int, c_uint, c_ulong, c_void_p
from itertools import repeat
from struct import Struct
from typing import Any

from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.geometry import Rectangle

TEXT, PATH, IMAGE, SHADING, FORM = 1, 2, 3, 4, 5  # types of page objects
Colour = tuple[int, int, int, int]  # red, green, blue and alpha, 0 to 255
_TAG = 64  # characters of a tag
_NOWHERE = (-1e9, -1e9, -1e9, -1e9)
_BOX = frozenset({4, 5})  # segments of a path that may be one

argument: Callable[[int], Any] = c_void_p.from_param
_index: Callable[[int], Any] = c_ulong.from_param


def fast(function: Any, result: Any) -> Callable[..., Any]:
    """A function of pdfium with such a result, to be called as said above."""
    address: int = ctypes.cast(function, c_void_p).value or 0
    call: Callable[..., Any] = ctypes.PYFUNCTYPE(result)(address)
    return call


render_mode = fast(raw.FPDFTextObj_GetTextRenderMode, c_int)  # -1: no text
type_of = fast(raw.FPDFPageObj_GetType, c_int)
_count_objects = fast(raw.FPDFPage_CountObjects, c_int)
_get_object = fast(raw.FPDFPage_GetObject, c_void_p)
_count_inner = fast(raw.FPDFFormObj_CountObjects, c_int)
_get_inner = fast(raw.FPDFFormObj_GetObject, c_void_p)
_clip_of = fast(raw.FPDFPageObj_GetClipPath, c_void_p)
_count_clips = fast(raw.FPDFClipPath_CountPaths, c_int)
_count_segments = fast(raw.FPDFClipPath_CountPathSegments, c_int)
_get_segment = fast(raw.FPDFClipPath_GetPathSegment, c_void_p)
_object_of_character = fast(raw.FPDFText_GetTextObject, c_void_p)
_set_active = fast(raw.FPDFPageObj_SetIsActive, c_int)
_get_fill = fast(raw.FPDFPageObj_GetFillColor, c_int)
_get_bounds = fast(raw.FPDFPageObj_GetBounds, c_int)
_get_matrix = fast(raw.FPDFPageObj_GetMatrix, c_int)
_get_size = fast(raw.FPDFTextObj_GetFontSize, c_int)
_get_point = fast(raw.FPDFPathSegment_GetPoint, c_int)
_count_marks = fast(raw.FPDFPageObj_CountMarks, c_int)
_get_mark = fast(raw.FPDFPageObj_GetMark, c_void_p)
_get_mark_name = fast(raw.FPDFPageObjMark_GetName, c_int)
_get_pixels = fast(raw.FPDFImageObj_GetImagePixelSize, c_int)
_get_draw_mode = fast(raw.FPDFPath_GetDrawMode, c_int)

# Where pdfium writes its answers: of a text red, green, blue, alpha, size and a, b, c, d, e, f of its matrix; of a box
# its sides, of a path two corners.
_memory = (c_uint * 15)()
_places = [argument(addressof(_memory) + 4 * place) for place in range(15)]
_RED, _GREEN, _BLUE, _ALPHA, _SIZE, _MATRIX = _places[:6]
_LEFT, _BOTTOM, _RIGHT, _TOP = _places[11:]
_bytes = memoryview(_memory).cast("B")
_wholes, _matrix, _sides = _bytes[:16].cast("I"), _bytes[20:44].cast("f"), _bytes[44:60].cast("f")
_state, _corners = _bytes[:36], _bytes[44:60]
_STATE, _SIDES = Struct("=4I5f"), Struct("=4f")


def objects_of(page: int) -> list[int]:
    """Those of a page, in the order in which they are painted."""
    whole = argument(page)
    return list(map(_get_object, repeat(whole), range(_count_objects(whole))))


def inner_objects_of(form: int) -> list[int]:
    """Those of a form."""
    whole = argument(form)
    return list(map(_get_inner, repeat(whole), map(_index, range(_count_inner(whole)))))


def objects_of_characters(textpage: int, count: int) -> list[int | None]:
    """For each character of a page the text that it stands in; None for those that pdfium adds."""
    return list(map(_object_of_character, repeat(argument(textpage)), range(count)))


def set_active(item: int, active: int) -> None:
    """Whether an object is drawn, and its text is text of the page: 1 or 0."""
    _set_active(argument(item), active)


def fill_of(item: int) -> Colour | None:
    """The colour of an area; None where it is no plain one."""
    if not _get_fill(argument(item), _RED, _GREEN, _BLUE, _ALPHA):
        return None
    return _wholes[0], _wholes[1], _wholes[2], _wholes[3]


def bounds_of(item: int) -> Rectangle:
    """The box around an object, in the space of the form that it is in; nowhere near it, where it has none."""
    if not _get_bounds(argument(item), _LEFT, _BOTTOM, _RIGHT, _TOP):
        return _NOWHERE
    return _sides[0], _sides[1], _sides[2], _sides[3]


def matrix_of(item: int) -> tuple[float, float, float, float, float, float]:
    """Of a form: from its own space to that of what it is in."""
    _get_matrix(argument(item), _MATRIX)
    return _matrix[0], _matrix[1], _matrix[2], _matrix[3], _matrix[4], _matrix[5]


def count_borders(texts: list[Any]) -> list[int]:
    """How many borders each of many texts has (as arguments); 0 or less: none."""
    return list(map(_count_clips, map(argument, map(_clip_of, texts))))


def states_of(texts: list[Any]) -> list[bytes]:
    """How each of many texts (as arguments) is painted, to be taken apart by `colour_and_size`.

    b"" where the colour is no plain one.
    """
    asked = zip(
        map(_get_fill, texts, repeat(_RED), repeat(_GREEN), repeat(_BLUE), repeat(_ALPHA)),
        map(_get_size, texts, repeat(_SIZE)),
        map(_get_matrix, texts, repeat(_MATRIX)),
        map(memoryview.tobytes, repeat(_state)),
        strict=False,
    )
    return [state if filled else b"" for filled, _, _, state in asked]


def colour_and_size(state: bytes) -> tuple[Colour | None, float]:
    """The colour, and the square of the smaller one of width and height of its letters.

    In the space of the form that the text is in.
    """
    if not state:
        return None, float("inf")
    red, green, blue, alpha, size, a, b, c, d = _STATE.unpack(state)
    return (red, green, blue, alpha), size * size * min(a * a + b * b, c * c + d * d)


def all_bounds(items: Iterable[Any]) -> list[Rectangle]:
    """`bounds_of` each of many (as arguments)."""
    asked = zip(
        map(_get_bounds, items, repeat(_LEFT), repeat(_BOTTOM), repeat(_RIGHT), repeat(_TOP)),
        map(_SIDES.unpack_from, repeat(_corners)),
        strict=False,
    )
    return [box if found else _NOWHERE for found, box in asked]


def is_filled(path: int) -> bool:
    """Whether an area is painted, rather than a line drawn."""
    return bool(_get_draw_mode(argument(path), _RED, _GREEN)) and _wholes[0] != 0


def pixels_of(image: int) -> int:
    """How many pixels a picture has."""
    _get_pixels(argument(image), _RED, _GREEN)
    return _wholes[0] * _wholes[1]


def corners_of_borders(texts: list[Any], place: int) -> list[Rectangle | None]:
    """Of the border number `place` of each of many texts (as arguments) the box between two opposite corners.

    That is the whole border, if it is an upright box. None: it does not have the segments of a box.
    """
    borders = list(map(argument, map(_clip_of, texts)))
    boxes = [count in _BOX for count in map(_count_segments, borders, repeat(place))]
    first = map(argument, map(_get_segment, borders, repeat(place), repeat(0)))
    third = map(argument, map(_get_segment, borders, repeat(place), repeat(2)))
    asked = zip(
        boxes,
        map(_get_point, first, repeat(_LEFT), repeat(_BOTTOM)),
        map(_get_point, third, repeat(_RIGHT), repeat(_TOP)),
        map(_SIDES.unpack_from, repeat(_corners)),
        strict=False,
    )
    return [_upright(*corners) if found and other and box else None for box, found, other, corners in asked]


def _upright(x0: float, y0: float, x1: float, y1: float) -> Rectangle:
    return (x0 if x0 < x1 else x1), (y0 if y0 < y1 else y1), (x1 if x0 < x1 else x0), (y1 if y0 < y1 else y0)


def borders_of(text: int, most: int) -> Iterator[list[tuple[float, float]]]:
    """The ends of the segments of each border of a text; none of one that has more than `most`."""
    borders = argument(_clip_of(argument(text)))
    for place in range(_count_clips(borders)):
        count = _count_segments(borders, place)
        yield [_point(_get_segment(borders, place, one)) for one in range(count if count <= most else 0)]


def _point(segment: int) -> tuple[float, float]:
    _get_point(argument(segment), _LEFT, _BOTTOM)
    return _sides[0], _sides[1]


def mark_names(item: int) -> set[str]:
    """The tags of the marked content that an object is part of."""
    names, size = set(), c_ulong()
    for place in range(_count_marks(argument(item))):
        buffer = (ctypes.c_ushort * _TAG)()
        mark = argument(_get_mark(argument(item), _index(place)))
        room = _index(ctypes.sizeof(buffer))
        if _get_mark_name(mark, argument(addressof(buffer)), room, argument(addressof(size))):
            names.add(bytes(buffer)[: max(0, size.value - 2)].decode("utf-16-le", "replace"))
    return names
