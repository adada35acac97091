"""XML read with bounds: no entities, nothing from elsewhere, large files as a stream of elements.

Names of the strict variant of Office Open XML become those of the transitional one (ISO/IEC 29500-1 and -4), so that a
format knows one name for each element.
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from lxml import etree

from pipeline.errors import DocumentError, Failure

LXML = f"lxml {etree.__version__}"
_STRICT = b"http://purl.oclc.org/ooxml/"
SAFE: Any = {  # how any XML is read: no entities, nothing from elsewhere, comments are no text
    "resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": True, "remove_comments": True,
    "remove_pis": True,
}  # fmt: skip
_NAMES = (
    *("wordprocessingml/main", "presentationml/main", "spreadsheetml/main", "drawingml/main", "drawingml/chart"),
    *("drawingml/diagram", "drawingml/picture", "drawingml/spreadsheetDrawing", "drawingml/wordprocessingDrawing"),
    *("officeDocument/math", "officeDocument/relationships"),
)
_RENAMED = {
    _STRICT + name.encode(): f"http://schemas.openxmlformats.org/{name.replace('/', '/2006/')}".encode()
    for name in _NAMES
}
_STRICT_NAME = re.compile(re.escape(_STRICT) + rb"[A-Za-z/]+")


def parse_xml(data: bytes, what: str, *, doctype: bool = False) -> etree._Element:
    """The root of a file of XML. Raises DocumentError(CORRUPT): not well-formed, or with a document type.

    Where `doctype` is allowed it may name the type, but declare nothing.
    """
    with well_formed(f"{what} is not well-formed XML"):
        root = etree.fromstring(transitional(data), etree.XMLParser(**SAFE))
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None:
        entities = next(declared.iterentities(), None) is not None or next(root.iter(etree.Entity), None) is not None
        if entities or not doctype:
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
    with well_formed(f"{what} is not well-formed XML"):
        for _, element in etree.iterparse(io.BytesIO(transitional(data)), tag=tags, **SAFE):
            if not known and element.getroottree().docinfo.internalDTD is not None:
                raise _declares(what)
            known = True
            yield element


@contextmanager
def well_formed(otherwise: str) -> Iterator[None]:
    """libxml2's errors as ours: MemoryError, or DocumentError(CORRUPT) that says `otherwise` and why."""
    try:
        yield
    except etree.XMLSyntaxError as error:
        if error.code == etree.ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from error
        raise DocumentError(Failure.CORRUPT, f"{otherwise}: {error.msg}") from error


def _declares(what: str) -> DocumentError:
    return DocumentError(Failure.CORRUPT, f"{what} declares a document type, which no Office document does")


def _forget(element: etree._Element) -> None:
    element.clear()
    parent = element.getparent()
    while parent is not None and parent[0] is not element:
        del parent[0]


def whole_number(text: str | None, otherwise: int) -> int:
    """A number in an attribute; `otherwise` for what is none, or absurd."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else otherwise


def decimal(text: str | None) -> float | None:
    """A number in an attribute, which may have a fraction; None for what is none."""
    try:
        return float(text) if text and text.strip() else None
    except ValueError:
        return None


@lru_cache(4096)
def local_name(tag: str) -> str:
    """A tag without its namespace."""
    return tag.rpartition("}")[2]
