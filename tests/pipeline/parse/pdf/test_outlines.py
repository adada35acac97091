"""Letters that are drawn as areas and lines, not as text, beside a text that says little."""

import pytest
from reportlab.graphics.shapes import Circle, Drawing, PolyLine
from reportlab.pdfgen.canvas import Canvas

from tests.hidden.pdf_objects import Added, stream
from tests.pdf_files import one_page, pdf
from tests.pdf_scans import LINES, outlined

NUMBER = b" BT /F 10 Tf 250 30 Td (Page 1 of 1) Tj ET"
NOTE = "text recognised on pictures beside text: page 1"
SHADING = (
    b"<< /ShadingType 2 /ColorSpace /DeviceGray /Coords [0 0 600 0] "
    b"/Function << /FunctionType 2 /Domain [0 1] /C0 [0] /C1 [0.2] /N 1 >> >>"
)
PATHS = outlined(72, 700, *LINES)
FILLED = b" f ".join(PATHS) + b" f "
WAYS = {
    "a path for each letter": one_page(FILLED + NUMBER),
    "one path for all": one_page(b" ".join(PATHS) + b" f " + NUMBER),
    "lines around them": one_page(b".5 w " + b" S ".join(PATHS) + b" S " + NUMBER),
    "on its side": one_page(b"q 0 1 -1 0 750 0 cm " + FILLED + b"Q " + NUMBER),
    "in a form": Added(
        b"/X Do", b"/XObject << /X 6 0 R >>", objects=(stream(FILLED, b"/Subtype /Form /BBox [0 0 600 800]"),)
    ).pdf(),
    "a shading within them": Added(
        b" ".join(PATHS) + b" W n /S sh", b"/Shading << /S %s >>" % SHADING
    ).pdf(),
    "an area within them": one_page(b"q " + b" ".join(PATHS) + b" W n 0 0 600 800 re f Q " + NUMBER),
    "a pattern of them": Added(
        b"/Pattern cs /P scn 0 150 600 640 re f", b"/Pattern << /P 6 0 R >>",
        objects=(
            stream(
                outlined(72, 500, *LINES)[0] + b" f " + b" f ".join(outlined(72, 500, *LINES)) + b" f ",
                b"/PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 600 800] /XStep 600 /YStep 800 /Resources << >>",
            ),
        ),
    ).pdf(),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_letters_that_are_drawn_are_recognised(recognise, way: str) -> None:
    parsed = recognise(WAYS[way])
    lines = [line for line in parsed.text.split("\n") if line]
    assert [line for line in lines if line in LINES] == list(LINES)
    assert parsed.notes == (NOTE,)
    assert parsed.unsure == ()


def test_without_recognition_a_person_must_look(parse) -> None:
    parsed = parse(WAYS["a path for each letter"])
    assert parsed.text == "Page 1 of 1"
    assert parsed.notes == ("pictures beside text, not read: page 1",)
    assert parsed.unsure == ("text that is drawn as areas, not read: page 1",)


def test_a_page_of_nothing_else_must_be_recognised(recognise, fail) -> None:
    page = one_page(FILLED)
    assert [line for line in recognise(page).text.split("\n") if line] == list(LINES)
    assert fail(page).failure.value == "needs_ocr"


def test_letters_that_the_text_has_too_are_not_looked_at(parse) -> None:
    text = b" ".join(
        b"BT /F 14 Tf 72 %d Td (%s) Tj ET" % (700 - 28 * place, line.encode()) for place, line in enumerate(LINES)
    )
    parsed = parse(one_page(FILLED + text))
    assert parsed.text.split("\n") == list(LINES)
    assert (parsed.notes, parsed.unsure) == ((), ())


def chart(canvas: Canvas) -> None:
    """Lines with round marks, bars, a grid, and a curve."""
    drawing = Drawing(400, 300)
    for series in range(4):
        points = [(20 * place, 40 + 10 * series + (17 * place * (series + 3)) % 90) for place in range(20)]
        drawing.add(PolyLine([one for point in points for one in point]))
        for x, y in points:
            drawing.add(Circle(x, y, 3))
    drawing.drawOn(canvas, 72, 300)
    for place in range(60):
        canvas.rect(72 + 6 * place, 200, 4, 10 + (7 * place) % 60, fill=1)
        canvas.line(72, 200 + 5 * place, 472, 200 + 5 * place)
        canvas.bezier(72, 100 + place, 200, 150 + place, 300, 20 + place, 472, 110 + place)
    for place, line in enumerate(LINES):
        canvas.drawString(72, 760 - 20 * place, line)


def test_charts_are_no_letters(parse) -> None:
    parsed = parse(pdf(chart))
    assert parsed.text.split("\n") == list(LINES)
    assert (parsed.notes, parsed.unsure) == ((), ())
