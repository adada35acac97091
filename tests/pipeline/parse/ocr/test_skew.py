"""Pages that were scanned askew are turned before their text is recognised."""

import difflib

import pytest
from PIL import Image

from pipeline.parse.pictures.pixels import straightened
from tests.pdf_files import pdf
from tests.pdf_scans import A4, LINES, all_of, drawn, photograph, png, scan, typed

AMOUNT = "The monthly rent is EUR 1,240.50, due on the third day."
PAGE = (*LINES, AMOUNT)


def turned(degrees: float) -> Image.Image:
    """A page of text that lies askew on the glass."""
    page = scan(*PAGE)
    return page.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=250) if degrees else page


def accuracy(text: str) -> float:
    """The share of the letters that were read, in their order."""
    return difflib.SequenceMatcher(None, " ".join(PAGE), " ".join(text.split()), autojunk=False).ratio()


@pytest.mark.parametrize("degrees", [0, 2, 7, -7, 10])
def test_a_scan_is_read_at_any_small_angle(recognise, degrees: float) -> None:
    parsed = recognise(png(turned(degrees)), "page.png")
    assert accuracy(parsed.text) >= 0.99
    assert "EUR 1,240.50" in parsed.text


def test_a_scan_within_a_pdf_is_turned_too(recognise) -> None:
    parsed = recognise(pdf(all_of(drawn(turned(7), *A4), typed(250, 20, "No. 17"))))
    assert "EUR 1,240.50" in parsed.text


def test_what_lies_level_stays_as_it_is() -> None:
    for picture in (turned(0), turned(0.5), photograph(), Image.new("L", (400, 400), 255), Image.new("L", (1, 1), 0)):
        pgm = b"P5 %d %d 255\n" % picture.size + picture.tobytes()
        assert straightened(pgm) == pgm
