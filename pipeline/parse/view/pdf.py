"""Pages of a PDF, through pdfium: how large they are, how they look, and where on them their text stands."""

from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source
from pipeline.parse.pdf.binding import opened, pdfium, raw
from pipeline.parse.pdf.drawn.drawing import View, matrix_of, render
from pipeline.parse.pdf.geometry import transformed, wider
from pipeline.parse.pdf.layers import may_have_layers
from pipeline.parse.pdf.pages import placed_characters
from pipeline.parse.pdf.text.page import Page
from pipeline.parse.view.order import places_in
from pipeline.parse.view.rectangles import around
from pipeline.parse.view.seen import MOST_MARKS, MOST_PAGES, Mark, Pages, PageText, Pixels, fitting

_FINE = 10_000  # parts of a page's width and height, in which places on it are told
_MARGIN = 1.5  # points around letters


def pages(source: Source, texts: Sequence[PageText]) -> Pages:
    """The sizes of all pages, and the marks on those whose text is given. DocumentError."""
    with opened(source.data) as document:
        marks = [mark for text in texts for mark in _marks(document, source, text)]
        size, sizes = raw.FS_SIZEF(), list[tuple[float, float]]()
        for index in range(min(len(document), MOST_PAGES)):
            there = raw.FPDF_GetPageSizeByIndexF(document, index, size)
            sizes.append((size.width, size.height) if there else (0.0, 0.0))
        return Pages(tuple(sizes), tuple(marks[:MOST_MARKS]))


def pixels(source: Source, number: int, width: int) -> Pixels:
    """The page `number`, from 1, with its annotations and form fields, `width` pixels across. DocumentError."""
    with opened(source.data) as document:
        try:
            page = Page(document, number - 1)
        except pdfium.PdfiumError as error:
            raise DocumentError(Failure.CORRUPT, f"page {number} is damaged") from error
        with page:
            size = raw.FPDF_GetPageWidthF(page.handle), raw.FPDF_GetPageHeightF(page.handle)
            across, down = fitting(*size, width)
            matrix = matrix_of(page.handle, across, down)
            view = View(page.handle, across, down, matrix, right=across, bottom=down, annotations=True, form=page.form)
            found, stride = render(view, raw.FPDFBitmap_BGRx)
    rows = b"".join(found[at : at + 4 * across] for at in range(0, len(found), stride))
    rgb = bytearray(3 * across * down)
    rgb[0::3], rgb[1::3], rgb[2::3] = rows[2::4], rows[1::4], rows[0::4]
    return Pixels(across, down, bytes(rgb))


def _marks(document: Any, source: Source, text: PageText) -> Iterator[Mark]:
    """The marks on one page; none on a damaged one."""
    try:
        page = Page(document, text.number - 1)
    except pdfium.PdfiumError:
        return
    with page:
        drop = source.options.hidden != "keep"
        placed = placed_characters(page, document, layers=may_have_layers(source.data), drop=drop)
        matrix = matrix_of(page.handle, _FINE, _FINE)
    where = places_in(text.text, "".join(one.character for one in placed))
    for number, start, end in text.stretches:
        boxes = (transformed(wider(placed[at].box, _MARGIN), matrix) for at in where[start:end] if at >= 0)
        for left, top, right, bottom in around(boxes, 0.0, float(_FINE)):
            yield Mark(number, text.number, left / _FINE, top / _FINE, right / _FINE, bottom / _FINE)
