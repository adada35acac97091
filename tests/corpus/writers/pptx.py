"""Slides: each heading of the first level begins one; `> ` lines are the speaker's notes."""

import io
from datetime import datetime

import pptx
from markup import Block, Source
from pptx.slide import Slide
from pptx.util import Inches

from writers.zipped import repack


def write(source: Source) -> bytes:
    """The body as PPTX."""
    deck = pptx.Presentation()
    properties = deck.core_properties
    properties.title, properties.author = source.headers["Title"], source.headers["Author"]
    properties.created = properties.modified = datetime.fromisoformat(source.headers["Date"])
    for block in source.blocks:
        if block.kind == "heading":
            slide = deck.slides.add_slide(deck.slide_layouts[1])
            slide.shapes.title.text = block.text
        else:
            _add(slide, block)
    out = io.BytesIO()
    deck.save(out)
    return repack(out.getvalue())


def _add(slide: Slide, block: Block) -> None:
    if block.kind == "lines":
        slide.notes_slide.notes_text_frame.text = block.text
    elif block.kind == "table":
        _add_table(slide, block.rows)
    else:
        frame = slide.placeholders[1].text_frame
        text = "\n".join(block.lines) if block.kind == "items" else block.text
        frame.text = f"{frame.text}\n{text}".strip()


def _add_table(slide: Slide, rows: list[list[str]]) -> None:
    box = Inches(0.6), Inches(4.4), Inches(8.8), Inches(0.4 * len(rows))
    table = slide.shapes.add_table(len(rows), len(rows[0]), *box).table
    for y, cells in enumerate(rows):
        for x, text in enumerate(cells):
            table.cell(y, x).text = text
