"""The formats that are read: one module each, by media type. What a document is, its bytes decide (sniff.py)."""

from pipeline.parse.formats import csv, docx, eml, html, json, md, pdf, pptx, rtf, sheets, txt, xlsx, xml
from pipeline.parse.formats.base import Parser, Source

__all__ = ["PARSERS", "Parser", "Source"]

_OFFICE = "application/vnd.openxmlformats-officedocument."
PARSERS: dict[str, Parser] = {
    "text/plain": txt,
    "text/markdown": md,
    "application/xml": xml,
    "text/csv": csv,
    "text/tab-separated-values": csv,
    "application/json": json,
    "application/x-ndjson": json,
    "text/html": html,
    "message/rfc822": eml,
    "application/rtf": rtf,
    "application/pdf": pdf,
    _OFFICE + "wordprocessingml.document": docx,
    _OFFICE + "wordprocessingml.template": docx,
    "application/vnd.ms-word.document.macroenabled.12": docx,
    "application/vnd.ms-word.template.macroenabled.12": docx,
    _OFFICE + "presentationml.presentation": pptx,
    _OFFICE + "presentationml.slideshow": pptx,
    _OFFICE + "presentationml.template": pptx,
    "application/vnd.ms-powerpoint.presentation.macroenabled.12": pptx,
    "application/vnd.ms-powerpoint.slideshow.macroenabled.12": pptx,
    _OFFICE + "spreadsheetml.sheet": xlsx,
    _OFFICE + "spreadsheetml.template": xlsx,
    "application/vnd.ms-excel.sheet.macroenabled.12": xlsx,
    "application/vnd.ms-excel.template.macroenabled.12": xlsx,
    "application/vnd.ms-excel.sheet.binary.macroenabled.12": sheets,
    "application/vnd.ms-excel": sheets,
    "application/vnd.oasis.opendocument.spreadsheet": sheets,
}
