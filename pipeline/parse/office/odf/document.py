"""OpenDocument files (ISO/IEC 26300, OASIS ODF 1.3): a ZIP of content, styles and objects, or one flat XML file."""

import base64
import posixpath
from collections.abc import Iterator
from functools import cache, cached_property, partial
from urllib.parse import unquote

from lxml import etree

from pipeline.errors import DocumentError, Failure
from pipeline.parse.markup.reading import parse_xml, whole_number
from pipeline.parse.members import Members
from pipeline.parse.office.package import Archive
from pipeline.parse.pictures.shown import Shown
from pipeline.parse.writer import TextWriter

_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
_PREFIXES = {
    **{_OASIS + name + ":1.0": name for name in ("office", "text", "table", "style", "form", "chart", "presentation")},
    _OASIS + "drawing:1.0": "draw",
    _OASIS + "datastyle:1.0": "number",
    _OASIS + "xsl-fo-compatible:1.0": "fo",
    _OASIS + "svg-compatible:1.0": "svg",
    "http://www.w3.org/1999/xlink": "xlink",
    "http://www.w3.org/1998/Math/MathML": "math",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://www.w3.org/XML/1998/namespace": "xml",
    "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0": "loext",
}
_URIS = {prefix: uri for uri, prefix in _PREFIXES.items()}
_MOST_REPEATED = 1 << 20
_ZIP = b"PK"


@cache
def name_of(tag: str) -> str:
    """A tag with the usual prefix, "text:p", whatever prefix the file has; "" for a foreign one."""
    uri, _, local = tag[1:].partition("}")
    return f"{_PREFIXES[uri]}:{local}" if uri in _PREFIXES else ""


@cache
def full(name: str) -> str:
    """The inverse of `name_of`."""
    prefix, _, local = name.partition(":")
    return f"{{{_URIS[prefix]}}}{local}"


def attribute(element: etree._Element, name: str) -> str:
    """The attribute "text:style-name", say; "" where there is none."""
    return str(element.get(full(name), ""))


def named(element: etree._Element, name: str) -> Iterator[etree._Element]:
    """All elements of a name in and below `element`."""
    yield from element.iter(full(name))


def repeats(element: etree._Element, name: str) -> int:
    """How often a row or cell is repeated, at most as often as a sheet has room for."""
    return min(max(1, whole_number(attribute(element, name), 1)), _MOST_REPEATED)


class OpenDocument:
    """An open document; raises DocumentError for whatever is wrong with it. What is inside it goes to `members`."""

    def __init__(self, data: bytes, members: Members, shown: Shown | None = None) -> None:
        self._archive = Archive(data, "an OpenDocument file") if data.startswith(_ZIP) else None
        self._members = members
        self.shown = shown  # takes its pictures of text, if they are to be read
        self._given: set[str] = set()
        self.unread = 0  # embedded documents
        if self._archive is None:
            self.content = self.common = parse_xml(data, "it")
            return
        if not self._archive.has("content.xml"):
            raise DocumentError(Failure.CORRUPT, "an OpenDocument file without content.xml")
        self.content = self._xml("content.xml")
        self.common = self._part("styles.xml")

    def body(self, kind: str) -> etree._Element:
        """The element "office:text", say, that holds the content."""
        for body in self.content.iterchildren(full("office:body")):
            for found in body.iterchildren(full(kind)):
                return found
        raise DocumentError(Failure.CORRUPT, f"an OpenDocument file without {kind}")

    def object(self, element: etree._Element) -> etree._Element | None:
        """The root of the document that a draw:object shows; None where it is not there."""
        for child in element:
            if name_of(child.tag) in {"office:document", "math:math"}:
                return child
        part = posixpath.join(_path(element), "content.xml")
        if self._archive is None or not self._archive.has(part):
            self.unread += 1
            return None
        return self._xml(part)

    def give(self, element: etree._Element) -> None:
        """Hand the file that a draw:object-ole shows to the members, once."""
        name = _path(element)
        inside = element.findtext(full("office:binary-data"))
        if inside is not None:
            self._members.add(f"Object {len(self._given) + 1}", [_decoded(inside)])
            self._given.add(f"//{len(self._given)}")
        elif self._archive is not None and self._archive.has(name):
            if name not in self._given:
                self._members.add(posixpath.basename(name), self._archive.chunks(name))
            self._given.add(name)
        else:
            self.unread += 1

    def picture_text(self, element: etree._Element) -> str:
        """The text recognised on the picture that a draw:image shows; "" where there is none, or not yet."""
        if self.shown is None:
            return ""
        name, inside = _path(element), element.findtext(full("office:binary-data"))
        if inside is not None:
            return self.shown.text(inside, partial(_decoded, inside))
        if self._archive is None or not self._archive.has(name):
            return ""
        return self.shown.text(name, partial(self._archive.bytes, name))

    @cached_property
    def controls(self) -> dict[str, etree._Element]:
        """The form fields that each draw:control shows by its name."""
        fields = [field for forms in named(self.content, "office:forms") for field in forms.iter(etree.Element)]
        return {name: one for one in fields if (name := attribute(one, "xml:id") or attribute(one, "form:id"))}

    @property
    def pictures(self) -> int:
        """How many pictures and other media the document holds."""
        if self._archive is None:
            return sum(1 for _ in named(self.content, "draw:image"))
        return self._archive.count("pictures") + self._archive.count("media")

    def refuse_pictures_alone(self, writer: TextWriter, what: str) -> None:
        """Raise DocumentError(NEEDS_OCR) for a document of nothing but pictures, unless all of them were looked at."""
        if writer.length or (self.shown and self.shown.pictures.pending):
            return
        if self.pictures > (self.shown.read if self.shown else 0):
            reasons = self.shown.pictures.reasons() if self.shown else []
            raise DocumentError(Failure.NEEDS_OCR, "; ".join([f"{what} pictures and no text", *reasons]))

    @cached_property
    def settings(self) -> set[tuple[str, str]]:
        """The names and values of the program's settings, in any view of the document; none where they are damaged."""
        try:
            root = self._part("settings.xml")
        except DocumentError:
            return set()
        items = root.iter("{*}config-item")
        return {(str(name), item.text or "") for item in items for name in item.attrib.values()}

    @cached_property
    def meta(self) -> etree._Element:
        """What describes the document: its title, its subject."""
        return self._part("meta.xml")

    def notes(self) -> list[str]:
        """Notes for whoever reads the text: how many pictures and embedded documents were not read."""
        if self.shown:
            notes = self.shown.notes(self.pictures)
        else:
            notes = [f"pictures and other media not read: {self.pictures}"] if self.pictures else []
        return notes + ([f"embedded documents not read: {self.unread}"] if self.unread else [])

    def _part(self, part: str) -> etree._Element:
        """A part of the container; the whole content where there is none."""
        return self._xml(part) if self._archive is not None and self._archive.has(part) else self.content

    def _xml(self, part: str) -> etree._Element:
        assert self._archive is not None
        return parse_xml(self._archive.bytes(part), part, doctype=True)  # older formulas name their type


def _path(element: etree._Element) -> str:
    """The file that a relative address names."""
    return posixpath.normpath(unquote(attribute(element, "xlink:href"))).lstrip("/")


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except ValueError as error:
        raise DocumentError(Failure.CORRUPT, f"an embedded file that is not base64: {error}") from error
