"""A page of a PDF by pdfium's handles: pypdfium2's own classes track each one, at the cost of a short page's text."""

import ctypes
from collections.abc import Iterable, Sequence
from ctypes import addressof, c_double, c_int, c_uint, c_void_p
from itertools import compress, count, pairwise, repeat, starmap
from operator import ne
from typing import Any, Self

from pipeline.parse.pdf.binding import pdfium, pointer, raw
from pipeline.parse.pdf.geometry import Rectangle, around
from pipeline.parse.pdf.objects import argument, fast
from pipeline.parse.pdf.text.hyphens import SOFT, with_hyphens

_load_text = fast(raw.FPDFText_LoadPage, c_void_p)
_close_text = fast(raw.FPDFText_ClosePage, None)
_get_text = fast(raw.FPDFText_GetText, c_int)
_text_place = fast(raw.FPDFText_GetTextIndexFromCharIndex, c_int)
_place_of = fast(raw.FPDFText_GetCharIndexFromTextIndex, c_int)
_count_characters = fast(raw.FPDFText_CountChars, c_int)
_is_hyphen = fast(raw.FPDFText_IsHyphen, c_int)
_get_unicode = fast(raw.FPDFText_GetUnicode, c_uint)
_get_object = fast(raw.FPDFText_GetTextObject, c_void_p)
_has_no_mapping = fast(raw.FPDFText_HasUnicodeMapError, c_int)
_get_box = fast(raw.FPDFText_GetCharBox, c_int)
_box = (c_double * 4)()
_sides_of_box = [argument(addressof(_box) + 8 * place) for place in range(4)]
_ROOM = 10_000  # characters of the buffer that most pages fit in
_buffer = ctypes.create_string_buffer(2 * _ROOM)


class Page:
    """The page number `index`, from 0, of a document; a context manager. PdfiumError where it cannot be loaded.

    `handle` is the page for pypdfium2's functions, `address` the same as a number; `characters`, a number too, is its
    text, once that is loaded; `form` is what draws the document's form fields, if it has any.
    """

    def __init__(self, document: Any, index: int) -> None:
        self.handle = _load(document, index)
        left, bottom, right, top = self.box()
        if not (right > left and top > bottom):
            # The crop box lies beyond the media box, which then counts alone (ISO 32000-2, 14.11.2). An empty box is
            # to pdfium as one that is not there; of media boxes without a valid one it makes a Letter page.
            raw.FPDFPage_SetCropBox(self.handle, 0, 0, 0, 0)
            raw.FPDF_ClosePage(self.handle)
            self.handle = _load(document, index)
        self.address = pointer(self.handle)
        self.characters = 0
        self._text: str | None = None
        self.form = document.formenv
        if self.form:
            raw.FORM_OnAfterLoadPage(self.handle, self.form)

    def count_characters(self) -> int:
        """The number of characters in the page's text; they have places from 0."""
        return int(_count_characters(argument(self.characters)))

    def box(self) -> Rectangle:
        """The part of the page that is seen, in points: the crop box within the media box, as pdfium takes them."""
        box = raw.FS_RECTF()
        if not raw.FPDF_GetPageBoundingBox(self.handle, box):
            raise pdfium.PdfiumError("Failed to get page bounding box.")
        return box.left, box.bottom, box.right, box.top

    def load_text(self) -> None:
        """Find the characters of the objects that are active now."""
        self._close_text()
        self.characters = _load_text(argument(self.address)) or 0
        if not self.characters:
            raise pdfium.PdfiumError("Failed to load text page.")

    def text(self) -> str:
        """The text of its characters, with "\\r\\n" at the ends of lines."""
        if self._text is not None:
            return self._text
        characters = argument(self.characters)
        first, end = 0, self.count_characters()
        # Characters at either end that are no part of the text would make pdfium read beyond the others.
        while first < end and _text_place(characters, first) < 0:
            first += 1
        while first < end and _text_place(characters, end - 1) < 0:
            end -= 1
        if first >= end:
            self._text = ""
            return ""
        count = _text_place(characters, end - 1) + 2 - _text_place(characters, first)
        room = max(count, end - first + 1)
        buffer = _buffer if room <= _ROOM else ctypes.create_string_buffer(2 * room)
        written = _get_text(characters, first, end - first, argument(addressof(buffer)))
        text = ctypes.string_at(buffer, 2 * max(0, written - 1)).decode("utf-16-le", "ignore")
        self._text = text
        if SOFT in text:
            boxes = {place: self.box_at(place) for place, one in enumerate(text) if one == SOFT}
            self._text = with_hyphens(text, {place for place, box in boxes.items() if box[2] > box[0]})
        return self._text

    def character(self, place: int) -> str:
        """The character at a place."""
        return chr(_get_unicode(argument(self.characters), place))

    def text_object(self, place: int) -> int:
        """The text in which a character stands; 0 for one that pdfium adds."""
        return _get_object(argument(self.characters), place) or 0

    def text_objects(self) -> list[int]:
        """The text object in which each character stands; 0 for a character that pdfium adds."""
        found = map(_get_object, repeat(argument(self.characters)), range(self.count_characters()))
        return [item or 0 for item in found]

    def text_within(self, box: Rectangle) -> str:
        """The text that stands in a part of the page."""
        buffer, (left, bottom, right, top) = (ctypes.c_ushort * _ROOM)(), box
        count = raw.FPDFText_GetBoundedText(
            ctypes.cast(self.characters, raw.FPDF_TEXTPAGE), left, top, right, bottom, buffer, _ROOM
        )
        return bytes(buffer)[: 2 * max(0, count)].decode("utf-16-le", "replace").rstrip("\0")

    def stretches(self, items: Sequence[int]) -> list[tuple[int, int]]:
        """The places in the page's text from and to which each of these texts reaches; twice the same if nowhere."""
        found = dict[int, tuple[int, int]]()
        objects = self.text_objects()
        borders = [0, *compress(count(1), map(ne, objects, objects[1:])), len(objects)]
        for first, end in pairwise(borders):
            if objects and (item := objects[first]) and (run := self._in_text(first, end)):
                found[item] = (found[item][0], run[1]) if item in found else run
        return [found.get(item, (0, 0)) for item in items]

    def _in_text(self, first: int, end: int) -> tuple[int, int] | None:
        """The place of the first one of these characters in the page's text, and that behind the last one; None where
        they are no part of it."""
        characters = argument(self.characters)
        places = (_text_place(characters, place) for place in range(first, end))
        start = next((place for place in places if place >= 0), -1)
        places = (_text_place(characters, place) for place in range(end - 1, first - 1, -1))
        return None if start < 0 else (start, 1 + next(place for place in places if place >= 0))

    def unmapped(self) -> list[int]:
        """The places of those characters for which their font does not say what they are."""
        characters, number = argument(self.characters), self.count_characters()
        if not any(starmap(_has_no_mapping, zip(repeat(characters, number), range(number), strict=True))):
            return []  # on nearly every page
        return [place for place in range(number) if _has_no_mapping(characters, place) > 0]

    def box_of_character(self, place: int) -> Rectangle:
        """The box around the character at a place, in points of the page."""
        _get_box(argument(self.characters), place, *_sides_of_box)
        left, right, bottom, top = _box
        return left, bottom, right, top

    def item_at(self, text_place: int) -> int:
        """The text object in which the character at a place in the text stands; 0 for one that pdfium adds."""
        characters = argument(self.characters)
        return _get_object(characters, _place_of(characters, text_place)) or 0

    def box_at(self, text_place: int) -> Rectangle:
        """The box around the character at a place in the text, in points of the page."""
        return self.box_of_character(_place_of(argument(self.characters), text_place))

    def next_to_dropped(self, text: str) -> set[int]:
        """The places in its text before and after a character that was left out, as pdfium does with some controls."""
        if self.count_characters() <= len(text):
            return set()
        found, last = set[int](), 0
        for place in map(_text_place, repeat(argument(self.characters)), range(self.count_characters())):
            if place < 0:
                found |= {last, last + 1}
            last = max(last, place)
        return found

    def is_hyphen(self, text_place: int) -> bool:
        """Whether the character at a place in the text divides a word at the end of a line."""
        characters = argument(self.characters)
        return bool(_is_hyphen(characters, _place_of(characters, text_place)) > 0)

    def line_boxes(self) -> list[Rectangle]:
        """The box around each line of its text, in points; of one without letters that of the line before."""
        boxes, start = list[Rectangle](), 0
        for line in self.text().split("\r\n"):
            places = [start + place for place, one in enumerate(line) if not one.isspace()]
            found = [self.box_of_character(_place_of(argument(self.characters), place)) for place in places]
            boxes.append(around(found) if found else boxes[-1] if boxes else self.box())
            start += len(line) + 2
        return boxes

    def text_places(self, places: Iterable[int]) -> set[int]:
        """The places in the page's text at which the characters with these numbers stand."""
        return set(map(_text_place, repeat(argument(self.characters)), places))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close_text()
        if self.form:
            raw.FORM_OnBeforeClosePage(self.handle, self.form)
        raw.FPDF_ClosePage(self.handle)

    def _close_text(self) -> None:
        self._text = None
        if self.characters:
            _close_text(argument(self.characters))
            self.characters = 0


def _load(document: Any, index: int) -> Any:
    handle = raw.FPDF_LoadPage(document, index)
    if not handle:
        raise pdfium.PdfiumError("Failed to load page.")
    return handle
