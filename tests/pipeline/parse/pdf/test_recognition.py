"""Pages whose text is pictures, in part or as a whole, or in fonts that do not say what they show."""

import pytest
from reportlab.pdfgen.canvas import Canvas

from pipeline.errors import DocumentError, Failure
from pipeline.parse.options import Options
from tests.pdf_files import pdf, words
from tests.pdf_scans import (
    A4,
    LINES,
    all_of,
    drawn,
    glyph_numbers,
    layer,
    photograph,
    scan,
    shuffled,
    type3,
    typed,
)
from tests.thorough import part

BATES = "ACME-LITIGATION-00012345 CONFIDENTIAL"
BESIDE = "text recognised on pictures beside text: page 1"
TYPED = ("The other half of the page is plain text.", "It has several lines of words in it.")
FONTS = "text recognised, as fonts do not say which characters they show: page 1"
UNMAPPED = {
    "Type 3": type3(LINES, 1),
    "Type 3, codes of letters": type3(LINES, 65),
    "TrueType, controls": shuffled(LINES, 1),
    "TrueType, signs": shuffled(LINES, 33),
    "TrueType, letters": shuffled(LINES, 97),
    "numbers of glyphs": glyph_numbers(LINES),
    "nothing": glyph_numbers(LINES, lambda one: b"0000"),
    "private": glyph_numbers(LINES, lambda one: b"%04x" % (0xE000 + ord(one))),
    "replacement": glyph_numbers(LINES, lambda one: b"fffd"),
}
LIGATURES = ("The \ufb01ve \ufb01les of the stu\ufb02 are of no e\ufb02ect",)


def read_lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line]


@pytest.mark.parametrize(("y", "place"), [(20, -1), (820, 0)])
def test_a_scan_with_a_stamp_keeps_both_in_their_order(recognise, y: int, place: int) -> None:
    parsed = recognise(pdf(all_of(drawn(scan(), *A4), typed(250, y, BATES))))
    lines = read_lines(parsed.text)
    assert lines.pop(place) == BATES
    assert lines == list(LINES)
    assert parsed.notes == (BESIDE,)


def test_a_scan_in_strips_is_one_picture(recognise) -> None:
    page = scan()
    strips = [
        drawn(page.crop((0, 234 * n, 1654, 234 * (n + 1))), 0, 842 - 84.2 * (n + 1), 595, 84.2) for n in range(10)
    ]
    parsed = recognise(pdf(all_of(*strips, typed(250, 20, BATES))))
    assert read_lines(parsed.text) == [*LINES, BATES]


@pytest.mark.parametrize(("picture_at", "text_at"), [(470, 300), (40, 780)])
def test_a_half_page_that_is_a_picture_is_read_where_it_stands(recognise, picture_at: int, text_at: int) -> None:
    half = drawn(scan(size=(1654, 1000)), 0, picture_at, 595, 360)
    parsed = recognise(pdf(all_of(half, typed(72, text_at, *TYPED))))
    assert read_lines(parsed.text) == ([*LINES, *TYPED] if picture_at > text_at else [*TYPED, *LINES])
    assert parsed.notes == (BESIDE,)


def test_two_pictures_between_lines(recognise) -> None:
    first, second = scan(LINES[0], LINES[1], size=(1654, 500)), scan(LINES[2], LINES[3], size=(1654, 500))
    page = all_of(
        typed(72, 800, TYPED[0]),
        drawn(first, 0, 580, 595, 180),
        typed(72, 500, TYPED[1]),
        drawn(second, 0, 240, 595, 180),
    )
    assert read_lines(recognise(pdf(page)).text) == [TYPED[0], *LINES[:2], TYPED[1], *LINES[2:]]


def test_a_picture_without_words_adds_a_note_and_nothing_else(recognise) -> None:
    logo = drawn(scan("ACME", size=(400, 400)), 400, 700, 100, 100)
    for picture in (drawn(photograph(), 72, 200, 400, 300), drawn(photograph(), *A4), logo):
        parsed = recognise(pdf(all_of(picture, typed(72, 650, *LINES))))
        assert read_lines(parsed.text) == list(LINES)
        assert parsed.notes == ("pictures beside text, without words: page 1",)


def test_a_text_layer_explains_its_scan(recognise) -> None:
    parsed = recognise(pdf(all_of(drawn(scan(), *A4), layer(*LINES), typed(250, 20, BATES))))
    assert read_lines(parsed.text) == [*LINES, BATES]
    assert parsed.notes == ("pages whose text is a scan's text layer: page 1",)
    assert "tesseract" not in parsed.parser


def test_a_text_layer_of_a_part_leaves_the_rest_to_be_recognised(recognise) -> None:
    parsed = recognise(pdf(all_of(drawn(scan(), *A4), layer(LINES[0]))))
    assert sorted(read_lines(parsed.text)) == sorted(LINES)


def test_text_that_stands_on_a_picture_is_not_recognised_again(recognise) -> None:
    """The picture is drawn without it: words on a background come once."""
    parsed = recognise(pdf(all_of(drawn(photograph(), *A4), typed(72, 650, *LINES))))
    assert read_lines(parsed.text) == list(LINES)


def test_one_picture_on_many_pages_is_given_once(parse_members) -> None:
    page = all_of(drawn(scan(), *A4), typed(250, 20, BATES))
    parsed, _ = parse_members(pdf(page, page, page), options=Options(images=True))
    assert [one.name for one in parsed.images] == [f"page {number} picture 1" for number in (1, 2, 3)]
    assert len({one.offset for one in parsed.images}) == 1


def test_pictures_beside_text_are_limited_in_number(parse_members) -> None:
    def page(number: int):
        return all_of(drawn(scan(f"Number {number}", size=(400, 200)), 72, 500, 200, 100), typed(72, 700, *LINES))

    parsed, _ = parse_members(pdf(*map(page, range(103))), options=Options(images=True))
    assert len(parsed.images) == 100
    assert parsed.notes == ("pictures beside text, not read: pages 101-103",)


def test_without_recognition_pictures_are_noted(parse, fail) -> None:
    half = all_of(drawn(scan(size=(1654, 1000)), 0, 470, 595, 360), typed(72, 300, *TYPED))
    assert parse(pdf(half)).notes == ("pictures beside text, not read: page 1",)
    stamped = all_of(drawn(scan(), *A4), typed(250, 20, BATES))
    assert parse(pdf(words(*LINES), stamped)).notes == ("images without text, not read: page 2",)
    error = fail(pdf(stamped, stamped))
    assert error.failure is Failure.NEEDS_OCR
    slide = all_of(drawn(photograph(), *A4), typed(72, 300, "A slide with few words on it"))
    assert parse(pdf(slide)).text == "A slide with few words on it"


def test_a_remark_on_a_scan_does_not_stand_for_it(parse) -> None:
    def noted(canvas: Canvas) -> None:
        drawn(scan(), *A4)(canvas)
        canvas.textAnnotation("please check", (20, 20, 40, 40))

    assert parse(pdf(noted)).notes == ("images without text, not read: page 1",)


@pytest.mark.parametrize("name", UNMAPPED)
def test_fonts_without_a_mapping_are_recognised(recognise, fail, name: str) -> None:
    parsed = recognise(UNMAPPED[name])
    assert read_lines(parsed.text) == list(LINES)
    assert parsed.notes == (FONTS,)
    error = fail(UNMAPPED[name])
    assert error.failure is Failure.NEEDS_OCR
    assert "fonts" in error.reason


@pytest.mark.parametrize("said", part([None, b"0000", b"", b"fffd", b"0002", b"0003", b"000b", b"001f", b"f001"], 2))
def test_ligatures_without_a_mapping_are_recognised(recognise, fail, said: bytes | None) -> None:
    page = glyph_numbers(LIGATURES, lambda one: said if one > "\ufb00" else b"%04x" % ord(one))
    assert recognise(page).text.replace("fl", "fi") == LIGATURES[0].replace("\ufb01", "fi").replace("\ufb02", "fi")
    assert fail(page).failure is Failure.NEEDS_OCR


def test_few_words_with_lost_ligatures_stay_with_a_note(parse) -> None:
    lines = (*LINES, *LINES, LIGATURES[0][:8])
    page = glyph_numbers(lines, lambda one: b"0003" if one > "\ufb00" else b"%04x" % ord(one))
    parsed = parse(page)
    assert parsed.text.startswith("\n".join(LINES))
    assert parsed.notes == ("fonts do not say which characters they show, so text is missing or wrong: page 1",)


def test_fonts_whose_mapping_is_right_are_believed(parse_members) -> None:
    for page in (glyph_numbers(LINES, lambda one: b"%04x" % ord(one)), pdf(words("\u2022 one", "QX-17 ZK/4 900.12"))):
        parsed, _ = parse_members(page, options=Options(images=True))
        assert (parsed.images, parsed.notes) == ((), ())


def test_bullets_in_private_characters_are_no_lost_text(parse_members) -> None:
    page = glyph_numbers(
        tuple(f"* {line}" for line in LINES), lambda one: b"f0b7" if one == "*" else b"%04x" % ord(one)
    )
    parsed, _ = parse_members(page, options=Options(images=True))
    assert (parsed.images, parsed.notes) == ((), ())


def test_a_reason_for_what_is_not_read_is_in_the_failure(parse_members) -> None:
    reason = "not read: its script looks like Korean, and it was read as deu+eng; install kor"
    with pytest.raises(DocumentError) as raised:
        parse_members(pdf(drawn(scan(), *A4)), options=Options(unread={"page 1": reason}))
    assert raised.value.failure is Failure.NEEDS_OCR
    assert raised.value.reason == f"its one page is an image, without text; page 1 {reason}"
    mixed = pdf(words("Text"), drawn(scan(), *A4))
    parsed, _ = parse_members(mixed, options=Options(unread={"page 2": reason}))
    assert parsed.notes == ("images without text, not read: page 2", f"page 2 {reason}")
