"""HTML: what is visible, in blocks; and no cut in silence."""

import pytest

from pipeline.errors import Failure


def test_blocks_lines_and_tables(parse) -> None:
    parsed = parse(
        b"""<!DOCTYPE html><html><head><title>The  title</title><style>p{}</style><script>"<p>no</p>"</script></head>
        <body><h1>Head</h1><p>One <b>bo</b>ld<br>line two</p><!-- no --><div>A</div><div>B</div>
        <ul><li>first<li>second</ul><ol start=3><li>three<li>four</ol>
        <p hidden>no</p><p style="display: none">no</p><template>no</template>
        <table><tr><th>Name<th>Sum<tr><td>Ann &amp; Co<td><p>1</p><p>2</p></table><pre>  a\n   b</pre>
        <input type=hidden value=no><input value="typed"><input type=checkbox checked>yes tail</body></html>"""
    )
    assert parsed.media_type == "text/html"
    assert parsed.text == (
        "The title\n\nHead\n\nOne bold\nline two\n\nA\nB\n\n- first\n- second\n\n3. three\n4. four\n\n"
        "Name | Sum\nAnn & Co | 1 2\n\n"
        "  a\n   b\n\ntyped [x] yes tail"
    )


def test_a_table_for_layout_becomes_blocks(parse) -> None:
    inner = "<table><tr><td>x<td>y</table>"
    parsed = parse(f"<html><table><tr><td>{inner}<td>side</table>".encode())
    assert parsed.text == "x | y\n\nside"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252", "koi8-r"])
def test_encodings_by_mark_or_meta(parse, encoding: str) -> None:
    word = "Привет" if encoding == "koi8-r" else "Grüße"
    data = f'<html><meta charset="{encoding}"><p>{word}</p></html>'.encode(encoding)
    assert parse(data).text == word


def test_a_lie_about_the_encoding_is_seen_through(parse) -> None:
    assert parse('<html><meta charset="iso-8859-1"><p>Grüße, 你好</p>'.encode()).text == "Grüße, 你好"


def test_too_deep_is_a_failure_and_never_a_cut(parse, fail) -> None:
    deep = b"<html><p>before" + b"<div>" * 1500 + b"inner" + b"</div>" * 1500 + b"<p>after"
    assert [word in parse(deep).text for word in ("before", "inner", "after")] == [True] * 3
    error = fail(b"<html><p>before" + b"<div>" * 5000 + b"inner")
    assert error.failure is Failure.CORRUPT
    assert "depth" in error.reason


def test_bad_markup_is_read_to_its_end(parse) -> None:
    parsed = parse(b"<html><p>one<td>two</b></p></div><unknown>three</unknown>&nosuch; <a href='x>four</a>five")
    for word in ("one", "two", "three", "&nosuch;"):
        assert word in parsed.text


def test_zero_bytes_do_not_end_it(parse) -> None:
    assert parse(b"<html><p>one\x00two<p>three").text == "onetwo\n\nthree"


def test_a_page_without_text_is_empty(fail) -> None:
    assert fail(b"<html><body><script>x()</script><img src=a.png></body></html>").failure is Failure.EMPTY


def test_headings_are_sections(parse) -> None:
    parsed = parse(b"<html><h1>One <b>A</b></h1><p>a<h3>Deep</h3><p>b<h2>Second</h2><p>c")
    assert parsed.text == "One A\n\na\n\nDeep\n\nb\n\nSecond\n\nc"
    assert [parsed.section_of(parsed.text.index(one)) for one in ("a\n", "b\n")] == ["One A", "One A > Deep"]
    assert parsed.section_of(len(parsed.text) - 1) == "One A > Second"


def test_an_unclosed_heading_is_no_heading(parse) -> None:
    parsed = parse(b"<html><h1>Title<div>" + b"many words " * 200)
    assert parsed.sections == ()


def test_cells_stand_in_their_columns(parse) -> None:
    parsed = parse(
        b"<table><tr><th rowspan=2>Year<th colspan=2>Ducks<tr><th>fresh<th>salt<tr><td>2019<td>120<td>80"
        b"<tbody><tr><td>x<td>y<td rowspan=9>z<tr><td colspan=2>w</table><table><tr><td>other</table>"
    )
    assert parsed.text == "Year | Ducks\n | fresh | salt\n2019 | 120 | 80\nx | y | z\nw\n\nother"


def test_lists_are_counted_as_they_are_drawn(parse) -> None:
    parsed = parse(
        b"<ol type=a start=26><li>x<li>y<ol type=I><li>z</ol></ol><ul type=a><li>p</ul><ol type=?><li>q</ol>"
    )
    assert [line for line in parsed.text.splitlines() if line] == ["z. x", "aa. y", "I. z", "- p", "1. q"]


def test_stray_text_in_a_row_is_kept(parse) -> None:
    assert parse(b"<table><tr>loose<td>cell</td>after</tr></table>").text == "loose | cell | after"


def test_what_stands_for_pictures_and_what_was_chosen(parse) -> None:
    parsed = parse(
        b"<html><p>See <img src=a.png alt='a chart of rents'> here<figure><img src=b.png><figcaption>Fig. 1"
        b"</figcaption></figure><select><option>EUR<option selected>USD</select>"
        b"<select><optgroup label=Q><option>no mark</select>"
        b"<ol><li value=7>seven<li>eight</ol><dl><dt>term<dd>meaning</dl><textarea>a\n b</textarea>"
        b"<svg><title>tip</title><text>drawn</text></svg><math><mi>x</mi><annotation>TeX</annotation></math>"
        b"<iframe srcdoc='<p>framed'></iframe><noscript>no scripts</noscript><details><summary>S</summary>D</details>"
        b"<p aria-hidden=true>icon<input type=password value=secret>"
    )
    assert parsed.text == (
        "See a chart of rents here\n\nFig. 1\n\nUSD no mark\n\n7. seven\n8. eight\n\n"
        "term\nmeaning\n\na\n b\n\ndrawn\n\nx\n\nframed\n\nS\nD\n\nicon"
    )


def test_frames_are_named(fail) -> None:
    error = fail(b"<html><frameset><frame src=left.html><frame src=right.html></frameset></html>")
    assert error.failure is Failure.EMPTY
    assert "left.html, right.html" in error.reason


def test_an_xhtml_page_with_a_declaration(parse) -> None:
    data = '<?xml version="1.0" encoding="iso-8859-1"?><!DOCTYPE html><html xmlns="x"><base href="y"/><p>Maß</p></html>'
    parsed = parse(data.encode("iso-8859-1"))
    assert (parsed.media_type, parsed.text) == ("text/html", "Maß")


@pytest.mark.parametrize(
    "tag", ["wbr", "source src=x", "track", "embed", "param", "keygen", "col", "basefont", "bgsound", "img", "input"]
)
def test_nothing_is_in_an_element_without_content(parse, tag: str) -> None:
    parsed = parse(f"<html><p>Total <{tag} hidden style='display: none'>EUR <{tag}>5</p><p>after</p></html>".encode())
    assert parsed.text.split() == ["Total", "EUR", "5", "after"]


def test_unknown_elements_hold_their_text(parse) -> None:
    assert parse(b"<html><p>A<foo>B</foo>C<bar/>D<x-y>E<wbr>F</x-y></p></html>").text == "ABCDEF"


SIGNS = """<html><style>.f {font-size: 60%; vertical-align: top} .g {position: relative; top: -.5em; font-size: 70%}
sup {vertical-align: baseline; position: relative; top: -.5em} .old {text-decoration: line-through red}</style>
<p>Total EUR 1,240<sup>1</sup>, 950<span class=f>2</span>, 33<span class=g>3</span>, 7<u>8</u>, 120 m<sup>2</sup>,
10<span style="vertical-align: super">9</span>/l, H<sub>2</sub>O, 5<sub>4</sub>, 1<sup>st</sup></p>
<p>Rent <s>EUR <b>900</b></s> <del>six</del> <span class=old>old</span> <s style="text-decoration: none">950</s></p>
<table><tr><td style="vertical-align: super">1<td>22<sup>3</sup><td class=old>7</table></html>"""


def test_raised_lowered_and_struck_out_text_is_marked(parse) -> None:
    parsed = parse(SIGNS.encode())
    assert parsed.text.split("\n\n") == [
        "Total EUR 1,240^1, 950^2, 33^3, 78, 120 m^2, 10^9/l, H2O, 5_4, 1st",
        "Rent ~~EUR 900 six old~~ 950",
        "1 | 22^3 | ~~7~~",
    ]
    assert parsed.notes == ("struck-out text, marked ~~ ~~: 13 characters",)


def test_formulas_and_readings_stand_apart(parse) -> None:
    fraction = "<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math>"
    assert parse(f"<html><p>{fraction} or 1{fraction} of</p></html>".encode()).text == "1/2 or 1 1/2 of"
    assert parse("<html><p><ruby>山田<rt>やまだ</rt></ruby></p></html>".encode()).text == "山田(やまだ)"


@pytest.mark.parametrize(
    ("markup", "shown"),
    [
        ("<div style='display:flex'><span>Net total 12</span><span>50.00</span></div>", "Net total 12 | 50.00"),
        ("<div style='display:flex'><span>Fee</span><span>-50.00</span></div>", "Fee -50.00"),
        ("<div style='display:inline-flex'>Net 12<b>50</b></div>", "Net 12 | 50"),
        ("<style>.g{display:grid}</style><div class=g><i>Qty</i><i>3</i><i>19</i></div>", "Qty 3 | 19"),
        ("<div class=g style='display:grid'><x-a style='display:contents'><i>3</i><i>19</i></x-a></div>", "3 | 19"),
        ("<span style='display:table-cell'>2</span><span style='display:table-cell'>500.00</span>", "2 | 500.00"),
        ("<b style='display:table-row'><i>Sum</i><i>500.00</i></b>", "Sum | 500.00"),
        ("<u style='display:block'>Sum 5</u><u style='display:list-item'>00 items</u>", "Sum 5\n00 items"),
        ("<style>x-c{display:block}</style><x-c>12</x-c><x-c>34</x-c>", "12\n34"),
        ("<x-c style='display:inline-block'>Dose</x-c><x-c style='display:inline-block'>5 mg</x-c>", "Dose 5 mg"),
        ("<button>7</button><button>8</button>", "7 | 8"),
        ("<span style='float:right'>9</span><span>8</span>", "9 | 8"),
        ("5<span style='margin-left:50px'>9</span>.", "5 9."),
        ("1<span style='margin-left:.2em'>240</span>,50", "1 240,50"),
        ("see <a style='padding-right:12px'>here</a>. <b style='padding:1px'>No</b>w", "see here. Now"),
        ("<div style='display:inline'>1,24</div><div style='display:inline'>0</div>", "1,240"),
        ("<ul><li style='display:inline'>A<li style='display:inline'>B</ul>", "A B"),
        ("<span>1</span><span>2</span>", "12"),
    ],
)  # fmt: skip
def test_boxes_stand_as_their_display_says(parse, markup: str, shown: str) -> None:
    assert parse(f"<!DOCTYPE html><html><body>{markup}".encode()).text == shown


@pytest.mark.parametrize(
    ("markup", "shown"),
    [
        ("<select><option>Male<option>Female</select>", "Male"),
        ("<select><option>Male<option selected>Female</select>", "Female"),
        ("<select><option selected>Male<option selected>Female</select>", "Female"),
        ("<select><option disabled>Choose<option>Male</select>", "Male"),
        ("<select><option disabled selected>Choose<option>Male</select>", "Choose"),
        ("<select><optgroup disabled><option>a</optgroup><optgroup label=G><option>b</select>", "b"),
        ("<select><option disabled>Choose</select>x", "x"),
        ("<select><option>5</select><select><option>6</select>", "5 | 6"),
        ("<select><option>5</select>.<input value=1><input value=240>", "5 . 1 | 240"),
        ("<select multiple><option>a<option selected>b</select>", "[ ] a\n[x] b"),
        ("<select size=2><option>a<option>b</select>", "a\nb"),
        ("<select><option label='1,000 EUR' value=5>1,000 EUR</select>", "1,000 EUR"),
        ("<select multiple><option label=''>9,000<option label=1,000>1,000</select>", "9,000\n1,000"),
    ],
)
def test_a_drop_down_shows_one_option(parse, markup: str, shown: str) -> None:
    parsed = parse(f"<!DOCTYPE html><html><body>{markup}".encode())
    assert (parsed.text, parsed.hidden) == (shown, ())


def test_the_label_of_an_option_is_what_is_shown(parse) -> None:
    parsed = parse(b"<!DOCTYPE html><html><select><option label='1,000 EUR'>9,000 EUR</select>")
    assert (parsed.text, sum(one.characters for one in parsed.hidden)) == ("1,000 EUR", 8)


def test_numbers_that_fall_and_a_foot_that_comes_first(parse) -> None:
    parsed = parse(
        b"<!DOCTYPE html><html><ol reversed><li>x<li>y<li>z</ol><ol reversed start=9><li>a<li value=3>b<li>c</ol>"
        b"<table><caption>Fees</caption><tfoot><tr><td>Sum 9<tbody><tr><td>Row</tbody><thead><tr><td>Head</table>"
    )
    assert parsed.text == "3. x\n2. y\n1. z\n\n9. a\n3. b\n2. c\n\nFees\n\nHead\nRow\nSum 9"


_DOUBT = ("letters stand for signs of a symbol font, which not all systems have",)


@pytest.mark.parametrize(
    ("markup", "shown", "unsure"),
    [
        ("5 <span style='font-family:Symbol'>m</span>g", "5 \u00b5g", _DOUBT),
        ("5 <font face=Symbol>m</font>g", "5 \u00b5g", _DOUBT),
        ("5 <i style='font:italic 12px/1.2 Symbol, serif'>m</i>g", "5 \u00b5g", _DOUBT),
        ("<style>.s{font-family:'SymbolMT'}</style>5 <b class=s>m</b>g", "5 \u00b5g", _DOUBT),
        ("<div style='font-family:Symbol'>m<b style='font:9pt Arial'>g</b></div>", "\u00b5g", _DOUBT),
        ("<span style='font-family:Wingdings'>\u00fe</span> yes", "[x] yes", _DOUBT),
        ("<font face='Wingdings 2'>R</font> yes", "[x] yes", _DOUBT),
        ("<font face=Symbol>&#163;</font> 3", "\u2264 3", _DOUBT),
        ("<font face=Symbol>&#xf0a3;</font> 3", "\u2264 3", ()),
        ("<font face=Symbol>\u00b7 5</font>", "\u2022 5", ()),
        ("Thanks <font face=Wingdings>J</font>", "Thanks \u263a", ()),
        ("<i style='font-family:Arial, Symbol'>m</i>", "m", ()),
        ("<i style='font-family:Symbol'><b style='font-family:initial'>m</b></i>", "m", ()),
    ],
)
def test_signs_of_symbol_fonts(parse, markup: str, shown: str, unsure: tuple[str, ...]) -> None:
    parsed = parse(f"<!DOCTYPE html><html><meta charset=utf-8><body>{markup}".encode())
    assert (parsed.text, parsed.unsure, parsed.notes) == (shown, unsure, ())


def test_a_sign_of_no_known_font_is_told(parse) -> None:
    parsed = parse(b"<!DOCTYPE html><html><p>5 &#xf06d;g")
    assert parsed.text == "5 \ufffdg"
    assert parsed.notes == ("signs of symbol fonts that are in no table, written as U+FFFD: 1",)


@pytest.mark.parametrize(
    ("markup", "turned"),
    [
        ("<bdo dir=rtl>0001</bdo> EUR", "0001"),
        ("<div dir=rtl><bdo>0001</bdo></div>", "0001"),
        ("<p style='unicode-bidi:bidi-override;direction:rtl'>0009 <b>EUR</b>", "0009 EUR"),
        ("<style>.r{direction:rtl} b{unicode-bidi:isolate-override}</style><p class=r>x <b>12</b>", "12"),
        ("<p>pay &#x202e;0001&#x202c; EUR", "0001"),
        ("<bdo dir=ltr>0001</bdo> <p dir=rtl>0001 EUR", ""),
        ("<p style='unicode-bidi:bidi-override'>0001", ""),
        ("<bdo dir=rtl>\u05d0\u05d1\u05d2 1</bdo>", ""),
    ],
)
def test_letters_in_the_opposite_order(parse, markup: str, turned: str) -> None:
    unsure = parse(f"<!DOCTYPE html><html><meta charset=utf-8><body>{markup}".encode()).unsure
    assert unsure == ((f'letters are drawn in the opposite order: "{turned}"',) if turned else ())


@pytest.mark.parametrize(
    ("style", "shown"),
    [
        (".a::before{content:'-'}", "Due -500"),
        (".a:before{content:'\\2212'}", "Due \u2212500"),
        (".a{ &::after{content:' EUR'} }", "Due 500 EUR"),
        ("p > .a::after{content:var(--unit)} :root{--unit:' EUR'}", "Due 500 EUR"),
        (".a::before{content:attr(data-sign) '1' / 'one'}", "Due \u20ac1500"),
        (".a::before{content:'9'} #x::before{content:'8'}", "Due 8500"),
        (".a::before{content:'9';display:inline-block}", "Due 9 | 500"),
        (".a::before{content:'9';display:none} .a::after{content:'9';visibility:hidden}", "Due 500"),
        (".a::before{content:'9';color:#fff} b::before{content:'9'}", "Due 500"),
        (".a::before{content:'\\f0d6'} .a::after{content:none} .a::selection{content:'9'}", "Due 500"),
    ],
)
def test_what_style_sheets_draw_beside_an_element(parse, style: str, shown: str) -> None:
    page = f"<!DOCTYPE html><html><style>{style}</style><p>Due <i class=a id=x data-sign='&euro;'>500</i>"
    parsed = parse(page.encode())
    assert (parsed.text, parsed.unsure) == (shown, ())


def test_numbers_that_style_sheets_count_are_told(parse) -> None:
    style = "h2::before{counter-increment:n;content:counter(n) '. '} b::before{content:counter(n)}"
    page = f"<!DOCTYPE html><html><style>{style}</style><p>Rent"
    assert not parse(page.encode()).unsure
    assert parse(f"{page}<h2>Term</h2>".encode()).unsure == ("numbers that its style sheets count are not read",)


def test_closed_details_are_read_and_told(parse) -> None:
    page = "<p>a<details>one<summary>more</summary>two <details>three</details></details><details open>four</details>"
    assert parse(page.encode()).notes == ("text in closed details, which a click shows: 11 characters",)
