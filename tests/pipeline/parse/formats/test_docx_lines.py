"""Word: lines that go on behind the end of a paragraph, and columns of tables, as Word shows them."""

import pytest

from pipeline.parse.options import Options
from tests.pipeline.parse.formats.test_docx import document, p


@pytest.fixture
def text_of(parse, office):
    return lambda body: parse(office("docx", {"word/document.xml": document(body)})).text


def marked(mark: str, *runs: str, more: str = "") -> str:
    """A paragraph whose mark has a property."""
    return p(f"<w:pPr>{more}<w:rPr>{mark}</w:rPr></w:pPr>", *runs)


@pytest.mark.parametrize(
    "mark", ["<w:del w:id='1'/>", "<w:moveFrom w:id='1'/>", "<w:vanish/>", "<w:specVanish/><w:vanish/>"]
)
def test_a_paragraph_whose_end_is_not_shown_goes_on_in_the_next(text_of, mark: str) -> None:
    assert text_of(marked(mark, "Total 5") + marked(mark, "0") + p("00 EUR") + p("x")) == "Total 5000 EUR\nx"
    table = (
        f"<w:tbl><w:tr><w:tc>{marked(mark, '1')}{p('2')}{marked(mark, '3')}</w:tc><w:tc>{p('4')}</w:tc></w:tr></w:tbl>"
    )
    assert text_of(marked(mark, "5") + table + p("6") + marked(mark, "7")) == "5\n\n12 3 | 4\n\n6\n7"


@pytest.mark.parametrize("mark", ["<w:ins w:id='1'/>", "<w:vanish w:val='0'/>", "<w:b/>"])
def test_a_paragraph_whose_end_is_shown_ends(text_of, mark: str) -> None:
    assert text_of(marked(mark, "Total 5") + p("00 EUR")) == "Total 5\n00 EUR"


def test_the_end_of_a_paragraph_is_kept_by_the_rule_for_hidden_text(parse_members, office) -> None:
    data = office("docx", {"word/document.xml": document(marked("<w:vanish/>", "a") + p("b"))})
    assert [parse_members(data, options=Options(hidden=rule))[0].text for rule in ("drop", "keep")] == ["ab", "a\nb"]


def test_a_line_of_two_paragraphs_has_one_style(parse, office) -> None:
    head = "<w:outlineLvl w:val='0'/>"
    body = marked("<w:vanish/>", "1. Rent", more=head) + p(" is due.") + marked("<w:del w:id='1'/>", "no", more=head)
    parsed = parse(office("docx", {"word/document.xml": document(body + p("where"))}))
    assert parsed.text == "1. Rent is due.\n\nnowhere"
    assert [one.title for one in parsed.sections] == ["1. Rent is due."]


@pytest.mark.parametrize("kind", ["drop", "margin"])
def test_a_drop_cap_begins_its_word(text_of, kind: str) -> None:
    cap = p(f"<w:pPr><w:framePr w:dropCap='{kind}' w:lines='2'/></w:pPr>", "T")
    assert text_of(cap + p("otal 5")) == "Total 5"
    assert text_of(cap.replace(kind, "none") + p("otal 5")) == "T\notal 5"


def test_values_stand_in_the_columns_that_word_shows_them_in(text_of) -> None:
    def row(*cells: str, before: str = "", width: str = "1") -> str:
        first = f"<w:tc><w:tcPr><w:gridSpan w:val='{width}'/></w:tcPr>{p(cells[0])}</w:tc>"
        rest = "".join(f"<w:tc>{p(cell)}</w:tc>" for cell in cells[1:])
        return f"<w:tr><w:trPr>{before and f'<w:gridBefore w:val={before!r}/>'}</w:trPr>{first}{rest}</w:tr>"

    held = f"<w:sdt><w:sdtContent>{row('7', '8', before='1')}</w:sdtContent></w:sdt>"
    rows = row("Item", "2023", "2024") + row("500", "600", before="1") + row("all", "5", width="2") + held
    rows += row("9", "0", before="1", width="2") + row("z", before="9999") + row("y", width="-3")
    table = f"<w:tbl>{rows}</w:tbl>"
    assert text_of(table).split("\n") == [
        "Item | 2023 | 2024", " | 500 | 600", "all |  | 5", " | 7 | 8", " | 9 |  | 0", " | " * 63 + "z", "y",
    ]  # fmt: skip
