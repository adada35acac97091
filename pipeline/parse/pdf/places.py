"""The characters of a page that are seen, in the order of its text, each with the box in which it stands."""

from typing import Any, NamedTuple

from pipeline.parse.pdf.drawn.drawing import Budget
from pipeline.parse.pdf.drawn.hidden import find
from pipeline.parse.pdf.drawn.survey import survey
from pipeline.parse.pdf.geometry import Rectangle
from pipeline.parse.pdf.text.arranged import arranged
from pipeline.parse.pdf.text.page import Page
from pipeline.parse.pdf.text.remarks import annotations_of
from pipeline.parse.pdf.text.replaced import other_texts


class Placed(NamedTuple):
    """A character and its box in points of the page; that of a form field's value or a remark is the whole one's."""

    character: str
    box: Rectangle


def placed_characters(page: Page, document: Any, *, layers: bool, drop: bool) -> list[Placed]:
    """The characters of a page, then those of its annotations, as they follow one another in the parsed text.

    `layers`: the document may have any. `drop`: what is hidden has no part in the text, as a job may say.
    """
    found = annotations_of(page, document.formenv, lambda handle: None)
    seen = survey(page.address, page.box(), layers, found.covers)
    seen.strikes = found.strikes
    page.load_text()
    other_texts(page, seen.texts, document, remove=drop)
    hidden = page.text_places(find(page, seen, Budget()).places) if drop and seen.suspects else set[int]()
    text = page.text()
    placed = [
        Placed(text[place], page.box_at(place))
        for piece in arranged(page, seen.layout)
        if not isinstance(piece, str)
        for place in range(*piece)
        if place not in hidden and not text[place].isspace()
    ]
    return placed + [Placed(one, drawn.box) for drawn in found.drawn for one in drawn.text]
