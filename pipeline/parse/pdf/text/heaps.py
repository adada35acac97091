"""Letters that stand on one spot: a sign that a font says to be a whole text, or letters drawn over one another.

Of a page's characters every fourth is looked at, for a call of pdfium takes longer than its answer; where two of these
stand as near as a heap's do, all around them are.
"""

import unicodedata
from collections import deque
from collections.abc import Container
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
_NOWHERE = (-1e9, -1e9)
_REACH = _STEP * _NEAR
_MANY = 512  # characters that are asked for in one go
_origins = (c_double * (2 * _MANY))()
_XS = [argument(addressof(_origins) + 16 * place) for place in range(_MANY)]
_YS = [argument(addressof(_origins) + 16 * place + 8) for place in range(_MANY)]


def has_heap(page: Page, hidden: Container[int]) -> bool:
    """Whether characters of the page's text, which is loaded, stand on one spot, but for texts that are hidden, and for
    scripts whose ligatures may be whole words."""
    characters, count = argument(page.characters), page.count_characters()
    run, last = 0, _NOWHERE
    for place in range(count if _may_have_heap(characters, count) else 0):
        _get_origin(characters, place, _XS[0], _YS[0])
        x, y = _origins[:2]
        run = run + 1 if abs(x - last[0]) + abs(y - last[1]) < _NEAR else 0
        last = x, y
        if run == _LEAST - 1:
            heap = map(page.character, range(place - run, place + 1))
            joins = any(unicodedata.bidirectional(one) in {"R", "AL"} for one in heap)
            if page.text_object(place) not in hidden and not joins:
                return True
            run, last = 0, _NOWHERE  # runs do not overlap
    return False


def _may_have_heap(characters: Any, count: int) -> bool:
    """Whether two characters that are _STEP places apart stand so near as if all between them stood on one spot."""
    for start in range(0, count, _STEP * (_MANY - 1)):  # each portion begins with the last one of that before
        places = range(start, min(count, start + _STEP * _MANY), _STEP)
        deque(starmap(_get_origin, zip(repeat(characters), places, _XS, _YS, strict=False)), 0)
        xs, ys = ([*_origins[axis : 2 * len(places) : 2]] for axis in (0, 1))
        beside = list(map(abs, map(sub, xs[1:], xs)))
        if min(beside, default=_REACH) >= _REACH:  # on nearly every page: letters stand along a line
            continue
        if any(x + abs(y) < _REACH for x, y in zip(beside, map(sub, ys[1:], ys), strict=False)):
            return True
    return False
