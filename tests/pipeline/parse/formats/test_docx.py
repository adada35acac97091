"""Word: everything that is seen, and nothing that is not."""

import io
import zipfile

import docx
import pytest
from docx.enum.text import WD_BREAK

from pipeline.document import Hidden
from pipeline.errors import Failure
from pipeline.parse.options import Options

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
WPS = 'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
KIND = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def document(body: str) -> str:
    return f"<w:document {W} {R} {MC} {M} {WPS}><w:body>{body}</w:body></w:document>"


def p(*runs: str) -> str:
    return f"<w:p>{''.join(run if run.startswith('<') else f'<w:r><w:t>{run}</w:t></w:r>' for run in runs)}</w:p>"


@pytest.fixture
def text_of(parse, office):
    def text_of(body: str, **parts: str) -> str:
        return parse(office("docx", {"word/document.xml": document(body)} | parts)).text

    return text_of


def test_a_document_of_word(parse) -> None:
    made = docx.Document()
    made.sections[0].header.paragraphs[0].text = "The header"
    made.sections[0].footer.paragraphs[0].text = "The footer"
    made.add_heading("Lease", 1)
    made.add_paragraph("First line").add_run().add_break(WD_BREAK.LINE)
    made.add_paragraph("after a tab:\tx")
    table = made.add_table(2, 2)
    for place, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"cell {place}"
    made.add_paragraph("first", style="List Number")
    made.add_paragraph("second", style="List Number")
    made.add_paragraph("dot", style="List Bullet")
    file = io.BytesIO()
    made.save(file)
    parsed = parse(file.getvalue(), "lease.txt")
    assert parsed.media_type == KIND
    assert parsed.page_starts == ()
    assert parsed.text == (
        "The header\n\nLease\n\nFirst line\nafter a tab:\tx\n\ncell 0 | cell 1\ncell 2 | cell 3\n\n"
        "1. first\n2. second\n- dot\n\nThe footer"
    )


def test_tracked_changes_are_taken_as_accepted(text_of) -> None:
    body = p(
        "We ", "<w:del><w:r><w:delText>shall</w:delText></w:r></w:del>", "<w:ins><w:r><w:t>may</w:t></w:r></w:ins>",
        "<w:moveFrom><w:r><w:t>gone</w:t></w:r></w:moveFrom>", "<w:moveTo><w:r><w:t> come</w:t></w:r></w:moveTo>",
    )  # fmt: skip
    assert text_of(body) == "We may come"


def test_content_controls_links_and_fields(text_of) -> None:
    body = (
        f"<w:sdt><w:sdtPr><w:alias w:val='no'/></w:sdtPr><w:sdtContent>{p('a block')}</w:sdtContent></w:sdt>"
        + p("<w:sdt><w:sdtContent><w:r><w:t>inline</w:t></w:r></w:sdtContent></w:sdt>")
        + p("<w:hyperlink r:id='rId9'><w:r><w:t>a link</w:t></w:r></w:hyperlink>")
        + p(
            "<w:fldSimple w:instr='PAGE'><w:r><w:t>7</w:t></w:r></w:fldSimple>",
            "<w:r><w:instrText>NO</w:instrText></w:r>",
        )
        + p("soft<w:r/>"[:4], "<w:r><w:softHyphen/><w:noBreakHyphen/><w:sym w:font='Symbol' w:char='F061'/></w:r>")
        + p(
            "<w:r><w:fldChar><w:ffData><w:checkBox><w:default w:val='1'/></w:checkBox></w:ffData></w:fldChar></w:r>",
            "yes",
        )
    )
    assert text_of(body) == "a block\ninline\na link\n7\nsoft-\u03b1\n[x]yes"


def test_a_text_box_is_read_once_whatever_its_alternatives(text_of) -> None:
    box = f"<w:txbxContent>{p('in the box')}</w:txbxContent>"
    body = p(
        "before", "<w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing><wps:wsp><wps:txbx>" + box
        + "</wps:txbx></wps:wsp></w:drawing></mc:Choice><mc:Fallback><w:pict>" + box + "</w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r>", " after",
    )  # fmt: skip
    assert text_of(body) == "before after\n\nin the box"


def test_tables_nest_and_merge(text_of) -> None:
    def cell(content: str) -> str:
        return f"<w:tc>{content}</w:tc>"

    inner = f"<w:tbl><w:tr>{cell(p('x'))}{cell(p('y'))}</w:tr></w:tbl>"
    body = (
        f"<w:tbl><w:tr>{cell(p('a') + p('b'))}{cell(p())}{cell(p('c'))}</w:tr>"
        f"<w:sdt><w:sdtContent><w:tr>{cell(p('d'))}</w:tr></w:sdtContent></w:sdt></w:tbl>"
        f"{p('between')}<w:tbl><w:tr>{cell(inner)}{cell(p('side'))}</w:tr></w:tbl>"
    )
    assert text_of(body) == "a b |  | c\nd\n\nbetween\n\nx | y\n\nside"


def test_notes_and_comments_follow_the_body(text_of, rels) -> None:
    note = "<w:{0} w:id='{1}'>" + p("{2}") + "</w:{0}>"
    text = text_of(
        p("Text", "<w:r><w:footnoteReference w:id='2'/></w:r>", " more", "<w:r><w:endnoteReference w:id='5'/></w:r>"),
        **{
            "word/_rels/document.xml.rels": rels(
                ("footnotes", "footnotes.xml"), ("endnotes", "endnotes.xml"), ("comments", "/word/comments.xml")
            ),
            "word/footnotes.xml": f"<w:footnotes {W}><w:footnote w:type='separator' w:id='0'/>"
            f"{note.format('footnote', 2, 'the foot')}</w:footnotes>",
            "word/endnotes.xml": f"<w:endnotes {W}>{note.format('endnote', 5, 'the end')}</w:endnotes>",
            "word/comments.xml": f"<w:comments {W}><w:comment w:author='Ann'>{p('why?')}</w:comment></w:comments>",
        },
    )
    assert text == "Text[1] more[e1]\n\n[1] the foot\n\n[e1] the end\n\nComment (Ann): why?"


def test_numbers_that_word_draws(text_of, rels) -> None:
    def level(place: int, form: str, pattern: str) -> str:
        drawn = f"<w:numFmt w:val='{form}'/><w:lvlText w:val='{pattern}'/>"
        return f"<w:lvl w:ilvl='{place}'><w:start w:val='1'/>{drawn}</w:lvl>"

    levels = level(0, "upperRoman", "Article %1") + level(1, "decimal", "%1.%2") + level(2, "lowerLetter", "(%3)")
    numbering = (
        f"<w:numbering {W}><w:abstractNum w:abstractNumId='3'>{levels}</w:abstractNum>"
        "<w:num w:numId='1'><w:abstractNumId w:val='3'/></w:num></w:numbering>"
    )
    place = "<w:pPr><w:numPr><w:ilvl w:val='1'/><w:numId w:val='1'/></w:numPr></w:pPr>"
    styles = f"<w:styles {W}><w:style w:styleId='Clause'>{place}</w:style></w:styles>"

    def item(text: str, place: int) -> str:
        return p(f"<w:pPr><w:numPr><w:ilvl w:val='{place}'/><w:numId w:val='1'/></w:numPr></w:pPr>", text)

    body = item("Parties", 0) + item("the lessor", 1) + p("<w:pPr><w:pStyle w:val='Clause'/></w:pPr>", "the lessee")
    body += item("one", 2) + item("two", 2) + item("Rent", 0) + item("monthly", 1)
    text = text_of(
        body,
        **{
            "word/_rels/document.xml.rels": rels(("numbering", "numbering.xml"), ("styles", "styles.xml")),
            "word/numbering.xml": numbering,
            "word/styles.xml": styles,
        },
    )
    assert text.splitlines() == [
        "Article I Parties", "I.1 the lessor", "I.2 the lessee", "(a) one", "(b) two",
        "Article II Rent", "II.1 monthly",
    ]  # fmt: skip


def test_formulas_in_one_line(text_of) -> None:
    def r(text: str) -> str:
        return f"<m:r><m:t>{text}</m:t></m:r>"

    half = f"<m:f><m:fPr/><m:num>{r('a')}</m:num><m:den>{r('2')}</m:den></m:f>"
    square = f"<m:sSup><m:e>{r('x')}</m:e><m:sup>{r('2')}</m:sup></m:sSup>"
    assert text_of(p("so ", f"<m:oMath>{half}{r('+')}{square}</m:oMath>")) == "so a/2+x^2"


def test_the_strict_variant_reads_the_same(parse, office) -> None:
    data = document(p("strict text")).replace(
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    )
    assert parse(office("docx", {"word/document.xml": data})).text == "strict text"


def test_what_is_not_read_is_noted(parse, office, rels) -> None:
    parsed = parse(
        office("docx", {
            "word/document.xml": document(p("text")),
            "word/_rels/document.xml.rels": rels(("aFChunk", "chunk.html")),
            "word/chunk.html": "<p>x", "word/media/a.png": b"x", "word/embeddings/b.bin": b"x",
        })
    )  # fmt: skip
    assert parsed.notes == (
        "part of the document, read as a document of its own: chunk.html",
        "pictures and other media not read: 1",
        "documents inside it, not read: 2",
    )


def test_pictures_alone_need_ocr_and_nothing_is_empty(fail, office) -> None:
    parts = {"word/document.xml": document(p())}
    assert fail(office("docx", parts)).failure is Failure.EMPTY
    assert fail(office("docx", parts | {"word/media/scan.png": b"x"})).failure is Failure.NEEDS_OCR


@pytest.mark.parametrize("cut", [10, 300, -40])
def test_a_truncated_file_is_corrupt(fail, office, cut: int) -> None:
    data = office("docx", {"word/document.xml": document(p("text") * 50)})
    assert fail(data[:cut], "x.docx").failure in {Failure.CORRUPT, Failure.UNSUPPORTED}


def test_damaged_content_is_corrupt(fail, office) -> None:
    assert fail(office("docx", {"word/document.xml": "<w:document"})).failure is Failure.CORRUPT
    data = bytearray(office("docx", {"word/document.xml": document(p("text") * 500)}))
    start = data.index(b"word/document.xml") + len("word/document.xml")
    data[start + 8 : start + 30] = bytes(22)
    assert fail(bytes(data)).failure is Failure.CORRUPT


def test_a_password_on_the_parts_is_encrypted(fail, office) -> None:
    data = bytearray(office("docx", {"word/document.xml": document(p("text"))}))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = len(archive.infolist())
    assert entries == 3
    place = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 4)
    data[place + 8] |= 1
    assert fail(bytes(data)).failure is Failure.ENCRYPTED


STYLES = (
    f"<w:styles {W}><w:docDefaults><w:rPrDefault><w:rPr><w:sz w:val='22'/></w:rPr></w:rPrDefault></w:docDefaults>"
    "<w:style w:type='paragraph' w:default='1' w:styleId='N'><w:name w:val='Normal'/></w:style>"
    "<w:style w:type='paragraph' w:styleId='berschrift1'><w:name w:val='heading 1'/><w:basedOn w:val='N'/></w:style>"
    "<w:style w:type='paragraph' w:styleId='Own'><w:basedOn w:val='berschrift1'/></w:style>"
    "<w:style w:type='paragraph' w:styleId='Clause'><w:pPr><w:outlineLvl w:val='2'/></w:pPr></w:style>"
    "<w:style w:type='paragraph' w:styleId='Toc'><w:basedOn w:val='Own'/><w:pPr><w:outlineLvl w:val='9'/></w:pPr>"
    "</w:style>"
    "<w:style w:type='paragraph' w:styleId='Secret'><w:rPr><w:vanish/></w:rPr></w:style>"
    "<w:style w:type='paragraph' w:styleId='Below'><w:basedOn w:val='Secret'/></w:style>"
    "<w:style w:type='character' w:styleId='Gone'><w:rPr><w:vanish/></w:rPr></w:style>"
    "<w:style w:type='character' w:styleId='Light'><w:rPr><w:color w:val='FEFEFE'/></w:rPr></w:style>"
    "<w:style w:type='table' w:styleId='Dark'><w:tblStylePr w:type='firstRow'><w:tcPr><w:shd w:fill='000000'/></w:tcPr>"
    "</w:tblStylePr></w:style>"
    "<w:style w:type='paragraph' w:styleId='Loop'><w:basedOn w:val='Pool'/><w:rPr><w:vanish/></w:rPr></w:style>"
    "<w:style w:type='paragraph' w:styleId='Pool'><w:basedOn w:val='Loop'/></w:style></w:styles>"
)


def styled(text: str, properties: str = "", style: str = "") -> str:
    paragraph = f"<w:pPr><w:pStyle w:val='{style}'/></w:pPr>" if style else ""
    return p(paragraph, f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>")


@pytest.fixture
def read_styled(parse_members, office, rels):
    def read_styled(body: str, hidden: str = "drop"):
        parts = {
            "word/document.xml": document(body),
            "word/styles.xml": STYLES,
            "word/_rels/document.xml.rels": rels(("styles", "styles.xml")),
        }
        return parse_members(office("docx", parts), options=Options(hidden=hidden))[0]

    return read_styled


def test_headings_are_sections_by_the_level_of_their_style(read_styled) -> None:
    body = styled("One", style="berschrift1") + styled("a") + styled("Clause", style="Clause") + styled("b")
    body += styled("Contents", style="Toc") + styled("Two", style="Own")
    body += p("<w:pPr><w:outlineLvl w:val='1'/></w:pPr>", "Direct")
    parsed = read_styled(body)
    assert parsed.text == "One\n\na\n\nClause\n\nb\nContents\n\nTwo\n\nDirect"
    assert [(one.level, one.title) for one in parsed.sections] == [(1, "One"), (3, "Clause"), (1, "Two"), (2, "Direct")]
    assert parsed.section_of(parsed.text.index("b")) == "One > Clause"


@pytest.mark.parametrize(
    ("properties", "style", "kind"),
    [
        ("<w:vanish/>", "", "marked_hidden"),
        ("<w:vanish w:val='0'/>", "Secret", None),
        ("<w:webHidden/>", "", None),
        ("", "Secret", "marked_hidden"),
        ("", "Below", "marked_hidden"),
        ("", "Loop", "marked_hidden"),
        ("", "Pool", "marked_hidden"),
        ("<w:rStyle w:val='Gone'/>", "", "marked_hidden"),
        ("<w:rStyle w:val='Gone'/>", "Secret", None),  # toggles of both styles add up
        ("<w:sz w:val='2'/>", "", "tiny"),
        ("<w:sz w:val='3'/>", "", None),
        ("<w:sz w:val='x'/>", "", None),
        ("<w:color w:val='FFFFFF'/>", "", "same_colour"),
        ("<w:rStyle w:val='Light'/>", "", "same_colour"),
        ("<w:color w:val='FFFFFF'/><w:shd w:val='clear' w:fill='000080'/>", "", None),
        ("<w:color w:val='FFFFFF'/><w:highlight w:val='green'/>", "", None),
        ("<w:color w:val='000000'/><w:shd w:val='clear' w:fill='000000'/>", "", "same_colour"),
        ("<w:color w:val='auto'/><w:shd w:val='clear' w:fill='000000'/>", "", None),
        ("<w:color w:val='FFFFFF'/><w:shd w:val='pct50' w:fill='FFFFFF'/>", "", None),
    ],
)  # fmt: skip
def test_text_that_nobody_sees(read_styled, properties: str, style: str, kind: str | None) -> None:
    body = styled("before") + styled("un seen", properties, style) + styled("after")
    dropped, kept = read_styled(body), read_styled(body, "keep")
    assert kept.text == "before\nun seen\nafter"
    assert dropped.text == (kept.text if kind is None else "before\n\nafter")
    assert dropped.hidden == kept.hidden == (() if kind is None else (Hidden(kind, 6),))


def test_what_is_behind_white_text(read_styled) -> None:
    white = styled("white", "<w:color w:val='FFFFFF'/>")

    def table(properties: str, cell: str) -> str:
        return f"<w:tbl><w:tblPr>{properties}</w:tblPr><w:tr><w:tc><w:tcPr>{cell}</w:tcPr>{white}</w:tc></w:tr></w:tbl>"

    seen = [
        table("<w:tblStyle w:val='Dark'/>", ""), table("", "<w:shd w:val='clear' w:fill='112233'/>"),
        p("<w:pPr><w:shd w:val='clear' w:fill='112233'/></w:pPr>", white[5:-6]),
        p(f"<w:r><w:drawing><w:txbxContent>{white}</w:txbxContent></w:drawing></w:r>"),
        white + p("<w:r><w:drawing><wp:anchor xmlns:wp='http://schemas.openxmlformats.org/drawingml/2006/"
                  "wordprocessingDrawing' behindDoc='1'/></w:drawing></w:r>"),
    ]  # fmt: skip
    for body in seen:
        assert (read_styled(body).text, read_styled(body).hidden) == ("white", ()), body
    for body in (white, table("", ""), table("<w:tblStyle w:val='Dark'/>", "<w:shd w:val='clear' w:fill='FFFFFF'/>")):
        parsed = read_styled(body + p("x"))
        assert (parsed.text.strip(), parsed.hidden) == ("x", (Hidden("same_colour", 5),)), body


def test_a_row_whose_text_is_hidden_leaves_nothing(read_styled) -> None:
    """A row marked as hidden is shown as soon as anything in it is (ISO/IEC 29500-1, 17.4.20)."""

    def row(properties: str) -> str:
        return f"<w:tr><w:trPr><w:hidden/></w:trPr><w:tc>{styled('cell', properties)}</w:tc></w:tr>"

    parsed = read_styled(
        f"<w:tbl>{row('<w:vanish/>')}{row('')}<w:tr><w:trPr><w:del/></w:trPr><w:tc>{p('no')}</w:tc></w:tr></w:tbl>"
    )
    assert (parsed.text, parsed.hidden) == ("cell", (Hidden("marked_hidden", 4),))


def test_a_hidden_run_takes_its_box_and_its_note_along(parse, office, rels) -> None:
    box = f"<w:drawing><w:txbxContent>{p('boxed')}</w:txbxContent></w:drawing>"
    hidden = f"<w:r><w:rPr><w:vanish/></w:rPr>{box}<w:footnoteReference w:id='2'/></w:r>"
    notes = "".join(f"<w:footnote w:id='{number}'>{p(f'note{number}')}</w:footnote>" for number in (2, 3))
    parsed = parse(office("docx", {
        "word/document.xml": document(p("text", hidden, "<w:r><w:footnoteReference w:id='3'/></w:r>")),
        "word/_rels/document.xml.rels": rels(("footnotes", "footnotes.xml")),
        "word/footnotes.xml": f"<w:footnotes {W}>{notes}</w:footnotes>",
    }))  # fmt: skip
    assert parsed.text == "text[1]\n\n[1] note3"
    assert parsed.hidden == (Hidden("marked_hidden", len("boxed[1]note2")),)


def test_headers_of_pages_that_there_are_not(parse, office, rels) -> None:
    kinds = ("default", "first", "even")

    def read(switches: str, settings: str):
        named = enumerate(kinds, start=1)
        references = "".join(f"<w:headerReference w:type='{kind}' r:id='rId{place}'/>" for place, kind in named)
        targets = [*(("header", f"{kind}.xml") for kind in kinds), ("settings", "settings.xml")]
        parts = {
            "word/document.xml": document(p("x") + f"<w:sectPr>{references}{switches}</w:sectPr>"),
            "word/settings.xml": f"<w:settings {W}>{settings}</w:settings>",
            "word/_rels/document.xml.rels": rels(*targets),
        }
        return parse(office("docx", parts | {f"word/{kind}.xml": f"<w:hdr {W}>{p(kind)}</w:hdr>" for kind in kinds}))

    parsed = read("", "<w:evenAndOddHeaders w:val='0'/>")
    assert (parsed.text, parsed.hidden) == ("default\n\nx", (Hidden("marked_hidden", 9),))
    assert read("<w:titlePg/>", "<w:evenAndOddHeaders/>").text == "default\n\nfirst\n\neven\n\nx"


def test_embedded_files_and_chunks_are_documents(parse_members, office, rels) -> None:
    inner = office("docx", {"word/document.xml": document(p("inner"))})
    parsed, members = parse_members(office("docx", {
        "word/document.xml": document(p("text") + "<w:altChunk r:id='rId1'/>"),
        "word/_rels/document.xml.rels": rels(("aFChunk", "chunk.html"), ("package", "embeddings/a.docx")),
        "word/chunk.html": "<p>x", "word/embeddings/a.docx": inner, "word/embeddings/behind.xlsx": b"x",
        "word/charts/c.xml": "<c/>", "word/charts/_rels/c.xml.rels": rels(("package", "../embeddings/behind.xlsx")),
    }))  # fmt: skip
    assert members == {"chunk.html": b"<p>x", "a.docx": inner}
    assert parsed.notes == (
        "part of the document, read as a document of its own: chunk.html",
        "workbooks behind charts not read: 1",
    )


def test_a_body_of_anything_between_its_paragraphs(text_of) -> None:
    """Elements that the stream does not wait for come in their place."""
    body = "".join(
        f"<w:customXml>{p(f'a{number}')}</w:customXml>{p(f'b{number}')}<w:moveTo>{p(f'c{number}')}</w:moveTo>"
        for number in range(900)
    )
    assert text_of(body + "<w:sectPr/>").split() == [f"{kind}{number}" for number in range(900) for kind in "abc"]


def test_styles_that_are_based_on_fifty_thousand(parse, office, rels) -> None:
    chain = "".join(f"<w:style w:styleId='s{n}'><w:basedOn w:val='s{n + 1}'/></w:style>" for n in range(50_000))
    parsed = parse(office("docx", {
        "word/document.xml": document("".join(styled(f"t{n}", style=f"s{n}") for n in range(200))),
        "word/styles.xml": f"<w:styles {W}>{chain}</w:styles>",
        "word/_rels/document.xml.rels": rels(("styles", "styles.xml")),
    }))  # fmt: skip
    assert parsed.text.split() == [f"t{n}" for n in range(200)]


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
