"""The formats whose pages can be drawn, by media type, and the messages between a child and its parent about them.

Pixels go into the file that the parent gave, plain as they are: what a person's browser gets is made of them by the
parent, so that no byte of a stranger's document, and none of a child that it took over, reaches a decoder.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source
from pipeline.parse.sniff import media_type_of
from pipeline.parse.view import pdf, picture
from pipeline.parse.view.seen import MOST_MARKS, MOST_PAGES, MOST_PIXELS, Mark, Pages, PageText, Pixels, Stretch


class Drawable(Protocol):
    """A module for documents whose pages can be drawn."""

    def pages(self, source: Source, texts: Sequence[PageText]) -> Pages: ...
    def pixels(self, source: Source, number: int, width: int) -> Pixels: ...


_PICTURES = ("image/png", "image/jpeg", "image/tiff", "image/webp", "image/gif", "image/bmp")
_DRAWN: Mapping[str, Drawable] = {"application/pdf": pdf, **dict.fromkeys(_PICTURES, picture)}
KINDS: Mapping[str, str] = {"application/pdf": "pdf", **dict.fromkeys(_PICTURES, "picture")}
"""The kinds of documents whose pages can be drawn, by media type."""


class BadPagesError(Exception):
    """The answer of a child about pages is not what it was asked for; for its parent, who trusts it in nothing."""


def ask_pages(texts: Sequence[PageText]) -> dict[str, Any]:
    """The request for the sizes of pages, and for marks."""
    return {"texts": [[one.number, one.text, [list(each) for each in one.stretches]] for one in texts]}


def ask_pixels(number: int, width: int) -> dict[str, Any]:
    """The request for a page as it looks."""
    return {"page": number, "width": width}


def answer(source: Source, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a child; pixels go to the descriptor `source.out`. DocumentError."""
    media_type = source.options.media_type or media_type_of(source)
    if media_type not in _DRAWN:
        raise DocumentError(Failure.UNSUPPORTED, f"pages of {media_type} are not drawn")
    module, source = _DRAWN[media_type], replace(source, options=replace(source.options, media_type=media_type))
    if "texts" in asked:
        texts = [
            PageText(n, text, tuple(Stretch(*each) for each in stretches)) for n, text, stretches in asked["texts"]
        ]
        found = module.pages(source, texts)
        marks = [[m.number, m.page, m.left, m.top, m.right, m.bottom] for m in found.marks]
        return {"media_type": media_type, "sizes": [list(size) for size in found.sizes], "marks": marks}
    drawn = module.pixels(source, asked["page"], asked["width"])
    _write(source.out, drawn.rgb)
    return {"width": drawn.width, "height": drawn.height}


def _write(out: int | None, data: bytes) -> None:
    assert out is not None
    view, at = memoryview(data), 0
    while at < len(view):
        at += os.pwrite(out, view[at:], at)


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
