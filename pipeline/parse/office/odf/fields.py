"""Fields of OpenDocument (ODF 1.3, part 3, 7) that programs fill in anew: what they show, beside the stored text.

And fields of forms (part 3, 13), which show their value.
"""

from decimal import Decimal, InvalidOperation

from lxml import etree

from pipeline.parse.office.cells import reads_as_moment
from pipeline.parse.office.odf.document import OpenDocument, attribute, full, name_of, named
from pipeline.parse.office.word.fields import is_date, is_page, says
from pipeline.parse.sight.hidden import quoted

_VALUED = {"text:user-field-get", "text:user-field-input", "text:variable-get", "text:variable-set", "text:expression",
           "text:variable-input", "text:table-formula"}  # fmt: skip
_MOMENTS = {f"text:{kind}{of}" for kind in ("", "creation-", "modification-", "print-") for of in ("date", "time")}
_DESCRIBED = {"text:title": "dc:title", "text:subject": "dc:subject", "text:description": "dc:description"}
_ANEW = {"text:page-number": is_page, "text:page-count": is_page, "text:date": is_date, "text:time": is_date}
FIELDS = {*_VALUED, *_DESCRIBED, *_ANEW, *_MOMENTS, "text:conditional-text", "text:drop-down"}
"""The fields that are compared."""
_PERCENT = 100


def contradiction(element: etree._Element, document: OpenDocument) -> str:
    """The reason why the text of a field may not be what is shown; "" for none."""
    name, text = name_of(element.tag), "".join(map(str, element.itertext())).strip()
    shown, is_fixed = [text], attribute(element, "text:fixed") == "true"
    if name in _VALUED and attribute(element, "text:display") != "formula":
        holder = element
        if name.startswith("text:user-field"):  # which only shows what its declaration has
            wanted, declared = attribute(element, "text:name"), document.content.iter(full("text:user-field-decl"))
            holder = next((one for one in declared if attribute(one, "text:name") == wanted), element)
        shown = [_valued(holder, text)]
    elif name in _DESCRIBED and not is_fixed:
        shown = [next((one.text or "" for one in named(document.meta, _DESCRIBED[name])), text)]
    elif name in _ANEW and not is_fixed and not _ANEW[name](text):
        return f'a field that is always computed anew has "{quoted(text)}" stored as its text'
    elif name in _MOMENTS and not attribute(element, name + "-adjust"):
        shown = [_moment(attribute(element, f"text:{name[-4:]}-value"), text)]
    elif name == "text:conditional-text":
        current = attribute(element, "text:current-value")
        cases = [current] if current in {"true", "false"} else ["true", "false"]
        shown = [attribute(element, f"text:string-value-if-{one}") for one in cases]
    elif name == "text:drop-down":
        labels = list(named(element, "text:label"))
        chosen = [one for one in labels if attribute(one, "text:current-selected") == "true"]
        shown = [attribute(one, "text:value") for one in chosen[-1:] or labels]
    either = " or ".join(shown)
    if text.split() in [one.split() for one in (*shown, either)]:
        return ""
    return f'a field shows "{quoted(either)}" by its value, and "{quoted(text)}" is stored as its text'


def _valued(holder: etree._Element, text: str) -> str:
    """What the value of a field shows: the stored text, where that says the same."""
    value, kind = attribute(holder, "office:value"), attribute(holder, "office:value-type")
    if kind in {"date", "time"}:
        return _moment(attribute(holder, f"office:{kind}-value"), text)
    if kind == "string":
        return attribute(holder, "office:string-value") or text
    if kind not in {"float", "currency", "percentage"} or not value:
        return text
    try:
        number = Decimal(value) * (_PERCENT if kind == "percentage" else 1)
    except InvalidOperation:
        return text
    is_usual = number.is_finite() and abs(number.adjusted()) < _PERCENT
    return f"{number:f}" if is_usual and not says(text, number) else text


def _moment(value: str, text: str) -> str:
    return value if value and not reads_as_moment(text, value) else text


_TICKED = {
    "form:checkbox": ("form:current-state", "form:state"),
    "form:radio": ("form:current-selected", "form:selected"),
}


def control_text(control: etree._Element) -> str:
    """The text that a form field shows: its value, the chosen entries, a box with or without a tick, its label."""
    name = name_of(control.tag)
    if name in {"form:password", "form:hidden", "form:properties"}:
        return ""
    if name in _TICKED:
        ticked = _first(control, *_TICKED[name]) in {"checked", "true"}
        return f"[{'x' if ticked else ' '}] {attribute(control, 'form:label')}"
    if name == "form:listbox":
        options, chosen = control.iter(full("form:option")), ("form:current-selected", "form:selected")
        return "\n".join(attribute(one, "form:label") for one in options if _first(one, *chosen) == "true")
    return _first(control, "form:current-value", "form:value", "form:label")


def _first(element: etree._Element, *names: str) -> str:
    return next((value for name in names if (value := attribute(element, name))), "")
