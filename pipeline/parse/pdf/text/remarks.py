"""The texts of a page's annotations: values of form fields, and remarks; in the page's order, each once.

Some are seen by nobody: by their flags, by their place, or because what is drawn of them shows nothing.
"""

import re
from collections.abc import Callable
from ctypes import c_float, c_int
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pipeline.parse.pdf.binding import raw, string
from pipeline.parse.pdf.geometry import Rectangle, around_points
from pipeline.parse.pdf.objects import argument, fast
from pipeline.parse.pdf.text.page import Page
from pipeline.parse.pdf.text.said import folded
from pipeline.parse.sight.look import Look

_DRAWN = {raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_FREETEXT}
_REMARKS = {raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_HIGHLIGHT, raw.FPDF_ANNOT_UNDERLINE,
            raw.FPDF_ANNOT_STRIKEOUT, raw.FPDF_ANNOT_STAMP, raw.FPDF_ANNOT_CARET}  # fmt: skip
_BARE = {raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_FILEATTACHMENT}
_CHECKED = {raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON}
_CHOICES = {raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX}
_WRITTEN = {raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX}
_UNSEEN = raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW
_NUMBER = r"\d*\.?\d+"
_SIZE = re.compile(rf"({_NUMBER})\s+Tf")
_COLOUR = re.compile(rf"({_NUMBER}\s+{_NUMBER}\s+{_NUMBER}(?=\s+rg)|{_NUMBER}(?=\s+g\b))")
_ICON = 20.0  # points of the sign for a remark, which has its size whatever its box says
_MOST = 100_000  # annotations of a page
_CLEAR = 0.05  # of opacity
_TAG = re.compile(r"<[^>]*>|&#\d+;")
_OPTIONS = 10_000  # of a list
_count = fast(raw.FPDFPage_GetAnnotCount, c_int)


@dataclass(frozen=True)
class Drawn:
    """A text that stands on the page as the appearance of the annotation with this number, within `box`."""

    number: int
    text: str
    box: Rectangle
    value: str = ""  # what is said of the text that is drawn, if it is a plain one


@dataclass
class Annotations:
    """The annotations of one page: texts `shown`, and texts that nobody sees with the way they are hidden
    (hidden.KINDS).

    `drawn`: those among the shown ones of which the page must tell whether they are seen. `covers`: the boxes of all
    that may be painted over the page. `strikes`: parts of the page that are struck out. `others`: texts that are read,
    each with what is shown in its place. `layered`: some with a text are in layers, of which pdfium does not tell.
    `unsure`: to be sure, more would have to be drawn than is allowed.
    """

    shown: list[str] = field(default_factory=list)
    hidden: dict[str, str] = field(default_factory=dict)
    drawn: list[Drawn] = field(default_factory=list)
    covers: list[Rectangle] = field(default_factory=list)
    strikes: list[Rectangle] = field(default_factory=list)
    others: list[tuple[str, str]] = field(default_factory=list)
    left_out: int = 0
    layered: bool = False
    unsure: bool = False

    def hide(self, text: str, kind: str) -> None:
        """Take a text that was shown for hidden."""
        if text in self.shown:
            self.shown.remove(text)
            self.hidden[text] = kind


def annotations_of(page: Page, form: Any, on_file: Any) -> Annotations:
    """The annotations of a page; `form`: the document's forms, if any; `on_file` is called for each attached file."""
    count = _count(argument(page.address))
    found = Annotations(left_out=max(0, count - _MOST))
    clip = page.box() if count else (0.0, 0.0, 0.0, 0.0)
    for number in range(min(count, _MOST)):
        handle = raw.FPDFPage_GetAnnot(page.handle, number)
        if handle:
            _add(found, _Annotation(handle, form), number, clip, on_file)
            raw.FPDFPage_CloseAnnot(handle)
    found.shown = list(dict.fromkeys(found.shown))
    found.hidden = {text: kind for text, kind in found.hidden.items() if text not in found.shown}
    return found


class _Annotation:
    """One annotation of a page, and what it says of itself; `field` is the kind of form field that it is, if any."""

    def __init__(self, handle: Any, form: Any) -> None:
        self.handle, self._form = handle, form
        self.subtype: int = raw.FPDFAnnot_GetSubtype(handle)
        is_field = self.subtype == raw.FPDF_ANNOT_WIDGET and form is not None
        self.field = raw.FPDFAnnot_GetFormFieldType(form, handle) if is_field else None
        box = raw.FS_RECTF()
        raw.FPDFAnnot_GetRect(handle, box)
        left, right, bottom, top = *sorted((box.left, box.right)), *sorted((box.bottom, box.top))
        self.box: Rectangle = left, bottom, right, top

    def has(self, key: bytes) -> bool:
        """Whether its dictionary has an entry."""
        return bool(raw.FPDFAnnot_HasKey(self.handle, key))

    def string(self, key: bytes) -> str:
        """The text of an entry of its dictionary."""
        return string(partial(raw.FPDFAnnot_GetStringValue, self.handle, key))

    def of_field(self, read: Callable[..., int]) -> str:
        """A text that pdfium tells of a form field."""
        return string(partial(read, self._form, self.handle))

    def is_clear(self) -> bool:
        """Whether it is to be drawn with no opacity."""
        opacity = c_float(1.0)
        return bool(raw.FPDFAnnot_GetNumberValue(self.handle, b"CA", opacity)) and opacity.value <= _CLEAR

    def is_password(self) -> bool:
        """Whether a field shows but signs in place of its value."""
        is_text = self.field == raw.FPDF_FORMFIELD_TEXTFIELD
        flags = raw.FPDFAnnot_GetFormFieldFlags(self._form, self.handle) if is_text else 0
        return bool(flags & raw.FPDF_FORMFLAG_TEXT_PASSWORD)

    def filled_in(self) -> str:
        """What a field of text shows, or one with options: their labels, for its value may be another name of them."""
        count = raw.FPDFAnnot_GetOptionCount(self._form, self.handle) if self.field in _CHOICES else 0
        chosen = [
            string(partial(raw.FPDFAnnot_GetOptionLabel, self._form, self.handle, place))
            for place in range(min(count, _OPTIONS))
            if raw.FPDFAnnot_IsOptionSelected(self._form, self.handle, place)
        ]
        return ", ".join(chosen) or self.of_field(raw.FPDFAnnot_GetFormFieldValue)

    def text(self) -> str:
        """The text that is read: "name: value" of a field, "name: [x]" of a box that is checked, with its value where
        that says more than yes, or a remark."""
        if self.field is None:
            text = self.string(b"Contents") if self.subtype in _REMARKS else ""
            return f"Remark: {text}" if text.strip() else ""
        name = self.of_field(raw.FPDFAnnot_GetFormFieldName)
        if self.field not in _CHECKED:
            value = self.filled_in()
            return f"{name}: {value}" if value.strip() else ""
        if not raw.FPDFAnnot_IsChecked(self._form, self.handle):
            return ""
        value = self.of_field(raw.FPDFAnnot_GetFormFieldExportValue)
        return f"{name}: [x]" if value.casefold() in {"", "yes", "on", "1", "true"} else f"{name}: [x] {value}"

    def value(self) -> str:
        """What it says of the text that is drawn for it; "" for boxes to tick and lists."""
        if self.subtype != raw.FPDF_ANNOT_WIDGET:
            return self.string(b"Contents")
        return self.filled_in() if self.field in _WRITTEN else ""

    def quads(self) -> list[Rectangle]:
        """The boxes around the parts of the page that it is for."""
        found, quad = list[Rectangle](), raw.FS_QUADPOINTSF()
        for place in range(min(raw.FPDFAnnot_CountAttachmentPoints(self.handle), _OPTIONS)):
            if raw.FPDFAnnot_GetAttachmentPoints(self.handle, place, quad):
                corners = (quad.x1, quad.y1), (quad.x2, quad.y2), (quad.x3, quad.y3), (quad.x4, quad.y4)
                found.append(around_points(corners))
        return found

    def look_hides(self, clip: Rectangle) -> str | None:
        """The way in which a text on the page, or the sign for a remark, is hidden by its opacity or its box, or free
        text without an appearance by the size and colour in which it is to be drawn."""
        if self.subtype in _REMARKS and self.is_clear():
            return "invisible"
        (left, bottom, right, top), hides = self.box, None
        if self.subtype == raw.FPDF_ANNOT_TEXT or self.subtype in _DRAWN:
            is_icon = self.subtype == raw.FPDF_ANNOT_TEXT
            wide, high = (_ICON, _ICON) if is_icon else (right - left, top - bottom)
            page = clip[0], clip[1], clip[2] - clip[0], clip[3] - clip[1]
            hides = Look(box=(left, top - high, wide, high), clip=page).hides
        if hides or self.subtype != raw.FPDF_ANNOT_FREETEXT or self.has(b"AP"):
            return hides
        style = self.string(b"DA")
        size, colour = _SIZE.search(style), _COLOUR.search(style)
        parts = [min(round(255 * float(part)), 255) for part in colour[1].split()] if colour else []
        return Look(
            colour=(parts[0], parts[len(parts) // 2], parts[-1]) if parts else None,
            background=None if self.has(b"C") else (255, 255, 255),
            size=float(size[1]) or None if size else None,  # 0: as fits
        ).hides


def _add(found: Annotations, one: _Annotation, number: int, clip: Rectangle, on_file: Any) -> None:
    if one.subtype == raw.FPDF_ANNOT_FILEATTACHMENT:
        on_file(raw.FPDFAnnot_GetFileAttachment(one.handle))
    text, marked = one.text(), bool(raw.FPDFAnnot_GetFlags(one.handle) & _UNSEEN)
    if not marked and one.subtype not in _BARE:
        found.covers.append(one.box)
    if one.subtype == raw.FPDF_ANNOT_STRIKEOUT and not marked and not one.is_clear():
        found.strikes += one.quads() or [one.box]
    if not text:
        return
    hides = "marked_hidden" if marked or one.is_password() else one.look_hides(clip)
    if hides:
        found.hidden[text] = hides
        return
    value = one.value()
    found.shown.append(text)
    found.layered |= one.has(b"OC")
    if one.subtype in _DRAWN and one.has(b"AP"):
        found.drawn.append(Drawn(number, text, one.box, value))
    # the text with markup that programs show in place of the plain one
    rich = _TAG.sub(" ", one.string(b"RV" if one.subtype == raw.FPDF_ANNOT_WIDGET else b"RC"))
    if rich and value and folded(rich) != folded(value):
        found.others.append((value, rich))
