"""The texts of a page's annotations: values of form fields, and remarks; in the page's order, each once.

Some are seen by nobody: by their flags, by their place, or because what is drawn of them shows nothing.
"""

import re
from collections.abc import Iterator
from ctypes import c_float, c_int
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pipeline.parse.pdf.binding import raw, string
from pipeline.parse.pdf.geometry import Rectangle
from pipeline.parse.pdf.objects import argument, fast
from pipeline.parse.pdf.text.page import Page
from pipeline.parse.pdf.text.said import folded
from pipeline.parse.sight.look import Appearance

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
    if not count:
        return Annotations()
    found, clip = Annotations(left_out=max(0, count - _MOST)), page.box()
    for number in range(min(count, _MOST)):
        annotation = raw.FPDFPage_GetAnnot(page.handle, number)
        if not annotation:
            continue
        _add(found, annotation, number, _text_of(annotation, form, on_file), clip, form)
        raw.FPDFPage_CloseAnnot(annotation)
    found.shown = list(dict.fromkeys(found.shown))
    found.hidden = {text: kind for text, kind in found.hidden.items() if text not in found.shown}
    return found


def _add(found: Annotations, annotation: Any, number: int, text: str, clip: Rectangle, form: Any) -> None:
    subtype, box = raw.FPDFAnnot_GetSubtype(annotation), _box_of(annotation)
    marked = bool(raw.FPDFAnnot_GetFlags(annotation) & _UNSEEN)
    if not marked and subtype not in _BARE:
        found.covers.append(box)
    if subtype == raw.FPDF_ANNOT_STRIKEOUT and not marked and not _is_clear(annotation):
        found.strikes += _quads(annotation) or [box]
    if not text:
        return
    marked |= form is not None and _is_password(annotation, form)
    hides = "marked_hidden" if marked else _look_hides(annotation, subtype, box, clip)
    if hides:
        found.hidden[text] = hides
        return
    found.shown.append(text)
    found.layered |= bool(raw.FPDFAnnot_HasKey(annotation, b"OC"))
    if subtype in _DRAWN and raw.FPDFAnnot_HasKey(annotation, b"AP"):
        found.drawn.append(Drawn(number, text, box, _value(annotation, subtype, form)))
    rich, plain = _rich(annotation, subtype), _value(annotation, subtype, form)
    if rich and plain and folded(rich) != folded(plain):
        found.others.append((plain, rich))


def _box_of(annotation: Any) -> Rectangle:
    box = raw.FS_RECTF()
    raw.FPDFAnnot_GetRect(annotation, box)
    left, right, bottom, top = *sorted((box.left, box.right)), *sorted((box.bottom, box.top))
    return left, bottom, right, top


def _look_hides(annotation: Any, subtype: int, box: Rectangle, clip: Rectangle) -> str | None:
    if subtype in _REMARKS and _is_clear(annotation):
        return "invisible"
    return _place_hides(subtype, box, clip) or _style_hides(annotation, subtype)


def _is_clear(annotation: Any) -> bool:
    """Whether an annotation is to be drawn with no opacity."""
    opacity = c_float(1.0)
    return bool(raw.FPDFAnnot_GetNumberValue(annotation, b"CA", opacity)) and opacity.value <= _CLEAR


def _quads(annotation: Any) -> list[Rectangle]:
    """The boxes around the parts of the page that an annotation is for."""
    found, quad = list[Rectangle](), raw.FS_QUADPOINTSF()
    for place in range(min(raw.FPDFAnnot_CountAttachmentPoints(annotation), _OPTIONS)):
        if raw.FPDFAnnot_GetAttachmentPoints(annotation, place, quad):
            xs, ys = (quad.x1, quad.x2, quad.x3, quad.x4), (quad.y1, quad.y2, quad.y3, quad.y4)
            found.append((min(xs), min(ys), max(xs), max(ys)))
    return found


def _value(annotation: Any, subtype: int, form: Any) -> str:
    """What an annotation says of the text that is drawn for it; "" for boxes to tick and lists."""
    if subtype != raw.FPDF_ANNOT_WIDGET:
        return _string(annotation, b"Contents")
    kind = raw.FPDF_FORMFIELD_UNKNOWN if form is None else raw.FPDFAnnot_GetFormFieldType(form, annotation)
    return _filled_in(annotation, form, kind) if kind in _WRITTEN else ""


def _rich(annotation: Any, subtype: int) -> str:
    """The text with markup that programs show in place of the plain one."""
    return _TAG.sub(" ", _string(annotation, b"RV" if subtype == raw.FPDF_ANNOT_WIDGET else b"RC"))


def _string(annotation: Any, key: bytes) -> str:
    return string(lambda buffer, size: raw.FPDFAnnot_GetStringValue(annotation, key, buffer, size))


def _place_hides(subtype: int, box: Rectangle, clip: Rectangle) -> str | None:
    """The way in which a text on the page, or the sign for a remark, is hidden by its box."""
    left, bottom, right, top = box
    width, height = right - left, top - bottom
    if subtype == raw.FPDF_ANNOT_TEXT:
        width = height = _ICON
    elif subtype not in _DRAWN:
        return None
    page = clip[0], clip[1], clip[2] - clip[0], clip[3] - clip[1]
    return Appearance(box=(left, top - height, width, height), clip=page).hides


def _style_hides(annotation: Any, subtype: int) -> str | None:
    """The way in which free text without an appearance is hidden by the size and colour in which it is to be drawn."""
    if subtype != raw.FPDF_ANNOT_FREETEXT or raw.FPDFAnnot_HasKey(annotation, b"AP"):
        return None
    style = string(lambda buffer, size: raw.FPDFAnnot_GetStringValue(annotation, b"DA", buffer, size))
    size = _SIZE.search(style)
    return Appearance(
        colour=_colour_of(style),
        background=None if raw.FPDFAnnot_HasKey(annotation, b"C") else (255, 255, 255),
        size=float(size[1]) or None if size else None,  # 0: as fits
    ).hides


def _colour_of(style: str) -> tuple[int, int, int] | None:
    """The colour of "1 0 0 rg" or "0.5 g" among the operators of a style."""
    found = _COLOUR.search(style)
    if not found:
        return None
    parts = [min(round(255 * float(part)), 255) for part in found[1].split()]
    return parts[0], parts[len(parts) // 2], parts[-1]


def _is_password(annotation: Any, form: Any) -> bool:
    """Whether a field shows but signs in place of its value."""
    if raw.FPDFAnnot_GetFormFieldType(form, annotation) != raw.FPDF_FORMFIELD_TEXTFIELD:
        return False
    return bool(raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & raw.FPDF_FORMFLAG_TEXT_PASSWORD)


def _text_of(annotation: Any, form: Any, on_file: Any) -> str:
    kind = raw.FPDFAnnot_GetSubtype(annotation)
    if kind == raw.FPDF_ANNOT_WIDGET:
        return _field(annotation, form) if form is not None else ""
    if kind == raw.FPDF_ANNOT_FILEATTACHMENT:
        on_file(raw.FPDFAnnot_GetFileAttachment(annotation))
    elif kind in _REMARKS:
        text = string(lambda buffer, size: raw.FPDFAnnot_GetStringValue(annotation, b"Contents", buffer, size))
        return f"Remark: {text}" if text.strip() else ""
    return ""


def _field(annotation: Any, form: Any) -> str:
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    name = string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldName(form, annotation, buffer, size))
    if kind in _CHECKED:
        return _checked(annotation, form, name)
    value = _filled_in(annotation, form, kind)
    return f"{name}: {value}" if value.strip() else ""


def _filled_in(annotation: Any, form: Any, kind: int) -> str:
    """What a field of text shows, or one with options: their labels, for its value may be another name of them."""
    chosen = ", ".join(_chosen(annotation, form)) if kind in _CHOICES else ""
    return chosen or string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, size))


def _checked(annotation: Any, form: Any, name: str) -> str:
    """The text of a box that is checked: "name: [x]", with its value where that says more than yes."""
    if not raw.FPDFAnnot_IsChecked(form, annotation):
        return ""
    value = string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldExportValue(form, annotation, buffer, size))
    return f"{name}: [x]" if value.casefold() in {"", "yes", "on", "1", "true"} else f"{name}: [x] {value}"


def _chosen(annotation: Any, form: Any) -> Iterator[str]:
    for place in range(min(raw.FPDFAnnot_GetOptionCount(form, annotation), _OPTIONS)):
        if raw.FPDFAnnot_IsOptionSelected(form, annotation, place):
            yield string(partial(raw.FPDFAnnot_GetOptionLabel, form, annotation, place))
