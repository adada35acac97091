"""OpenDocument text: what a reader sees, in its order."""

import pytest

from pipeline.document import Hidden
from pipeline.errors import Failure
from pipeline.parse.options import Options
from tests.pipeline.parse.odf import NAMES, content, flat, opendocument

HIDDEN = '<style:style style:name="{0}" style:family="{1}"><style:text-properties text:display="none"/></style:style>'
NUMBERS = (
    '<text:list-style style:name="N">'
    '<text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>'
    '<text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")"/>'
    '<text:list-level-style-number text:level="3" style:num-format="I" text:display-levels="3"/></text:list-style>'
    '<text:list-style style:name="B"><text:list-level-style-bullet text:level="1" text:bullet-char="•"/>'
    "</text:list-style>"
)


def text(body: str, **more: str | bytes) -> bytes:
    return opendocument("text", body, **more)


def p(text: str, style: str = "") -> str:
    return f'<text:p text:style-name="{style}">{text}</text:p>'


def item(*inside: str) -> str:
    return f"<text:list-item>{''.join(inside)}</text:list-item>"


def numbered(*items: str, more: str = "", style: str = "N") -> str:
    return f'<text:list text:style-name="{style}" {more}>{"".join(items)}</text:list>'


def test_headings_are_sections(parse) -> None:
    parsed = parse(text(
        p("A name", "Title") + '<text:h text:outline-level="1">One</text:h>' + p("under one")
        + '<text:h text:outline-level="2">Two</text:h>' + p("under two"),
        styles='<style:style style:name="Title" style:family="paragraph"/>',
    ))  # fmt: skip
    assert parsed.text == "A name\n\nOne\n\nunder one\n\nTwo\n\nunder two"
    assert parsed.evidence(parsed.text.index("under two"), len(parsed.text)).section == "One > Two"
    assert parsed.media_type == "application/vnd.oasis.opendocument.text"


def test_headings_have_the_numbers_of_the_outline(parse) -> None:
    levels = "".join(
        f'<text:outline-level-style text:level="{level}" style:num-format="1" text:display-levels="{level}"/>'
        for level in (1, 2)
    )
    plain = '<style:style style:name="Plain" style:family="paragraph" style:list-style-name=""/>'
    body = "".join(
        f'<text:h text:outline-level="{level}" text:style-name="{style}">{title}</text:h>'
        for level, title, style in [
            (1, "A", ""),
            (2, "B", ""),
            (2, "C", ""),
            (1, "none", "Plain"),
            (1, "D", ""),
            (2, "E", ""),
        ]
    )
    parsed = parse(text(body, styles=f"<text:outline-style>{levels}</text:outline-style>{plain}"))
    assert parsed.text.split("\n\n") == ["1 A", "1.1 B", "1.2 C", "none", "2 D", "2.1 E"]


def test_white_space_and_fields(parse) -> None:
    body = p('  one\n two <text:span>  three</text:span><text:s text:c="2"/>four<text:tab/>five<text:line-break/>six ')
    body += p(
        'page <text:page-number text:select-page="current">7</text:page-number> of <text:page-count>9</text:page-count>'
    )
    body += p("<text:ruby><text:ruby-base>漢字</text:ruby-base><text:ruby-text>かんじ</text:ruby-text></text:ruby>")
    body += p('a<text:bookmark text:name="x"/>b<text:s text:c="999999999"/>c')
    parsed = parse(text(body))
    assert parsed.text.startswith("one two three  four\tfive\nsix\npage 7 of 9\n漢字(かんじ)\nab ")
    assert len(parsed.text) < 200


def test_lists_have_the_numbers_that_a_reader_sees(parse) -> None:
    inner = numbered(item(p("x"), numbered(item(p("deep")))), item(p("y")), style="")
    body = numbered(item(p("one"), inner), item(p("two")), item(p("")), item(p("four")))
    body += numbered(item(p("anew")), more='xml:id="here"') + p("between")
    body += numbered(item(p("goes on")), more='text:continue-numbering="true"')
    body += numbered(item(p("bullet")), style="B")
    body += numbered(item(p("by name")), more='text:continue-list="here"')
    body += numbered(
        "<text:list-header>" + p("header") + "</text:list-header>",
        '<text:list-item text:start-value="9">' + p("nine") + "</text:list-item>",
    )
    parsed = parse(text(body, automatic=NUMBERS))
    assert [line for line in parsed.text.split("\n") if line] == [
        "1. one", "a) x", "1.a.I deep", "b) y", "2. two", "4. four", "1. anew", "between", "2. goes on", "- bullet",
        "3. by name", "header", "9. nine",
    ]  # fmt: skip


def test_tables(parse) -> None:
    cell = "<table:table-cell>{}</table:table-cell>".format
    rows = (
        f"<table:table-header-rows><table:table-row>{cell(p('a'))}{cell(p('b') + p('c'))}</table:table-row>"
        "</table:table-header-rows>"
        '<table:table-row><table:table-cell table:number-columns-spanned="2">' + p("wide") + "</table:table-cell>"
        "<table:covered-table-cell/></table:table-row>"
        f'<table:table-row table:number-rows-repeated="2">{cell("")}{cell(p("again"))}</table:table-row>'
        f"<table:table-row>{cell(p('x'))}<table:covered-table-cell>{p('beneath')}</table:covered-table-cell></table:table-row>"
        f'<table:table-row table:visibility="collapse">{cell(p("folded"))}</table:table-row>'
    )
    parsed = parse(text(p("before") + f"<table:table>{rows}</table:table>" + p("after")))
    assert parsed.text == "before\n\na | b c\nwide\n | again\n | again\nx\n\nafter"
    assert parsed.hidden == (Hidden("covered", 7), Hidden("hidden_row", 6))


def test_a_table_in_a_cell_follows_as_a_block(parse) -> None:
    inner = (
        "<table:table><table:table-row>"
        + "<table:table-cell><text:p>i</text:p></table:table-cell>" * 2
        + "</table:table-row></table:table>"
    )
    cell = f"<table:table-cell>{p('x')}{inner}</table:table-cell>"
    outer = f"<table:table><table:table-row>{cell}</table:table-row></table:table>"
    assert parse(text(outer)).text == "x\n\ni | i"


def test_notes_comments_and_changes(parse) -> None:
    note = (
        '<text:note text:note-class="{}"><text:note-citation>9</text:note-citation>'
        "<text:note-body>{}</text:note-body></text:note>"
    )
    comment = f"<office:annotation><dc:creator>Ann</dc:creator><dc:date>2026</dc:date>{p('look')}</office:annotation>"
    deleted = f"<text:changed-region><text:deletion>{p('deleted')}</text:deletion></text:changed-region>"
    first, last, second = (
        note.format(kind, p(words))
        for kind, words in (("footnote", "first"), ("endnote", "last"), ("footnote", "second"))
    )
    body = f"<text:tracked-changes>{deleted}</text:tracked-changes>" + p(f"a{first} b{last}{comment} c{second}")
    body += p('in<text:change-start text:change-id="1"/>serted<text:change-end text:change-id="1"/>')
    expected = "a[1] b[e1] c[2]\n\nComment (Ann): look\n\ninserted\n\n[1] first\n[2] second\n\n[e1] last"
    assert parse(text(body)).text == expected


def test_headers_and_footers_of_the_pages_that_are_used(parse) -> None:
    def master(name: str, header: str, footer: str = "", more: str = "") -> str:
        return (
            f'<style:master-page style:name="{name}" {more}><style:header>{p(header)}</style:header>'
            f"<style:footer>{p(footer)}</style:footer></style:master-page>"
        )

    pages = master("Standard", "top", "bottom", 'style:next-style-name="Next"') + master("Next", "top", "next bottom")
    pages += master("Named", "named top") + master("Unused", "unused top")
    pages += (
        '<style:master-page style:name="Off"><style:header style:display="false">'
        + p("off")
        + "</style:header></style:master-page>"
    )
    automatic = '<style:style style:name="P1" style:family="paragraph" style:master-page-name="Named"/>'
    automatic += '<style:style style:name="P2" style:family="paragraph" style:master-page-name="Off"/>'
    parsed = parse(text(p("body") + p("on", "P1") + p("and on", "P2"), automatic=automatic, master=pages))
    assert parsed.text == "top\n\nnamed top\n\nbody\non\nand on\n\nbottom\n\nnext bottom"


def test_boxes_charts_formulas_and_files(parse_members) -> None:
    box = f"<draw:frame><draw:text-box>{p('in a box')}</draw:text-box></draw:frame>"
    objects = "".join(
        f'<draw:frame><draw:object xlink:href="./Object {number}"/><draw:image xlink:href="./x"/></draw:frame>'
        for number in (1, 2, 3)
    )
    ole = '<draw:frame><draw:object-ole xlink:href="./Object 4"/></draw:frame>'
    number = "<table:table-cell office:value-type='float' office:value='{0}'><text:p>{0}</text:p></table:table-cell>"
    row = f"<table:table-cell>{p('Row')}</table:table-cell>{number.format('1.5')}{number.format('NaN')}"
    table = f"<table:table><table:table-row>{row}</table:table-row></table:table>"
    chart = content("chart", f"<chart:chart><chart:title>{p('Sales')}</chart:title>{table}</chart:chart>")
    formula = (
        '<!DOCTYPE math:math PUBLIC "-//OpenOffice.org//DTD Modified W3C MathML 1.01//EN" "math.dtd">'
        '<math:math xmlns:math="http://www.w3.org/1998/Math/MathML"><math:semantics><math:mrow><math:msup><math:mi>x</math:mi>'
        "<math:mn>2</math:mn></math:msup></math:mrow><math:annotation>x^{2}</math:annotation></math:semantics></math:math>"
    )
    body = p(f"a {objects}b{box}{ole}{ole}")
    files = {"Object 1__content.xml": chart, "Object 2__content.xml": formula, "Object 4": b"OLE",
             "Object 3__content.xml": content("text", p("other")), "Pictures__1.png": b"x"}  # fmt: skip
    parsed, members = parse_members(text(body, **files))
    assert parsed.text == "a x^2b\n\nSales\n\nRow | 1.5\n\nin a box"
    assert parsed.notes == ("pictures and other media not read: 1", "embedded documents not read: 1")
    assert members == {"Object 4": b"OLE"}


def test_form_fields(parse) -> None:
    fields = (
        '<office:forms><form:form><form:text form:id="c1" form:value="old" form:current-value="Alice"/>'
        '<form:checkbox form:id="c2" form:label="Agree" form:current-state="checked"/>'
        '<form:radio form:id="c3" form:label="No"/><form:password form:id="c4" form:value="secret"/>'
        '<form:listbox form:id="c5"><form:option form:label="A"/><form:option form:label="B" form:selected="true"/>'
        "</form:listbox></form:form></office:forms>"
    )
    body = fields + "".join(p(f'<draw:control draw:control="c{number}"/>') for number in range(1, 7))
    assert parse(text(body)).text == "Alice\n\n[x] Agree\n\n[ ] No\n\nB"


@pytest.fixture
def concealed() -> bytes:
    automatic = HIDDEN.format("T", "text") + HIDDEN.format("P", "paragraph") + (
        '<style:style style:name="T2" style:family="text"><style:text-properties text:display="true"/></style:style>'
        '<style:style style:name="P3" style:family="paragraph" style:parent-style-name="P"/>'
    )  # fmt: skip
    note = '<text:note text:note-class="footnote"><text:note-body><text:p>of it</text:p></text:note-body></text:note>'
    body = (
        p('seen<text:span text:style-name="T">unseen</text:span>')
        + p('alpha<text:span text:style-name="T2">shown</text:span>', "P3")
        + p('<text:hidden-text text:is-hidden="true" text:string-value="field"/>end')
        + p('<text:hidden-paragraph text:is-hidden="true"/>whole')
        + f'<text:section text:display="none">{p("section" + note)}</text:section>'
        + f'<text:section text:display="condition" text:is-hidden="false">{p("open")}</text:section>'
    )
    return text(body, automatic=automatic)


def test_hidden_text_is_counted_and_dropped(parse, concealed: bytes) -> None:
    parsed = parse(concealed)
    assert parsed.text == "seen\nshown\nend\n\nopen"
    assert parsed.hidden == (Hidden("marked_hidden", len("unseenalphafieldwholesection[1]ofit")),)


def test_hidden_text_is_kept_by_the_rule(parse_members, concealed: bytes) -> None:
    parsed, _ = parse_members(concealed, options=Options(hidden="keep"))
    assert parsed.text == "seenunseen\nalphashown\nfieldend\nwhole\n\nsection[1]\n\nopen\n\n[1] of it"
    assert parsed.hidden == (Hidden("marked_hidden", len("unseenalphafieldwholesection[1]ofit")),)


def test_flat_files(parse) -> None:
    half = "<math:math><math:mfrac><math:mn>1</math:mn><math:mn>2</math:mn></math:mfrac></math:math>"
    formula = f"<draw:frame><draw:object>{half}</draw:object></draw:frame>"
    picture = "<draw:frame><draw:image><office:binary-data>aGFsbG8=</office:binary-data></draw:image></draw:frame>"
    parsed = parse(flat("text", p(f"flat {formula}{picture}") + numbered(item(p("item"))), NUMBERS), "x.fodt")
    assert parsed.text == "flat 1/2\n\n1. item"
    assert parsed.notes == ("pictures and other media not read: 1",)


def test_a_hidden_paragraph_in_a_box_hides_only_itself(parse) -> None:
    inner = p("unseen" + '<text:hidden-paragraph text:is-hidden="true"/>')
    parsed = parse(text(p(f"seen<draw:frame><draw:text-box>{inner}</draw:text-box></draw:frame>")))
    assert (parsed.text, parsed.hidden) == ("seen", (Hidden("marked_hidden", 6),))


def test_what_holds_no_text(fail) -> None:
    assert fail(text(p(""))).failure is Failure.EMPTY
    assert (
        fail(text(p('<draw:frame><draw:image xlink:href="Pictures/1"/></draw:frame>'), Pictures__1=b"x")).failure
        is Failure.NEEDS_OCR
    )
    hidden = fail(text(f'<text:section text:display="none">{p("x")}</text:section>'))
    assert hidden.failure is Failure.EMPTY
    assert "hidden" in hidden.reason


def test_damage_is_named(fail) -> None:
    assert (
        fail(opendocument("spreadsheet", p("x"), mimetype="application/vnd.oasis.opendocument.text")).failure
        is Failure.CORRUPT
    )
    assert "content.xml" in fail(text("", **{"content.xml": "<office:document-content"})).reason
    assert fail(text("")[:200], "x.odt").failure is Failure.CORRUPT


def test_runs_that_are_raised_struck_out_or_in_a_font_of_signs(parse) -> None:
    def style(name: str, said: str) -> str:
        return f'<style:style style:name="{name}" style:family="text"><style:text-properties {said}/></style:style>'

    def span(name: str, text: str) -> str:
        return f'<text:span text:style-name="{name}">{text}</text:span>'

    automatic = "".join((
        style("Up", 'style:text-position="super 58%"'),
        style("Down", 'style:text-position="-33% 58%"'),
        style("Level", 'style:text-position="0% 100%"'),
        style("Gone", 'style:text-line-through-style="solid"'),
        style("Kept", 'style:text-line-through-style="none" style:text-line-through-type="none"'),
        style("Signs", 'style:font-name="Symbol"'),
        style("Ticks", "fo:font-family=\"'Wingdings'\" style:font-charset=\"x-symbol\""),
    ))  # fmt: skip
    body = (
        "EUR 1,240" + span("Up", "50") + " 10" + span("Down", "2") + " 1" + span("Level", "0") + " rent "
        + span("Gone", "900 ") + span("Kept", "950") + " " + span("Signs", "5 m") + "g " + span("Ticks", "\uf0fe")
    )  # fmt: skip
    parsed = parse(text(p(body), automatic=automatic))
    assert parsed.text == "EUR 1,240^50 10_2 10 rent ~~900~~ 950 5 \u00b5g [x]"
    assert parsed.notes == ("struck-out text, marked ~~ ~~: 3 characters",)


def test_a_bullet_that_says_yes(parse) -> None:
    bullet = (
        '<text:list-style style:name="T"><text:list-level-style-bullet text:level="1" text:bullet-char="\uf0fe">'
        '<style:text-properties fo:font-family="Wingdings"/></text:list-level-style-bullet></text:list-style>'
    )
    assert parse(text(numbered(item(p("agreed")), style="T"), automatic=bullet)).text == "[x] agreed"


LABEL = "<text:label text:value="
A_OR_B = 'text:string-value-if-true="a" text:string-value-if-false="b"'


@pytest.mark.parametrize(
    ("field", "is_sure"),
    [
        ('<text:user-field-get text:name="rent">1,000.00</text:user-field-get>', True),
        ('<text:user-field-get text:name="rent">9,000.00</text:user-field-get>', False),
        ('<text:user-field-get text:name="party">Nordwind</text:user-field-get>', True),
        ('<text:user-field-get text:name="party">Suedwind</text:user-field-get>', False),
        ('<text:expression office:value-type="float" office:value="7">7</text:expression>', True),
        ('<text:expression office:value-type="float" office:value="7">8</text:expression>', False),
        ('<text:variable-set office:value-type="percentage" office:value="0.19">19 %</text:variable-set>', True),
        ("<text:title>Lease</text:title>", True),
        ("<text:page-number>7</text:page-number>", True),
        ("<text:page-number>9000</text:page-number>", False),
        ('<text:date text:date-value="2026-05-03">3 May 2026</text:date>', True),
        ("<text:date>terminated</text:date>", False),
        ("<text:title>Sale</text:title>", False),
        ('<text:title text:fixed="true">Sale</text:title>', True),
        (f"<text:conditional-text {A_OR_B}>b</text:conditional-text>", True),
        (f"<text:conditional-text {A_OR_B}>c</text:conditional-text>", False),
        (f'<text:conditional-text {A_OR_B} text:current-value="false">b</text:conditional-text>', True),
        (f'<text:conditional-text {A_OR_B} text:current-value="true">b</text:conditional-text>', False),
        (f'<text:drop-down>{LABEL}"x" text:current-selected="true"/>{LABEL}"y"/>x</text:drop-down>', True),
        (f'<text:drop-down>{LABEL}"x" text:current-selected="true"/>{LABEL}"y"/>y</text:drop-down>', False),
        (f'<text:drop-down>{LABEL}"x"/>{LABEL}"y"/>y</text:drop-down>', True),
        (f'<text:drop-down>{LABEL}"x"/>{LABEL}"y"/>z</text:drop-down>', False),
        ('<text:date text:date-value="2026-05-03" text:fixed="true">4 May 2026</text:date>', False),
        ('<text:date text:date-value="2026-05-03">3.5.27</text:date>', False),
        ('<text:date text:date-value="2026-05-03" text:date-adjust="P1D">4.5.26</text:date>', True),
        ('<text:time text:time-value="2026-05-03T15:30:00.123">3:30 PM</text:time>', True),
        ('<text:time text:time-value="15:30:00" text:fixed="true">16:30</text:time>', False),
        ('<text:creation-date text:date-value="2026-05-03">3 May 2025</text:creation-date>', False),
        (
            '<text:variable-set office:value-type="date" office:date-value="2026-05-03">03.05.26</text:variable-set>',
            True,
        ),
        (
            '<text:variable-set office:value-type="date" office:date-value="2026-05-03">30.05.26</text:variable-set>',
            False,
        ),
        ('<text:table-formula office:value-type="float" office:value="7">8</text:table-formula>', False),
    ],
)
def test_fields_that_programs_fill_in_anew(parse, field: str, is_sure: bool) -> None:
    declared = (
        '<text:user-field-decls><text:user-field-decl text:name="rent" office:value-type="float" office:value="1000"/>'
        '<text:user-field-decl text:name="party" office:value-type="string" office:string-value="Nordwind"/>'
        "</text:user-field-decls>"
    )
    meta = f"<office:document-meta {NAMES}><office:meta><dc:title>Lease</dc:title></office:meta></office:document-meta>"
    parsed = parse(opendocument("text", declared + p(field), **{"meta.xml": meta}))
    assert (not parsed.unsure) == is_sure
