"""Office Open XML packages (ISO/IEC 29500-2): a ZIP with typed parts and relations between them.

Parts are read with caps and without entities; the namespaces of the strict variant become those of the transitional
one, so that a format knows one name for each element.
"""

import io
import posixpath
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from lxml import etree

from pipeline.errors import DocumentError, Failure
from pipeline.parse.office.archive import Archive
from pipeline.parse.pictures.shown import Shown

CONTENT_TYPES = "[Content_Types].xml"
LXML = f"lxml {etree.__version__}"
_STRICT = b"http://purl.oclc.org/ooxml/"
_SAFE: Any = {  # how any XML is read: no entities, nothing from elsewhere, comments are no text
    "resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": True, "remove_comments": True,
    "remove_pis": True,
}  # fmt: skip
_RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"

_TRANSITIONAL = {
    "wordprocessingml/main": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "presentationml/main": "http://schemas.openxmlformats.org/presentationml/2006/main",
    "spreadsheetml/main": "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "drawingml/main": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "drawingml/chart": "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "drawingml/diagram": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
    "drawingml/picture": "http://schemas.openxmlformats.org/drawingml/2006/picture",
    "drawingml/spreadsheetDrawing": "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing",
    "drawingml/wordprocessingDrawing": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    "officeDocument/math": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "officeDocument/relationships": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
}
_RENAMED = {_STRICT + strict.encode(): name.encode() for strict, name in _TRANSITIONAL.items()}
_OF_OFFICE = re.compile(
    r"http://schemas\.(?:openxmlformats\.org/|microsoft\.com/office/(?:mac/)?"
    r"(?:word|drawing|drawingml|powerpoint|excel|spreadsheetml|thememl)/2\d{3}/)|urn:schemas-microsoft-com:"
)
_STRICT_NAME = re.compile(re.escape(_STRICT) + rb"[A-Za-z/]+")


@dataclass(frozen=True)
class Relation:
    """From one part to another: the last word of its type, and the name of the other part (or a foreign address)."""

    kind: str
    target: str
    external: bool


class Package(Archive):
    """An open package; raises DocumentError for whatever is wrong with it."""

    def __init__(self, data: bytes, shown: Shown | None = None) -> None:
        super().__init__(data, "an Office package")
        self.shown = shown  # takes its pictures of text, if they are to be read
        self._relations: dict[str, dict[str, Relation]] = {}
        self.main = next((r.target for r in self.relations("").values() if r.kind == "officeDocument"), "")
        if not self.has(self.main):
            raise DocumentError(Failure.CORRUPT, "an Office package without a main part")

    @property
    def media_type(self) -> str:
        """The content type of the main part, as that of a whole document."""
        extension, found = self.main.rpartition(".")[2].lower(), ""
        for entry in self.xml(CONTENT_TYPES):
            if entry.get("PartName", "").lstrip("/").lower() == self.main.lower():
                found = entry.get("ContentType", "")
                break
            if entry.get("Extension", "").lower() == extension:
                found = found or entry.get("ContentType", "")
        kind, of_main, _ = found.lower().partition(".main")
        return kind + ".12" * (of_main != "" and kind.endswith("macroenabled"))

    def xml(self, part: str) -> etree._Element:
        """A part as a tree with transitional names."""
        return parse_xml(self.bytes(part), part)

    def elements(self, part: str, *tags: str) -> Iterator[etree._Element]:
        """The elements of these transitional names as they end, for parts too large for a tree; see `stream`."""
        return stream(self.bytes(part), part, *tags)

    def relations(self, part: str) -> dict[str, Relation]:
        """The relations of a part by their id; of the package itself for ""."""
        if part not in self._relations:
            folder, name = posixpath.split(part)
            rels = posixpath.join(folder, "_rels", f"{name}.rels")
            found = self.elements(rels, _RELATION) if self.has(rels) else ()
            self._relations[part] = {relation.get("Id", ""): _relation(relation, folder) for relation in found}
        return self._relations[part]

    def related(self, part: str, kind: str) -> list[str]:
        """The parts, there to be read, that a part relates to by `kind`."""
        return [
            relation.target
            for relation in self.relations(part).values()
            if relation.kind == kind and not relation.external and self.has(relation.target)
        ]

    def picture_text(self, part: str, identifier: str) -> str:
        """What was recognised on the picture that a relation of a part leads to; "" where nothing was, or not yet."""
        relation = self.relations(part).get(identifier)
        if self.shown is None or relation is None or relation.external or not self.has(relation.target):
            return ""
        return self.shown.text(relation.target, lambda: self.bytes(relation.target))


def parse_xml(data: bytes, what: str, *, doctype: bool = False) -> etree._Element:
    """The root of a part. Raises DocumentError(CORRUPT): not well-formed, or with a document type.

    Where `doctype` is allowed it may name the type, but declare nothing.
    """
    with _well_formed(what):
        root = etree.fromstring(transitional(data), etree.XMLParser(**_SAFE))
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None and not (doctype and _without_entities(root, declared)):
        raise _declares(what)
    return root


def stream(data: bytes, what: str, *tags: str) -> Iterator[etree._Element]:
    """The elements of these names as they end, each gone when the next is asked for. Raises DocumentError(CORRUPT).

    Of elements that lie in one another the outer one comes later, without what it held.
    """
    for element in _ends(data, what, *tags):
        yield element
        _forget(element)


def stream_children(data: bytes, what: str, outer: str, *tags: str) -> Iterator[etree._Element]:
    """The children of the `outer` element, in their order, each gone some time after the next is asked for.

    That is whenever one of `tags` ends, of which there should be most. Raises DocumentError(CORRUPT).
    """
    last: etree._Element | None = None
    for element in _ends(data, what, outer, *tags):
        parent = element if element.tag == outer else element.getparent()
        if parent is None or parent.tag != outer:
            continue
        for child in parent if last is None else last.itersiblings():  # what is parsed may lead beyond `element`
            yield child
            if child is element:
                last = element
                _forget(element)
                break


def transitional(data: bytes) -> bytes:
    """XML with the names of the transitional variant."""
    return _STRICT_NAME.sub(lambda match: _RENAMED.get(match.group(), match.group()), data) if _STRICT in data else data


def _ends(data: bytes, what: str, *tags: str) -> Iterator[etree._Element]:
    known = False
    with _well_formed(what):
        for _, element in etree.iterparse(io.BytesIO(transitional(data)), tag=tags, **_SAFE):
            if not known and element.getroottree().docinfo.internalDTD is not None:
                raise _declares(what)
            known = True
            yield element


@contextmanager
def _well_formed(what: str) -> Iterator[None]:
    try:
        yield
    except etree.XMLSyntaxError as error:
        if error.code == etree.ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from error
        raise DocumentError(Failure.CORRUPT, f"{what} is not well-formed XML: {error.msg}") from error


def _declares(what: str) -> DocumentError:
    return DocumentError(Failure.CORRUPT, f"{what} declares a document type, which no Office document does")


def _forget(element: etree._Element) -> None:
    """Free an element that was read, and those before it."""
    element.clear()
    parent = element.getparent()
    while parent is not None and parent[0] is not element:
        del parent[0]


def _without_entities(root: etree._Element, declared: etree.DTD) -> bool:
    return next(declared.iterentities(), None) is None and next(root.iter(etree.Entity), None) is None


def _relation(element: etree._Element, folder: str) -> Relation:
    target = unquote(element.get("Target", "").replace("\\", "/"))
    external = element.get("TargetMode", "").lower() == "external"
    if not external:
        target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
    return Relation(element.get("Type", "").rpartition("/")[2], target, external)


def whole_number(text: str | None, otherwise: int) -> int:
    """A number in an attribute; `otherwise` for what is none, or absurd."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else otherwise


@lru_cache(4096)
def local_name(tag: str) -> str:
    """A tag without its namespace."""
    return tag.rpartition("}")[2]


def children(elements: Iterable[etree._Element]) -> Iterator[tuple[str, etree._Element]]:
    """The children of an element with their local names; of mc:AlternateContent the first that programs understand.

    One that holds nothing is passed over (ISO/IEC 29500-3, 9.3).
    """
    for child in elements:
        name = local_name(child.tag)
        if name == "AlternateContent":
            yield from children(next((branch for branch in child if len(branch) and _is_understood(branch)), ()))
        else:
            yield name, child


def _is_understood(branch: etree._Element) -> bool:
    """Whether the namespaces that a branch of mc:AlternateContent asks for are those of Office."""
    names = (branch.nsmap.get(prefix) for prefix in branch.get("Requires", "").split())
    return all(name is None or _OF_OFFICE.match(name) for name in names)
