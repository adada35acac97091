"""OpenDocument presentations and drawings (ISO/IEC 26300-1, 3.5 and 3.6): slides in order, each with its notes.

What stands on the page behind the slides, and is no placeholder, is written with the first slide that shows it.
"""

from functools import partial

from lxml import etree

from pipeline.document import Parsed
from pipeline.parse.contract import Source, finish
from pipeline.parse.markup.reading import LXML
from pipeline.parse.office.odf.document import OpenDocument, attribute, full
from pipeline.parse.office.odf.styles import Styles, master_pages
from pipeline.parse.office.odf.text import Flow
from pipeline.parse.office.odf.view import Page, slide_page
from pipeline.parse.pictures.shown import Shown
from pipeline.parse.sight.colours import WHITE
from pipeline.parse.writer import TextWriter, one_line

PARSER = f"odp/5 {LXML}"
_FURNITURE = {"header", "footer", "date-time", "page-number", "page"}  # what the program itself puts on each page
_DECLARED = {"presentation:use-footer-name": "presentation:footer-decl",
             "presentation:use-date-time-name": "presentation:date-time-decl"}  # fmt: skip


def parse(source: Source, media_type: str) -> Parsed:
    """The presentation or drawing; a slide is a page. Raises DocumentError."""
    document, writer = OpenDocument(source.data, source.members, Shown(source.pictures)), source.writer()
    kind = "drawing" if "graphics" in media_type else "presentation"
    slides = _Slides(writer, document, document.body(f"office:{kind}"))
    slides.write("slide" if kind == "presentation" else "page")
    document.refuse_pictures_alone(writer, "its slides hold")
    return finish(source, writer, media_type, PARSER, notes=document.notes())


class _Slides:
    def __init__(self, writer: TextWriter, document: OpenDocument, body: etree._Element) -> None:
        self._flow = Flow(writer, document, Styles(document.common, document.content))
        self._behind = Flow(writer, document, Styles(document.common, document.common))
        self._body = body
        self._common = document.common
        self._masters = {attribute(page, "style:name"): page for page in master_pages(document.common)}

    def write(self, kind: str) -> None:
        """Write each slide as a page; a hidden one is an empty page, by the job's rule."""
        writer = self._flow.writer
        for slide in self._body.iterchildren(full("draw:page")):
            page = slide_page(self._flow.styles, self._flow.looks, self._common, slide)
            self._flow.on(page)
            self._behind.on(page)
            if self._says(slide, "presentation:visibility") == "hidden":
                writer.page()
                self._flow.hidden("hidden_slide", partial(self._write, slide))
            else:
                writer.page(_title(self._flow, slide), kind)
                self._write(slide)
                self._write_behind(slide)

    def _says(self, slide: etree._Element, wanted: str) -> str | None:
        style = attribute(slide, "draw:style-name")
        return self._flow.styles.value("drawing-page", style, "style:drawing-page-properties", wanted)

    def _write(self, slide: etree._Element) -> None:
        self._flow.blocks(slide)
        for use, declaration in _DECLARED.items():
            wanted = attribute(slide, use)
            for declared in self._body.iterchildren(full(declaration)) if wanted else ():
                if attribute(declared, "presentation:name") == wanted:
                    self._flow.writer.block(declared.text or "")
        for notes in slide.iterchildren(full("presentation:notes")):
            page = self._flow.page
            self._flow.on(Page(ground=WHITE))  # notes stand on a page of their own
            text = self._flow.text_of(partial(_write_notes, self._flow, notes))
            self._flow.on(page)
            self._flow.writer.block(f"Notes: {text}" if text else "")
        self._flow.write_notes()

    def _write_behind(self, slide: etree._Element) -> None:
        """Write the shapes of the master page that are no placeholders, with the first slide that shows them."""
        if self._says(slide, "presentation:background-objects-visible") == "false":
            return
        for shape in self._masters.pop(attribute(slide, "draw:master-page-name"), ()):
            if not attribute(shape, "presentation:class"):
                self._behind.block(shape)


def _title(flow: Flow, page: etree._Element) -> str:
    for frame in page.iterchildren(full("draw:frame")):
        if attribute(frame, "presentation:class") == "title":
            return one_line((aside := flow.aside(flow.styles)).text_of(partial(aside.block, frame)))
    return ""


def _write_notes(flow: Flow, notes: etree._Element) -> None:
    for shape in notes:
        if attribute(shape, "presentation:class") not in _FURNITURE:
            flow.block(shape)
