"""Questions to many objects of a page at once (each.py says how); objects are known by their addresses."""

import ctypes
from array import array
from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.each import Call, loops
from pipeline.parse.pdf.geometry import Rectangle
from pipeline.parse.pdf.objects import NOWHERE, Colour, count_inner_objects, count_objects

_BOX = frozenset({4, 5})  # segments of a border that may be a box
_OBJECT = Struct("=Q2i")  # its address, how it is painted as a text, its type
_KIND = [Call(raw.FPDFTextObj_GetTextRenderMode, "ptr %r0", kept=8), Call(raw.FPDFPageObj_GetType, "ptr %r0", kept=12)]
# A text's font, whether it is mixed with what is behind it, whether it has a colour; red, green, blue, alpha; its size;
# a, b, c, d of its matrix.
_STATE = Struct("=Q2i4I5f")
_TEXT = Struct("=Q2i4I5f2fi")  # the same; e and f of its matrix, how many borders it has
_BOUNDS = Struct("=4fi")  # left, bottom, right, top; whether there are any
_BORDER = Struct("=4fi4f3i")  # the same; two ends of a border, whether there are, how many there are in all
_MARKS = 4  # marks around a text that are looked at, the outermost first
_REPLACEMENT = ctypes.create_string_buffer(b"ActualText")
_REPLACES = f"ptr inttoptr (i64 {ctypes.addressof(_REPLACEMENT)} to ptr)"
_GET_BOUNDS = Call(raw.FPDFPageObj_GetBounds, answers=(0, 4, 8, 12), kept=16)

_LOOPS = loops(
    {
        "objects": (
            _OBJECT.size,
            [Call(raw.FPDFPage_GetObject, "ptr %object, i32 %place", result="ptr", kept=0), *_KIND],
        ),
        "inner_objects": (
            _OBJECT.size,
            [Call(raw.FPDFFormObj_GetObject, "ptr %object, i64 %i", result="ptr", kept=0), *_KIND],
        ),
        "characters": (8, [Call(raw.FPDFText_GetTextObject, "ptr %object, i32 %place", result="ptr", kept=0)]),
        "unmapped": (4, [Call(raw.FPDFText_HasUnicodeMapError, "ptr %object, i32 %place", kept=0)]),
        "texts": (
            _TEXT.size,
            [
                Call(raw.FPDFPageObj_GetClipPath, result="ptr"),
                Call(raw.FPDFClipPath_CountPaths, "ptr %r0", kept=60),
                Call(raw.FPDFTextObj_GetFont, result="ptr", kept=0),
                Call(raw.FPDFPageObj_HasTransparency, kept=8),
                Call(raw.FPDFPageObj_GetFillColor, answers=(16, 20, 24, 28), kept=12),
                Call(raw.FPDFTextObj_GetFontSize, answers=(32,)),
                Call(raw.FPDFPageObj_GetMatrix, answers=(36,)),
            ],
        ),
        "marks": (4, [Call(raw.FPDFPageObj_CountMarks, kept=0)]),
        "replacements": (
            4 * _MARKS,
            [
                *(Call(raw.FPDFPageObj_GetMark, f"ptr %object, i64 {place}", result="ptr") for place in range(_MARKS)),
                *(
                    Call(raw.FPDFPageObjMark_GetParamValueType, f"ptr %r{place}, {_REPLACES}", kept=4 * place)
                    for place in range(_MARKS)
                ),
            ],
        ),
        "bounds": (_BOUNDS.size, [_GET_BOUNDS]),
        "borders": (
            _BORDER.size,
            [
                _GET_BOUNDS,
                Call(raw.FPDFPageObj_GetClipPath, result="ptr"),
                Call(raw.FPDFClipPath_GetPathSegment, "ptr %r1, i32 %number, i32 0", result="ptr"),
                Call(raw.FPDFClipPath_GetPathSegment, "ptr %r1, i32 %number, i32 2", result="ptr"),
                Call(raw.FPDFPathSegment_GetPoint, "ptr %r2", answers=(20, 24), kept=36),
                Call(raw.FPDFPathSegment_GetPoint, "ptr %r3", answers=(28, 32), kept=40),
                Call(raw.FPDFClipPath_CountPathSegments, "ptr %r1, i32 %number", kept=44),
            ],
        ),
    }
)


class Items(NamedTuple):
    """The objects of a page or a form, in the order in which they are painted.

    `modes`: how each is painted as a text, -1 for what is no text; `kinds`: TEXT, PATH, IMAGE, SHADING or FORM.
    """

    objects: list[int]
    modes: list[int]
    kinds: list[int]


def objects_of(page: int) -> Items:
    """Those of a page."""
    return _items(_LOOPS["objects"]([page] * count_objects(page)))


def inner_objects_of(form: int) -> Items:
    """Those of a form."""
    return _items(_LOOPS["inner_objects"]([form] * count_inner_objects(form)))


def _items(records: "array[int]") -> Items:
    words, halves = memoryview(records).cast("Q"), memoryview(records).cast("i")
    return Items(words[::2].tolist(), halves[2::4].tolist(), halves[3::4].tolist())


def objects_of_characters(textpage: int, count: int) -> list[int]:
    """For each character of a page the text that it stands in; 0 for those that pdfium adds."""
    return memoryview(_LOOPS["characters"]([textpage] * count)).cast("Q").tolist()


def unmapped_characters(textpage: int, count: int) -> list[int]:
    """The places of those characters of a page for which their font does not say what they are."""
    found = _LOOPS["unmapped"]([textpage] * count).tobytes()
    if found.count(0) == len(found):  # as on nearly every page
        return []
    return [place for place, one in enumerate(memoryview(found).cast("i")) if one > 0]


def states_and_borders(texts: Sequence[int]) -> tuple[list[bytes], list[int]]:
    """How each text is painted, to be taken apart by `painting`; how many borders it has, 0 or less: none."""
    records = _LOOPS["texts"](texts)
    painted = records.tobytes()
    states = [painted[place : place + _STATE.size] for place in range(0, len(painted), _TEXT.size)]
    return states, memoryview(records).cast("i")[15 :: _TEXT.size // 4].tolist()


def replaced(texts: Sequence[int]) -> list[int]:
    """The places of the texts in whose stead something else may have to be read: an ActualText, or too many marks."""
    counts = memoryview(_LOOPS["marks"](texts)).cast("i").tolist()
    if not any(counts):
        return []
    found = _LOOPS["replacements"](texts)
    if max(counts) <= _MARKS and not any(found):
        return []
    each = zip(*[iter(memoryview(found).cast("i"))] * _MARKS, strict=True)
    return [place for place, (count, keys) in enumerate(zip(counts, each, strict=True)) if count > _MARKS or any(keys)]


class Painting(NamedTuple):
    """How a text is painted: `colour` is None where pdfium tells none; `mixed`: by opacity, a mask or a blend mode.

    `least` and `most` are the squares of the smaller and the larger one of width and height of its letters, in the
    space of the form that it is in.
    """

    font: int
    mixed: bool
    colour: Colour | None
    least: float
    most: float


def painting(state: bytes) -> Painting:
    """What a state says."""
    font, mixed, plain, red, green, blue, alpha, size, a, b, c, d = _STATE.unpack(state)
    least, most = sorted((size * size * (a * a + b * b), size * size * (c * c + d * d)))
    return Painting(font, bool(mixed), (red, green, blue, alpha) if plain else None, least, most)


def all_bounds(items: Sequence[int]) -> list[Rectangle]:
    """The box around each, in the space of the form that it is in; nowhere near it, where it has none."""
    return [box[:4] if box[4] else NOWHERE for box in _BOUNDS.iter_unpack(_LOOPS["bounds"](items))]


def may_reach_beyond(items: Sequence[int], box: Rectangle) -> list[bool]:
    """Whether each is not wholly within a box, which is in the space of the form that it is in.

    True also for one that has a width or a height, but not both: letters without outlines are so.
    """
    x0, y0, x1, y1 = box
    return [
        not (has and x0 <= left and y0 <= bottom and right <= x1 and top <= y1) or (left < right) != (bottom < top)
        for left, bottom, right, top, has in _BOUNDS.iter_unpack(_LOOPS["bounds"](items))
    ]


def may_cross_border(texts: Sequence[int], number: int, margin: float) -> list[bool]:
    """Whether each text is not wholly within its border with this number, from 0, but for a margin.

    True also where the border is no upright box, as two opposite ends of four or five tell.
    """
    return [
        not (
            has
            and first
            and third
            and count in _BOX
            and (x0 if x0 < x1 else x1) - margin <= left
            and (y0 if y0 < y1 else y1) - margin <= bottom
            and right <= (x1 if x0 < x1 else x0) + margin
            and top <= (y1 if y0 < y1 else y0) + margin
        )
        for left, bottom, right, top, has, x0, y0, x1, y1, first, third, count in _BORDER.iter_unpack(
            _LOOPS["borders"](texts, number)
        )
    ]
