"""ActualText: what a PDF says is to be read in the place of what it draws (ISO 32000-2, 14.9.4).

It is for hyphens, ligatures and letters without meaning. What has other letters or digits than those that are drawn,
where these can be read, is no replacement but another text, which nobody sees.
"""

import ctypes
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pipeline.parse.pdf.binding import pointer, raw
from pipeline.parse.pdf.objects import argument, fast, index
from pipeline.parse.pdf.text.page import Page
from pipeline.parse.pdf.text.said import folded, is_ligature

_KEY = b"ActualText"
_MARKS = 4  # marks around a text that are looked at, the outermost first; with more it is always read
_MARKED = {b"\xfe\xff": "utf-16-be", b"\xff\xfe": "utf-16-le", b"\xef\xbb\xbf": "utf-8"}
_NUMBER = re.compile(r"-?\d(?:[.,]*\d)*")
_SIGN = 2  # letters by which a font may have a sign, such as a bullet
_COMPARED = 400  # letters
_MEANINGLESS = {"Cc", "Cn", "Co"}
_count_marks = fast(raw.FPDFPageObj_CountMarks, ctypes.c_int)
_get_mark = fast(raw.FPDFPageObj_GetMark, ctypes.c_void_p)
_type_of = fast(raw.FPDFPageObjMark_GetParamValueType, ctypes.c_int)
_key_buffer = ctypes.create_string_buffer(_KEY)
_KEY_ARGUMENT = argument(ctypes.addressof(_key_buffer))


@dataclass
class Replacement:
    """A text that stands for `texts`, objects of a page in a row that are within one `mark`; `drawn` is what these
    themselves say."""

    stored: bytes
    mark: int
    texts: list[int] = field(default_factory=list)
    drawn: str = ""

    @property
    def value(self) -> str:
        """The text that is to be read (ISO 32000-2, 7.9.2.2)."""
        codec = next((codec for mark, codec in _MARKED.items() if self.stored.startswith(mark)), "latin-1")
        return self.stored.decode(codec, "replace").removeprefix("\ufeff")

    @property
    def is_other_text(self) -> bool:
        """Whether a replacement says something else than letters that can be read."""
        if not self.drawn or any(
            one not in "\r\n\t" and unicodedata.category(one) in _MEANINGLESS for one in self.drawn
        ):
            return False
        said, drawn = folded(self.value)[:_COMPARED], folded(self.drawn)[:_COMPARED]
        if _numbers(self.value) != _numbers(self.drawn):
            return True
        if not drawn:
            return bool(said) and not is_ligature(said, self.value)
        if not said:
            return len(drawn) > _SIGN
        return said != drawn and (said.isascii() or Counter(said) != Counter(drawn))


def other_texts(page: Page, texts: Sequence[int], document: Any, *, remove: bool) -> list[Replacement]:
    """The replacements on a page that are other texts; the page's text is loaded anew, without them if `remove`."""
    found: list[Replacement] = []
    for item, count in zip(texts, map(_count_marks, map(argument, texts)), strict=True):
        if not _may_be_replaced(item, count):
            continue
        marks = reversed(_marks(item))
        value, mark = next(((value, pointer(mark)) for mark in marks if (value := _value(mark))), (b"", 0))
        if not found or (found[-1].stored, found[-1].mark) != (value, mark):
            found.append(Replacement(value, mark))
        found[-1].texts.append(item)
    found = [one for one in found if one.stored]
    if not found:
        return []
    by_text = {item: one for one in found for item in one.texts}
    for item in by_text:
        for mark in _marks(item):
            raw.FPDFPageObjMark_RemoveParam(ctypes.cast(item, raw.FPDF_PAGEOBJECT), mark, _KEY)
    page.load_text()
    for place, item in enumerate(page.text_objects()):
        if item in by_text:
            by_text[item].drawn += page.character(place)
    others = [one for one in found if one.is_other_text]
    for item, one in by_text.items():
        if not (remove and one in others):
            stored = (ctypes.c_ubyte * len(one.stored)).from_buffer_copy(one.stored)
            text = ctypes.cast(item, raw.FPDF_PAGEOBJECT)
            raw.FPDFPageObjMark_SetBlobParam(document, text, _marks(item)[-1], _KEY, stored, len(stored))
    page.load_text()
    return others


def _may_be_replaced(text: int, count: int) -> bool:
    """Whether a text may be replaced by another: an ActualText is among its `count` marks, or they are too many."""
    if not 0 < count <= _MARKS:
        return count > _MARKS
    handle = argument(text)
    return any(_type_of(argument(_get_mark(handle, index(place))), _KEY_ARGUMENT) for place in range(count))


def _marks(item: int) -> list[Any]:
    text = ctypes.cast(item, raw.FPDF_PAGEOBJECT)
    return [raw.FPDFPageObj_GetMark(text, place) for place in range(raw.FPDFPageObj_CountMarks(text))]


def _value(mark: Any) -> bytes:
    """The ActualText of a mark as it is stored; b"" where it has none."""
    size = ctypes.c_ulong()
    read = partial(raw.FPDFPageObjMark_GetParamBlobValue, mark, _KEY)
    if not read(None, 0, size) or not size.value:
        return b""
    buffer = (ctypes.c_ubyte * size.value)()
    return bytes(buffer) if read(buffer, size.value, size) else b""


def _numbers(text: str) -> list[str]:
    """The numbers of a text with what is between their digits, and its signs of currencies."""
    text = "".join(unicodedata.normalize("NFKC", text).replace("\u2212", "-").split())
    return _NUMBER.findall(text) + [one for one in text if one == "%" or unicodedata.category(one) == "Sc"]
