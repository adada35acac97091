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
from typing import Any

from pipeline.parse.pdf.binding import pointer, raw
from pipeline.parse.pdf.objects import argument, fast, index, marks_of
from pipeline.parse.pdf.text.page import Page
from pipeline.parse.pdf.text.said import folded, is_ligature

_MARKS = 4  # marks around a text that are looked at, the outermost first; with more it is always read
_MARKED = {b"\xfe\xff": "utf-16-be", b"\xff\xfe": "utf-16-le", b"\xef\xbb\xbf": "utf-8"}
_NUMBER = re.compile(r"-?\d(?:[.,]*\d)*")
_SIGN = 2  # letters by which a font may have a sign, such as a bullet
_COMPARED = 400  # letters
_MEANINGLESS = {"Cc", "Cn", "Co"}
_type_of = fast(raw.FPDFPageObjMark_GetParamValueType, ctypes.c_int)
_get = fast(raw.FPDFPageObjMark_GetParamBlobValue, ctypes.c_int)
_set = fast(raw.FPDFPageObjMark_SetBlobParam, ctypes.c_int)
_remove = fast(raw.FPDFPageObjMark_RemoveParam, ctypes.c_int)
_name = ctypes.create_string_buffer(b"ActualText")
_KEY = argument(ctypes.addressof(_name))


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
    for item in texts:
        marks = marks_of(item)
        if len(marks) <= _MARKS and not any(_type_of(argument(mark), _KEY) for mark in marks):
            continue
        value, mark = next(((value, mark) for mark in reversed(marks) if (value := _value(mark))), (b"", 0))
        if not found or (found[-1].stored, found[-1].mark) != (value, mark):
            found.append(Replacement(value, mark))
        found[-1].texts.append(item)
    found = [one for one in found if one.stored]
    if not found:
        return []
    by_text = {item: one for one in found for item in one.texts}
    for item in by_text:
        for mark in marks_of(item):
            _remove(argument(item), argument(mark), _KEY)
    page.load_text()
    for place, item in enumerate(page.text_objects()):
        if item in by_text:
            by_text[item].drawn += page.character(place)
    others = [one for one in found if one.is_other_text]
    for item, one in by_text.items():
        if not (remove and one in others):
            stored, mark = ctypes.create_string_buffer(one.stored, len(one.stored)), argument(marks_of(item)[-1])
            size = index(len(stored))
            _set(argument(pointer(document)), argument(item), mark, _KEY, argument(ctypes.addressof(stored)), size)
    page.load_text()
    return others


def _value(mark: int) -> bytes:
    """The ActualText of a mark as it is stored; b"" where it has none."""
    size, of_mark = ctypes.c_ulong(), argument(mark)
    length = argument(ctypes.addressof(size))
    if not _get(of_mark, _KEY, None, index(0), length) or not size.value:
        return b""
    buffer = ctypes.create_string_buffer(size.value)
    return buffer.raw if _get(of_mark, _KEY, argument(ctypes.addressof(buffer)), index(size.value), length) else b""


def _numbers(text: str) -> list[str]:
    """The numbers of a text with what is between their digits, and its signs of currencies."""
    text = "".join(unicodedata.normalize("NFKC", text).replace("\u2212", "-").split())
    return _NUMBER.findall(text) + [one for one in text if one == "%" or unicodedata.category(one) == "Sc"]
