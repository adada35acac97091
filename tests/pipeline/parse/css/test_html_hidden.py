"""HTML: text that no person sees, by the ways in which pages hide it; and pages that only look as if they did."""

import tempfile

import pytest

from pipeline.document import Hidden, Parsed
from pipeline.parse import ParserPool
from pipeline.parse.css.declarations import Block, read_style
from pipeline.parse.options import Options

PAGE = "<html><p>before</p>{}<p>after</p></html>"


@pytest.mark.parametrize(
    ("kind", "markup"),
    [
        ("marked_hidden", "<p hidden>hide me</p>"),
        ("marked_hidden", "<p style='DISPLAY : None'>hide <b>me</b></p>"),
        ("marked_hidden", "<div style='visibility:hidden'><p>hide</p> me</div>"),
        ("marked_hidden", "<dialog>hide me</dialog>"),
        ("marked_hidden", "<p style='display:none;animation:none;transition:all 1s'>hide me</p>"),
        (
            "marked_hidden",
            "<style>.x, #y {display:none!important}</style><p class='a x' style='display:block'>hide me</p>",
        ),
        ("marked_hidden", "<style>@media screen { aside { display: none } } </style><aside>hide me</aside>"),
        ("marked_hidden", "<table><tr style='display:none'><td>hide<td>me</table>"),
        ("invisible", "<p style='opacity:0.0'>hide me</p>"),
        ("invisible", "<p style='color:rgba(10, 20, 30, 0)'>hide me</p>"),
        ("invisible", "<p style='color:transparent'>hide me</p>"),
        ("tiny", "<p style='font-size:1px'>hide me</p>"),
        ("tiny", "<p style='font:0/0 a'>hide me</p>"),
        ("tiny", "<p style='font-size:0'><span style='font-size:2em'>hide me</span></p>"),
        ("tiny", "<style>p.q{} #t{font-size:.5pt}</style><p id=t>hide me</p>"),
        ("same_colour", "<p style='color:#FFF'>hide me</p>"),
        ("same_colour", "<font color=white>hide me</font>"),
        ("same_colour", "<p style='background:url(data:x);background:#123456;color:rgb(18,52,86)'>hide me</p>"),
        ("same_colour", "<table bgcolor=#000000><tr><td><span style='color:#010101'>hide me</span></table>"),
        ("same_colour", "<style>.w{color:white}</style><div class=w>hide <i>me</i></div>"),
        ("off_page", "<p style='position:absolute;left:-9999px'>hide me</p>"),
        ("off_page", "<p style='text-indent:-999em'>hide me</p>"),
        ("clipped", "<p style='position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0 0 0 0)'>hide me</p>"),
        ("clipped", "<p style='max-height:0;overflow:hidden'>hide me</p>"),
        ("tiny", "<h2 style='font-size:0'>hide me</h2>"),
    ],
)
def test_what_no_person_sees_is_counted_and_left_out(parse, kind: str, markup: str) -> None:
    parsed = parse(PAGE.format(markup).encode())
    assert parsed.text == "before\n\nafter"
    assert parsed.hidden == (Hidden(kind, 6),)
    assert parsed.sections == ()


_LETTER = """<meta name="color-scheme" content="light dark"><style>:root{color-scheme:light dark}
html,body{height:100%;overflow-x:hidden;-webkit-text-size-adjust:100%}
.row{display:-webkit-box;display:-ms-flexbox;display:flex;-webkit-box-orient:horizontal;-ms-flex-direction:row}
.card{overflow:hidden;border-radius:8px;box-shadow:0 10px 40px rgba(0,0,0,.1);position:relative}
.old{filter:alpha(opacity=50);zoom:1;-moz-border-radius:4px;*display:inline} .icon{fill:currentColor}
.x:hover{transform:scale(2)} @media (max-width:600px){p{display:none}} h1{text-shadow:0 1px 0 #fff}
.button{display:inline-block;height:40px;line-height:40px;padding:0 20px;background:#036;color:#fff}</style>
<div style="display:none;max-height:0;overflow:hidden;mso-hide:all;font-size:1px">preview</div><h1>Letter</h1>
<div class="row card old icon x"><p style="mso-line-height-rule:exactly;margin:-4px 0 0 -10px">Dear all</p></div>
<table background="http://e.org/a.png" style="font-size:0"><tr><td style="height:9px;font-size:15px">cell</td></table>
<a class=button href=x>Confirm</a>"""


def test_an_honest_letter_is_not_in_doubt(parse) -> None:
    parsed = parse(f"<!doctype html><html><body>{_LETTER}".encode(), "page.html")
    assert parsed.text.split() == ["Letter", "Dear", "all", "cell", "Confirm"]
    assert parsed.unsure == ()


def test_kept_by_rule_it_is_counted_once(pool: ParserPool) -> None:
    inner = "<div hidden>a<p style='display:none'>b <i style='color:white'>c</i></p></div><p style='color:#fff'>d</p>"
    parsed = keep(pool, PAGE.format(inner))
    assert parsed.text == "before\n\na\n\nb c\n\nd\n\nafter"
    assert parsed.hidden == (Hidden("same_colour", 1), Hidden("marked_hidden", 3))


def keep(pool: ParserPool, markup: str) -> Parsed:
    with tempfile.TemporaryFile() as file:
        file.write(markup.encode())
        file.flush()
        return pool.parse(file.fileno(), "x.html", Options(hidden="keep"))


def test_a_page_of_nothing_but_hidden_text_is_empty_and_says_so(fail) -> None:
    assert "7 characters of hidden text" in fail(b"<html><p hidden>nothing").reason


@pytest.mark.parametrize(
    "css", ["{", "}", "@media screen {" * 5000, "a{b" * 5000, "/*", "@x{" * 5000, ",{}" * 99, "p{:;!}"]
)
def test_broken_css_hides_nothing(parse, css: str) -> None:
    assert parse(f"<html><style>{css}</style><p>seen</p>".encode()).text == "seen"
    assert read_style(css) == Block({}, {})
