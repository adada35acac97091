"""The order of a page's text, and signs above and below the line, where a page is painted otherwise than it is read."""

import pytest
from reportlab.pdfgen.canvas import Canvas

from tests.pdf_files import one_page, pdf


def parts(*texts: tuple[str, float, float], scale: float = 1.0):
    """A line of texts, each with its size and by how much it is raised."""

    def draw(canvas: Canvas) -> None:
        canvas.scale(scale, scale)
        x = 72.0
        for text, size, rise in texts:
            canvas.setFont("Helvetica", size)
            canvas.drawString(x, 500 + rise, text)
            x += canvas.stringWidth(text, "Helvetica", size)

    return draw


@pytest.mark.parametrize("scale", [1.0, 0.5])
@pytest.mark.parametrize(
    ("line", "text"),
    [
        ((("EUR 1,240", 12, 0), ("1", 7, 5), (" and more", 12, 0)), "EUR 1,240^1 and more"),
        ((("10", 12, 0), ("9", 8, 4), ("/l", 12, 0)), "10^9/l"),
        ((("flat of 120 m", 12, 0), ("2", 8, 4), (", two rooms", 12, 0)), "flat of 120 m^2, two rooms"),
        ((("30 June 2026", 12, 0), ("2", 7, 4)), "30 June 2026^2"),
        ((("10", 12, 0), ("9", 12, 4), ("/l", 12, 0)), "10^9/l"),
        ((("H", 12, 0), ("2", 8, -2), ("O", 12, 0)), "H2O"),
        ((("x", 12, 0), ("5", 12, 0), ("2", 8, -3)), "x5_2"),
        ((("1", 7, 5), (" Net of tax.", 12, 0)), "1 Net of tax."),
        ((("the 3", 12, 0), ("rd", 7, 5), (" day", 12, 0)), "the 3rd day"),
        ((("LARGE", 18, 0), (" small", 12, 0)), "LARGE small"),
    ],
)
def test_signs_above_and_below_the_line(parse, line, text: str, scale: float) -> None:
    assert parse(pdf(parts(*line, scale=scale))).text == text


def test_a_rise_of_the_text_is_a_raised_sign(parse) -> None:
    content = b"BT /F 12 Tf 72 500 Td (EUR 1,240) Tj 5 Ts /F 7 Tf (1) Tj 0 Ts /F 12 Tf ( net) Tj ET"
    assert parse(one_page(content)).text == "EUR 1,240^1 net"


def fraction(*texts: tuple[str, float, float, float], line: tuple[float, ...] = ()):
    """Texts with their sizes, how far they are raised and from where on the page's left, and a line, if any."""

    def draw(canvas: Canvas) -> None:
        for text, size, rise, left in texts:
            canvas.setFont("Helvetica", size)
            canvas.drawString(left, 500 + rise, text)
        if line:
            canvas.setLineWidth(0.5)
            canvas.line(line[0], 500 + line[1], line[2], 500 + line[3])

    return draw


WHOLE, END = ("take 2", 12, 0, 72), (" tablets", 12, 0, 113)
STACKED = (("1", 7, 6, 108), ("2", 7, -2, 108))


@pytest.mark.parametrize(
    ("texts", "line", "text"),
    [
        ((WHOLE, *STACKED, END), (107.5, 4.5, 112.5, 4.5), "take 2 1/2 tablets"),
        ((WHOLE, *STACKED), (107.5, 4.5, 112.5, 4.5), "take 2 1/2"),
        ((*STACKED, END), (107.5, 4.5, 112.5, 4.5), "1/2 tablets"),
        ((WHOLE, ("11", 7, 6, 108), ("16", 7, -2, 108), ("in", 12, 0, 116)), (107, 4.5, 117, 4.5), "take 2 11/16 in"),
        ((WHOLE, ("1", 12, 8, 107), ("2", 12, -8, 107), ("m", 12, 0, 115)), (107, 4, 114, 4), "take 2 1/2 m"),
        ((WHOLE, ("1", 7, 5, 107), ("2", 7, -1, 114), ("m", 12, 0, 120)), (109, -1, 115, 9), "take 2 1/2 m"),
        ((WHOLE, ("1", 7, 5, 106), ("/", 12, 0, 110), ("2", 7, 0, 113), (" m", 12, 0, 117)), (), "take 2 1/2 m"),
        ((("x", 12, 0, 72), ("i", 7, -2, 78), ("2", 7, 6, 78), (" more", 12, 0, 82)), (), "xi^2 more"),
        ((WHOLE, *STACKED, END), (72, -20, 160, -20), "take 2 ^1_2 tablets"),
        ((("100", 12, 8, 72), ("120", 12, -8, 72), ("EUR", 12, 0, 140)), (72, 5, 92, 5), "100\n120 EUR"),
    ],
)
def test_a_number_over_another_one_is_a_fraction(parse, texts, line, text: str) -> None:
    assert parse(pdf(fraction(*texts, line=line))).text == text


TABLE = (("Pos", "1", "2", "3"), ("Text", "Stuhl", "Tisch", "Lampe"), ("Preis", "120,00", "1.240,50", "80,00"))


def by_columns(*columns: tuple[str, ...], above: str = "", below: str = ""):
    def draw(canvas: Canvas) -> None:
        if above:
            canvas.drawString(72, 760, above)
        for place, column in enumerate(columns):
            for row, cell in enumerate(column):
                canvas.drawString(72 + 120 * place, 700 - 20 * row, cell)
        if below:
            canvas.drawString(72, 600, below)

    return draw


def test_a_table_that_is_painted_by_columns_has_rows(parse) -> None:
    parsed = parse(pdf(by_columns(*TABLE, above="Our offer of today", below="All prices are net.")))
    assert parsed.text.replace("\n\n", "\n").split("\n") == [
        "Our offer of today",
        "Pos | Text | Preis",
        "1 | Stuhl | 120,00",
        "2 | Tisch | 1.240,50",
        "3 | Lampe | 80,00",
        "All prices are net.",
    ]


def test_digits_below_one_another_are_no_number(parse) -> None:
    assert parse(pdf(by_columns(("1", "2", "3")))).text == "1\n2\n3"


LEFT = tuple(f"The tenant shall pay the rent of month {n} in advance," for n in range(6))
RIGHT = tuple(f"and the landlord shall keep the house in order {n}." for n in range(6))


def across(left: tuple[str, ...], right: tuple[str, ...], gap: float = 300):
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for row, (one, other) in enumerate(zip(left, right, strict=True)):
            canvas.drawString(50, 700 - 14 * row, one)
            canvas.drawString(50 + gap, 700 - 14 * row, other)

    return draw


def test_columns_that_are_painted_by_lines_are_read_one_after_the_other(parse) -> None:
    assert parse(pdf(across(LEFT, RIGHT))).text.split("\n") == [*LEFT, *RIGHT]


def test_a_table_that_is_painted_by_rows_stays_in_rows(parse) -> None:
    names, prices = ("Chair", "Table", "Lamp", "Shelf", "Bed"), ("120.00", "240.50", "80.00", "60.00", "400.00")
    expected = [f"{name} {price}" for name, price in zip(names, prices, strict=True)]
    assert parse(pdf(across(names, prices))).text.split("\n") == expected


def struck(text: str, start: str, word: str, height: float):
    """A text with a line at a height over a word of it."""

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 12)
        canvas.drawString(72, 700, text)
        left = 72 + canvas.stringWidth(start, "Helvetica", 12)
        canvas.line(left, 700 + height, left + canvas.stringWidth(word, "Helvetica", 12), 700 + height)

    return draw


def test_a_word_with_a_line_through_it_is_marked(parse) -> None:
    parsed = parse(pdf(struck("The rent is 900 950 EUR", "The rent is ", "900", 3.5)))
    assert parsed.text == "The rent is ~~900~~ 950 EUR"
    assert parsed.notes == ("struck-out text, marked ~~ ~~: 3 characters",)


@pytest.mark.parametrize("height", [-2, -0.5, 0.5, 9, 12])
def test_a_line_under_or_over_a_word_is_none_through_it(parse, height: float) -> None:
    parsed = parse(pdf(struck("The rent is 900 950 EUR", "The rent is ", "900", height)))
    assert (parsed.text, parsed.notes) == ("The rent is 900 950 EUR", ())


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ((-1, -3, 21, 12), "~~900~~ 950 EUR"),
        ((0, 9, 20, 0), "~~900~~ 950 EUR"),
        ((0, 0, 43, 9), "~~900 950~~ EUR"),
        ((0, -7, 40, -1), "900 950 EUR"),  # below
        ((-60, -60, 500, 200), "900 950 EUR"),  # over the whole page
        ((-70, -5, 400, 14), "900 950 EUR"),  # of a chart
    ],
)
def test_a_slanted_line_through_a_word_is_one_that_strikes_it_out(parse, line, text: str) -> None:
    x0, y0, x1, y1 = line
    drawn = fraction((text.replace("~~", ""), 12, 0, 72), line=(72 + x0, y0, 72 + x1, y1))
    assert parse(pdf(drawn)).text == text


def test_a_cross_over_a_word_strikes_it_out_once(parse) -> None:
    def draw(canvas: Canvas) -> None:
        fraction(("900 950 EUR", 12, 0, 72), line=(72, 0, 92, 9))(canvas)
        canvas.line(72, 509, 92, 500)

    assert parse(pdf(draw)).text == "~~900~~ 950 EUR"


def test_what_an_annotation_strikes_out_is_marked(parse) -> None:
    strike = (
        b"/Annots [<< /Type /Annot /Subtype /StrikeOut /Rect [94 497 120 512] "
        b"/QuadPoints [95 510 117 510 95 498 117 498] %s >>]"
    )
    line = b"BT /F 12 Tf 72 500 Td (rent) Tj 24 0 Td (900) Tj 26 0 Td (950) Tj ET"
    parsed = parse(one_page(line, strike % b""))
    assert parsed.text == "rent ~~900~~ 950"
    assert parsed.notes == ("struck-out text, marked ~~ ~~: 3 characters",)
    assert parse(one_page(line, strike % b"/F 2")).text == "rent 900 950"
