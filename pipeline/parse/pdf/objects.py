"""pdfium's functions that are called for the objects of a page, over and over.

Objects are known by their addresses. These functions hold the interpreter's lock and take pointers only as `argument`
makes them, once for all calls: a call then costs a fifth of what it costs through the library's own prototypes. A plain
number is a C int to them.
"""

import ctypes
from collections.abc import Callable, Iterable, Iterator
from ctypes import addressof, c_int, c_uint, c_ulong, c_void_p
from itertools import repeat
from typing import Any, NamedTuple

from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.geometry import Rectangle, around_points, transformed

TEXT, PATH, IMAGE, SHADING, FORM = 1, 2, 3, 4, 5  # types of page objects
Colour = tuple[int, int, int, int]  # red, green, blue and alpha, 0 to 255
NOWHERE = (-1e9, -1e9, -1e9, -1e9)
_TAG = 64  # characters of a tag

argument: Callable[[int], Any] = c_void_p.from_param
index: Callable[[int], Any] = c_ulong.from_param


def fast(function: Any, result: Any) -> Callable[..., Any]:
    """A function of pdfium with a result of this type, called by addresses as said above."""
    address: int = ctypes.cast(function, c_void_p).value or 0
    call: Callable[..., Any] = ctypes.PYFUNCTYPE(result)(address)
    return call


_get_object = fast(raw.FPDFPage_GetObject, c_void_p)
_get_inner_object = fast(raw.FPDFFormObj_GetObject, c_void_p)
_get_mode = fast(raw.FPDFTextObj_GetTextRenderMode, c_int)
_get_kind = fast(raw.FPDFPageObj_GetType, c_int)
_count_objects = fast(raw.FPDFPage_CountObjects, c_int)
_count_inner = fast(raw.FPDFFormObj_CountObjects, c_int)
_clip_of = fast(raw.FPDFPageObj_GetClipPath, c_void_p)
_count_clips = fast(raw.FPDFClipPath_CountPaths, c_int)
_count_segments = fast(raw.FPDFClipPath_CountPathSegments, c_int)
_get_segment = fast(raw.FPDFClipPath_GetPathSegment, c_void_p)
_set_active = fast(raw.FPDFPageObj_SetIsActive, c_int)
_get_fill = fast(raw.FPDFPageObj_GetFillColor, c_int)
_get_bounds = fast(raw.FPDFPageObj_GetBounds, c_int)
_get_matrix = fast(raw.FPDFPageObj_GetMatrix, c_int)
_get_point = fast(raw.FPDFPathSegment_GetPoint, c_int)
_count_marks = fast(raw.FPDFPageObj_CountMarks, c_int)
_get_mark = fast(raw.FPDFPageObj_GetMark, c_void_p)
_count_path = fast(raw.FPDFPath_CountSegments, c_int)
_get_path_segment = fast(raw.FPDFPath_GetPathSegment, c_void_p)
_get_segment_kind = fast(raw.FPDFPathSegment_GetType, c_int)
_get_mark_name = fast(raw.FPDFPageObjMark_GetName, c_int)
_get_pixels = fast(raw.FPDFImageObj_GetImagePixelSize, c_int)
_is_mixed = fast(raw.FPDFPageObj_HasTransparency, c_int)
_get_stroke_width = fast(raw.FPDFPageObj_GetStrokeWidth, c_int)
_get_draw_mode = fast(raw.FPDFPath_GetDrawMode, c_int)

# Where pdfium writes its answers: a colour or two numbers, a matrix, the sides of a box.
_memory = (c_uint * 14)()
_places = [argument(addressof(_memory) + 4 * place) for place in range(14)]
_RED, _GREEN, _BLUE, _ALPHA, _MATRIX = _places[:5]
_LEFT, _BOTTOM, _RIGHT, _TOP = _places[10:]
_bytes = memoryview(_memory).cast("B")
_wholes, _matrix, _sides = _bytes[:16].cast("I"), _bytes[16:40].cast("f"), _bytes[40:56].cast("f")


class Items(NamedTuple):
    """The objects of a page or a form, in the order in which they are painted.

    `modes`: how each is painted as a text, -1 for what is no text; `kinds`: TEXT, PATH, IMAGE, SHADING or FORM.
    """

    objects: list[int]
    modes: list[int]
    kinds: list[int]


def objects_of(page: int) -> Items:
    """The objects that stand on a page itself."""
    handle = argument(page)
    return _items(map(_get_object, repeat(handle), range(_count_objects(handle))))


def inner_objects_of(form: int) -> Items:
    """The objects that stand in a form."""
    handle = argument(form)
    return _items(map(_get_inner_object, repeat(handle), map(index, range(_count_inner(handle)))))


def _items(found: Iterator[int | None]) -> Items:
    objects = [item or 0 for item in found]
    handles = list(map(argument, objects))
    return Items(objects, list(map(_get_mode, handles)), list(map(_get_kind, handles)))


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
        return NOWHERE
    return _sides[0], _sides[1], _sides[2], _sides[3]


def matrix_of(item: int) -> tuple[float, float, float, float, float, float]:
    """The matrix of a form, from its own space to that of what it is in."""
    _get_matrix(argument(item), _MATRIX)
    return _matrix[0], _matrix[1], _matrix[2], _matrix[3], _matrix[4], _matrix[5]


def area_and_line(path: int) -> tuple[bool, bool]:
    """Whether the area within a path is painted, and whether a line is drawn along it."""
    if not _get_draw_mode(argument(path), _RED, _GREEN):
        return False, False
    return _wholes[0] != 0, _wholes[1] != 0


def segments_of(path: int) -> int:
    """How many segments a path has."""
    return int(_count_path(argument(path)))


def segments_of_borders(item: int) -> int:
    """How many segments the borders of an object have."""
    borders = borders_of_text(item)
    return sum(max(0, count_points(borders, number)) for number in range(_count_clips(borders)))


def parts_of(item: int, least: int, *, borders: bool) -> Iterator[Rectangle]:
    """The box around each part of a path that has more than `least` segments, in the space that the path is in; or of
    an object's borders."""
    if borders:
        clip = borders_of_text(item)
        counts = [count_points(clip, number) for number in range(_count_clips(clip))]
        paths = [[_get_segment(clip, number, place) for place in range(count)] for number, count in enumerate(counts)]
    else:
        paths = [[_get_path_segment(argument(item), place) for place in range(segments_of(item))]]
    matrix = None if borders else matrix_of(item)
    points = list[tuple[float, float]]()
    for segment in (one for path in paths for one in (*path, 0)):
        if not segment or _get_segment_kind(argument(segment)) == raw.FPDF_SEGMENT_MOVETO:
            if len(points) > least:
                yield transformed(around_points(points), matrix)
            points = []
        if segment and _get_point(argument(segment), _LEFT, _BOTTOM):
            points.append((_sides[0], _sides[1]))


def is_mixed(item: int) -> bool:
    """Whether an object is mixed with what is behind it, by opacity, a mask or a blend mode."""
    return bool(_is_mixed(argument(item)))


def line_width_of(path: int) -> float:
    """The width of the lines along a path, in its own space."""
    return float(_sides[0]) if _get_stroke_width(argument(path), _LEFT) else 0.0


def pixels_of(image: int) -> int:
    """How many pixels a picture has."""
    _get_pixels(argument(image), _RED, _GREEN)
    return _wholes[0] * _wholes[1]


def borders_of(text: int, most: int) -> Iterator[list[tuple[float, float]]]:
    """The ends of the segments of each border of a text; none of one that has more than `most`."""
    borders = borders_of_text(text)
    for number in range(_count_clips(borders)):
        count = count_points(borders, number)
        yield [point_of(borders, number, place) or (0.0, 0.0) for place in range(count if count <= most else 0)]


def borders_of_text(text: int) -> Any:
    """The borders outside of which nothing of a text is painted, as an argument of `count_points` and `point_of`."""
    return argument(_clip_of(argument(text)))


def count_borders(texts: Iterable[int]) -> list[int]:
    """How many borders each text has; 0 or less: none."""
    return list(map(_count_clips, map(argument, map(_clip_of, map(argument, texts)))))


def count_points(borders: Any, number: int) -> int:
    """How many segments a border has; 0 or less: none."""
    return int(_count_segments(borders, number))


def point_of(borders: Any, number: int, place: int) -> tuple[float, float] | None:
    """The end of a segment of a border; None where pdfium tells none."""
    if not _get_point(argument(_get_segment(borders, number, place)), _LEFT, _BOTTOM):
        return None
    return _sides[0], _sides[1]


def marks_of(item: int) -> list[int]:
    """The marked content that an object is part of, the outermost first."""
    handle = argument(item)
    return [_get_mark(handle, index(place)) or 0 for place in range(_count_marks(handle))]


def tag_of(mark: int) -> str:
    """The tag of marked content."""
    buffer, size = (ctypes.c_ushort * _TAG)(), c_ulong()
    room = index(ctypes.sizeof(buffer))
    _get_mark_name(argument(mark), argument(addressof(buffer)), room, argument(addressof(size)))
    return bytes(buffer)[: max(0, size.value - 2)].decode("utf-16-le", "replace")
