"""ActualText: what a PDF says is to be read in the place of what it draws (ISO 32000-2, 14.9.4).

It is for hyphens, ligatures and letters without meaning. What has nothing to do with letters that are drawn, and can be
read, is no replacement but another text, which nobody sees.
"""

import ctypes
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import partial
from typing import Any

from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.objects import argument, fast, index
from pipeline.parse.pdf.text.page import Page

_KEY = b"ActualText"
_MARKS = 4  # marks around a text that are looked at, the outermost first; with more it is always read
_FEW = 4  # letters of a replacement that may stand for a sign
_ALIKE = 0.5  # of the letters
_MORE = 8  # letters that are not drawn
_COMPARED = 400  # letters
_MEANINGLESS = {"Cc", "Cn", "Co"}
_count_marks = fast(raw.FPDFPageObj_CountMarks, ctypes.c_int)
_get_mark = fast(raw.FPDFPageObj_GetMark, ctypes.c_void_p)
_type_of = fast(raw.FPDFPageObjMark_GetParamValueType, ctypes.c_int)
_key_buffer = ctypes.create_string_buffer(_KEY)
_KEY_ARGUMENT = argument(ctypes.addressof(_key_buffer))


@dataclass
class _Replacement:
    """A text that stands for `texts`, objects of a page in a row; `drawn` is what these themselves say."""

    value: str
    texts: list[int] = field(default_factory=list)
    drawn: str = ""

    @property
    def is_other_text(self) -> bool:
        """Whether a replacement says something else than letters that can be read."""
        said, drawn = _letters(self.value), _letters(self.drawn)
        if said == drawn or not self.drawn or any(map(_is_meaningless, self.drawn)):
            return False
        common = _common(said, drawn)
        return 2 * common < _ALIKE * (len(said) + len(drawn)) or len(said) - common > max(_MORE, len(said) // 4)


def other_texts(page: Page, texts: Sequence[int], document: Any, *, remove: bool) -> list[str]:
    """The replacements on a page that are other texts; the page's text is loaded anew, without them if `remove`."""
    marks = map(_count_marks, map(argument, texts))
    found = _replacements([item for item, count in zip(texts, marks, strict=True) if _may_be_replaced(item, count)])
    if not found:
        return []
    for one in found:
        _remove(one)
    page.load_text()
    by_text = {item: one for one in found for item in one.texts}
    for place, item in enumerate(page.text_objects()):
        if item in by_text:
            by_text[item].drawn += page.character(place)
    others = [one for one in found if one.is_other_text]
    for one in found:
        if not (remove and one in others):
            _restore(document, one)
    page.load_text()
    return [one.value for one in others]


def _may_be_replaced(text: int, count: int) -> bool:
    """Whether a text may be replaced by another: an ActualText is among its `count` marks, or they are too many."""
    if not 0 < count <= _MARKS:
        return count > _MARKS
    handle = argument(text)
    return any(_type_of(argument(_get_mark(handle, index(place))), _KEY_ARGUMENT) for place in range(count))


def _replacements(texts: Sequence[int]) -> list[_Replacement]:
    found: list[_Replacement] = []
    for item in texts:
        value = next(filter(None, map(_value, reversed(_marks(item)))), "")
        if not found or found[-1].value != value:
            found.append(_Replacement(value))
        found[-1].texts.append(item)
    return [one for one in found if len(_letters(one.value)) >= _FEW]


def _marks(item: int) -> list[Any]:
    text = ctypes.cast(item, raw.FPDF_PAGEOBJECT)
    return [raw.FPDFPageObj_GetMark(text, place) for place in range(raw.FPDFPageObj_CountMarks(text))]


def _value(mark: Any) -> str:
    size = ctypes.c_ulong()
    read = partial(raw.FPDFPageObjMark_GetParamStringValue, mark, _KEY)
    if not read(None, 0, size) or size.value <= 2:
        return ""
    buffer = (ctypes.c_ushort * (size.value // 2))()
    read(buffer, size.value, size)
    return bytes(buffer)[: size.value - 2].decode("utf-16-le", "replace")


def _remove(one: _Replacement) -> None:
    for item in one.texts:
        for mark in _marks(item):
            raw.FPDFPageObjMark_RemoveParam(ctypes.cast(item, raw.FPDF_PAGEOBJECT), mark, _KEY)


def _restore(document: Any, one: _Replacement) -> None:
    data = one.value.encode("utf-16")
    value = (ctypes.c_ubyte * len(data)).from_buffer_copy(data)
    for item in one.texts:
        text = ctypes.cast(item, raw.FPDF_PAGEOBJECT)
        raw.FPDFPageObjMark_SetBlobParam(document, text, _marks(item)[-1], _KEY, value, len(value))


def _common(said: str, drawn: str) -> int:
    """How many letters two texts share, in their order; in any order beyond ASCII, where it may be that of writing."""
    if said.isascii():
        return sum(block.size for block in SequenceMatcher(None, said, drawn, autojunk=False).get_matching_blocks())
    return (Counter(said) & Counter(drawn)).total()


def _letters(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold()
    return "".join(one for one in text if one.isalnum())[:_COMPARED]


def _is_meaningless(one: str) -> bool:
    return one not in "\r\n\t" and unicodedata.category(one) in _MEANINGLESS
