"""Exact text is not replaced by what is recognised, where a font says what its characters are."""

import pytest

from tests.hidden.pdf_objects import to_unicode, true_type, vera
from tests.pdf_files import one_page, with_font

PARTS = (
    "Pos Art.-Nr. Menge", "1 DXF-3312-B 4 Stk", "2 QRT-9981-ZZ 2 Stk", "3 XPL-1120-K 11 Stk", "4 WRK-7743-PP 1 Stk"
)  # fmt: skip
MACHINE = ("P<D<<MUSTERMANN<<ERIKA<<<<<<<<<<<<<<<<<<<<<<", "C01X00T478D<<6408125F2702283<<<<<<<<<<<<<<<4")


def shown(lines: tuple[str, ...]) -> bytes:
    return b"BT /F 12 Tf 20 TL 72 700 Td " + b" ".join(b"(%s) Tj T*" % line.encode() for line in lines) + b" ET"


HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica %s >>"
CODES = {code: chr(code) for code in range(32, 127)}


@pytest.mark.parametrize("lines", [PARTS, MACHINE])
def test_a_font_that_says_what_its_characters_are_is_believed(recognise, lines: tuple[str, ...]) -> None:
    font, descriptor, *more = true_type(vera(), CODES)
    font = font.replace(b"7 0 R", b"6 0 R").replace(b"9 0 R", b"8 0 R")
    program = font, descriptor.replace(b"8 0 R", b"7 0 R"), *more
    for data in (
        one_page(shown(lines)),
        with_font(shown(lines), HELVETICA % b"/Encoding /WinAnsiEncoding"),
        with_font(shown(lines), HELVETICA % b"/Encoding << /BaseEncoding /MacRomanEncoding /Differences [65 /A /B] >>"),
        with_font(shown(lines), HELVETICA % b"/ToUnicode 6 0 R", to_unicode(CODES)),
        with_font(shown(lines), *program),
    ):
        parsed = recognise(data)
        assert [line for line in parsed.text.split("\n") if line] == list(lines)
        assert (parsed.notes, parsed.unsure) == ((), ())
