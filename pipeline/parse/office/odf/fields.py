"""Fields of OpenDocument (ODF 1.3, part 3, 7) that programs fill in anew: what they show, beside the stored text."""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from lxml import etree

from pipeline.parse.office.cells import reads_as_moment
from pipeline.parse.office.odf.document import OpenDocument, attribute, full, name_of, named
from pipeline.parse.office.word.fields import is_date, is_page, quoted, says

_VALUED = {"text:user-field-get", "text:user-field-input", "text:variable-get", "text:variable-set", "text:expression",
           "text:variable-input", "text:table-formula"}  # fmt: skip
_MOMENTS = {f"text:{kind}{of}" for kind in ("", "creation-", "modification-", "print-") for of in ("date", "time")}
_DESCRIBED = {"text:title": "dc:title", "text:subject": "dc:subject", "text:description": "dc:description"}
_ANEW = {"text:page-number": is_page, "text:page-count": is_page, "text:date": is_date, "text:time": is_date}
FIELDS = {*_VALUED, *_DESCRIBED, *_ANEW, *_MOMENTS, "text:conditional-text", "text:drop-down"}
"""The fields that are compared."""
_PERCENT = 100


def contradictions(element: etree._Element, document: OpenDocument) -> Iterator[str]:
    """Reasons why the text of a field may not be what is shown."""
    name, text = name_of(element.tag), "".join(map(str, element.itertext())).strip()
    if name in _VALUED and attribute(element, "text:display") != "formula":
        yield from _of_value(_holder(element, name, document), text)
    elif name in _DESCRIBED and attribute(element, "text:fixed") != "true":
        described = next((one.text or "" for one in named(document.meta, _DESCRIBED[name])), text)
        yield from _other(described, text)
    elif name in _ANEW and attribute(element, "text:fixed") != "true" and not _ANEW[name](text):
        yield f'a field that is always computed anew has "{quoted(text)}" stored as its text'
    elif name in _MOMENTS and not attribute(element, name + "-adjust"):
        yield from _of_moment(attribute(element, f"text:{name[-4:]}-value"), text)
    elif name == "text:conditional-text":
        current = attribute(element, "text:current-value")
        cases = [current] if current in {"true", "false"} else ["true", "false"]
        yield from _one_of([attribute(element, f"text:string-value-if-{one}") for one in cases], text)
    elif name == "text:drop-down":
        labels = list(named(element, "text:label"))
        chosen = [one for one in labels if attribute(one, "text:current-selected") == "true"]
        yield from _one_of([attribute(one, "text:value") for one in chosen[-1:] or labels], text)


def _holder(element: etree._Element, name: str, document: OpenDocument) -> etree._Element:
    """The element that has the value of a field: its declaration, if it only shows that."""
    if not name.startswith("text:user-field"):
        return element
    wanted = attribute(element, "text:name")
    declared = document.content.iter(full("text:user-field-decl"))
    return next((one for one in declared if attribute(one, "text:name") == wanted), element)


def _of_value(holder: etree._Element, text: str) -> Iterator[str]:
    value, kind = attribute(holder, "office:value"), attribute(holder, "office:value-type")
    if kind in {"date", "time"}:
        yield from _of_moment(attribute(holder, f"office:{kind}-value"), text)
    if kind == "string":
        yield from _other(attribute(holder, "office:string-value") or text, text)
    if kind not in {"float", "currency", "percentage"} or not value:
        return
    try:
        number = Decimal(value) * (_PERCENT if kind == "percentage" else 1)
    except InvalidOperation:
        return
    if number.is_finite() and abs(number.adjusted()) < _PERCENT and not says(text, number):
        yield from _other(f"{number:f}", text)


def _of_moment(value: str, text: str) -> Iterator[str]:
    if value and not reads_as_moment(text, value):
        yield from _other(value, text)


def _one_of(shown: list[str], text: str) -> Iterator[str]:
    if text.split() not in [one.split() for one in shown]:
        yield from _other(" or ".join(shown), text)


def _other(shown: str, text: str) -> Iterator[str]:
    if shown.split() != text.split():
        yield f'a field shows "{quoted(shown)}" by its value, and "{quoted(text)}" is stored as its text'
