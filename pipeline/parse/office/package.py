"""Office Open XML packages (ISO/IEC 29500-2): a ZIP with typed parts and relations between them.

Parts are read with caps and without entities; the namespaces of the strict variant become those of the transitional
one, so that a format knows one name for each element.
"""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote

from lxml import etree

from pipeline.errors import DocumentError, Failure
from pipeline.parse.office.archive import Archive

CONTENT_TYPES = "[Content_Types].xml"
LXML = f"lxml {etree.__version__}"
_STRICT = b"http://purl.oclc.org/ooxml/"
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
_STRICT_NAME = re.compile(re.escape(_STRICT) + rb"[A-Za-z/]+")


@dataclass(frozen=True)
class Relation:
    """From one part to another: the last word of its type, and the name of the other part (or a foreign address)."""

    kind: str
    target: str
    external: bool


class Package(Archive):
    """An open package; raises DocumentError for whatever is wrong with it."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data, "an Office package")
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

    def relations(self, part: str) -> dict[str, Relation]:
        """The relations of a part by their id; of the package itself for ""."""
        folder, name = posixpath.split(part)
        rels = posixpath.join(folder, "_rels", f"{name}.rels")
        if not self.has(rels):
            return {}
        return {relation.get("Id", ""): _relation(relation, folder) for relation in self.xml(rels).iter(_RELATION)}

    def related(self, part: str, kind: str) -> list[str]:
        """The parts, there to be read, that a part relates to by `kind`."""
        return [
            relation.target
            for relation in self.relations(part).values()
            if relation.kind == kind and not relation.external and self.has(relation.target)
        ]

    def notes(self) -> list[str]:
        """What a reader of its text should know was not read."""
        pictures, embedded = self.count("media"), self.count("embeddings")
        notes = [f"pictures and other media not read: {pictures}"] if pictures else []
        return notes + ([f"embedded files not read: {embedded}"] if embedded else [])


def parse_xml(data: bytes, what: str, *, doctype: bool = False) -> etree._Element:
    """The root of a part. Raises DocumentError(CORRUPT): not well-formed, or with a document type.

    Where `doctype` is allowed it may name the type, but declare nothing.
    """
    if _STRICT in data:
        data = _STRICT_NAME.sub(lambda match: _RENAMED.get(match.group(), match.group()), data)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise DocumentError(Failure.CORRUPT, f"{what} is not well-formed XML: {error.msg}") from error
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None and not (doctype and next(declared.iterentities(), None) is None):
        raise DocumentError(Failure.CORRUPT, f"{what} declares a document type, which no Office document does")
    return root


def _relation(element: etree._Element, folder: str) -> Relation:
    target = unquote(element.get("Target", "").replace("\\", "/"))
    external = element.get("TargetMode", "").lower() == "external"
    if not external:
        target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
    return Relation(element.get("Type", "").rpartition("/")[2], target, external)


def whole_number(text: str | None, otherwise: int) -> int:
    """A number in an attribute; `otherwise` for what is none, or absurd."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else otherwise


@cache
def local_name(tag: str) -> str:
    """A tag without its namespace."""
    return tag.rpartition("}")[2]


def children(element: etree._Element) -> Iterator[tuple[str, etree._Element]]:
    """The child elements with their local names; of alternatives (mc:AlternateContent) the first that has content."""
    for child in element:
        name = local_name(child.tag)
        if name == "AlternateContent":
            yield from children(next((branch for branch in child if len(branch)), child))
        else:
            yield name, child
