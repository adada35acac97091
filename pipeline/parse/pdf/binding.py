"""pdfium: the one place that loads it and opens documents, and what is common to all calls of it.

What is asked of every object of every page is in objects.py.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import c_void_p
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from pypdfium2.version import PYPDFIUM_INFO

from pipeline.errors import DocumentError, Failure

__all__ = ["VERSION", "opened", "pdfium", "raw", "string"]

_LOCKED = {raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY}
VERSION = f"pypdfium2 {PYPDFIUM_INFO.version}"


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


def string(read: Callable[[Any, int], int]) -> str:
    """The text that a function of pdfium writes as UTF-16LE; it returns its size in bytes with the final zero."""
    size = read(None, 0)
    if size <= 2:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    read(buffer, size)
    return bytes(buffer)[: size - 2].decode("utf-16-le", "replace")


def pointer(handle: Any) -> int:
    """The address behind a handle of pypdfium2, to which the handle must be kept."""
    return ctypes.cast(getattr(handle, "raw", handle), c_void_p).value or 0
