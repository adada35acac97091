"""Office Open XML packages (ISO/IEC 29500-2): a ZIP with typed parts and relations between them.

Parts are read with caps and without entities (markup/reading.py).
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from lxml import etree

from pipeline.errors import DocumentError, Failure
from pipeline.parse.markup.reading import local_name, parse_xml, stream
from pipeline.parse.office.archive import Archive
from pipeline.parse.pictures.shown import Shown

CONTENT_TYPES = "[Content_Types].xml"
_RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"

_OF_OFFICE = re.compile(
    r"http://schemas\.(?:openxmlformats\.org/|microsoft\.com/office/(?:mac/)?"
    r"(?:word|drawing|drawingml|powerpoint|excel|spreadsheetml|thememl)/2\d{3}/)|urn:schemas-microsoft-com:"
)


@dataclass(frozen=True)
class Relation:
    """A relation of a part: the last word of its type, and the name of the other part (or a foreign address)."""

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
        """The text recognised on the picture that a relation of a part leads to; "" where there is none, or not yet."""
        relation = self.relations(part).get(identifier)
        if self.shown is None or relation is None or relation.external or not self.has(relation.target):
            return ""
        return self.shown.text(relation.target, lambda: self.bytes(relation.target))


def _relation(element: etree._Element, folder: str) -> Relation:
    target = unquote(element.get("Target", "").replace("\\", "/"))
    external = element.get("TargetMode", "").lower() == "external"
    if not external:
        target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
    return Relation(element.get("Type", "").rpartition("/")[2], target, external)


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
