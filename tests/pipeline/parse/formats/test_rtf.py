"""RTF: code pages, Unicode, tables, asides, and what stays silent."""

import pytest

from pipeline.document import Hidden
from pipeline.errors import Failure
from pipeline.parse.options import Options


def rtf(body: str, head: str = r"\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss Arial;}}") -> bytes:
    return rb"{\rtf1" + (head + body + "}").encode("latin-1")


def test_paragraphs_and_characters(parse) -> None:
    parsed = parse(
        rtf(r"One\b  bold\b0\par two\line three\tab x\par\par \'e4\'f6\'fc \{\\\} a~b\~c\_d\-e\emdash \par}"), "x.doc"
    )
    assert parsed.media_type == "application/rtf"
    assert parsed.text == "One bold\ntwo\nthree\tx\n\näöü {\\} a~b\xa0c-de\u2014"


def test_unicode_and_its_substitutes(parse) -> None:
    body = r"\uc1\u8364?\u-4051? \uc2\u228\'c3\'a4x {\uc0\u246}y\u55357\u56832zz \upr{no}{\*\ud{yes}}"
    assert parse(rtf(body)).text == "\u20ac\ufffd äx öy\U0001f600 yes"


@pytest.mark.parametrize(
    ("head", "body", "text"),
    [
        (r"\ansi\ansicpg1251", r"\'cf\'f0\'e8\'e2\'e5\'f2", "Привет"),
        (r"\ansi\ansicpg932", r"\'93\'fa\'96{\'7b}", None),
        (r"\ansi\ansicpg932", r"\'93\'fa\'96\'7b\'8c\'ea", "日本語"),
        (r"\mac", r"\'8a\'9a", "äö"),
        (r"\ansi\ansicpg1252{\fonttbl{\f0 A;}{\f1\fcharset204 B;}}", r"\f1\'cf\f0\'e4", "Пä"),
        (r"\ansi\ansicpg65001", "Grüße".encode().decode("latin-1"), "Grüße"),
        (r"\ansi\ansicpg99999", r"\'e4", "ä"),
    ],
)
def test_code_pages(parse, head: str, body: str, text: str | None) -> None:
    parsed = parse(rtf(body, head))
    if text is None:
        assert parsed.notes == ("1 stretches of bytes are not valid in their code page",)
    else:
        assert parsed.text == text


def test_tables(parse) -> None:
    row = r"\trowd\cellx1\cellx2\pard\intbl {0}\cell {1}\par more\cell\row "
    assert parse(rtf(r"before\par " + row.replace("{0}", "a").replace("{1}", "b") * 2 + r"\pard after\par")).text == (
        "before\na | b more\na | b more\nafter"
    )


def test_asides_and_boxes(parse) -> None:
    body = (
        r"{\header head\par}{\footer foot\par}Text{\footnote{\super 1} a note}{\*\annotation a remark} goes on"
        r"{\shp{\*\shpinst{\sp{\sn no}{\sv no}}{\shptxt boxed\par}}}\par"
        r"{\field{\*\fldinst HYPERLINK no}{\fldrslt link}}\par"
    )
    text = parse(rtf(body)).text
    assert text.startswith("head\n\nText[1] goes on")
    for word in ("boxed", "link", "[1] 1 a note", "Comment: a remark"):
        assert word in text
    assert text.endswith("foot")
    assert "no" not in text.replace("note", "")


def test_silence(parse) -> None:
    body = (
        r"{\info{\title no}}{\stylesheet{\s1 no;}}{\*\unheard of}{\pict\wmetafile8 00ff}{\pict\bin3 }}x}"
        r"A\deleted  no\deleted0 B\v  no\v0 C{\object{\*\objdata no}{\result D}}\par"
    )
    parsed = parse(rtf(body))
    assert parsed.text == "ABCD"
    assert parsed.hidden == (Hidden("marked_hidden", 2),)
    assert parsed.notes == (
        "pictures not read: 2",
        "embedded files not read: 1",
        r"parts of a kind that is not known, left out: 2 characters (\*\unheard)",
    )


def test_hidden_text_is_kept_by_the_rule(parse_members) -> None:
    data = rtf(r"A{\v  b\tab\u252?}c{\header \v d}{\deleted e}\v\plain f\par")
    dropped, kept = parse_members(data)[0], parse_members(data, options=Options(hidden="keep"))[0]
    assert (dropped.text, kept.text) == ("Acf", "d\n\nA b\tücf")
    assert dropped.hidden == kept.hidden == (Hidden("marked_hidden", 3),)


def test_outline_levels_are_headings(parse) -> None:
    body = r"\pard\outlinelevel0 One\par\pard text\par\outlinelevel1{\b Two}\par\pard\outlinelevel9 more\par"
    parsed = parse(rtf(body))
    assert parsed.text == "One\n\ntext\n\nTwo\n\nmore"
    assert [(one.start, one.level, one.title) for one in parsed.sections] == [(0, 1, "One"), (11, 2, "Two")]


def test_it_ends_with_its_last_brace_or_says_that_it_does_not(parse, fail) -> None:
    assert parse(rtf("text") + b" trailing {x}").text == "text"
    assert parse(rtf("text")[:-1]).notes == ("the file ends before the document does",)
    assert fail(b"{\\rtf1}").failure is Failure.EMPTY


def test_deep_groups_and_long_numbers(parse) -> None:
    assert parse(rtf("{" * 20_000 + "deep" + "}" * 20_000)).text == "deep"
    assert parse(rtf(r"a\bin99999999999 b\u99999999 c\f-1 d")).text.startswith("a")


def test_raised_lowered_and_struck_out_text(parse) -> None:
    body = (
        r"EUR 1,240{\super 50}, 10{\up6 9}, 5{\sub 2}, rent {\strike 90}{\striked1 0} 950, 1{\super 2\nosupersub 3}"
        r" 10{\up1 1} 5{\super\u55357\u56832 }"
    )
    parsed = parse(rtf(body))
    assert parsed.text == "EUR 1,240^50, 10^9, 5_2, rent ~~900~~ 950, 1^2^3 101 5\U0001f600"
    assert parsed.notes == ("struck-out text, marked ~~ ~~: 3 characters",)


def test_fonts_of_signs(parse) -> None:
    fonts = r"{\fonttbl{\f0 Arial;}{\f3\froman\fcharset2{\*\panose 05}Symbol;}"
    fonts += r"{\f4\fcharset2 Wingdings;}{\f5\fcharset2 Odd;}{\f6 Symbol;}}"
    body = r"5 {\f3 m}g {\f3\'b3} 1 {\f3\u-3987 m}l {\f4\'fe} yes{\f5 ab} {\loch\af3\f0 m}{\f6 m}"
    parsed = parse(rtf(body, r"\ansi\ansicpg1252\deff0" + fonts))
    assert parsed.text == "5 \u00b5g \u2265 1 \u00b5l [x] yes\ufffd\ufffd m\u00b5"
    assert parsed.notes == ("signs of symbol fonts that are in no table, written as U+FFFD: 2",)


def test_form_fields(parse) -> None:
    entries = r"{\*\ffl Employment}{\*\ffl Lease}"
    body = (
        r"Kind: {\field{\*\fldinst FORMDROPDOWN {\*\formfield{\fftype2\ffres1{\*\ffname D}" + entries + r"}}}"
        r"{\fldrslt Employment}}, "
        r"{\field{\*\fldinst FORMCHECKBOX {\*\formfield{\fftype1\ffres25\ffdefres1}}}{\fldrslt}} yes, "
        r"{\field{\*\fldinst FORMTEXT {\*\formfield{\fftype0{\*\ffdeftext no}}}}{\fldrslt typed}}, "
        r'5 {\field{\*\fldinst SYMBOL 109 \\f "Symbol" \\s 12}{\fldrslt\f0\fs24}}g'
    )
    assert parse(rtf(body)).text == "Kind: Lease, [x] yes, typed, 5 \u00b5g"
    assert parse(rtf(r"{\field{\*\fldinst =1000*2}{\fldrslt 9000}}")).unsure == (
        'a formula comes to 2000, and "9000" is stored as its result',
    )


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (r"{\mf{\mfPr{\mctrlPr\f0 }}{\mnum{\mr\mscr0\msty2 {\rtlch\ltrch 1}}}{\mden{\mr 2}}}", "1/2"),
        (r"{\msSup{\me{\mr 10}}{\msup{\mr -9}}}{\mr  g}", "10^(-9) g"),
        (r"{\md{\mdPr{\mbegChr [}{\mendChr ]}}{\me{\mr a}}}", "[a]"),
        (r"{\mnary{\mnaryPr{\mchr \u8721?}}{\msub{\mr i}}{\msup{\mr n}}{\me{\mr x}}}", "∑_i^n x"),
        (r"{\mrad{\mradPr{\mdegHide on}}{\mdeg}{\me{\mr 2}}}", "√2"),
        (r"{\mr 5{\v 9}{\deleted 8}\u1?\u215?3}", "5\xd73"),
        (r"{\mr " + "{\\mbox" * 3000 + "{\\mr 7}" + "}" * 3001, "7"),
    ],
)
def test_a_formula_is_read_in_its_line(parse, formula: str, text: str) -> None:
    for written in (r"{\mmath{\*\moMath" + formula + "}}", r"{\mmath{\*\moMathPara{\*\moMath" + formula + "}}}"):
        parsed = parse(rtf(rf"Dose: {written} tablet\par"))
        assert (parsed.text, parsed.notes) == (f"Dose: {text} tablet", ())


def test_numbers_beside_a_formula_stay_apart(parse) -> None:
    half = r"{\mmath{\*\moMath{\mf{\mnum{\mr 1}}{\mden{\mr 2}}}}}"
    assert parse(rtf(rf"3{half}5\par")).text == "3 1/2 5"
    assert parse(rtf(rf"3{half[:-2]}")).text == "3 1/2"  # the file ends within it


def test_what_is_not_known_is_counted(parse) -> None:
    parsed = parse(rtf(r"a{\*\vendornote Pay 500{\b !}{\*\inner x}\u8364?}b{\*\bkmkstart no}{\*\docvar {n}{v}}\par"))
    note = r"parts of a kind that is not known, left out: 10 characters (\*\vendornote)"
    assert (parsed.text, parsed.notes) == ("ab", (note,))
    assert parse(rtf(r"{\info{\*\vendor no}}a{\*\vendor\x1 {\y2}}\par")).notes == ()


def test_text_drawn_as_a_picture_is_read(parse) -> None:
    art = r"{\shp{\*\shpinst{\sp{\sn gtextSize}{\sv 36}}{\sp{\sn gtextUNICODE}{\sv Offer 900}}}}"
    assert parse(rtf(rf"Total 5{art}00\par")).text == "Total 5\nOffer 900\n00"


def test_a_paragraph_whose_end_is_not_shown_goes_on_in_the_next(parse_members) -> None:
    data = rtf(r"Total 5{\v\par}00{\deleted\par}0 EUR\par x\par{\pard\dropcapli2\dropcapt1 T\par}\pard otal\par end")
    texts = [parse_members(data, options=Options(hidden=rule))[0].text for rule in ("drop", "keep")]
    assert texts == ["Total 5000 EUR\nx\nTotal\nend", "Total 5\n000 EUR\nx\nTotal\nend"]


@pytest.mark.parametrize(
    "box",
    [
        r"{\shp{\*\shpinst{\shptxt {\b 3}00}}}",
        r"{\shp{\*\shpinst{\shptxt 300\par}}}",
        r"{\*\do\dobxpage{\dptxbxtext 300}}",
        r"{\shp{\*\shpinst{\sp{\sn gtextUNICODE}{\sv {\b 3}\u48?0}}}}",
    ],
)
def test_a_box_within_a_number_is_no_part_of_it(parse, box: str) -> None:
    assert parse(rtf(rf"12{box}45\par")).text.split() == ["12", "300", "45"]


def test_a_page_in_rtf_is_in_doubt_only_for_what_rtf_alone_shows(parse) -> None:
    page = r"\fromhtml1{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 Dear all\htmlrtf\par}\htmlrtf0 "
    assert parse(rtf(page)).unsure == ()
    assert r"\htmlrtf" in parse(rtf(page + r"\htmlrtf zebra\htmlrtf0 ")).unsure[0]
