"""The formats that are read: one module each, by media type. What a document is, its bytes decide (sniff.py)."""

from pipeline.openai.line import BATCH_FILE, REQUEST
from pipeline.parse.contract import Marked, Parser, Source
from pipeline.parse.formats import (
    batch,
    csv,
    doc,
    docx,
    eml,
    epub,
    gz,
    html,
    image,
    json,
    mbox,
    md,
    msg,
    odp,
    ods,
    odt,
    p7m,
    pdf,
    ppt,
    pptx,
    rtf,
    sheets,
    tar,
    txt,
    xlsx,
    xml,
    zip,
)

__all__ = ["PARSERS", "Parser", "Source", "marked_as"]

_OFFICE = "application/vnd.openxmlformats-officedocument."
_OASIS = "application/vnd.oasis.opendocument."
PARSERS: dict[str, Parser] = {
    "text/plain": txt,
    "text/markdown": md,
    "application/xml": xml,
    "text/csv": csv,
    "text/tab-separated-values": csv,
    "application/json": json,
    "application/x-ndjson": json,
    BATCH_FILE: batch,
    REQUEST: batch,
    "text/html": html,
    "message/rfc822": eml,
    "application/mbox": mbox,
    "application/pkcs7-mime": p7m,
    "application/zip": zip,
    "application/x-tar": tar,
    "application/gzip": gz,
    "application/x-bzip2": gz,
    "application/x-xz": gz,
    "application/pdf": pdf,
    "application/rtf": rtf,
    **dict.fromkeys(("image/png", "image/jpeg", "image/tiff", "image/webp", "image/gif", "image/bmp"), image),
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
    "application/msword": doc,
    "application/vnd.ms-powerpoint": ppt,
    "application/vnd.ms-outlook": msg,
    "application/epub+zip": epub,
    _OASIS + "text": odt,
    _OASIS + "text-template": odt,
    _OASIS + "text-master": odt,
    _OASIS + "text-web": odt,
    _OASIS + "presentation": odp,
    _OASIS + "presentation-template": odp,
    _OASIS + "graphics": odp,
    _OASIS + "graphics-template": odp,
    _OASIS + "spreadsheet": ods,
    _OASIS + "spreadsheet-template": ods,
}


def marked_as(source: Source) -> str | None:
    """The media type whose module recognises the document by a mark of its own; of several the first of the table."""
    marked = ((kind, module) for kind, module in PARSERS.items() if isinstance(module, Marked))
    return next((kind for kind, module in marked if module.is_mine(source)), None)
