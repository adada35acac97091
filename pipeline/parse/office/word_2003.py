"""Word 2003 XML (w:wordDocument): the same words in one file, as the package that Word has made of them since 2007.

Names with hyphens lost these, notes, comments, headers, lists and pictures moved to parts of their own.
"""

import base64
import re
from collections.abc import Callable, Iterator

from lxml import etree

from pipeline.errors import DocumentError, Failure
from pipeline.parse.markup.reading import local_name

ROOT = "{http://schemas.microsoft.com/office/word/2003/wordml}wordDocument"
_OLD = ROOT.removesuffix("wordDocument")
_MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_AML = "{http://schemas.microsoft.com/aml/2001/core}"
_IMAGE = "{urn:schemas-microsoft-com:vml}imagedata"
_DOCUMENT = "word/document.xml"
W, _R = f"{{{_MAIN}}}", f"{{{_OFFICE}}}"
_HYPHEN = re.compile("-([a-z])")
_RENAMED = {
    "vmerge": "vMerge", "hmerge": "hMerge", "listPr": "numPr", "ilfo": "numId", "listDef": "abstractNum", "list": "num",
    "ilst": "abstractNumId", "listDefId": "abstractNumId", "nfc": "numFmt",
}  # fmt: skip
_NUMBERS = {"0": "decimal", "1": "upperRoman", "2": "lowerRoman", "3": "upperLetter", "4": "lowerLetter",
            "22": "decimalZero", "23": "bullet", "255": "none"}  # fmt: skip
_HINT = "{http://schemas.microsoft.com/office/word/2003/auxHint}"
_WRAPPERS = {"sect", "sub-section", "pBdrGroup", "borders"}  # of the namespace of hints


def parts_of(root: etree._Element) -> Iterator[tuple[str, str, str, etree._Element | bytes]]:
    """The parts of the package: name, the part that relates to it, kind of relation, content; the main one is first.

    A relation has the name of its part, without folder and ending. Raises DocumentError(CORRUPT).
    """
    _rename(root)
    split = _Split(root)
    files = list(_files(root))
    body = root.find(W + "body")
    document = etree.Element(W + "document", nsmap={"w": _MAIN, "r": _OFFICE})
    document.extend([] if body is None else [body])
    yield _DOCUMENT, "", "officeDocument", document
    for name, kind in (("styles", "styles"), ("fonts", "fontTable"), ("lists", "numbering"), ("docPr", "settings")):
        found = root.find(W + name)
        if found is not None:
            yield f"word/{kind}.xml", _DOCUMENT, kind, found
    for kind, holder in split.notes.items():
        if len(holder):
            yield f"word/{kind}.xml", _DOCUMENT, kind, holder
    for name, kind, margin in split.margins:
        yield name, _DOCUMENT, kind, margin
    yield from files


def _files(root: etree._Element) -> Iterator[tuple[str, str, str, bytes]]:
    """The pictures and other files in it, which are named by an address such as "wordml://02000001.jpg"."""
    shown = set[str]()
    for picture in root.iter(_IMAGE):
        name = picture.get("src", "").rpartition("/")[2].partition(".")[0]
        picture.set(_R + "id", name)
        shown.add(name)
    for data in root.iter(W + "binData"):
        name = data.get(W + "name", "").rpartition("/")[2]
        own = name.partition(".")[0]
        part, kind = (f"word/media/{own}", "image") if own in shown else (f"word/embeddings/{name}", "package")
        try:
            yield part, _DOCUMENT, kind, base64.b64decode("".join((data.text or "").split()), validate=True)
        except ValueError as error:
            raise DocumentError(Failure.CORRUPT, f"{name} in it is not base64: {error}") from error


class _Split:
    """What stands within the text of such a file, and has parts of its own in a package."""

    def __init__(self, root: etree._Element) -> None:
        self.notes = {kind: etree.Element(W + kind) for kind in ("footnotes", "endnotes", "comments")}
        self.margins: list[tuple[str, str, etree._Element]] = []
        for wrapper in list(root.iter(*(_HINT + name for name in _WRAPPERS))):
            _unwrap(wrapper)
        readers: dict[str, Callable[[etree._Element], None]] = {
            W + "footnote": self._note, W + "endnote": self._note, W + "hdr": self._margin, W + "ftr": self._margin,
            _AML + "annotation": self._annotation,
        }  # fmt: skip
        for element in list(root.iter(*readers)):
            readers[str(element.tag)](element)

    def _note(self, note: etree._Element) -> None:
        parent, name = note.getparent(), local_name(str(note.tag))
        # Elsewhere it is what stands between text and notes.
        if parent is not None and local_name(str(parent.tag)) in {"r", "content"}:
            self._move(note, f"{name}s", f"{name}Reference")

    def _margin(self, margin: etree._Element) -> None:
        kind = "header" if margin.tag == W + "hdr" else "footer"
        name = f"{kind}{len(self.margins) + 1}"
        shown_on = margin.get(W + "type", "odd").replace("odd", "default")
        reference = etree.Element(W + f"{kind}Reference", {W + "type": shown_on, _R + "id": name})
        _replace(margin, reference)
        self.margins.append((f"word/{name}.xml", kind, margin))

    def _annotation(self, annotation: etree._Element) -> None:
        kind = annotation.get(f"{W}type", "").rpartition(".")[2]
        if kind == "Comment":
            annotation.set(W + "author", annotation.get(_AML + "author", ""))
            for content in annotation.findall(_AML + "content"):
                _unwrap(content)
            annotation.tag = W + "comment"
            self._move(annotation, "comments", "commentReference")
        elif kind == "Deletion":
            annotation.tag = W + "del"

    def _move(self, element: etree._Element, part: str, reference: str) -> None:
        number = str(len(self.notes[part]) + 1)
        _replace(element, etree.Element(W + reference, {W + "id": number}))
        element.tag = W + part.removesuffix("s")
        element.set(W + "id", number)
        self.notes[part].append(element)


def _rename(root: etree._Element) -> None:
    """Give elements and attributes the names that they have had since 2007."""
    for element in root.iter(_OLD + "*"):
        name = local_name(str(element.tag))
        element.tag = W + _renamed(name)
        for key, value in list(element.attrib.items()):
            if str(key).startswith(_OLD):
                del element.attrib[key]
                element.set(W + _renamed(local_name(str(key))), str(value))
        if name == "nfc":
            element.set(W + "val", _NUMBERS.get(element.get(W + "val", ""), "decimal"))
    for annotation in root.iter(_AML + "annotation"):
        annotation.set(W + "type", annotation.get(_OLD + "type", ""))


def _renamed(name: str) -> str:
    return _RENAMED.get(name) or _HYPHEN.sub(lambda letter: letter[1].upper(), name)


def _replace(old: etree._Element, new: etree._Element) -> None:
    parent = old.getparent()
    if parent is not None:
        new.tail, old.tail = old.tail, None
        parent.replace(old, new)


def _unwrap(element: etree._Element) -> None:
    """Put what an element holds in its place."""
    parent = element.getparent()
    if parent is None:
        return
    place = parent.index(element)
    parent[place : place + 1] = list(element)
