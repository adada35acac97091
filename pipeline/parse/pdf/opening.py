"""Opening a PDF: what locks it, and what is no PDF, is the failure of the document."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pipeline.errors import DocumentError, Failure
from pipeline.parse.pdf.binding import pdfium, raw

_LOCKED = {raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY}


@contextmanager
def opened(data: bytes) -> Iterator[Any]:
    """The document, with its form; raises DocumentError. One whose user password is empty opens as every reader opens
    it."""
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if error.err_code in _LOCKED:
            raise DocumentError(Failure.ENCRYPTED, "a PDF with a password") from error
        raise DocumentError(Failure.CORRUPT, f"not a readable PDF: {error}") from error
    try:
        if document.get_formtype() != raw.FORMTYPE_NONE:
            document.init_forms()
        yield document
    finally:
        document.close()
