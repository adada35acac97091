"""Letters that stand on one spot: a sign that a font says to be a whole text, or letters drawn over one another.

Of a page's characters every fourth is looked at, for a call of pdfium takes longer than its answer; where two of these
stand as near as a heap's do, all around them are.
"""

import unicodedata
from collections import deque
from collections.abc import Container, Iterator
from ctypes import addressof, c_double
from itertools import repeat, starmap
from operator import sub
from typing import Any

from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.objects import argument, fast
from pipeline.parse.pdf.text.page import Page

_LEAST = 8  # characters; ligatures have up to four, and those of Arabic whole words
_NEAR = 0.25  # points
_STEP = _LEAST // 2  # of _LEAST characters in a row two places are multiples of this
_get_origin = fast(raw.FPDFText_GetCharOrigin, None)  # it fails for no character that there is
_REACH = _STEP * _NEAR
_MANY = 512  # characters that are asked for in one go
_origins = (c_double * (2 * _MANY))()
_XS = [argument(addressof(_origins) + 16 * place) for place in range(_MANY)]
_YS = [argument(addressof(_origins) + 16 * place + 8) for place in range(_MANY)]


def has_heap(page: Page, hidden: Container[int]) -> bool:
    """Whether characters of the page's text, which is loaded, stand on one spot, but for texts that are hidden."""
    for end in _heaps(page):
        heap = range(end - _LEAST + 1, end + 1)
        if page.text_object(end) not in hidden and not any(_joins(page.character(place)) for place in heap):
            return True
    return False


def _heaps(page: Page) -> Iterator[int]:
    """The last places of runs of _LEAST characters that stand on one spot; the runs do not overlap."""
    characters, count = argument(page.characters), page.count_characters()
    if not _may_have_heap(characters, count):
        return
    run, last = 0, (-1e9, -1e9)
    for place in range(count):
        _get_origin(characters, place, _XS[0], _YS[0])
        x, y = _origins[:2]
        run = run + 1 if abs(x - last[0]) + abs(y - last[1]) < _NEAR else 0
        last = x, y
        if run == _LEAST - 1:
            yield place
            run, last = 0, (-1e9, -1e9)


def _may_have_heap(characters: Any, count: int) -> bool:
    """Whether two characters that are _STEP places apart stand so near as if all between them stood on one spot."""
    for start in range(0, count, _STEP * (_MANY - 1)):  # each portion begins with the last one of that before
        places = range(start, min(count, start + _STEP * _MANY), _STEP)
        deque(starmap(_get_origin, zip(repeat(characters), places, _XS, _YS, strict=False)), 0)
        beside = _distances(2 * len(places), 0)
        if min(beside, default=_REACH) >= _REACH:  # on nearly every page: letters stand along a line
            continue
        if any(x + y < _REACH for x, y in zip(beside, _distances(2 * len(places), 1), strict=True)):
            return True
    return False


def _distances(end: int, axis: int) -> list[float]:
    """The distance of each origin that was asked for from the next one, along an axis: 0 beside, 1 above."""
    places = _origins[axis:end:2]
    return list(map(abs, map(sub, places[1:], places)))


def _joins(one: str) -> bool:
    """Whether a character is of a script whose ligatures may be whole words."""
    return unicodedata.bidirectional(one) in {"R", "AL"}
