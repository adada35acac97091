"""Style sheets: selectors, conditions, the cascade, values, and bounds on the work that they may cause."""

import pytest
import tinycss2
from lxml import etree

from pipeline.parse.css.cascade import Cascade, Variables
from pipeline.parse.css.conditions import on_screen, supported
from pipeline.parse.css.selectors import Budget, TooMuchError, compile_list
from pipeline.parse.css.sheet import LONGEST, Sheets
from pipeline.parse.css.syntax import Measure, paint_of, read_value, word

PAGE = etree.HTML(
    "<body class='a b'><h2 id=x>1</h2><p>2</p><p class=c data-k='One Two' lang=de-AT>3<i>4</i><i>5</i></p></body>"
)


def selected(selector: str) -> list[str]:
    compiled = compile_list(tinycss2.parse_component_value_list(selector))
    budget = Budget()
    sure = [one for one in compiled if not one.unsure and not one.compounds[0].drawn]
    return [one.text or one.tag for one in PAGE.iter() if any(each.matches(one, budget) for each in sure)]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("p", ["2", "3"]),
        ("*", ["html", "body", "1", "2", "3", "4", "5"]),
        ("#x, .c", ["1", "3"]),
        ("body.a.b > p:nth-child(2)", ["2"]),
        ("h2 + p", ["2"]),
        ("h2 ~ p", ["2", "3"]),
        ("h2 ~ p i:last-child", ["5"]),
        ("p i + i, nothing p", ["5"]),
        ("html .b p i:first-of-type", ["4"]),
        ("[data-k~=Two] > :nth-last-child(-n+1)", ["5"]),
        ("[lang|=de], [data-k$='TWO' i]", ["3"]),
        ("p:not(.c, h2)", ["2"]),
        (":is(h2, p):not(.c)", ["1", "2"]),
        ("p:has(+ .c), h2", ["1"]),
        (":root, :only-child", ["html", "body"]),
        ("p:hover, p::first-line", []),
        ("p:empty", []),
        ("p, ..c", []),
        ("> p", []),
        ("p >", []),
    ],
)
def test_selectors_as_browsers_match_them(selector: str, expected: list[str]) -> None:
    assert selected(selector) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", True), ("screen", True), ("print", False), ("print, screen", True), ("not print", True),
        ("only screen and (min-width: 600px)", True), ("(max-width: 600px)", False), ("(width >= 50em)", True),
        ("(400px < width <= 900px)", False), ("(orientation: portrait) or (hover: hover)", True),
        ("not (prefers-color-scheme: dark)", True), ("(something: odd)", None), ("(", None), ("(min-width: x)", None),
    ],
)  # fmt: skip
def test_media_of_a_screen(query: str, expected: bool | None) -> None:
    assert on_screen(read_value(query)) is expected


def test_supports() -> None:
    assert supported(read_value("(display: grid) and (not (-ms-x: y))")) is True
    assert supported(read_value("not ((display: grid) or (color: red))")) is False
    assert supported(read_value("selector(:has(a))")) is True


def held(css: str, element: etree._Element) -> dict[str, str]:
    """The keywords that hold for an element."""
    sheets = Sheets()
    sheets.read(css)
    return {name: word(value) for name, value in Cascade(sheets).declared(element, None, Variables({})).values.items()}


@pytest.mark.parametrize(
    ("css", "display"),
    [
        ("p{display:none} .c{display:block}", "block"),
        (".c{display:block} p{display:none}", "block"),
        ("p{display:none!important} #x.c, .c{display:block}", "none"),
        ("@layer one{p.c{display:none}} p{display:block}", "block"),
        ("@layer one, two; @layer two{p{display:block}} @layer one{p.c.c{display:none}}", "block"),
        ("@layer one, two; @layer two{p{display:block!important}} @layer one{p{display:none!important}}", "none"),
        ("@layer a{@layer b{p{display:none}} p{display:block}}", "block"),
        ("body{ p{display:none} &.b p{display:block} }", "block"),
        ("p{--a:var(--b);--b:var(--a);display:var(--a, none)}", "none"),
        ("p{all:initial;display:none} .c{all:unset}", "unset"),
    ],
)
def test_the_cascade(css: str, display: str) -> None:
    assert held(css, PAGE.find(".//p[2]")).get("display", "") == display


def test_shorthands_and_longhands_replace_one_another() -> None:
    last = PAGE.find(".//p[2]")
    assert held("p{overflow-x:clip;overflow:hidden}", last) == {"overflow-x": "hidden", "overflow-y": "hidden"}
    assert held("p{overflow:hidden;overflow-x:clip}", last) == {"overflow-x": "clip", "overflow-y": "hidden"}


@pytest.mark.parametrize(
    ("length", "px"),
    [
        ("12pt", 16), ("calc(1em + 2 * 3px)", 26), ("calc((1px + 2px) * -2)", -6), ("clamp(1px, 50%, 9px)", 9),
        ("min(3px, 1in)", 3), ("calc(1px / 0)", None), ("calc(1px +)", None), ("1", None), ("0", 0), ("auto", None),
    ],
)  # fmt: skip
def test_lengths(length: str, px: float | None) -> None:
    assert Measure(20.0, 200.0).length(read_value(length)) == px


@pytest.mark.parametrize(
    ("colour", "expected"),
    [
        ("hsl(240 100% 50%)", (0, 0, 255)), ("hwb(0 0% 100%)", (0, 0, 0)), ("rebeccapurple", (102, 51, 153)),
        ("color(srgb 1 0 0)", (255, 0, 0)), ("lab(100 0 0)", None), ("color()", None),
        ("lab(1e308 1e308 1e308)", None), ("color-mix(in srgb, red, blue)", None),
    ],
)  # fmt: skip
def test_colours_in_srgb(colour: str, expected: tuple[int, int, int] | None) -> None:
    found = paint_of(read_value(colour)[0])
    assert (found and found.colour) == expected


def test_work_is_bounded() -> None:
    """A page whose styles cost too much is read on without them, and says that it cannot tell what is seen."""
    sheets = Sheets()
    sheets.read("p{display:none}" + "div * p{color:red}" * 100 + "i b{color:red}")
    cascade = Cascade(sheets)
    cascade._budget.steps = 50
    for _ in range(3):
        assert word(cascade.declared(PAGE.find(".//p"), None, Variables({})).values["display"]) == "none"
    assert cascade.exhausted
    with pytest.raises(TooMuchError):
        Budget(0).spend()


def test_a_sheet_that_is_too_long_is_doubted(parse) -> None:
    page = f"<style>{'p{color:red}' * (LONGEST // 12 + 9)}</style><p>seen".encode()
    parsed = parse(page, "page.html")
    assert parsed.text == "seen"
    assert len(parsed.unsure) == 1


def test_a_table_of_stripes_costs_little(parse) -> None:
    """Places among siblings are counted once, not once for each of them."""
    rows = "<tr><td>x</td></tr>" * 5000
    parsed = parse(f"<style>tr:nth-child(even){{color:#123}}</style><table>{rows}</table>".encode(), "page.html")
    assert parsed.unsure == ()


def test_variables_that_grow_without_end_have_no_value() -> None:
    """What putting them in place costs is taken from the budget of the page."""
    doubled = "".join(f"--a{place}:var(--a{place - 1}) var(--a{place - 1});" for place in range(1, 60))
    sheets = Sheets()
    sheets.read(f"p{{--a0:none;{doubled}display:var(--a59, block)}}")
    cascade = Cascade(sheets)
    before = cascade._budget.steps
    values = cascade.declared(PAGE.find(".//p"), None, Variables({})).values
    assert word(values["display"]) == "block"
    assert 10_000 < before - cascade._budget.steps < 100_000
