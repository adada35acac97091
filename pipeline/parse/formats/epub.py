"""Books in EPUB 2 and 3 (ISO/IEC 23736): title and authors, then the chapters in their order, each XHTML.

A book has no pages; a chapter that the table of contents names, or that begins with a heading, is a section.
"""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from urllib.parse import unquote

from lxml import etree

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.encoding.decode import declared_in_markup, decode
from pipeline.parse.formats.html import write_html
from pipeline.parse.markup.reading import LXML, parse_xml
from pipeline.parse.office.package import Archive
from pipeline.parse.writer import TextWriter, one_line

PARSER = f"epub/3 {LXML}"
_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_CHAPTERS = {"application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/x-dtbook+xml"}
_HEADING = re.compile(r"<h[1-6]\b[^<>]{0,1000}>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")

_HEAD = 100_000  # characters of a chapter in which its title and first heading are looked for


@dataclass(frozen=True)
class _Item:
    """A file of the book: its name in the container, its media type, and words on what it is for."""

    part: str
    media_type: str
    properties: frozenset[str]


def parse(source: Source, media_type: str) -> Parsed:
    """The book; raises DocumentError."""
    archive, writer = Archive(source.data, "an EPUB book"), source.writer()
    if archive.has(_ENCRYPTION):
        root = _xml(archive, _ENCRYPTION)
        methods = {method.get("Algorithm", "") for method in root.iter("{*}EncryptionMethod")}
        if methods - {"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"}:
            raise DocumentError(Failure.ENCRYPTED, "a book with protection against copying (DRM)")
    opf = _opf(archive)
    package = _xml(archive, opf)
    items = {
        one.get("id", ""): _Item(
            _target(opf, one.get("href", "")),
            one.get("media-type", "").lower(),
            frozenset(one.get("properties", "").split()),
        )
        for one in package.iter("{*}item")
    }
    titles, notes = dict[str, str](), list[str]()
    try:
        titles = _titles(archive, list(items.values()))
    except DocumentError as error:
        if error.failure is not Failure.CORRUPT:
            raise
        notes.append(f"the table of contents is not readable: {error.reason}")
    spine = list(_spine(package, items))
    for name in ("title", "creator"):
        for element in package.iter(f"{{http://purl.org/dc/elements/1.1/}}{name}"):
            writer.line(one_line(element.text or ""))
    before = writer.length
    for item in spine:
        if item.media_type in _CHAPTERS and "nav" not in item.properties:
            _write_chapter(writer, archive, item.part, titles)
    pictures = sum(item.media_type.startswith("image/") for item in items.values())
    if writer.length == before:
        raise DocumentError(Failure.NEEDS_OCR if pictures else Failure.EMPTY, "its chapters hold no text")
    notes += [f"part of the book not read: {item.part}" for item in spine if item.media_type not in _CHAPTERS]
    notes += [f"pictures and other media not read: {pictures}"] if pictures else []
    return finish(source, writer, media_type, PARSER, notes=notes)


def _opf(archive: Archive) -> str:
    if archive.has(_CONTAINER):
        for root in _xml(archive, _CONTAINER).iter("{*}rootfile"):
            if archive.has(root.get("full-path", "")):
                return str(root.get("full-path"))
    raise DocumentError(Failure.CORRUPT, "an EPUB book without a package document")


def _xml(archive: Archive, part: str) -> etree._Element:
    return parse_xml(archive.bytes(part), part, doctype=True)  # EPUB 2 names its types


def _target(base: str, address: str) -> str:
    """The file that an address in the file `base` names, without the place in it."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(address.partition("#")[0])))


def _spine(package: etree._Element, items: dict[str, _Item]) -> Iterator[_Item]:
    """The files of the book in reading order, then those beside it, such as notes. DocumentError: CORRUPT."""
    references = list(package.iter("{*}itemref"))
    references.sort(key=lambda one: one.get("linear", "yes") == "no")  # stable
    for reference in references:
        name = reference.get("idref", "")
        if name not in items:
            raise DocumentError(Failure.CORRUPT, f"its reading order names {name[:100]!r}, which it does not hold")
        yield items[name]


def _write_chapter(writer: TextWriter, archive: Archive, part: str, titles: dict[str, str]) -> None:
    if not archive.has(part):
        raise DocumentError(Failure.CORRUPT, f"its chapter {part[:200]} is missing")
    data = archive.bytes(part)
    markup = _without_title(decode(data, declared_in_markup(data)).text) if data else ""
    writer.gap()
    if title := titles.get(part) or _heading(markup):
        writer.section(title, "chapter")
    write_html(writer, markup)
    writer.gap()


def _heading(markup: str) -> str:
    begin = _HEADING.search(markup, 0, _HEAD)
    end = markup.find("</h", begin.end(), begin.end() + 2000) if begin else -1
    return one_line(unescape(_TAG.sub("", markup[begin.end() : end]))) if begin and end > 0 else ""


def _without_title(markup: str) -> str:
    """The markup without its title element, which a browser shows in its frame and a book's reader nowhere."""
    lower = markup[:_HEAD].lower()
    start = lower.find("<title")
    end = lower.find("</title", start)
    return markup if start < 0 or end < 0 else markup[:start] + markup[markup.find(">", end) + 1 :]


def _titles(archive: Archive, items: list[_Item]) -> dict[str, str]:
    """The first title of each file in the table of contents: in that of EPUB 3, else that of EPUB 2."""
    there = [one for one in items if archive.has(one.part)]
    tables = [one for one in there if "nav" in one.properties]
    tables += [one for one in there if one.media_type == "application/x-dtbncx+xml"]
    if not tables:
        return {}
    table, root = tables[0], _xml(archive, tables[0].part)
    if "nav" in table.properties:
        navs = (nav for nav in root.iter("{*}nav") if nav.get("{http://www.idpf.org/2007/ops}type", "toc") == "toc")
        links = [(one.get("href", ""), "".join(one.itertext())) for nav in navs for one in nav.iter("{*}a")]
    else:
        points = ((one.find("{*}content"), one.findtext("{*}navLabel/{*}text")) for one in root.iter("{*}navPoint"))
        links = [("" if content is None else content.get("src", ""), title or "") for content, title in points]
    return {_target(table.part, address): one_line(title) for address, title in reversed(links)}
