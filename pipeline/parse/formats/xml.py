"""XML (W3C, 1.0): its text in the order of the document, not its markup; well-formed or a failure, entities unexpanded.

Data, such as an invoice: an element without others in it is a line, `name: value`, and attributes stand in parentheses
before the value. Where an element holds two such lines or more it is a record, and its place stands before them in the
way of XPath. Names have no prefixes.

    <Invoice><ID>4711</ID><Line><ID>1</ID><Amount unit="EUR">9.00</Amount></Line><Note>Thanks</Note></Invoice>

    Invoice        ID: 4711        Line        ID: 1        Amount (EUR): 9.00        Invoice        Note: Thanks

Prose, such as an article of JATS or DocBook: paragraphs, rows of tables, titles as headings (prose.py).
"""

import base64
import html
import re
from collections import Counter
from collections.abc import Iterator

from lxml import etree

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.markup.prose import attributes_of, elements_of, flat_text, has_text_between, is_prose, write_prose
from pipeline.parse.markup.reading import LXML, SAFE, local_name, well_formed
from pipeline.parse.writer import TextWriter, one_line

PARSER = f"xml/2 {LXML}"
_ENCODED = "BinaryObject"  # how the names of elements end that hold a file in base64 (UN/CEFACT, UBL)
_NAMED = 20  # entities
_BEGIN = re.compile(
    r"(?>(?:<\?(?!xml\s).*?\?>|<!--.*?-->|\s+)*)<(?:(\?xml\s)|!DOCTYPE\s+([\w.:-]+)|([A-Za-z_][\w.:-]*)(?=[\s>/]))",
    re.DOTALL,
)
_HEAD = 1 << 16  # characters in which its first element must begin


def is_xml(text: str, *, named_so: bool) -> bool:
    """Whether a text or its name says that it is XML; else whether it is well-formed, which scraps of HTML are not."""
    begin = _BEGIN.match(text[:_HEAD].lstrip("\ufeff"))
    if begin is None or named_so or begin[1]:
        return begin is not None
    if not text[-_HEAD:].rstrip().endswith(f"</{begin[2] or begin[3]}>"):
        return False
    try:
        return read_xml(text) is not None
    except DocumentError:
        return False


def parse(source: Source, media_type: str) -> Parsed:
    """The document; raises DocumentError(CORRUPT) where it is not well-formed."""
    root, notes = read_xml(source.decoded.text)
    writer = source.writer()
    if local_name(root.tag) == "svg":
        for element in root.iter("{*}title", "{*}desc", "{*}text", "{*}foreignObject"):
            writer.line(one_line(flat_text(element)))
    elif is_prose(root):
        write_prose(writer, root)
    elif has_text_between(root):
        writer.line(one_line(flat_text(root)))
    else:
        _Records(source, writer, root).element(root, "", "" if elements_of(root) else local_name(root.tag))
    return finish(source, writer, media_type, PARSER, notes=notes, decoded=source.decoded)


def read_xml(text: str) -> tuple[etree._Element, list[str]]:
    """The root, and what is to be noted. Entities of its own stay references: expanded, a few bytes can be gigabytes.

    Names of characters that HTML knows, which a document type elsewhere may declare, become these characters.
    """
    declares = "<!ENTITY" in text  # then libxml2's limits stay in force: attributes are expanded all the same
    parser = etree.XMLParser(**SAFE | {"huge_tree": not declares, "encoding": "utf-8"})
    with well_formed("not well-formed XML"):
        root = etree.fromstring(text.lstrip("\ufeff \t\r\n").encode("utf-8", "replace"), parser)
    # The names that are referred to and stay so: those that the document declares, and those that nobody knows.
    declared = root.getroottree().docinfo.internalDTD
    own = {one.name for one in declared.iterentities()} if declared is not None else set[str]()
    references = dict.fromkeys(entity.text or "" for entity in root.iter(etree.Entity))
    unknown = [name for name in references if name[1:-1] in own or html.unescape(name) == name]
    named = ", ".join(unknown[:_NAMED])
    return root, [f"entities that are not expanded: {named}"] if unknown else []


class _Records:
    """Data, element by element. A record is known by its path, which is unique."""

    def __init__(self, source: Source, writer: TextWriter, root: etree._Element) -> None:
        self._source = source
        self._writer = writer
        self._root = root
        self._at = None if elements_of(root) else ""  # the record whose lines are written; an only line has no heading

    def element(self, element: etree._Element, record: str, way: str) -> None:
        """Write an element; `way` is the path to it from the record around it."""
        children = elements_of(element)
        if has_text_between(element):
            self._line(record, way, one_line(flat_text(element)))
        elif not children:
            self._leaf(element, record, way)
        else:
            if element is not self._root and sum(not elements_of(child) for child in children) > 1:
                record, way = f"{record}/{way}".lstrip("/"), ""
            for name, value in attributes_of(element):
                self._line(record, f"{way}/@{name}".lstrip("/"), value)
            for label, child in _labelled(children):
                self.element(child, record, f"{way}/{label}".lstrip("/"))

    def _leaf(self, element: etree._Element, record: str, way: str) -> None:
        attributes, value = attributes_of(element), flat_text(element).strip()
        if local_name(element.tag).endswith(_ENCODED):
            value = self._file(dict(attributes), value)
        if not value:
            for name, said in attributes:
                self._line(record, f"{way}/@{name}", said)
            return
        pairs = [said if len(attributes) == 1 else f"{name}={said}" for name, said in attributes]
        lines = "\n".join(filter(None, map(one_line, value.split("\n"))))
        self._line(record, f"{way} ({one_line(', '.join(pairs))})" if pairs else way, lines)

    def _file(self, attributes: dict[str, str], value: str) -> str:
        """Give away a file in base64, which becomes a document of its own; its name is what stays in the text."""
        name = attributes.get("filename") or "attachment"
        try:
            data = base64.b64decode(re.sub(r"\s+", "", value), validate=True)
        except ValueError as error:
            self._source.members.refuse(name, len(value), Failure.CORRUPT, f"not base64: {error}")
        else:
            self._source.members.add(name, [data])
        return name

    def _line(self, record: str, label: str, value: str) -> None:
        if record != self._at:
            self._at = record
            self._writer.heading(record or local_name(self._root.tag), 2 if record else 1, "record")
        self._writer.line(f"{label}: {value}")


def _labelled(children: list[etree._Element]) -> Iterator[tuple[str, etree._Element]]:
    """The elements, each with its name; those of one name are numbered from 1."""
    names = [local_name(child.tag) for child in children]
    counts, seen = Counter(names), Counter[str]()
    for name, child in zip(names, children, strict=True):
        seen[name] += 1
        yield (f"{name}[{seen[name]}]" if counts[name] > 1 else name), child
