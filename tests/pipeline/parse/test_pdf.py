"""PDF: pages, fields, remarks, and what has no text."""

import zlib

import pytest
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from pipeline.errors import Failure
from pipeline.parse.hyphens import join_words
from tests.pdf_files import image, one_page, pdf, raw_pdf, words


def test_pages_and_lines(parse) -> None:
    parsed = parse(
        pdf(words("First page", "second line"), words(), words("Third page: 1 234,50 \u20ac")), "letter.docx"
    )
    assert parsed.media_type == "application/pdf"
    assert parsed.text == "First page\nsecond line\n\nThird page: 1 234,50 \u20ac"
    assert parsed.page_starts == (0, 24, 24)
    assert [parsed.page_of(place) for place in (0, 23, 24)] == [1, 1, 3]
    assert parsed.evidence(24, 29).text == "Third"


def test_a_header_within_the_first_kilobyte(parse) -> None:
    assert parse(b"\n" * 900 + pdf(words("late"))).text == "late"


def test_values_of_form_fields(parse) -> None:
    def form(canvas: Canvas) -> None:
        canvas.drawString(72, 700, "Application")
        canvas.acroForm.textfield(name="surname", value="Müller", x=72, y=600, borderStyle="inset")
        canvas.acroForm.textfield(name="empty", value="", x=72, y=500)
        canvas.acroForm.checkbox(name="agreed", checked=True, x=72, y=400)
        canvas.acroForm.checkbox(name="other", checked=False, x=72, y=300)

    text = parse(pdf(form)).text
    assert text.startswith("Application")
    assert "surname: Müller" in text
    assert "agreed: [x]" in text
    assert "empty" not in text
    assert "other" not in text


def test_remarks_on_the_page(parse) -> None:
    note = b"/Annots [<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (please check) >>]"
    assert parse(one_page(b"BT /F 12 Tf 72 700 Td (Text) Tj ET", note)).text == "Text\n\nRemark: please check"


def test_attachments_are_documents_of_their_own(parse, parse_members) -> None:
    data = raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R /Names << /EmbeddedFiles << /Names [(a) 6 0 R] >> >> >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R "
        b"/Resources << /Font << /F 5 0 R >> >> >>",
        b"<< /Length 33 >>\nstream\nBT /F 12 Tf 72 700 Td (Text) Tj ET\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Filespec /F (invoice.xml) /UF (invoice.xml) /EF << /F 7 0 R >> >>",
        b"<< /Type /EmbeddedFile /Length 1 >>\nstream\nx\nendstream",
    )
    assert parse(data).notes == ("documents inside it, not read: 1",)
    parsed, members = parse_members(data)
    assert parsed.text == "Text"
    assert parsed.notes == ()
    assert members == {"invoice.xml": b"x"}


def test_encryption(parse, fail) -> None:
    locked = pdf(words("secret"), encrypt=StandardEncryption("user", "owner", strength=128))
    assert fail(locked).failure is Failure.ENCRYPTED
    opens = pdf(words("readable"), encrypt=StandardEncryption("", "owner", strength=128, canCopy=0))
    assert parse(opens).text == "readable"


def test_pages_that_are_images(parse, fail) -> None:
    assert fail(pdf(image, image)).failure is Failure.NEEDS_OCR
    parsed = parse(pdf(image, words("text"), image, image))
    assert parsed.notes == ("images without text, not read: pages 1, 3-4",)
    assert parsed.page_starts == (0, 0, 4, 4)
    assert fail(pdf(words())).failure is Failure.EMPTY


@pytest.mark.parametrize("data", [b"%PDF-1.7\n", b"%PDF-1.7\ngarbage" * 100, b"%PDF-" + bytes(500)])
def test_broken_files_are_corrupt(fail, data: bytes) -> None:
    assert fail(data, "x.pdf").failure is Failure.CORRUPT


def test_a_truncated_file_never_gives_other_text(parse, pool, parse_with) -> None:
    from pipeline.errors import DocumentError

    data = pdf(words("the whole text"))
    for cut in range(20, len(data), 97):
        try:
            text = parse_with(pool, data[:cut]).text
        except DocumentError as error:
            assert error.failure in {Failure.CORRUPT, Failure.EMPTY}  # noqa: PT017
        else:
            assert text == "the whole text"


def test_a_bomb_of_nested_flate_streams_is_its_own_failure(parse, fail) -> None:
    packer, blanks = zlib.compressobj(1), b" " * 2**24
    once = b"".join(packer.compress(blanks) for _ in range(44)) + packer.flush()  # 704 MiB, where 512 are allowed
    error = fail(one_page(zlib.compress(once, 9), dictionary=b"/Filter [/FlateDecode /FlateDecode]"))
    assert error.failure in {Failure.OUT_OF_MEMORY, Failure.CRASHED}
    assert "MiB" in error.reason
    assert parse(pdf(words("next"))).text == "next"


def test_words_divided_at_the_end_of_a_line() -> None:
    pages = [
        "infor\ufffemation is information; non\ufffeconfidential",
        "non confidential pre\ufffeSale un\ufffecommon 5\ufffe6 \ufffe",
    ]
    assert join_words(pages) == [
        "information is information; non-confidential",
        "non confidential pre-Sale uncommon 5-6 -",
    ]
    assert join_words(["plain"]) == ["plain"]
