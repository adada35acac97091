"""pdfium: the one place that loads it, and what is common to all calls of it.

What is asked of every object of every page is in objects.py.
"""

import ctypes
from collections.abc import Callable
from ctypes import c_void_p
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from pypdfium2.version import PYPDFIUM_INFO

__all__ = ["VERSION", "pdfium", "raw", "string"]

VERSION = f"pypdfium2 {PYPDFIUM_INFO.version}"


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
