"""Formulas of RTF 1.9.1: their groups are elements of Office Math, with an m before the names of these."""

import re

from lxml import etree

from pipeline.parse.markup.formula import formula_text

_DEEPEST = 100
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def begun(word: str, own: etree._Element | None, outer: etree._Element | None) -> etree._Element | None:
    """The part of a formula that a group is after a control word; `own` and `outer` are its part and the one around."""
    if own is None:
        return etree.Element("oMath") if word == "moMath" else None
    deep = sum(1 for _ in own.iterancestors())
    if own is not outer or deep >= _DEEPEST:
        return own  # what follows the first word is a property
    return etree.SubElement(own, word[1:] or "r")


def add_text(part: etree._Element, text: str) -> None:
    """Add text to a part of a formula; that of a sign, such as a bracket, is its value."""
    text = _NO_XML.sub("", text)
    if part.tag.endswith("hr"):
        part.set("val", part.get("val", "") + text)
        return
    if not len(part) or part[-1].tag != "t":
        etree.SubElement(part, "t")
    part[-1].text = (part[-1].text or "") + text


def whole(part: etree._Element) -> str:
    """The whole formula that a part is of, in one line."""
    return formula_text(part.getroottree().getroot())
