"""Word: everything that is seen, and nothing that is not."""

import io
import zipfile

import docx
import pytest
from docx.enum.text import WD_BREAK

from pipeline.errors import Failure

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
    assert text_of(body) == "a block\ninline\na link\n7\nsoft-a\n[x]yes"


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
