"""The family of writers: each makes the bytes of one document, the same bytes each time."""

from collections.abc import Callable

from markup import Source

from writers import data, docx, eml, html, pdf, plain, pptx, rtf, xlsx

WRITERS: dict[str, Callable[[Source], bytes]] = {
    "csv": data.write_csv,
    "docx": docx.write,
    "eml": eml.write,
    "html": html.write,
    "json": data.write_json,
    "md": plain.write_md,
    "pdf": pdf.write,
    "pptx": pptx.write,
    "rtf": rtf.write,
    "txt": plain.write_txt,
    "xlsx": xlsx.write,
}
