"""The text that elements within a line of OpenDocument stand for: white space, formulas, form fields."""

import re

from lxml import etree

from pipeline.parse.markup.reading import local_name, whole_number
from pipeline.parse.office.odf.document import attribute, full, name_of, named

_WHITE = re.compile("[ \t\r\n]+")
_BLANKS = 100  # the most that one text:s stands for: more have no other meaning
_BETWEEN = {"mfrac": "/", "msup": "^", "msub": "_", "mover": "^", "munder": "_"}
_TICKED = {
    "form:checkbox": ("form:current-state", "form:state"),
    "form:radio": ("form:current-selected", "form:selected"),
}
_NO_TEXT = {"form:password", "form:hidden", "form:properties"}


class Line:
    """The text of a paragraph as it gathers: a run of white space in the XML is one space, and none at either end."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._takes_space = False

    def literal(self, text: str) -> None:
        """Add text of the XML, whose runs of white space are one space each (ODF 1.3, part 3, 6.1.2)."""
        text = _WHITE.sub(" ", text)
        if not self._takes_space:
            text = text.removeprefix(" ")
        if text:
            self._pieces.append(text)
            self._takes_space = text[-1] != " "

    def exact(self, text: str) -> None:
        """Add the text that an element stands for, every character of which counts."""
        if text:
            self._pieces.append(text)
            self._takes_space = True

    def finish(self) -> str:
        """The whole text of the line, without a space at its end that only the XML put there."""
        text = "".join(self._pieces)
        return text if self._takes_space else text.removesuffix(" ")


def blank(element: etree._Element) -> str:
    """The white space that a text:s, text:tab or text:line-break stands for."""
    name = name_of(element.tag)
    if name == "text:s":
        return " " * min(whole_number(attribute(element, "text:c"), 1), _BLANKS)
    return "\t" if name == "text:tab" else "\n"


def formula_text(element: etree._Element) -> str:
    """A formula (MathML) in one line: a fraction as a/b, x^2, x_1; else the source that its annotation gives."""
    text = _mathml(element)
    if text.strip():
        return text
    return " ".join(one.text or "" for one in element.iter(full("math:annotation")))


def _mathml(element: etree._Element) -> str:
    name = local_name(element.tag)
    if name in {"annotation", "annotation-xml"}:
        return ""
    parts = [(element.text or "").strip()]
    for child in element:
        parts.append(_mathml(child))
    return _BETWEEN[name].join(parts[1:]) if name in _BETWEEN else "".join(parts)


def control_text(control: etree._Element) -> str:
    """The text that a form field shows: its value, the chosen entries, a box with or without a tick, its label."""
    name = name_of(control.tag)
    if name in _NO_TEXT:
        return ""
    if name in _TICKED:
        ticked = _first(control, *_TICKED[name]) in {"checked", "true"}
        return f"[{'x' if ticked else ' '}] {attribute(control, 'form:label')}"
    if name == "form:listbox":
        options = control.iter(full("form:option"))
        return "\n".join(attribute(one, "form:label") for one in options if _chosen(one))
    return _first(control, "form:current-value", "form:value", "form:label")


def _chosen(option: etree._Element) -> bool:
    return _first(option, "form:current-selected", "form:selected") == "true"


def _first(element: etree._Element, *names: str) -> str:
    return next((value for name in names if (value := attribute(element, name))), "")


def hides_itself(paragraph: etree._Element) -> bool:
    """Whether a field in a paragraph, and not in a box that hangs on it, hides the whole of it."""
    for mark in named(paragraph, "text:hidden-paragraph"):
        outer = mark.getparent()
        while outer is not None and name_of(outer.tag) not in {"text:p", "text:h"}:
            outer = outer.getparent()
        if outer is paragraph and attribute(mark, "text:is-hidden") == "true":
            return True
    return False
