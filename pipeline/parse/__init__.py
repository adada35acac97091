"""Documents in, text out: parsers run in child processes with limits, and a bad document is only its own failure."""

from pipeline.parse.limits import Limits
from pipeline.parse.ocr.tesseract import PageReader, StoppedError, Tesseract, find_tesseract
from pipeline.parse.options import Far, Options, nowhere
from pipeline.parse.pool import NotIsolatedError, ParserPool
from pipeline.parse.sight.hidden import KINDS
from pipeline.parse.view.seen import Mark

__all__ = [
    "KINDS",
    "Far",
    "Limits",
    "Mark",
    "NotIsolatedError",
    "Options",
    "PageReader",
    "ParserPool",
    "StoppedError",
    "Tesseract",
    "find_tesseract",
    "nowhere",
]
