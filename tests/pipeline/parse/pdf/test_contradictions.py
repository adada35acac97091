"""What is read of a PDF is what is drawn; where a document says otherwise, a person must look at it."""

from dataclasses import replace

import pytest

from pipeline.parse.options import Options
from tests.hidden.pdf_objects import Added, say, to_unicode, true_type, vera
from tests.pdf_files import stream

PAY = b"Pay 1000 EUR to DE11"


def span(value: bytes, drawn: bytes, x: int = 72) -> bytes:
    """Letters that are to be read as a value."""
    return b"/Span << /ActualText %s >> BDC " % value + say(drawn, x=x) + b" EMC "


def read(parse, added: Added) -> tuple[str, tuple[str, ...]]:
    """The line between the plain ones, and why a person must look at the document."""
    parsed = parse(added.pdf())
    return parsed.text.removeprefix("Plain text.\n").removesuffix("\nEnding here."), parsed.unsure


OTHER = {
    "spans of four and seven letters": (
        span(b"(Pay )", b"Pay ") + span(b"(9000 EU)", b"1000 EU", 100) + span(b"(R to DE99)", b"R to DE11", 160),
        ("1000", "DE11"),
        ('"9000 EU" for "1000 EU"', '"R to DE99" for "R to DE11"'),
    ),
    "spans of two": (span(b"(90)", b"10") + span(b"(00)", b"00", 86), ("1000",), ('"90" for "10"',)),
    "one digit": (span(b"(9)", b"1"), ("1",), ('"9" for "1"',)),
    "a word of three letters": (span(b"(not)", b"now"), ("now",), ('"not" for "now"',)),
    "a word for a full stop": (span(b"(not)", b"."), (), ('"not" for "."',)),
    "a blank for an amount": (span(b"( )", b"EUR 1000"), ("EUR 1000",), ('"" for "EUR 1000"',)),
    "a hyphen for an amount": (span(b"(-)", b"EUR 1000"), ("EUR 1000",), ('"-" for "EUR 1000"',)),
    "a decimal point less": (span(b"(1000)", b"10.00"), ("10.00",), ('"1000" for "10.00"',)),
    "a minus less": (span(b"(1000)", b"-1000"), ("-1000",), ('"1000" for "-1000"',)),
    "another currency": (span(b"($100)", b"\\244100"), ("100",), ()),
    "in UTF-16": (span(b"<feff0039003000300030>", b"1000"), ("1000",), ('"9000" for "1000"',)),
}


@pytest.mark.parametrize("name", OTHER)
def test_what_is_to_be_read_in_place_of_other_letters_is_for_a_person(parse, parse_members, name: str) -> None:
    content, shown, told = OTHER[name]
    text, unsure = read(parse, Added(content))
    assert all(one in text for one in shown)
    assert "9000" not in text
    assert "not" not in text
    assert unsure
    assert all(any(one in why for why in unsure) for one in told)
    assert parse_members(Added(content).pdf(), options=Options(hidden="keep"))[0].unsure


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (span(b"(Hello)", b"HELLO"), "Hello"),
        (span(b"(10)", b"10") + span(b"(10)", b"10", 100), "10 10"),
        (span(b"<feff2022>", b"l"), "\u2022"),
        (span(b"(fi)", b"\\256"), "fi"),
        (span(b"<feff00e9>", b"e"), "\u00e9"),
        (b"/Span << /Alt (9000) /E (9000) >> BDC " + say(b"1000") + b" EMC", "1000"),
    ],
)
def test_what_says_the_same_is_believed(parse, content: bytes, text: str) -> None:
    assert read(parse, Added(content)) == (text, ())


def in_font(text: bytes, *objects: bytes) -> Added:
    """A line in a font of its own, object 6."""
    return Added(say(text, font=b"/O 12 Tf"), fonts=b"/O 6 0 R", objects=objects)


def helvetica(said: dict[int, str], more: bytes = b"") -> tuple[bytes, ...]:
    """A font that is read otherwise than it is drawn."""
    head = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 7 0 R %s >>"
    return head % more, to_unicode({code: chr(code) for code in range(32, 127)} | said)


ONE, NINE = ord("1"), ord("9")
SWAPPED = {ONE: "9", NINE: "1"}
MAPS = {
    "a blank": (helvetica({32: "not"}), '" " as "not"'),
    "a blank that is a digit": (helvetica({32: "9"}), '" " as "9"'),
    "a letter": (helvetica({ord("P"): "Do not p"}), '"P" as "Do not p"'),
    "digits": (helvetica(SWAPPED), '"1" as "9"'),
    "digits by an encoding": (helvetica(SWAPPED, b"/Encoding /WinAnsiEncoding"), '"1" as "9"'),
    "names of glyphs": (
        helvetica({ord("1"): "1"}, b"/Encoding << /Differences [49 /nine] >>"), '"9" as "1"',
    ),
    "nothing for a digit": (helvetica({ONE: " "}), '"1" as " "'),
    "a sign": (helvetica({ord("."): "EUR"}), 'one sign as "EUR"'),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPS)
def test_a_font_that_contradicts_itself_is_for_a_person(parse, name: str) -> None:
    objects, told = MAPS[name]
    _, unsure = read(parse, in_font(PAY, *objects))
    assert any(
        why.startswith("fonts have characters read as others than they draw: ") and told in why for why in unsure
    )


def test_ligatures_fractions_and_signs_are_several_letters(parse) -> None:
    said = {1: "ffi", 2: "1\u20444", 3: "No", 4: "\u0644\u0627", 5: "e\u0301", 6: "Th"}
    head = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 7 0 R >>"
    _, unsure = read(parse, in_font(b"Text", head, to_unicode(said | {code: chr(code) for code in b"Text"})))
    assert unsure == ()


DIGITS = {code: chr(code) for code in range(32, 127)}


@pytest.mark.parametrize("said", [SWAPPED, {ord("2"): "7", ord("7"): "2"}, {ord("6"): "9", NINE: "6"}, {ONE: "7"}])
def test_digits_that_are_drawn_as_others_are_for_a_person(parse, said: dict[int, str]) -> None:
    """By their outlines: the font brings along its letters, and its encoding says nothing."""
    numbers = b"Pay 1000 EUR, 2679"
    assert read(parse, in_font(numbers, *true_type(vera(), DIGITS)))[1] == ()
    _, unsure = read(parse, in_font(numbers, *true_type(vera(), DIGITS | said)))
    assert "fonts draw other letters or digits than are read on page 1" in unsure


def drawn_font(*digits: str) -> tuple[bytes, ...]:
    """A Type 3 font of bars, whose codes from that of 0 on draw these digits and are called by their own names."""
    names = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    glyphs = b" ".join(b"/%s %d 0 R" % (name.encode(), 7 + place) for place, name in enumerate(names))
    return (
        b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 600 700] /FontMatrix [.001 0 0 .001 0 0] /FirstChar 48 "
        b"/LastChar 57 /Widths [%s] /Encoding << /Differences [48 %s] >> /CharProcs << %s >> "
        b"/ToUnicode 17 0 R /Resources << /Font << /F 5 0 R >> >> >>"
        % (b"600 " * 10, b" ".join(b"/%s" % name.encode() for name in names), glyphs),
        *(stream(b"600 0 d0 BT /F 900 Tf (%s) Tj ET" % one.encode()) for one in digits),
        to_unicode({ord(one): one for one in "0123456789"}),
    )


def test_digits_that_are_drawn_by_the_page_are_looked_at(parse) -> None:
    """Type 3: there are no outlines, so the page itself is looked at."""
    assert read(parse, in_font(b"1240", *drawn_font(*"0123456789"))) == ("1240", ())
    _, unsure = read(parse, in_font(b"1240", *drawn_font(*"0923456781")))
    assert "fonts draw other letters or digits than are read on page 1" in unsure


SHOWN = "a form field or remark that is shown otherwise on page 1"


def field(value: bytes, drawn: bytes, more: bytes = b"", width: int = 400) -> Added:
    """A form field with a value, and what is drawn for it."""
    box = b"/Subtype /Form /BBox [0 0 %d 20] /Resources << /Font << /F 5 0 R >> >>" % width
    entries = b"/Type /Annot /Subtype /Widget /FT /Tx /T (a: name) /V (%s) /DA (/F 12 Tf 0 g) /Rect [72 390 %d 410] "
    return Added(
        page=b"/Annots [6 0 R]",
        catalog=b"/AcroForm << /Fields [6 0 R] /DR << /Font << /F 5 0 R >> >> >>",
        objects=(
            b"<< %s /P 3 0 R /AP << /N 7 0 R >> %s >>" % (entries % (value, 72 + width), more),
            stream(b"BT /F 12 Tf 2 4 Td (%s) Tj ET" % drawn, box),
        ),
    )


@pytest.mark.parametrize(
    ("added", "told"),
    [
        (field(b"Pay 9000 EUR", b"Pay 1000 EUR"), '"Pay 9000 EUR" for "Pay 1000 EUR"'),
        (field(b"9000", b"1000"), '"9000" for "1000"'),
        (field(b"1000", b"100"), '"1000" for "100"'),
        (field(b"100", b"1,000"), '"100" for "1,000"'),
        (field(b"1,000 EUR", b"91,000 EUR"), '"1,000 EUR" for "91,000 EUR"'),
        (field(b"no pets are allowed in the flat", b"no pets are allowed in the flat", width=60), "no pets are"),
        (
            field(b"1000", b"1000", b"/Ff 33554432 /RV (<body><p>9000</p></body>)"),
            '"1000" for " 9000 "'.replace(" 9000 ", "9000"),
        ),
    ],
)
def test_a_field_that_is_drawn_otherwise_is_for_a_person(parse, added: Added, told: str) -> None:
    _, unsure = read(parse, added)
    assert any(why.startswith(SHOWN) and told in why for why in unsure)


@pytest.mark.parametrize(
    ("value", "drawn"),
    [
        (b"1240.5", b"1,240.50 EUR"),
        (b"1240", b"1.240,00"),
        (b"0.2", b"20 %"),
        (b"1240", b"1 2 4 0"),
        (b"2026-06-30", b"30.06.2026"),
        (b"Anna Weber", b"ANNA WEBER"),
    ],
)
def test_a_field_that_is_drawn_in_another_form_is_believed(parse, value: bytes, drawn: bytes) -> None:
    assert read(parse, field(value, drawn))[1] == ()


def choice(entries: bytes, drawn: bytes) -> Added:
    """A field with options to choose from, and what is drawn for it."""
    text, appearance = field(b"", drawn).objects
    made = text.replace(b"/FT /Tx", b"/FT /Ch /Ff 131072 " + entries).replace(b"/V () ", b"")
    return replace(field(b"", drawn), objects=(made, appearance))


OPTIONS = b"/Opt [[(9,000 EUR) (1,000 EUR)] [(x) (by hand)] (plain)] "


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        (OPTIONS + b"/V (9,000 EUR)", "1,000 EUR"),
        (OPTIONS + b"/V [(x)]", "by hand"),
        (OPTIONS + b"/I [1]", "by hand"),
        (OPTIONS + b"/V (plain)", "plain"),
        (OPTIONS + b"/Ff 393216 /V (as typed)", "as typed"),
        (b"/Opt [[(1000) (9000)] [(9000) (1000)]] /V (1000)", "9000"),
        (b"/Opt [[(x) <FEFF00390020006500750072>]] /V <FEFF0078>", "9 eur"),
    ],
)
def test_of_a_list_to_choose_from_the_label_is_read_that_the_page_shows(parse, entries: bytes, text: str) -> None:
    read_as, unsure = read(parse, choice(entries, text.encode()))
    assert (read_as.rpartition("\n")[2], unsure) == (f"a: name: {text}", ())
    assert read(parse, choice(entries, b"another one"))[1] == (f'{SHOWN}: "{text}" for "another one"',)


def test_rich_text_of_a_remark_that_says_something_else(parse) -> None:
    remark = (
        b"/Annots [<< /Type /Annot /Subtype /Text /Rect [72 390 92 410] /Contents (rent 1000) /RC (<p>rent %s</p>) >>]"
    )
    assert read(parse, Added(page=remark % b"1000"))[1] == ()
    _, unsure = read(parse, Added(page=remark % b"9000"))
    assert unsure == (f'{SHOWN}: "rent 1000" for "rent 9000"',)


def test_a_note_without_opacity_is_hidden(parse) -> None:
    note = b"/Annots [<< /Type /Annot /Subtype /Text /Rect [72 390 92 410] /Contents (psst) /CA %s >>]"
    assert "psst" in parse(Added(page=note % b"0.6").pdf()).text
    parsed = parse(Added(page=note % b"0").pdf())
    assert "psst" not in parsed.text
    assert [one.kind for one in parsed.hidden] == ["invisible"]


def test_a_number_under_another_one_is_not_read(parse) -> None:
    over = say(b"EUR 9000") + b"1 g 70 395 200 20 re f 0 g " + say(b"EUR 1000")
    assert read(parse, Added(over))[0] == "EUR 1000"
