"""Pictures of text in Word, PowerPoint and OpenDocument files are recognised where they are shown."""

import base64
import io

import pytest
from docx import Document
from docx.shared import Inches
from PIL import Image
from pptx import Presentation
from pptx.util import Inches as Away

from pipeline.errors import DocumentError, Failure
from pipeline.parse.options import Options
from tests.pdf_scans import LINES, photograph, png, scan
from tests.pipeline.parse.odf import flat, opendocument

READ = "text recognised on pictures: 1"
WORDLESS = "pictures without words: 1"
FRAME = '<draw:frame><draw:image xlink:href="Pictures/a.png"/></draw:frame>'


def screenshot() -> bytes:
    """A picture of four lines as a screen has them, of small letters."""
    return png(scan(size=(800, 400), height=18).crop((100, 120, 760, 350)))


def word(*pictures: bytes, text: str = "Before") -> bytes:
    document = Document()
    document.add_paragraph(text)
    for picture in pictures:
        document.add_picture(io.BytesIO(picture), width=Inches(5))
    document.add_paragraph("After" if text else "")
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def slides(*pictures: bytes, text: str = "Before") -> bytes:
    presentation = Presentation()
    for picture in pictures:
        slide = presentation.slides.add_slide(presentation.slide_layouts[6])
        if text:
            slide.shapes.add_textbox(0, 0, Away(3), Away(1)).text_frame.text = text
        slide.shapes.add_picture(io.BytesIO(picture), Away(1), Away(2), width=Away(7))
    buffer = io.BytesIO()
    presentation.save(buffer)
    return buffer.getvalue()


def odt(picture: bytes) -> bytes:
    body = f"<text:p>Before</text:p><text:p>{FRAME}</text:p><text:p>After</text:p>"
    return opendocument("text", body, **{"Pictures/a.png": picture})


def odp(picture: bytes) -> bytes:
    return opendocument("presentation", f'<draw:page draw:name="1">{FRAME}</draw:page>', **{"Pictures/a.png": picture})


def fodt(picture: bytes) -> bytes:
    data = f"<office:binary-data>{base64.b64encode(picture).decode()}</office:binary-data>"
    return flat(
        "text", f"<text:p>Before</text:p><text:p><draw:frame><draw:image>{data}</draw:image></draw:frame></text:p>"
    )


@pytest.mark.parametrize(
    ("make", "lines"),
    [
        (word, ["Before", *LINES, "After"]),
        (slides, ["Before", *LINES]),
        (odt, ["Before", *LINES, "After"]),
        (odp, list(LINES)),
        (fodt, ["Before", *LINES]),
    ],
)
def test_a_picture_of_text_is_read_where_it_is_shown(recognise, make, lines: list[str]) -> None:
    for picture in (png(scan()), screenshot()):
        parsed = recognise(make(picture))
        assert [line for line in parsed.text.split("\n") if line] == lines
        assert parsed.notes == (READ,)
        assert "tesseract" in parsed.parser


@pytest.mark.parametrize("make", [word, slides, odt, fodt])
def test_a_picture_without_words_adds_a_note(recognise, make) -> None:
    parsed = recognise(make(png(photograph())))
    assert set(parsed.text.split()) <= {"Before", "After"}
    assert parsed.notes == (WORDLESS,)


@pytest.mark.parametrize("make", [word, slides, odt, odp, fodt])
def test_without_recognition_a_picture_is_noted_or_needs_it(parse, fail, make) -> None:
    if make is odp:
        assert fail(make(png(scan()))).failure is Failure.NEEDS_OCR
    else:
        assert parse(make(png(scan()))).notes == ("pictures and other media not read: 1",)


def test_a_document_of_nothing_but_a_picture_is_what_it_shows(recognise, fail) -> None:
    for make in (word, slides):
        assert fail(make(png(scan()), text="")).failure is Failure.NEEDS_OCR
        assert recognise(make(png(scan()), text="")).text.startswith(LINES[0])
        with pytest.raises(DocumentError) as raised:
            recognise(make(png(photograph()), text=""))
        assert raised.value.failure is Failure.EMPTY


def test_a_picture_on_many_slides_is_read_once(parse_members) -> None:
    parsed, _ = parse_members(slides(png(scan()), png(scan()), png(scan())), options=Options(images=True))
    assert [one.name for one in parsed.images] == ["picture 1"]
    read = Options(texts={"picture 1": "Some words of it"})
    parsed, _ = parse_members(slides(png(scan()), png(scan())), options=read)
    assert parsed.text == "Before\n\nSome words of it\n\nBefore"


def test_pictures_are_limited_in_number_and_size(parse_members) -> None:
    many = [png(Image.new("L", (300, 100), number)) for number in range(103)]
    small = [png(Image.new("L", (47, 300), 9)), png(Image.new("L", (300, 15), 9))]
    parsed, _ = parse_members(word(*many, *small[1:]), options=Options(images=True))
    assert len(parsed.images) == 100
    parsed, _ = parse_members(word(*small[1:]), options=Options(images=True))
    assert (parsed.images, parsed.notes) == ((), ("pictures and other media not read: 1",))


@pytest.mark.parametrize("data", [b"", b"not a picture", png(scan())[:500], b"\xd7\xcd\xc6\x9a" + bytes(99)])
def test_a_picture_that_cannot_be_decoded_is_noted(parse_members, data: bytes) -> None:
    parsed, _ = parse_members(odt(data), options=Options(images=True))
    assert (parsed.text, parsed.images) == ("Before\n\nAfter", ())
    assert parsed.notes == ("pictures and other media not read: 1",)


def test_a_reason_is_told(parse_members) -> None:
    reason = "not read: its script looks like Greek, and it was read as deu+eng; install ell or grc"
    parsed, _ = parse_members(odt(png(scan())), options=Options(unread={"picture 1": reason}))
    assert parsed.notes == ("pictures and other media not read: 1", f"picture 1 {reason}")


def test_what_stands_in_for_an_object_is_no_picture(parse_members) -> None:
    frame = '<draw:frame><draw:object xlink:href="Object 1"/><draw:image xlink:href="Pictures/a.png"/></draw:frame>'
    data = opendocument("text", f"<text:p>Before{frame}</text:p>", **{"Pictures/a.png": png(scan())})
    parsed, _ = parse_members(data, options=Options(images=True))
    assert parsed.images == ()
