"""PDF, through pdfium: page by page the text that is seen, then the values of form fields and remarks."""

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.pdf.attachments import Attachments
from pipeline.parse.pdf.binding import VERSION, opened, pdfium, raw
from pipeline.parse.pdf.outline import Bookmark, bookmarks_of, placed
from pipeline.parse.pdf.pages import PageReader
from pipeline.parse.pdf.text.hyphens import join_words
from pipeline.parse.writer import TextWriter

PARSER = f"pdf/4 {VERSION}"
_XFA = {raw.FORMTYPE_XFA_FULL, raw.FORMTYPE_XFA_FOREGROUND}


def is_mine(source: Source) -> bool:
    """Whether the mark of a PDF is where readers look for it (ISO 32000-1, Annex H, note 13)."""
    return b"%PDF-" in source.data[:1024]


def parse(source: Source, media_type: str) -> Parsed:
    """The document; raises DocumentError."""
    with opened(source.data) as document:
        return _read(document, source, media_type)


def _read(document: pdfium.PdfDocument, source: Source, media_type: str) -> Parsed:
    writer, attachments = source.writer(), Attachments(source.members, source.data)
    pages = PageReader(document, source, writer, attachments)
    for number in range(1, len(document) + 1):
        pages.read(number)
        source.far(number, len(document))
    if len(pages.broken) == len(document):
        told = "its one page cannot" if len(document) == 1 else f"none of its {len(document):,} pages can"
        raise DocumentError(Failure.CORRUPT, f"{told} be read")
    if lacking := pages.needs_ocr():
        raise DocumentError(Failure.NEEDS_OCR, "; ".join([lacking, *source.pictures.reasons()]))
    attachments.add_all(document)
    _write(writer, pages, bookmarks_of(document))
    for doubt in pages.doubts():
        writer.doubt(doubt)
    for contradiction in pages.contradictions():
        writer.review(contradiction)
    notes = pages.notes()
    if document.get_formtype() in _XFA:
        notes.append("it has an XFA form, of which only what stands on its pages was read")
    return finish(source, writer, media_type, PARSER, notes=notes)


def _write(writer: TextWriter, pages: PageReader, bookmarks: dict[int, list[Bookmark]]) -> None:
    texts = join_words(pages.texts)
    for number, (text, remarks) in enumerate(zip(texts, pages.remarks, strict=True)):
        writer.page()
        start = 0
        for place, bookmark in placed(text, bookmarks.get(number, [])):
            writer.line(text[start:place])
            writer.section(bookmark.title, "heading", bookmark.level)
            start = place
        writer.line(text[start:])
        writer.gap()
        for remark in remarks:
            writer.line(remark)
