"""How the texts of a page are painted: colour, size, opacity and borders; objects are known by their addresses."""

import ctypes
from collections import deque
from collections.abc import Iterator, Sequence
from ctypes import addressof, c_bool, c_void_p
from struct import Struct
from typing import Any, NamedTuple

from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.geometry import Rectangle
from pipeline.parse.pdf.objects import (
    NOWHERE,
    Colour,
    argument,
    borders_of_text,
    count_points,
    fast,
    point_of,
)

_BOX = frozenset({4, 5})  # segments of a border that may be a box
_BORDERS = 4  # of a text; one with more is looked at singly
_TURNED = 0.02  # of their height by which letters may slant
_MANY = 512  # texts that are asked in one go
_LETTERS = Struct("=4I5f")  # red, green, blue, alpha; the size of the letters; a, b, c, d of their matrix
_SLOT = Struct(f"={_LETTERS.size}s2f")  # what pdfium writes of a text: _LETTERS, and e and f of the matrix
_SIDES = Struct(f"=4f{_SLOT.size - 16}x")  # or its box
_get_font = fast(raw.FPDFTextObj_GetFont, c_void_p)
_get_fill = fast(raw.FPDFPageObj_GetFillColor, c_bool)
_get_size = fast(raw.FPDFTextObj_GetFontSize, None)
_get_matrix = fast(raw.FPDFPageObj_GetMatrix, None)
_get_bounds = fast(raw.FPDFPageObj_GetBounds, c_bool)
_is_mixed = fast(raw.FPDFPageObj_HasTransparency, c_bool)
_memory = ctypes.create_string_buffer(_SLOT.size * _MANY)
_slots = memoryview(_memory)
_FIRST, _SECOND, _THIRD, _FOURTH, _SIZES, _MATRICES = (
    [argument(addressof(_memory) + _SLOT.size * slot + 4 * place) for slot in range(_MANY)] for place in range(6)
)

State = tuple[int | None, bool, bool, bytes]
"""A text's font, whether it is mixed with what is behind it, whether pdfium tells its colour, and its _LETTERS."""


class Painting(NamedTuple):
    """How a text is painted: `colour` is None where pdfium tells none; `mixed`: by opacity, a mask or a blend mode.

    `least` and `most` are the squares of the smaller and the larger one of width and height of its letters, in the
    space of the form that it is in; `upright` is the height, 0 for letters that are turned.
    """

    font: int
    mixed: bool
    colour: Colour | None
    least: float
    most: float
    upright: float


def states_of(texts: Sequence[int]) -> tuple[list[State], list[tuple[float, float]]]:
    """The key of how each text is painted, which texts of the same look share; `painting` takes it apart. And the place
    where each text begins, in the space of the form that it is in."""
    states, places = list[State](), list[tuple[float, float]]()
    for handles in _portions(texts):
        ctypes.memset(_memory, 0, _SLOT.size * len(handles))
        plain = list(map(_get_fill, handles, _FIRST, _SECOND, _THIRD, _FOURTH))
        deque(map(_get_size, handles, _SIZES), 0)
        deque(map(_get_matrix, handles, _MATRICES), 0)
        letters, xs, ys = zip(*_SLOT.iter_unpack(_slots[: _SLOT.size * len(handles)]), strict=True)
        states.extend(zip(map(_get_font, handles), map(_is_mixed, handles), plain, letters, strict=True))
        places.extend(zip(xs, ys, strict=True))
    return states, places


def _portions(texts: Sequence[int]) -> Iterator[list[Any]]:
    """The texts as arguments of pdfium's functions, as many at once as there are slots."""
    return (list(map(argument, texts[start : start + _MANY])) for start in range(0, len(texts), _MANY))


def painting(state: State) -> Painting:
    """The look that a state is the key of."""
    font, mixed, plain, letters = state
    red, green, blue, alpha, size, a, b, c, d = _LETTERS.unpack(letters)
    least, most = sorted((size * size * (a * a + b * b), size * size * (c * c + d * d)))
    upright = size * d if a > 0.0 < d and abs(b) + abs(c) < _TURNED * d else 0.0
    return Painting(font or 0, mixed, (red, green, blue, alpha) if plain else None, least, most, upright)


def boxes_of(items: Sequence[int]) -> list[Rectangle]:
    """The box around each text, in the space of the form that it is in; NOWHERE for one of which pdfium tells none."""
    boxes = list[Rectangle]()
    for handles in _portions(items):
        told = list(map(_get_bounds, handles, _FIRST, _SECOND, _THIRD, _FOURTH))
        sides = _SIDES.iter_unpack(_slots[: _SLOT.size * len(handles)])
        boxes += [box if has_box else NOWHERE for has_box, box in zip(told, sides, strict=True)]
    return boxes


def reach_beyond(texts: Sequence[Rectangle], box: Rectangle) -> list[bool]:
    """Whether each text may reach beyond a box, or has a width or a height but not both: letters without outlines are
    so."""
    x0, y0, x1, y1 = box
    return [
        not (x0 <= left and y0 <= bottom and right <= x1 and top <= y1) or (left < right) != (bottom < top)
        for left, bottom, right, top in texts
    ]


def may_cross_borders(text: int, box: Rectangle, count: int, margin: float) -> bool:
    """Whether a text with a `box` is not wholly within each of its `count` borders, but for a margin.

    True also where a border is no upright box, as two opposite ends of four or five tell, or there are many.
    """
    borders = borders_of_text(text)
    if box == NOWHERE or count > _BORDERS:
        return True
    for number in range(count):
        if count_points(borders, number) not in _BOX:
            return True
        first, third = point_of(borders, number, 0), point_of(borders, number, 2)
        if first is None or third is None:
            return True
        (x0, x1), (y0, y1) = sorted((first[0], third[0])), sorted((first[1], third[1]))
        if not (x0 - margin <= box[0] and y0 - margin <= box[1] and box[2] <= x1 + margin and box[3] <= y1 + margin):
            return True
    return False
