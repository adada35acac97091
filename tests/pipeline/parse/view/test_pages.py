"""Pages are drawn in the parsers' children, and marks lie around the very words that they are to show."""

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from PIL import Image, ImageChops
from reportlab.pdfgen.canvas import Canvas

from pipeline.errors import DocumentError, Failure
from pipeline.parse import Limits, Options, ParserPool
from pipeline.parse.view.messages import BadPagesError, parse_pages, parse_pixels
from pipeline.parse.view.rectangles import around
from pipeline.parse.view.seen import MOST_PIXELS, Mark, Pages, PageText, Pixels, Stretch, fitting
from tests.pdf_files import one_page, pdf, raw_pdf, words

PDF = Options(media_type="application/pdf")


@contextmanager
def opened(data: bytes) -> Iterator[int]:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        yield file.fileno()


def picture(drawn: Pixels) -> Image.Image:
    return Image.frombytes("RGB", (drawn.width, drawn.height), drawn.rgb)


def draw(pool: ParserPool, data: bytes, number: int = 1, width: int = 600, options: Options = PDF) -> Image.Image:
    with opened(data) as fd:
        return picture(pool.draw(fd, options, number, width))


def marks(pool: ParserPool, data: bytes, word: str, page: int = 1, options: Options = PDF) -> list[Mark]:
    """The marks around a word, by the text that the parsers read."""
    with opened(data) as fd:
        parsed = pool.parse(fd, "document", options)
        starts = [*parsed.page_starts, len(parsed.text)]
        text = parsed.text[starts[page - 1] : starts[page]]
        at = text.rindex(word)
        return list(pool.pages(fd, options, [PageText(page, text, (Stretch(7, at, at + len(word)),))]).marks)


def ink(drawn: Image.Image) -> tuple[float, float, float, float]:
    """The box around everything that is not white, in parts of the page."""
    box = ImageChops.invert(drawn.convert("L")).getbbox()
    assert box
    return box[0] / drawn.width, box[1] / drawn.height, box[2] / drawn.width, box[3] / drawn.height


def is_around(mark: Mark, box: tuple[float, float, float, float]) -> bool:
    near = 0.012
    sides = (mark.left - box[0], mark.top - box[1], mark.right - box[2], mark.bottom - box[3])
    return sides[0] <= 0.002 and sides[2] >= -0.002 and all(abs(side) < near for side in sides)


def alone(draw_word, others) -> tuple[bytes, bytes]:
    """A page with a word and others, and one with the word alone."""

    def both(canvas: Canvas) -> None:
        others(canvas)
        draw_word(canvas)

    return pdf(both), pdf(draw_word)


@pytest.mark.parametrize("angle", [0, 90, 180, 270])
def test_a_mark_is_around_the_ink_of_its_word(pool: ParserPool, angle: int) -> None:
    def word(canvas: Canvas) -> None:
        canvas.setPageRotation(angle)
        canvas.setFont("Helvetica", 14)
        canvas.drawString(310, 420, "Quittung")

    whole, single = alone(word, words("Rechnung 17 vom 3. Mai", "Quittung folgt", "am Ende"))
    (mark,) = marks(pool, whole, "Quittung")
    assert (mark.number, mark.page) == (7, 1)
    assert is_around(mark, ink(draw(pool, single)))


def test_a_mark_goes_on_in_the_next_line(pool: ParserPool) -> None:
    data = pdf(words("The rent is due on the first", "of each month without deduction", "and so on"))
    with opened(data) as fd:
        text = pool.parse(fd, "", PDF).text
    found = marks(pool, data, "first\nof each")
    assert "first\nof each" in text
    assert len(found) == 2
    assert found[0].right > 0.3
    assert found[1].left < 0.15
    assert found[0].bottom < found[1].bottom


def test_a_crop_box_moves_the_mark(pool: ParserPool) -> None:
    data = one_page(b"BT /F 20 Tf 300 500 Td (Kaution) Tj ET", b"/CropBox [200 400 500 600]")
    (mark,) = marks(pool, data, "Kaution")
    assert is_around(mark, ink(draw(pool, data)))


def test_hidden_words_are_never_marked_in_place_of_those_that_are_seen(pool: ParserPool) -> None:
    """The hidden copy comes first on the page; its text is not in the parsed one."""
    seen = b"BT /F 12 Tf 0 g 72 300 Td (total 900 EUR) Tj ET"
    (mark,) = marks(pool, one_page(b"BT /F 12 Tf 1 g 72 700 Td (total 900 EUR) Tj ET " + seen), "900")
    assert is_around(mark, ink(draw(pool, one_page(b"BT /F 12 Tf 0 g 72 300 Td 26.02 0 Td (900) Tj ET"))))


def test_a_form_field_is_marked_as_a_whole(pool: ParserPool) -> None:
    def form(canvas: Canvas) -> None:
        canvas.drawString(72, 700, "Please fill in")
        canvas.acroForm.textfield(name="iban", value="DE02 1203", x=200, y=500, width=180, height=20)

    (mark,) = marks(pool, pdf(form), "DE02 1203")
    assert 0.3 < mark.left < 0.36
    assert 0.6 < mark.right < 0.66
    assert mark.top == pytest.approx((842 - 520) / 842, abs=0.01)


def test_pages_have_their_sizes(pool: ParserPool) -> None:
    def wide(canvas: Canvas) -> None:
        canvas.setPageSize((800, 400))
        canvas.drawString(72, 300, "wide")

    with opened(pdf(words("tall"), wide)) as fd:
        found = pool.pages(fd, PDF, [])
    assert [(round(across), round(down)) for across, down in found.sizes] == [(595, 842), (800, 400)]
    assert found.kind == "pdf"
    assert found.marks == ()


@pytest.mark.parametrize(
    ("across", "down"), [(1.0, 14400.0), (14400.0, 1.0), (14400.0, 14400.0), (0.0, 0.0), (1e30, 2)]
)
def test_no_page_has_too_many_pixels(across: float, down: float) -> None:
    width, height = fitting(across, down, 2000)
    assert width >= 1
    assert height >= 1
    assert width * height <= MOST_PIXELS


def test_a_huge_page_is_drawn_small(pool: ParserPool) -> None:
    drawn = draw(pool, one_page(b"BT /F 400 Tf 20 300 Td (Ink) Tj ET").replace(b"600 800", b"600 14400"), width=2000)
    assert drawn.width * drawn.height <= MOST_PIXELS
    assert drawn.height > 10 * drawn.width


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP"])
def test_pictures_are_drawn(pool: ParserPool, kind: str) -> None:
    file = io.BytesIO()
    Image.new("RGB", (40, 20), "red").save(file, kind)
    options = Options(media_type=f"image/{kind.lower()}")
    with opened(file.getvalue()) as fd:
        assert pool.pages(fd, options, []) == Pages(((40.0, 20.0),), (), "picture")
    drawn = draw(pool, file.getvalue(), width=80, options=options)
    assert drawn.size == (80, 40)
    red, green, blue = drawn.getpixel((40, 20))
    assert red > 240
    assert green < 15
    assert blue < 15


def test_a_photograph_stands_as_its_exif_says(pool: ParserPool) -> None:
    file = io.BytesIO()
    source = Image.new("RGB", (40, 20), "white")
    source.paste("black", (0, 0, 20, 20))
    exif = Image.Exif()
    exif[0x0112] = 6
    source.save(file, "JPEG", exif=exif, quality=95)
    drawn = draw(pool, file.getvalue(), width=20, options=Options(media_type="image/jpeg"))
    assert drawn.size == (20, 40)
    assert drawn.convert("L").getpixel((10, 5)) < 60
    assert drawn.convert("L").getpixel((10, 35)) > 200


def test_a_transparent_picture_is_on_white_and_pages_of_a_tiff_are_pages(pool: ParserPool) -> None:
    file = io.BytesIO()
    Image.new("RGBA", (20, 20), (0, 0, 0, 0)).save(file, "PNG")
    assert draw(pool, file.getvalue(), width=20, options=Options(media_type="image/png")).getpixel((3, 3)) == (255,) * 3
    file = io.BytesIO()
    first, second = Image.new("RGB", (20, 20), "red"), Image.new("RGB", (30, 20), "blue")
    first.save(file, "TIFF", save_all=True, append_images=[second])
    tiff = Options(media_type="image/tiff")
    with opened(file.getvalue()) as fd:
        assert pool.pages(fd, tiff, []).sizes == ((20.0, 20.0), (30.0, 20.0))
    assert draw(pool, file.getvalue(), 2, 30, tiff).getpixel((3, 3)) == (0, 0, 255)


def test_what_it_is_its_bytes_decide_where_nobody_says_it(pool: ParserPool) -> None:
    with opened(pdf(words("tall"))) as fd:
        assert pool.pages(fd, Options(), []).kind == "pdf"
    with opened(b"plain text, as it is") as fd, pytest.raises(DocumentError) as raised:
        pool.pages(fd, Options(), [])
    assert raised.value.failure is Failure.UNSUPPORTED


@pytest.mark.parametrize(
    ("data", "options", "failure"),
    [
        (b"%PDF-1.7 nothing", PDF, Failure.CORRUPT),
        (b"\x89PNG nothing", Options(media_type="image/png"), Failure.CORRUPT),
        (pdf(words("x"), encrypt="secret"), PDF, Failure.ENCRYPTED),
        (b"text", Options(media_type="text/plain"), Failure.UNSUPPORTED),
    ],
)
def test_what_cannot_be_drawn_says_why(pool: ParserPool, data: bytes, options: Options, failure: Failure) -> None:
    with opened(data) as fd, pytest.raises(DocumentError) as raised:
        pool.draw(fd, options, 1, 600)
    assert raised.value.failure is failure


def test_a_page_that_is_not_there_is_damaged(pool: ParserPool) -> None:
    with opened(pdf(words("x"))) as fd, pytest.raises(DocumentError, match="page 9"):
        pool.draw(fd, PDF, 9, 600)


def test_a_bomb_ends_its_child_and_nothing_else() -> None:
    """A form that draws itself eight times over, twelve deep, would be drawn for hours."""
    forms = [b"/X%d Do " % (number + 1) * 30 for number in range(12)]
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /XObject "
        b"<< /X0 5 0 R >> >> >>",
        b"<< /Length 6 >>\nstream\n/X0 Do\nendstream",
    ]
    for number, content in enumerate(forms):
        inner = b"/Resources << /XObject << /X%d %d 0 R >> >>" % (number + 1, number + 6) if number < 11 else b""
        content = content if number < 11 else b"0 0 500 500 re f"
        about = b"<< /Type /XObject /Subtype /Form /BBox [0 0 600 800] /Length %d %s >>" % (len(content), inner)
        objects.append(about + b"\nstream\n" + content + b"\nendstream")
    with ParserPool(1, Limits(seconds=2, memory_bytes=512 * 2**20)) as pool, opened(raw_pdf(*objects)) as fd:
        with pytest.raises(DocumentError) as raised:
            pool.draw(fd, PDF, 1, 600)
        assert raised.value.failure in (Failure.TIMEOUT, Failure.OUT_OF_MEMORY)  # whichever comes first
        assert draw(pool, pdf(words("next"))).width == 600


TEXTS = [PageText(1, "abc", (Stretch(4, 0, 3),))]


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"sizes": [[1, 2]], "marks": []},
        {"sizes": [[1, -2]], "marks": [], "media_type": "application/pdf"},
        {"sizes": [[1, float("nan")]], "marks": [], "media_type": "application/pdf"},
        {"sizes": [["1", 2]], "marks": [], "media_type": "application/pdf"},
        {"sizes": [[1, 2, 3]], "marks": [], "media_type": "application/pdf"},
        {"sizes": [[1, 2]] * 20_001, "marks": [], "media_type": "application/pdf"},
        {"sizes": [[1, 2]], "marks": [[4, 2, 0, 0, 1, 1]], "media_type": "application/pdf"},
        {"sizes": [[1, 2]], "marks": [[5, 1, 0, 0, 1, 1]], "media_type": "application/pdf"},
        {"sizes": [[1, 2]], "marks": [[4, 1, 0, 0, 1, 1.1]], "media_type": "application/pdf"},
        {"sizes": [[1, 2]], "marks": [[4, 1, 0, 0, 1]], "media_type": "application/pdf"},
        {"sizes": [[1, 2]], "marks": [[4, 1, 0, 0, 1, True]], "media_type": "application/pdf"},
        {"sizes": [[1, 2]], "marks": [], "media_type": "text/html"},
        {"sizes": [[1, 2]], "marks": [], "media_type": ["application/pdf"]},
    ],
)
def test_a_child_is_not_believed_what_it_says_of_pages(answer: dict[str, object]) -> None:
    with pytest.raises(BadPagesError):
        parse_pages(answer, TEXTS)


@pytest.mark.parametrize(
    "answer", [{}, {"width": 2, "height": 3}, {"width": 0, "height": 2}, {"width": True, "height": 1},
               {"width": 1 << 20, "height": 1 << 20}, {"width": "1", "height": 1}]
)  # fmt: skip
def test_a_child_is_not_believed_how_many_pixels_there_are(answer: dict[str, object]) -> None:
    out = os.memfd_create("pixels")
    try:
        os.pwrite(out, b"abcdef", 0)
        with pytest.raises(BadPagesError):
            parse_pixels(answer, out)
        assert parse_pixels({"width": 2, "height": 1}, out) == Pixels(2, 1, b"abcdef")
    finally:
        os.close(out)


def test_letters_of_a_line_have_one_rectangle() -> None:
    line = [(0.0, 0.0, 5.0, 10.0), (6.0, 1.0, 11.0, 9.0), (12.0, 0.0, 20.0, 10.0)]
    assert around(line, 0, 100) == [(0.0, 0.0, 20.0, 10.0)]
    below = [(0.0, 20.0, 5.0, 30.0)]
    assert around(line + below, 0, 100) == [(0.0, 0.0, 20.0, 10.0), (0.0, 20.0, 5.0, 30.0)]
    upwards = [(0.0, y, 10.0, y + 5.0) for y in (0.0, 6.0, 12.0)]
    assert around(upwards, 0, 100) == [(0.0, 0.0, 10.0, 17.0)]
    assert around([(-50.0, -50.0, -10.0, -10.0), (float("nan"), 0.0, 1.0, 1.0)], 0, 100) == [(0.0, 0.0, 1.0, 1.0)]
