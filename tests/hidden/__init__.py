"""Ways to hide text from people but not from programs, by format: what `hidden: drop` must find."""

from collections.abc import Callable

from tests.hidden import characters, docx, html, odf, pdf, pptx, rtf, xlsx
from tests.hidden.base import Technique

FAMILIES: dict[str, Callable[[], list[Technique]]] = {
    "docx": docx.techniques,
    "pptx": pptx.techniques,
    "xlsx": xlsx.techniques,
    "html": html.techniques,
    "pdf": pdf.techniques,
    "odf": odf.techniques,
    "rtf": rtf.techniques,
    "characters": characters.techniques,
}
"""The techniques of each format, built when they are asked for; their names are unique within a family."""
