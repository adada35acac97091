"""Formulas (MathML 3, and Office Math of ISO/IEC 29500-1, 22.1) in one line: 1/2, x^2, x_1, (a+b)/2, √2.

Where parts stand above, below or beside one another on the page, a mark stands between them here, so that two of them
never become one number.
"""

import re
from collections.abc import Iterable

from lxml import etree

from pipeline.parse.markup.reading import local_name
from pipeline.parse.sight.raised import struck

_JOINED = {
    "mfrac": "/", "f": "/", "msup": "^", "sSup": "^", "msub": "_", "sSub": "_", "mover": "^", "munder": "_",
    "limLow": "_", "limUpp": "^", "sSubSup": "_^", "msubsup": "_^", "munderover": "_^", "nary": "_^", "mtr": " ",
    "mlabeledtr": " ", "mtable": "; ", "m": "; ", "mr": " ", "eqArr": "; ", "mmultiscripts": "_^",
}  # fmt: skip
"""What stands between the parts of an element: one mark for all, or the first and the second."""
_SILENT = {"annotation", "annotation-xml", "mprescripts", "phant"}
_ROOTS = {"msqrt", "mroot", "rad"}
_NO_WIDTH = re.compile(r"\s*(?:-.*|negative.*|0*\.?0*(?:[a-z]{2,3}|%)?)\s*")
_BARE_ROOT = re.compile("\u221a([^\\s()]+)$")
_WHOLE = re.compile(r"[\w.,\u2032%]*")  # needs no brackets as a part of a fraction or an index


def formula_text(element: etree._Element) -> str:
    """The formula in an element, in one line."""
    name = local_name(element.tag)
    if name in _SILENT or name.endswith("Pr"):
        return ""
    if name == "mphantom" or (name == "mspace" and not _NO_WIDTH.fullmatch(element.get("width", "0"))):
        return " "
    if name == "mtext" and (text := "".join(map(str, element.itertext()))).isspace():
        return " "
    if name in {"t", "mi", "mn", "mo", "mtext", "ms"}:
        return "".join(map(str, element.itertext())).strip(None if name != "t" else "\n")
    parts = [(child, formula_text(child)) for child in element if isinstance(child.tag, str)]
    if name == "sPre":  # index, power, and then what has them
        parts = [parts[-1], *parts[:-1]]
    if name in _ROOTS:
        return _root(name, [text for child, text in parts if not local_name(child.tag).endswith("Pr")])
    if name == "d":
        return (
            _sign(element, "beg", "(")
            + _sign(element, "sep", "|").join([text for _, text in parts if text])
            + _sign(element, "end", ")")
        )
    if name == "nary":
        *limits, body = [text for _, text in parts[-3:]] or [""]
        return f"{_joined('_^', [_sign(element, 'nary', chr(0x222B)), *limits])} {body}"
    if name in _JOINED:
        return _joined(_JOINED[name], [text for child, text in parts if not local_name(child.tag).endswith("Pr")])
    text = _in_line(element, parts)
    if name == "menclose" and "radical" in element.get("notation", ""):
        return _root("msqrt", [text])
    return struck(text) if _is_struck(element) else text


def _is_struck(element: etree._Element) -> bool:
    boxes = (one for one in element.iterchildren("{*}borderBoxPr") for one in one)
    strikes = (one for one in boxes if local_name(one.tag).startswith("strike"))
    crossed = any(next(map(str, one.attrib.values()), "1") not in {"0", "off", "false"} for one in strikes)
    return crossed or (local_name(element.tag) == "menclose" and "strike" in element.get("notation", ""))


def _in_line(element: etree._Element, parts: Iterable[tuple[etree._Element, str]]) -> str:
    """Parts that follow one another; a number and a fraction or a power beside it are kept apart."""
    line, was_built, was_root = (element.text or "").strip(), False, False
    for child, text in parts:
        if was_root and text[:1].isalnum():
            line = _BARE_ROOT.sub("\u221a(\\1)", line)
        built, was_root = local_name(child.tag) in _JOINED, local_name(child.tag) in _ROOTS
        apart = (built and text[:1].isdecimal()) or (was_built and text[:1].isdecimal()) or (built and text[:1] == "(")
        line += " " * (apart and line[-1:].isalnum()) + text + (child.tail or "").strip()
        was_built = built or (was_built and not text)
    return line


def _joined(marks: str, parts: list[str]) -> str:
    if marks[0] in " ;":
        return marks.join(parts)
    own = [parts[0] if marks == "_^" else _whole(parts[0])] if parts else []
    for place, part in enumerate(parts[1:]):
        if part:
            own.append(marks[min(place, len(marks) - 1)] + _whole(part))
    return "".join(own)


def _whole(part: str) -> str:
    return part if _WHOLE.fullmatch(part.strip()) else f"({part})"


def _root(name: str, parts: list[str]) -> str:
    if name == "msqrt":
        return f"\u221a{_whole(''.join(parts))}"
    base, degree = (parts[0], parts[1]) if name == "mroot" else (parts[-1], "".join(parts[:-1]))
    return f"{f'{_whole(degree)}^' if degree else ''}\u221a{_whole(base)}" if parts else ""


def _sign(element: etree._Element, which: str, usual: str) -> str:
    """A sign that the properties of an element name; an empty one is none."""
    tag = "chr" if which == "nary" else f"{which}Chr"
    for one in element.iter("{*}" + tag):
        parent = one.getparent()
        if parent is not None and parent.getparent() is element:
            return str(next((value for key, value in one.attrib.items() if local_name(str(key)) == "val"), ""))
    return usual
