"""A whole Office package in one XML file (pkg:package, the "flat" XML of Word and PowerPoint), as a package."""

import base64
import io
import re
import zipfile

from lxml import etree

from pipeline.errors import DocumentError, Failure
from pipeline.parse.markup.reading import parse_xml

PKG = "{http://schemas.microsoft.com/office/2006/xmlPackage}"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_BEGIN = re.compile(r"\s*(?>(?:<\?.*?\?>|<!--.*?-->)\s*)*<(?:\w+:)?package\s[^>]*2006/xmlPackage", re.DOTALL)


def is_flat(head: str) -> bool:
    """Whether a text begins as a package in one XML file does."""
    return _BEGIN.match(head) is not None


def packed(data: bytes) -> bytes:
    """The package as a ZIP file; raises DocumentError(CORRUPT)."""
    types, parts = etree.Element(f"{{{_TYPES}}}Types"), dict[str, bytes]()
    for part in parse_xml(data, "it").iterchildren(PKG + "part"):
        name = part.get(PKG + "name", "")
        etree.SubElement(types, f"{{{_TYPES}}}Override", PartName=name, ContentType=part.get(PKG + "contentType", ""))
        add(parts, name.lstrip("/"), _content(part, name))
    return zipped({"[Content_Types].xml": etree.tostring(types), **parts})


def add(parts: dict[str, bytes], name: str, content: bytes) -> None:
    """Add a part; DocumentError(CORRUPT) where another one has its name."""
    if name.lower() in {other.lower() for other in parts}:
        raise DocumentError(Failure.CORRUPT, f"two parts are called {name}, and programs differ in which one they show")
    parts[name] = content


def zipped(parts: dict[str, bytes]) -> bytes:
    """Parts by their names as a ZIP file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def _content(part: etree._Element, name: str) -> bytes:
    for holder in part:
        if holder.tag == PKG + "xmlData":
            return etree.tostring(holder[0]) if len(holder) else b""
        if holder.tag == PKG + "binaryData":
            try:
                return base64.b64decode("".join((holder.text or "").split()), validate=True)
            except ValueError as error:
                raise DocumentError(Failure.CORRUPT, f"{name} is not base64: {error}") from error
    return b""
