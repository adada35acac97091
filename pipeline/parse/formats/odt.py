"""OpenDocument text, templates, masters and flat files (ISO/IEC 26300-1, 3.4): everything that a reader sees.

Order: headers, body with its comments, footnotes and endnotes, footers.
"""

from lxml import etree

from pipeline.document import Parsed
from pipeline.parse.contract import Source, finish
from pipeline.parse.markup.reading import LXML
from pipeline.parse.office.odf.document import OpenDocument, attribute, full, named
from pipeline.parse.office.odf.styles import Styles, master_pages
from pipeline.parse.office.odf.text import Flow
from pipeline.parse.office.odf.view import Page, text_page
from pipeline.parse.pictures.shown import Shown
from pipeline.parse.writer import TextWriter

PARSER = f"odt/4 {LXML}"
_FIRST = "Standard"  # the page on which a text begins that names none


def parse(source: Source, media_type: str) -> Parsed:
    """The document; raises DocumentError."""
    document, writer = OpenDocument(source.data, source.members, Shown(source.pictures)), source.writer()
    body = document.body("office:text")
    flow = Flow(writer, document, Styles(document.common, document.content))
    page = text_page(document.common)
    flow.on(page)
    pages = _pages_used(document, body, flow.styles)
    _write_margins(writer, document, pages, ("style:header-first", "style:header", "style:header-left"), page)
    flow.blocks(body)
    flow.write_notes()
    _write_margins(writer, document, pages, ("style:footer-first", "style:footer", "style:footer-left"), page)
    document.refuse_pictures_alone(writer, "it holds")
    return finish(source, writer, media_type, PARSER, notes=document.notes())


def _pages_used(document: OpenDocument, body: etree._Element, styles: Styles) -> list[etree._Element]:
    """The master pages on which text stands: the first, those that paragraphs and tables begin, and what follows on."""
    pages = {attribute(page, "style:name"): page for page in master_pages(document.common)}
    used = dict.fromkeys([_FIRST if _FIRST in pages else next(iter(pages), "")])
    for family, kind, name in (("paragraph", "text:p", "text:style-name"), ("paragraph", "text:h", "text:style-name"),
                               ("table", "table:table", "table:style-name")):  # fmt: skip
        for style in dict.fromkeys(attribute(element, name) for element in named(body, kind)):
            used |= dict.fromkeys([styles.value(family, style, "", "style:master-page-name") or ""])
    queue = list(used)
    for page in queue:  # grows while it is read
        follower = attribute(pages[page], "style:next-style-name") if page in pages else ""
        if follower not in used:
            used[follower] = None
            queue.append(follower)
    return [pages[page] for page in queue if page in pages]


def _write_margins(
    writer: TextWriter, document: OpenDocument, pages: list[etree._Element], kinds: tuple[str, ...], page: Page
) -> None:
    """Write headers or footers, each text once."""
    seen = set[str]()
    styles = Styles(document.common, document.common)
    for margin in (margin for one in pages for kind in kinds for margin in one.iterchildren(full(kind))):
        if attribute(margin, "style:display") == "false":
            continue
        inner = writer.inner()
        flow = Flow(inner, document, styles)
        flow.on(page)
        flow.blocks(margin)
        flow.write_notes()
        text, _ = inner.finish()
        if text not in seen:
            writer.block(text)
        seen.add(text)
