"""PDF, through pdfium: page by page the text, then the values of form fields and the notes that stand on the page."""

import ctypes
import re
from collections.abc import Callable
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from pypdfium2.version import PYPDFIUM_INFO

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.formats.base import Source, finish
from pipeline.parse.hyphens import join_words
from pipeline.parse.writer import TextWriter

PARSER = f"pdf/1 pypdfium2 {PYPDFIUM_INFO.version}"
_LOCKED = {raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY}
_REMARKS = {raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_HIGHLIGHT, raw.FPDF_ANNOT_UNDERLINE,
            raw.FPDF_ANNOT_STRIKEOUT, raw.FPDF_ANNOT_STAMP, raw.FPDF_ANNOT_CARET}  # fmt: skip
_IMAGE_DEPTH = 8  # forms within forms that are searched for images


def parse(source: Source, media_type: str) -> Parsed:
    """The document; raises DocumentError. One whose user password is empty opens as every reader opens it."""
    try:
        document = pdfium.PdfDocument(source.data)
    except pdfium.PdfiumError as error:
        if error.err_code in _LOCKED:
            raise DocumentError(Failure.ENCRYPTED, "a PDF with a password") from error
        raise DocumentError(Failure.CORRUPT, f"not a readable PDF: {error}") from error
    try:
        return _Reading(document, source).parsed(media_type)
    finally:
        document.close()


class _Reading:
    """One document being read."""

    def __init__(self, document: pdfium.PdfDocument, source: Source) -> None:
        self._document = document
        self._source = source
        self._texts: list[str] = []
        self._remarks: list[list[str]] = []
        self._broken: list[int] = []
        self._images: list[int] = []

    def parsed(self, media_type: str) -> Parsed:
        """Every page read and written."""
        if self._document.get_formtype() != raw.FORMTYPE_NONE:
            self._document.init_forms()
        pages = len(self._document)
        for number in range(1, pages + 1):
            self._read_page(number)
        if pages == 0 or len(self._broken) == pages:
            raise DocumentError(Failure.CORRUPT, f"none of its {pages} pages can be read")
        writer = self._written()
        if not writer.length and self._images:
            raise DocumentError(Failure.NEEDS_OCR, f"its {pages} pages are images without text")
        return finish(self._source, writer, media_type, PARSER, notes=self._notes())

    def _read_page(self, number: int) -> None:
        try:
            page = self._document[number - 1]
        except pdfium.PdfiumError:
            self._broken.append(number)
            self._texts.append("")
            self._remarks.append([])
            return
        text = _text_of(page)
        remarks = _remarks_of(page, self._document.formenv)
        if not text.strip() and not remarks and _has_image(page):
            self._images.append(number)
        self._texts.append(text)
        self._remarks.append(remarks)
        page.close()

    def _written(self) -> TextWriter:
        writer = self._source.writer()
        for text, remarks in zip(join_words(self._texts), self._remarks, strict=True):
            writer.page()
            writer.line(text)
            writer.gap()
            for remark in remarks:
                writer.line(remark)
        return writer

    def _notes(self) -> list[str]:
        notes = []
        if self._images:
            notes.append(f"images without text, not read: {_pages(self._images)}")
        if self._broken:
            notes.append(f"damaged, not read: {_pages(self._broken)}")
        for place in range(self._document.count_attachments()):
            notes.append(f"attachment not read: {self._document.get_attachment(place).get_name()}")
        if self._document.get_formtype() in {raw.FORMTYPE_XFA_FULL, raw.FORMTYPE_XFA_FOREGROUND}:
            notes.append("it has an XFA form, of which only what stands on its pages was read")
        return notes


def _pages(numbers: list[int]) -> str:
    """ "page 3", "pages 2, 5-9" """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"{'page' if len(numbers) == 1 else 'pages'} {shown}"


def _text_of(page: pdfium.PdfPage) -> str:
    textpage = page.get_textpage()
    text: str = textpage.get_text_range()
    textpage.close()
    return re.sub(r"(?<![ \t])[ \t]+(?=\r?\n)", "", text)


def _has_image(page: pdfium.PdfPage) -> bool:
    return any(True for _ in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=_IMAGE_DEPTH))


def _remarks_of(page: pdfium.PdfPage, form: pdfium.PdfFormEnv | None) -> list[str]:
    """Form fields as "name: value" and remarks, in the page's order, each once."""
    found = dict[str, None]()
    for place in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, place)
        if annotation:
            found[_remark(annotation, form)] = None
            raw.FPDFPage_CloseAnnot(annotation)
    return [remark for remark in found if remark]


def _remark(annotation: raw.FPDF_ANNOTATION, form: pdfium.PdfFormEnv | None) -> str:
    kind = raw.FPDFAnnot_GetSubtype(annotation)
    if kind == raw.FPDF_ANNOT_WIDGET and form is not None:
        return _field(annotation, form)
    if kind in _REMARKS:
        text = _string(lambda buffer, size: raw.FPDFAnnot_GetStringValue(annotation, b"Contents", buffer, size))
        return f"Remark: {text}" if text.strip() else ""
    return ""


def _field(annotation: raw.FPDF_ANNOTATION, form: pdfium.PdfFormEnv) -> str:
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    name = _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldName(form, annotation, buffer, size))
    if kind in {raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON}:
        return f"{name}: [x]" if raw.FPDFAnnot_IsChecked(form, annotation) else ""
    value = _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, size))
    return f"{name}: {value}" if value.strip() else ""


def _string(read: Callable[[Any, int], int]) -> str:
    """What a function of pdfium writes as UTF-16LE into a buffer; it returns the size in bytes with the final zero."""
    size = read(None, 0)
    if size <= 2:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    read(buffer, size)
    return bytes(buffer)[: size - 2].decode("utf-16-le", "replace")
