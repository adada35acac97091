"""What stands on a page as annotations: values of form fields, and remarks; in the page's order, each once."""

from collections.abc import Iterator
from ctypes import c_int
from dataclasses import dataclass
from functools import partial
from typing import Any

from pipeline.parse.pdf.binding import raw, string
from pipeline.parse.pdf.objects import argument, fast
from pipeline.parse.pdf.page import Page

_REMARKS = {raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_HIGHLIGHT, raw.FPDF_ANNOT_UNDERLINE,
            raw.FPDF_ANNOT_STRIKEOUT, raw.FPDF_ANNOT_STAMP, raw.FPDF_ANNOT_CARET}  # fmt: skip
_CHECKED = {raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON}
_UNSEEN = raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW
_MOST = 100_000  # annotations of a page
_OPTIONS = 10_000  # of a list
_count = fast(raw.FPDFPage_GetAnnotCount, c_int)


@dataclass(frozen=True)
class Annotations:
    """Of one page. `hidden` are those that the document marks so; `files` are handles of attached files."""

    shown: list[str]
    hidden: list[str]
    left_out: int


_NONE = Annotations([], [], 0)


def annotations_of(page: Page, form: Any, on_file: Any) -> Annotations:
    """Those of a page; `form`: the document's forms, if it has any; `on_file` is called for each attached file."""
    count = _count(argument(page.address))
    if not count:
        return _NONE
    shown, hidden = dict[str, None](), dict[str, None]()
    for place in range(min(count, _MOST)):
        annotation = raw.FPDFPage_GetAnnot(page.handle, place)
        if not annotation:
            continue
        text = _text_of(annotation, form, on_file)
        (hidden if raw.FPDFAnnot_GetFlags(annotation) & _UNSEEN else shown)[text] = None
        raw.FPDFPage_CloseAnnot(annotation)
    return Annotations([text for text in shown if text], [text for text in hidden if text], max(0, count - _MOST))


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
    value = string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, size))
    if kind == raw.FPDF_FORMFIELD_LISTBOX:
        value = ", ".join(_chosen(annotation, form)) or value
    return f"{name}: {value}" if value.strip() else ""


def _checked(annotation: Any, form: Any, name: str) -> str:
    """ "name: [x]", with the value of it where that says more than yes."""
    if not raw.FPDFAnnot_IsChecked(form, annotation):
        return ""
    value = string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldExportValue(form, annotation, buffer, size))
    return f"{name}: [x]" if value.casefold() in {"", "yes", "on", "1", "true"} else f"{name}: [x] {value}"


def _chosen(annotation: Any, form: Any) -> Iterator[str]:
    for place in range(min(raw.FPDFAnnot_GetOptionCount(form, annotation), _OPTIONS)):
        if raw.FPDFAnnot_IsOptionSelected(form, annotation, place):
            yield string(partial(raw.FPDFAnnot_GetOptionLabel, form, annotation, place))
