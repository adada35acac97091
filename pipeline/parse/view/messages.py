"""The messages between a child that draws pages and its parent, as the parent makes and reads them.

It trusts an answer in nothing, and loads no parser.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.parse.view.seen import MOST_MARKS, MOST_PAGES, MOST_PIXELS, Mark, Pages, PageText, Pixels

_PICTURES = ("image/png", "image/jpeg", "image/tiff", "image/webp", "image/gif", "image/bmp")
KINDS: Mapping[str, str] = {"application/pdf": "pdf", **dict.fromkeys(_PICTURES, "picture")}
"""The kinds of documents whose pages can be drawn, by media type."""


class BadPagesError(Exception):
    """The answer of a child about pages is not what it was asked for; for its parent, who trusts it in nothing."""


def ask_pages(texts: Sequence[PageText]) -> dict[str, Any]:
    """The request for the sizes of pages, and for marks."""
    return {"texts": texts}


def ask_pixels(number: int, width: int) -> dict[str, Any]:
    """The request for a page as it looks."""
    return {"page": number, "width": width}


def parse_pages(message: Mapping[str, Any], texts: Sequence[PageText]) -> Pages:
    """Read the answer to `ask_pages`. BadPagesError."""
    try:
        sizes, marks = message["sizes"], message["marks"]
        if len(sizes) > MOST_PAGES or len(marks) > MOST_MARKS:
            raise BadPagesError("too many pages or marks")
        known = {(text.number, each.number) for text in texts for each in text.stretches}
        where = tuple((_real(across), _real(down)) for across, down in sizes)
        return Pages(where, tuple(_mark(mark, known) for mark in marks), KINDS[message["media_type"]])
    except (KeyError, TypeError, ValueError) as error:
        raise BadPagesError(f"not pages: {error}") from error


def parse_pixels(message: Mapping[str, Any], out: int) -> Pixels:
    """Read the answer to `ask_pixels`, and what lies in `out`. BadPagesError."""
    width, height = message.get("width"), message.get("height")
    if type(width) is not int or type(height) is not int or width < 1 or height < 1 or width * height > MOST_PIXELS:
        raise BadPagesError("not a number of pixels that a page may have")
    rgb = os.pread(out, 3 * width * height, 0)
    if len(rgb) != 3 * width * height:
        raise BadPagesError("not as many pixels as it says")
    return Pixels(width, height, rgb)


def _mark(value: Sequence[Any], known: set[tuple[int, int]]) -> Mark:
    number, page, *sides = value
    if (page, number) not in known or len(sides) != 4 or not all(0.0 <= _real(side) <= 1.0 for side in sides):
        raise BadPagesError("a mark on no page, or of nothing that was looked for")
    return Mark(number, page, *map(float, sides))


def _real(value: Any) -> float:
    if type(value) not in (int, float) or not 0.0 <= value <= 1e9:  # NaN is in no interval
        raise BadPagesError("not a length")
    return float(value)
