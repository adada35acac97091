"""Office Open XML packages (ISO/IEC 29500-2): a ZIP with typed parts and relations between them.

The ZIP container is what they have in common with OpenDocument and EPUB. Parts are read with caps and without entities
(markup/reading.py).
"""

import io
import lzma
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import unquote

from lxml import etree

from pipeline.errors import DocumentError, Failure
from pipeline.parse.limits import MIB
from pipeline.parse.markup.reading import local_name, parse_xml, stream
from pipeline.parse.office.flat import packed
from pipeline.parse.pictures.shown import Shown

_PART_BYTES = 256 * MIB
_TOTAL_BYTES = 512 * MIB
_CHUNK = MIB
_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, ValueError, OSError)
_Chunks = Iterator[bytes]
_Bytes = bytes  # a method of Archive has that name


class Archive:
    """An open container of a document's files; `what` it is. Raises DocumentError for whatever is wrong with it."""

    def __init__(self, data: bytes, what: str) -> None:
        with _damage("its ZIP container"):
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        if any(info.flag_bits & 1 for info in self._zip.infolist()):
            raise DocumentError(Failure.ENCRYPTED, f"{what} whose parts have a password")
        self._parts: dict[str, zipfile.ZipInfo] = {}  # by their names in lower case
        self.names: list[str] = []
        self._read = 0
        for info in self._zip.infolist():
            name = info.filename.replace("\\", "/").lstrip("/")  # some programs write the signs of Windows
            other = self._parts.setdefault(name.lower(), info)
            if other is info:
                self.names.append(name)
            elif (other.CRC, other.file_size) != (info.CRC, info.file_size):
                shown = "and programs differ in which one they show"
                raise DocumentError(Failure.CORRUPT, f"two different parts are called {name}, {shown}")

    def has(self, part: str) -> bool:
        """Whether the archive has a part of this name, in whatever case it is written."""
        return part.lower() in self._parts

    def count(self, folder: str) -> int:
        """How many files lie in folders of this name ("media", "embeddings"), in whatever case."""
        return sum(f"/{folder}/" in f"/{name}" for name in {name.lower() for name in self.names})

    def bytes(self, part: str) -> bytes:
        """A part's bytes, at most 256 MiB, and 512 MiB of all parts together."""
        info = self._take(part)
        with _damage(part):
            return self._zip.read(info)

    def head(self, part: str, size: int) -> _Bytes:
        """The first `size` bytes of a part or all of a shorter one; none where it is damaged."""
        try:
            with _damage(part), self._zip.open(self._parts[part.lower()]) as file:
                return file.read(size)
        except DocumentError:
            return b""

    def chunks(self, part: str) -> _Chunks:
        """A part's bytes one piece after another, with the same caps."""
        info = self._take(part)
        with _damage(part), self._zip.open(info) as file:
            while chunk := file.read(_CHUNK):
                yield chunk

    def _take(self, part: str) -> zipfile.ZipInfo:
        info = self._parts[part.lower()]
        self._read += info.file_size  # zipfile never returns more than is declared
        if info.file_size > _PART_BYTES or self._read > _TOTAL_BYTES:
            raise DocumentError(
                Failure.TOO_LARGE, f"{part} unpacks to {info.file_size:,} bytes, or all parts to more than is read"
            )
        return info


@contextmanager
def _damage(what: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise DocumentError(Failure.CORRUPT, f"{what} is damaged: {error}") from error


ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_TEXTS = {f"{{http://schemas.openxmlformats.org/{kind}/2006/main}}t" for kind in ("wordprocessingml", "drawingml")}
_QUOTED = 60
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
    """An open package, also one in a single XML file; raises DocumentError for whatever is wrong with it."""

    def __init__(self, data: bytes, shown: Shown | None = None) -> None:
        super().__init__(data if data.startswith(b"PK") else packed(data), "an Office package")
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


def contradiction(choice: etree._Element) -> Iterator[str]:
    """The reason, if there is one, why a person may see another of these alternatives than the one that is read."""
    understood = [branch for branch in choice if _is_understood(branch)]
    spoken = [[one.text or "" for one in branch.iter("{*}t") if one.tag in _TEXTS] for branch in understood]
    texts = list(dict.fromkeys(text for words in spoken if (text := "".join("".join(words).split()))))
    if len(texts) > 1 or (texts and not len(understood[0])):
        said = " or ".join(f'"{text[:_QUOTED]}"' for text in (texts if len(texts) > 1 else ["", *texts]))
        yield f"which text is shown depends on the program: {said}"


def _is_understood(branch: etree._Element) -> bool:
    """Whether the namespaces that a branch of mc:AlternateContent asks for are those of Office."""
    names = (branch.nsmap.get(prefix) for prefix in branch.get("Requires", "").split())
    return all(name is None or _OF_OFFICE.match(name) for name in names)
