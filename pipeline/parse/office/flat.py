"""A whole Office document in one XML file, as a package: pkg:package (the "flat" XML of Word and PowerPoint), and the
XML of Word and Excel 2003.
"""

import base64
import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator

from lxml import etree

from pipeline.errors import DocumentError, Failure
from pipeline.parse.markup.reading import parse_xml
from pipeline.parse.office import sheets_2003, word_2003

PKG = "{http://schemas.microsoft.com/office/2006/xmlPackage}"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_BEGIN = re.compile(
    r"\s*(?>(?:<\?.*?\?>|<!--.*?-->)\s*)*<(?:\w+:)?"
    r"(?:package\s[^>]*2006/xmlPackage|wordDocument\s[^>]*2003/wordml|Workbook\s[^>]*office:spreadsheet)",
    re.DOTALL,
)


def is_flat(head: str) -> bool:
    """Whether a text begins as a document of Office in one XML file does."""
    return _BEGIN.match(head) is not None


def packed(data: bytes) -> bytes:
    """The package as a ZIP file; raises DocumentError(CORRUPT)."""
    root = parse_xml(data, "it")
    if root.tag in _MADE:
        return _made(root, *_MADE[root.tag])
    types, parts = etree.Element(f"{{{_TYPES}}}Types"), dict[str, bytes]()
    for part in root.iterchildren(PKG + "part"):
        name = part.get(PKG + "name", "")
        etree.SubElement(types, f"{{{_TYPES}}}Override", PartName=name, ContentType=part.get(PKG + "contentType", ""))
        holder, content = next(part.iterchildren(PKG + "xmlData", PKG + "binaryData"), None), b""
        if holder is not None and holder.tag == PKG + "binaryData":
            try:
                content = base64.b64decode("".join((holder.text or "").split()), validate=True)
            except ValueError as error:
                raise DocumentError(Failure.CORRUPT, f"{name} is not base64: {error}") from error
        elif holder is not None and len(holder):
            content = etree.tostring(holder[0])
        _add(parts, name.lstrip("/"), content)
    return _zipped({"[Content_Types].xml": etree.tostring(types), **parts})


_Made = tuple[str, str, str, etree._Element | bytes]
_Parts = Callable[[etree._Element], Iterator[_Made]]
_MADE: dict[object, tuple[_Parts, str]] = {
    word_2003.ROOT: (word_2003.parts_of, "wordprocessingml.document"),
    sheets_2003.ROOT: (sheets_2003.parts_of, "spreadsheetml.sheet"),
}
"""What makes the parts of a document of 2003, and the kind of document that it is."""


def _made(root: etree._Element, parts_of: _Parts, kind: str) -> bytes:
    """The package of a document of 2003: what is in the one file of it, in parts and relations."""
    made = list(parts_of(root))
    types, parts = etree.Element(f"{{{_TYPES}}}Types"), dict[str, bytes]()
    main = f"application/vnd.openxmlformats-officedocument.{kind}.main+xml"
    etree.SubElement(types, f"{{{_TYPES}}}Override", PartName=f"/{made[0][0]}", ContentType=main)
    _add(parts, "[Content_Types].xml", etree.tostring(types))
    for owner in dict.fromkeys(owner for _, owner, _, _ in made):
        relations = etree.Element(f"{{{_RELATIONS}}}Relationships")
        for name, _, kind, _ in (one for one in made if one[1] == owner):
            identifier = posixpath.basename(name).partition(".")[0]
            etree.SubElement(
                relations, f"{{{_RELATIONS}}}Relationship", Id=identifier, Type=_OFFICE + kind, Target=f"/{name}"
            )
        folder, name = posixpath.split(owner)
        _add(parts, posixpath.join(folder, "_rels", f"{name}.rels"), etree.tostring(relations))
    for name, _, _, content in made:
        _add(parts, name, content if isinstance(content, bytes) else etree.tostring(content))
    return _zipped(parts)


def _add(parts: dict[str, bytes], name: str, content: bytes) -> None:
    """Add a part; DocumentError(CORRUPT) where another one has its name."""
    if name.lower() in {other.lower() for other in parts}:
        raise DocumentError(Failure.CORRUPT, f"two parts are called {name}, and programs differ in which one they show")
    parts[name] = content


def _zipped(parts: dict[str, bytes]) -> bytes:
    """Parts by their names as a ZIP file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()
