"""The formats whose pages can be drawn, and what a child answers that was asked for them (messages.py).

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
from pipeline.parse.view.messages import KINDS
from pipeline.parse.view.seen import Pages, PageText, Pixels, Stretch


class Drawable(Protocol):
    """A module for documents whose pages can be drawn."""

    def pages(self, source: Source, texts: Sequence[PageText]) -> Pages: ...
    def pixels(self, source: Source, number: int, width: int) -> Pixels: ...


_MODULES: Mapping[str, Drawable] = {"pdf": pdf, "picture": picture}


def answer(source: Source, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a child; pixels go to the descriptor `source.out`. DocumentError."""
    media_type = source.options.media_type or media_type_of(source)
    if media_type not in KINDS:
        raise DocumentError(Failure.UNSUPPORTED, f"pages of {media_type} are not drawn")
    module = _MODULES[KINDS[media_type]]
    source = replace(source, options=replace(source.options, media_type=media_type))
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
