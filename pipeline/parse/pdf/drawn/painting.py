"""How the texts of a page are painted: colour, size, opacity and borders; objects are known by their addresses."""

import ctypes
from collections.abc import Sequence
from ctypes import addressof, c_int, c_void_p
from struct import Struct
from typing import NamedTuple

from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.geometry import Rectangle
from pipeline.parse.pdf.objects import (
    NOWHERE,
    Colour,
    argument,
    borders_of_text,
    bounds_of,
    count_points,
    fast,
    is_mixed,
    point_of,
)

_BOX = frozenset({4, 5})  # segments of a border that may be a box
_LETTERS = Struct("=4I5f")  # red, green, blue, alpha; the size of the letters; a, b, c, d of their matrix
_get_font = fast(raw.FPDFTextObj_GetFont, c_void_p)
_get_fill = fast(raw.FPDFPageObj_GetFillColor, c_int)
_get_size = fast(raw.FPDFTextObj_GetFontSize, c_int)
_get_matrix = fast(raw.FPDFPageObj_GetMatrix, c_int)
_memory = ctypes.create_string_buffer(_LETTERS.size + 8)  # pdfium writes _LETTERS here, and e and f of the matrix
_COLOUR = [argument(addressof(_memory) + 4 * place) for place in range(4)]
_SIZE, _MATRIX = argument(addressof(_memory) + 16), argument(addressof(_memory) + 20)
_letters = memoryview(_memory).cast("B")[: _LETTERS.size]
_NOTHING = bytes(_LETTERS.size)

State = tuple[int, bool, bool, bytes]
"""A text's font, whether it is mixed with what is behind it, whether pdfium tells its colour, and its _LETTERS."""


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


def state_of(text: int) -> State:
    """The key of how a text is painted, which texts of the same look share; `painting` takes it apart."""
    handle = argument(text)
    _letters[:] = _NOTHING
    plain = bool(_get_fill(handle, *_COLOUR))
    _get_size(handle, _SIZE)
    _get_matrix(handle, _MATRIX)
    return _get_font(handle) or 0, is_mixed(text), plain, _letters.tobytes()


def painting(state: State) -> Painting:
    """The look that a state is the key of."""
    font, mixed, plain, letters = state
    red, green, blue, alpha, size, a, b, c, d = _LETTERS.unpack(letters)
    least, most = sorted((size * size * (a * a + b * b), size * size * (c * c + d * d)))
    return Painting(font, mixed, (red, green, blue, alpha) if plain else None, least, most)


def may_reach_beyond(items: Sequence[int], box: Rectangle) -> list[bool]:
    """Whether each text may reach beyond a box, which is in the space of the form that the text is in.

    True also for one that has a width or a height, but not both: letters without outlines are so.
    """
    x0, y0, x1, y1 = box
    return [
        (left, bottom, right, top) == NOWHERE
        or not (x0 <= left and y0 <= bottom and right <= x1 and top <= y1)
        or (left < right) != (bottom < top)
        for left, bottom, right, top in map(bounds_of, items)
    ]


def may_cross_border(text: int, number: int, margin: float) -> bool:
    """Whether a text is not wholly within its border with this number, from 0, but for a margin.

    True also where the border is no upright box, as two opposite ends of four or five tell.
    """
    borders, box = borders_of_text(text), bounds_of(text)
    if box == NOWHERE or count_points(borders, number) not in _BOX:
        return True
    first, third = point_of(borders, number, 0), point_of(borders, number, 2)
    if first is None or third is None:
        return True
    (x0, x1), (y0, y1) = sorted((first[0], third[0])), sorted((first[1], third[1]))
    return not (x0 - margin <= box[0] and y0 - margin <= box[1] and box[2] <= x1 + margin and box[3] <= y1 + margin)
