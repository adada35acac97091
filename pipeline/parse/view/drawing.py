"""The formats whose pages can be drawn, and what a child answers that was asked for them (messages.py).

Pixels go into the file that the parent gave, plain as they are: what a person's browser gets is made of them by the
parent, so that no byte of a stranger's document, and none of a child that it took over, reaches a decoder.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source
from pipeline.parse.sniff import media_type_of
from pipeline.parse.view import pdf, picture
from pipeline.parse.view.messages import KINDS
from pipeline.parse.view.seen import Pages, PageText, Pixels, Stretch

_PAGES: Mapping[str, Callable[[Source, Sequence[PageText]], Pages]] = {"pdf": pdf.pages, "picture": picture.pages}
_PIXELS: Mapping[str, Callable[[Source, int, int], Pixels]] = {"pdf": pdf.pixels, "picture": picture.pixels}


def answer(source: Source, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a child; pixels go to the descriptor `source.out`. DocumentError."""
    media_type = source.options.media_type or media_type_of(source)
    if media_type not in KINDS:
        raise DocumentError(Failure.UNSUPPORTED, f"pages of {media_type} are not drawn")
    source = replace(source, options=replace(source.options, media_type=media_type))
    if "texts" in asked:
        texts = [PageText(n, text, tuple(Stretch(*one) for one in stretches)) for n, text, stretches in asked["texts"]]
        found = _PAGES[KINDS[media_type]](source, texts)
        return {"media_type": media_type, "sizes": found.sizes, "marks": found.marks}
    drawn = _PIXELS[KINDS[media_type]](source, asked["page"], asked["width"])
    assert source.out is not None
    view, at = memoryview(drawn.rgb), 0
    while at < len(view):
        at += os.pwrite(source.out, view[at:], at)
    return {"width": drawn.width, "height": drawn.height}
