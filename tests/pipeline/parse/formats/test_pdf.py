"""PDF: pages, fields, remarks, and what has no text."""

import zlib

import pytest
from PIL import Image
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from pipeline.errors import Failure
from pipeline.parse.pdf.text.hyphens import join_words
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


def outlined(entries: bytes, *objects: bytes) -> bytes:
    """Two pages, and bookmarks from object 9 on, whose root is object 8."""
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents %d 0 R /Resources << /Font << /F 7 0 R >> >> >>"
    texts = [b"(1  Scope) Tj 0 -2 Td (It is wide.) Tj 0 -2 Td (1.1 Time) Tj 0 -2 Td (Long.)", b"(Last page)"]
    streams = [b"BT /F 1.1 Tf 0 8 Td %s Tj ET" % text for text in texts]
    return raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R /Outlines 8 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>",
        page % 5,
        page % 6,
        *(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream) for stream in streams),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Outlines %s >>" % entries,
        *objects,
    )


def test_bookmarks_are_sections(parse) -> None:
    parsed = parse(
        outlined(
            b"/First 9 0 R /Last 11 0 R",
            b"<< /Title (Scope) /Parent 8 0 R /Dest [3 0 R /Fit] /First 10 0 R /Last 10 0 R /Next 11 0 R >>",
            b"<< /Title (Time) /Parent 9 0 R /Dest [3 0 R /Fit] >>",
            b"<< /Title (Annex) /Parent 8 0 R /Dest [4 0 R /Fit] >>",
        )
    )
    assert parsed.text == "1 Scope\nIt is wide.\n\n1.1 Time\nLong.\n\nLast page"
    found = [(parsed.text[one.start :][:8], one.level, one.title) for one in parsed.sections]
    assert found == [("1 Scope\n", 1, "Scope"), ("1.1 Time", 2, "Time"), ("Last pag", 1, "Annex")]
    assert parsed.section_of(parsed.text.index("Long")) == "Scope > Time"


def test_bookmarks_in_a_circle_end(parse) -> None:
    parsed = parse(
        outlined(
            b"/First 9 0 R /Last 9 0 R",
            b"<< /Title (A) /Parent 8 0 R /Dest [3 0 R /Fit] /First 9 0 R /Next 10 0 R >>",
            b"<< /Title (B) /Parent 8 0 R /Dest [3 0 R /Fit] /Next 9 0 R >>",
        )
    )
    assert [one.title for one in parsed.sections] == ["A", "B"]


def test_a_hundred_thousand_bookmarks(parse) -> None:
    entry = b"<< /Title (T%d) /Parent 8 0 R /Dest [3 0 R /Fit] /Next %d 0 R >>"
    parsed = parse(outlined(b"/First 9 0 R /Last 9 0 R", *(entry % (number, number + 10) for number in range(100_000))))
    assert len(parsed.sections) == 20_000
    assert parsed.notes == ("only the first 20,000 of its 20,001 headings are named in evidence",)


def test_files_of_remarks_are_documents_too(parse_members) -> None:
    data = raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R /Names << /EmbeddedFiles << /Names [(a) 6 0 R] >> >> >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Annots [<< /Type /Annot /Subtype /FileAttachment "
        b"/Rect [0 0 9 9] /FS 8 0 R >> << /Type /Annot /Subtype /FileAttachment /Rect [0 0 9 9] /FS 6 0 R >>] >>",
        b"null",
        b"null",
        b"<< /Type /Filespec /F (invoice.xml) /UF (invoice.xml) /EF << /F 7 0 R >> >>",
        b"<< /Type /EmbeddedFile /Length 6 >>\nstream\n<a>1</\nendstream",
        b"<< /Type /Filespec /F (../note.txt) /EF << /F 9 0 R >> >>",
        b"<< /Type /EmbeddedFile /Length 1 >>\nstream\nx\nendstream",
    )
    parsed, members = parse_members(data)
    assert parsed.text == ""
    assert members == {"../note.txt": Failure.NAME_REFUSED, "invoice.xml": b"<a>1</"}


def test_choices_of_lists_and_buttons(parse) -> None:
    def form(canvas: Canvas) -> None:
        canvas.acroForm.listbox(name="colours", value=["red"], options=["red", "green"], x=72, y=600)
        canvas.acroForm.choice(name="size", value="large", options=["small", "large"], x=72, y=500)
        canvas.acroForm.radio(name="pay", value="cash", selected=True, x=72, y=400)
        canvas.acroForm.radio(name="pay", value="card", selected=False, x=72, y=300)

    text = parse(pdf(form)).text
    assert text.splitlines() == ["colours: red", "size: large", "pay: [x] cash"]


def test_pages_for_ocr(parse, parse_members, pool) -> None:
    from pipeline.parse.options import Options

    scanned = pdf(words("First"), full_page, full_page)
    assert parse(scanned).notes == ("images without text, not read: pages 2-3",)
    parsed, _ = parse_members(scanned, options=Options(images=True))
    assert [one.name for one in parsed.images] == ["page 2 picture 1", "page 3 picture 1"]
    assert parsed.notes == ()
    assert parsed.images[0].size == len(b"P5\n2480 3507\n255\n") + 2480 * 3507
    read = Options(texts={"page 2 picture 1": "Read by OCR", "page 3 picture 1": "More"})
    assert parse_members(scanned, options=read)[0].text == "First\n\nRead by OCR\n\nPage 17\n\nMore\n\nPage 17"
    parsed, _ = parse_members(pdf(full_page), options=Options(images=True))
    assert (parsed.text, len(parsed.images)) == ("Page 17", 1)


def full_page(canvas: Canvas) -> None:
    canvas.drawImage(ImageReader(Image.new("L", (90, 120), 200)), 0, 0, 595, 841)
    canvas.drawString(300, 20, "Page 17")


def test_a_number_on_a_scan_is_no_text(fail) -> None:
    assert fail(pdf(full_page)).failure is Failure.NEEDS_OCR


def test_a_page_of_any_size_fits_into_a_picture(parse_members) -> None:
    from pipeline.parse.options import Options

    parsed, _ = parse_members(pdf(image, pagesize=(14400, 14400)), options=Options(images=True))
    assert parsed.images[0].size <= 25_000_100


def test_pages_in_a_circle_and_pages_without_end(parse, fail) -> None:
    tree = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 1000000000 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>",
    )
    assert fail(raw_pdf(*tree)).failure in {Failure.CORRUPT, Failure.EMPTY}


def test_a_million_remarks(parse) -> None:
    note = b"6 0 R " * 1_000_000
    data = raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> "
        b"/Annots [" + note + b"] >>",
        b"<< /Length 33 >>\nstream\nBT /F 12 Tf 72 700 Td (Text) Tj ET\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (again) >>",
    )
    parsed = parse(data)
    assert parsed.text == "Text\n\nRemark: again"
    assert parsed.notes == ("further remarks and form fields, not read: page 1",)


def test_a_form_in_itself_twice_is_out_of_memory(parse, fail) -> None:
    """Nothing but the memory limit ends this; pdfium then aborts."""
    data = raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>",
        b"<< /Length 5 >>\nstream\n/X Do\nendstream",
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >> /Length 11 >>\n"
        b"stream\n/X Do /X Do\nendstream",
    )
    error = fail(data)
    assert error.failure is Failure.OUT_OF_MEMORY
    assert "MiB in use" in error.reason
    assert parse(pdf(words("next"))).text == "next"


def test_ten_thousand_pages(parse) -> None:
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /Font << /F 3 0 R >> >> >>"
    kids = b" ".join(b"%d 0 R" % number for number in range(5, 10_005))
    data = raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count 10000 >>" % kids,
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length 30 >>\nstream\nBT /F 2 Tf 1 2 Td (Text) Tj ET \nendstream",
        *[page] * 10_000,
    )
    assert len(parse(data).page_starts) == 10_000
