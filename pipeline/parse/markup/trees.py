"""Elements of XML trees, in which references to entities stand beside elements."""

import html

from lxml import etree

from pipeline.parse.markup.reading import local_name

_ABOUT_XML = ("{http://www.w3.org/XML/1998/namespace}", "{http://www.w3.org/2001/XMLSchema-instance}",
              "{http://www.w3.org/1999/xlink}")  # fmt: skip


def elements_of(element: etree._Element) -> list[etree._Element]:
    """The elements in an element."""
    return [child for child in element if isinstance(child.tag, str)]


def attributes_of(element: etree._Element) -> list[tuple[str, str]]:
    """Names and values of the attributes that say something about the matter, and not about XML."""
    pairs = ((str(name), str(value).strip()) for name, value in element.attrib.items())
    return [(local_name(name), value) for name, value in pairs if value and not name.startswith(_ABOUT_XML)]


def flat_text(element: etree._Element) -> str:
    """The text in an element; references to characters by their names in HTML become these, others stay."""
    pieces = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str):
            pieces.append(flat_text(child))
        else:
            pieces.append(html.unescape(child.text or ""))
        pieces.append(child.tail or "")
    return "".join(pieces)


def has_text_between(element: etree._Element) -> bool:
    """Whether an element has text of its own beside the elements in it."""
    children = elements_of(element)
    own = (element.text, *(child.tail for child in element))
    return bool(children) and (len(children) < len(element) or any(text and not text.isspace() for text in own))
