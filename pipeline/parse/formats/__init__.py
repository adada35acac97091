"""The formats that are read: one module each, by media type. What a document is, its bytes decide (sniff.py)."""

from functools import cache

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
    ics,
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
    tnef,
    txt,
    vcf,
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
    "application/ms-tnef": tnef,
    "text/calendar": ics,
    "text/vcard": vcf,
    "application/zip": zip,
    "application/x-tar": tar,
    **dict.fromkeys(("application/gzip", "application/x-bzip2", "application/x-xz"), gz),
    "application/pdf": pdf,
    "application/rtf": rtf,
    **{
        f"image/{kind}": image
        for kind in ("png", "jpeg", "tiff", "webp", "gif", "bmp", "jp2", "avif", "x-tga", "x-portable-anymap")
    },
    **{f"{_OFFICE}wordprocessingml.{kind}": docx for kind in ("document", "template")},
    **{f"application/vnd.ms-word.{kind}.macroenabled.12": docx for kind in ("document", "template")},
    **{f"{_OFFICE}presentationml.{kind}": pptx for kind in ("presentation", "slideshow", "template")},
    **{f"application/vnd.ms-powerpoint.{kind}.macroenabled.12": pptx for kind in ("presentation", "slideshow")},
    **{f"{_OFFICE}spreadsheetml.{kind}": xlsx for kind in ("sheet", "template")},
    **{f"application/vnd.ms-excel.{kind}.macroenabled.12": xlsx for kind in ("sheet", "template")},
    "application/vnd.ms-excel.sheet.binary.macroenabled.12": sheets,
    "application/vnd.ms-excel": sheets,
    "application/msword": doc,
    "application/vnd.ms-powerpoint": ppt,
    "application/vnd.ms-outlook": msg,
    "application/epub+zip": epub,
    **{_OASIS + kind: odt for kind in ("text", "text-template", "text-master", "text-web")},
    **{_OASIS + kind: odp for kind in ("presentation", "presentation-template", "graphics", "graphics-template")},
    **{_OASIS + kind: ods for kind in ("spreadsheet", "spreadsheet-template")},
}


def marked_as(source: Source) -> str | None:
    """The media type whose module recognises the document by a mark of its own; of several the first of the table."""
    return next((kind for kind in PARSERS if (module := _marked(kind)) and module.is_mine(source)), None)


@cache
def _marked(kind: str) -> Marked | None:
    """The module of a kind, if it recognises its documents itself; to ask each for each document takes time."""
    module = PARSERS[kind]
    return module if isinstance(module, Marked) else None
