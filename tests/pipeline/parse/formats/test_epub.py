"""Books: chapters in their order, as sections."""

import pytest

from pipeline.errors import Failure
from tests.pipeline.parse.odf import book, page

TOC = (
    '<nav xmlns:epub="http://www.idpf.org/2007/ops" epub:type="toc"><ol>'
    '<li><a href="text/one.xhtml">The first</a></li><li><a href="text/one.xhtml#b">inside it</a></li></ol></nav>'
)
NAV = '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
NCX = (
    '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd">'
    '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>Ordered</text></navLabel>'
    '<content src="text/one.xhtml#top"/></navPoint></navMap></ncx>'
)
TWO = {"one": "<p>First text.</p>", "two": "<h2>Second</h2><p>More.</p>"}


def titles(parsed) -> list[str]:
    return [section.title for section in parsed.sections if section.kind == "chapter"]


def test_chapters_are_sections_named_by_the_table_of_contents(parse) -> None:
    parsed = parse(book(TWO, manifest=NAV, **{"OPS__nav.xhtml": page(TOC)}), "book.epub")
    assert parsed.text == "A Book\nAnn Author\n\nFirst text.\n\nSecond\n\nMore."
    assert titles(parsed) == ["The first", "Second"]
    assert parsed.media_type == "application/epub+zip"
    assert parsed.evidence(parsed.text.index("More"), len(parsed.text)).section.startswith("Second")


def test_names_from_the_older_table_of_contents(parse) -> None:
    ncx = '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    assert titles(parse(book(TWO, manifest=ncx, **{"OPS__toc.ncx": NCX}))) == ["Ordered", "Second"]


def test_order_is_that_of_the_spine_with_what_is_beside_it_last(parse) -> None:
    spine = '<itemref idref="c" linear="no"/><itemref idref="nav"/><itemref idref="b"/><itemref idref="a"/>'
    chapters = {name: f"<p>{name * 3}</p>" for name in "abc"}
    parsed = parse(book(chapters, spine=spine, manifest=NAV, **{"OPS__nav.xhtml": page(TOC)}))
    assert parsed.text.split("\n\n")[1:] == ["bbb", "aaa", "ccc"]


def test_what_is_not_read_is_noted(parse) -> None:
    more = '<item id="p" href="p.svg" media-type="image/svg+xml"/>'
    parsed = parse(book(TWO, manifest=more, spine='<itemref idref="one"/><itemref idref="p"/>'))
    assert parsed.notes == ("part of the book not read: OPS/p.svg", "pictures and other media not read: 1")
    unreadable = parse(book(TWO, manifest=NAV, **{"OPS__nav.xhtml": "<nav"}))
    assert "table of contents" in unreadable.notes[0]
    assert titles(unreadable) == ["Second"]


def encryption(algorithm: str) -> str:
    return (
        '<encryption xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData>'
        f'<enc:EncryptionMethod Algorithm="{algorithm}"/></enc:EncryptedData></encryption>'
    )


def test_protection_is_told_from_obfuscated_fonts(parse, fail) -> None:
    fonts = book(TWO, **{"META-INF__encryption.xml": encryption("http://www.idpf.org/2008/embedding")})
    assert "First text." in parse(fonts).text
    locked = book(TWO, **{"META-INF__encryption.xml": encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc")})
    assert fail(locked).failure is Failure.ENCRYPTED


@pytest.mark.parametrize(
    ("data", "failure"),
    [
        (book({}, spine='<itemref idref="x"/>'), Failure.CORRUPT),
        (book({"one": ""}), Failure.CORRUPT),
        (book({"one": "<p></p>"}), Failure.EMPTY),
        (book({"one": "<img/>"}, manifest='<item id="i" href="1.png" media-type="image/png"/>'), Failure.NEEDS_OCR),
        (book(TWO, **{"META-INF__container.xml": "<container/>"}), Failure.CORRUPT),
        (book(TWO, **{"OPS__book.opf": '<!DOCTYPE x [<!ENTITY a "b">]><package>&a;</package>'}), Failure.CORRUPT),
        (book(TWO)[:300], Failure.CORRUPT),
    ],
)
def test_damage_has_a_name(fail, data: bytes, failure: Failure) -> None:
    assert fail(data).failure is failure
