"""Articles and books in XML (JATS, DocBook, TEI, DITA, patents): headings, paragraphs, rows; the rest `name: value`.

In trees, references to entities stand beside elements.
"""

import html

from lxml import etree

from pipeline.parse.markup.formula import formula_text
from pipeline.parse.markup.reading import local_name
from pipeline.parse.sight.raised import lowered, raised, struck
from pipeline.parse.writer import TextWriter, one_line

_ABOUT_XML = ("{http://www.w3.org/XML/1998/namespace}", "{http://www.w3.org/2001/XMLSchema-instance}",
              "{http://www.w3.org/1999/xlink}")  # fmt: skip
_SIGNS = (
    (("sup", "superscript", "super"), raised), (("sub", "subscript"), lowered),
    (("strike", "strikethrough", "line-through", "del"), struck),
)  # fmt: skip


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
            pieces.append(_signed(child, flat_text(child)))
        else:
            pieces.append(html.unescape(child.text or ""))
        pieces.append(child.tail or "")
    return "".join(pieces)


def _signed(element: etree._Element, text: str) -> str:
    """The text of an element within a line, wrapped where it is raised, lowered or struck out."""
    if (name := local_name(element.tag)) == "math":
        return formula_text(element)
    kinds = {name, *(str(element.get(key, "")) for key in ("rend", "rendition", "role"))}
    return next((sign(text) for names, sign in _SIGNS if not kinds.isdisjoint(names)), text)


def has_text_between(element: etree._Element) -> bool:
    """Whether an element has text of its own beside the elements in it."""
    children = elements_of(element)
    own = (element.text, *(child.tail for child in element))
    return bool(children) and (len(children) < len(element) or any(text and not text.isspace() for text in own))


_ROOTS = {
    "article", "book", "chapter", "part", "section", "topic", "concept", "task", "TEI", "TEI.2", "nitf",
    "us-patent-grant", "us-patent-application", "patent-application-publication",
}  # fmt: skip
_PARAGRAPHS = {"p", "para", "simpara", "claim-text", "line", "l"}
_TITLES = {"title", "article-title", "head", "heading", "invention-title", "subtitle", "subject-title"}
_SECTIONS = {
    "sec", "section", "sect1", "sect2", "sect3", "sect4", "sect5", "chapter", "part", "appendix", "app", "div", "topic",
    "abstract", "ack", "ref-list", "bibliography", "glossary", "preface",
}  # fmt: skip
_OF_OTHERS = {"element-citation", "mixed-citation", "ref", "product", "related-article", "biblioentry", "citation"}
_BLOCKS = {
    "list", "table-wrap", "table", "fig", "disp-quote", "boxed-text", "itemizedlist", "orderedlist", "variablelist",
    "informaltable", "figure", "blockquote", "def-list", "ul", "ol", "dl", *_PARAGRAPHS,
}  # fmt: skip
_AS_TYPED = {"programlisting", "preformat", "literallayout", "screen", "codeblock"}
_STARRED = tuple(f"{{*}}{name}" for name in _BLOCKS | _AS_TYPED)


def is_prose(root: etree._Element) -> bool:
    """Whether the root says so, or most of the text stands in paragraphs."""
    if local_name(root.tag) in _ROOTS:
        return True
    inside = sum(len(flat_text(one)) for one in root.iter("{*}p", "{*}para"))
    return inside > 0 and 2 * inside > len(one_line(flat_text(root)))


def write_prose(writer: TextWriter, root: etree._Element) -> None:
    """The whole text in its order."""
    _Prose(writer).element(root, 1)


class _Prose:
    """Text of a paragraph gathers in `_line` until a block begins or ends."""

    def __init__(self, writer: TextWriter) -> None:
        self._writer = writer
        self._line: list[str] = []

    def element(self, element: etree._Element, level: int) -> None:
        """An element that is no part of a line; `level` is that of its headings."""
        name, children = local_name(element.tag), elements_of(element)
        parent = element.getparent()
        of_another = parent is not None and local_name(parent.tag) in _OF_OTHERS
        if name in _TITLES and not of_another:
            self._writer.heading(one_line(flat_text(element)), level)
        elif name in _AS_TYPED:
            self._writer.block(flat_text(element))
        elif children and all(local_name(child.tag) in {"td", "th", "entry"} for child in children):
            self._writer.row(flat_text(child) for child in children)
        elif name in _PARAGRAPHS or has_text_between(element):
            self._inline(element, level)
            self._flush()
        elif children:
            self._container(element, name, level)
        else:
            value = one_line(flat_text(element))
            said = [value for _, value in attributes_of(element) if len(value) <= len(name) + 20]
            if value:
                self._writer.line(f"{name} ({', '.join(said)}): {value}" if said else f"{name}: {value}")

    def _container(self, element: etree._Element, name: str, level: int) -> None:
        if name in _BLOCKS:
            self._writer.gap()
        for child in elements_of(element):
            self.element(child, level + (name in _SECTIONS))
        if name in _BLOCKS:
            self._writer.gap()

    def _inline(self, element: etree._Element, level: int) -> None:
        self._line.append(element.text or "")
        for child in element:
            if not isinstance(child.tag, str):
                self._line.append(html.unescape(child.text or ""))
            elif local_name(child.tag) in _BLOCKS | _AS_TYPED:
                self._flush()
                self.element(child, level)
            elif next(child.iter(*_STARRED), None) is None:
                self._line.append(_signed(child, flat_text(child)))
            else:
                self._inline(child, level)
            self._line.append(child.tail or "")

    def _flush(self) -> None:
        text, self._line = one_line("".join(self._line)), []
        self._writer.line(text)
