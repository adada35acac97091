"""Packages in one XML file, and names of parts."""

import base64
import io
import zipfile

from pipeline.document import Hidden
from pipeline.errors import Failure

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
BODY = (
    f"<w:document {W}><w:body><w:p><w:r><w:t>The rent is EUR 950.</w:t></w:r></w:p>"
    "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>nobody sees it</w:t></w:r></w:p></w:body></w:document>"
)


def part(name: str, kind: str, inside: str) -> str:
    return f'<pkg:part pkg:name="{name}" pkg:contentType="{kind}">{inside}</pkg:part>'


def flat(rels: str, *parts: str, body: str = BODY) -> bytes:
    inside = "".join((
        part("/_rels/.rels", "x", f"<pkg:xmlData>{rels}</pkg:xmlData>"),
        part("/word/document.xml", f"{WORD}.main+xml", f"<pkg:xmlData>{body}</pkg:xmlData>"),
        *parts,
    ))  # fmt: skip
    return (
        '<?xml version="1.0" standalone="yes"?>\n<?mso-application progid="Word.Document"?>\n<!-- a comment -->'
        f'<pkg:package xmlns:pkg="http://schemas.microsoft.com/office/2006/xmlPackage">{inside}</pkg:package>'
    ).encode()


def test_a_document_in_one_file_is_read_as_a_document_of_word(parse, rels) -> None:
    parsed = parse(flat(rels(("officeDocument", "word/document.xml"))), "lease.xml")
    assert parsed.media_type == WORD
    assert parsed.text == "The rent is EUR 950."
    assert parsed.hidden == (Hidden("marked_hidden", 12),)


def test_files_in_it_are_documents(parse_members, rels) -> None:
    links = part(
        "/word/_rels/document.xml.rels", "x", f"<pkg:xmlData>{rels(('package', 'embeddings/a.txt'))}</pkg:xmlData>"
    )
    data = base64.b64encode(b"an attachment").decode()
    file = part("/word/embeddings/a.txt", "text/plain", f"<pkg:binaryData>{data[:8]}\n{data[8:]}</pkg:binaryData>")
    _, members = parse_members(flat(rels(("officeDocument", "word/document.xml")), links, file))
    assert members == {"a.txt": b"an attachment"}


def test_damaged_ones_are_corrupt(fail, rels) -> None:
    links = rels(("officeDocument", "word/document.xml"))
    twice = fail(flat(links, part("/Word/document.xml", "x", "<pkg:xmlData><a/></pkg:xmlData>")))
    assert (twice.failure, "two parts are called" in twice.reason) == (Failure.CORRUPT, True)
    assert fail(flat(links, part("/a.bin", "x", "<pkg:binaryData>?</pkg:binaryData>"))).failure is Failure.CORRUPT
    assert fail(flat(links)[:-20], "a.xml").failure is Failure.CORRUPT
    assert fail(flat(rels())).failure is Failure.CORRUPT


def renamed(data: bytes, name: str, *, keep: bool = False, content: bytes | None = None) -> bytes:
    """The package with `name` in place of word/document.xml, or (`keep`) beside it."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(file, "w") as after:
        for info in before.infolist():
            inside = before.read(info)
            if keep or info.filename != "word/document.xml":
                after.writestr(info.filename, inside)
            if info.filename == "word/document.xml":
                after.writestr(name, inside if content is None else content)
    return file.getvalue()


def test_names_with_the_signs_of_windows(parse, office) -> None:
    data = office("docx", {"word/document.xml": BODY})
    for name in ("word\\document.xml", "/word/document.xml", "Word\\Document.XML"):
        assert parse(renamed(data, name)).text == "The rent is EUR 950."


def test_two_parts_of_one_name(parse, fail, office) -> None:
    data = office("docx", {"word/document.xml": BODY})
    other = BODY.replace("950", "9,500").encode()
    for name in ("word/Document.xml", "word\\document.xml"):
        assert parse(renamed(data, name, keep=True)).text == "The rent is EUR 950."
        error = fail(renamed(data, name, keep=True, content=other))
        assert error.failure is Failure.CORRUPT
        assert "two different parts are called" in error.reason


OLD = (
    'xmlns:w="http://schemas.microsoft.com/office/word/2003/wordml" xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:wx="http://schemas.microsoft.com/office/word/2003/auxHint" '
    'xmlns:aml="http://schemas.microsoft.com/aml/2001/core"'
)


def word_2003(body: str, more: str = "") -> bytes:
    return f'<?xml version="1.0"?><w:wordDocument {OLD}>{more}<w:body>{body}</w:body></w:wordDocument>'.encode()


def test_a_document_of_word_2003(parse) -> None:
    def r(text: str, properties: str = "") -> str:
        return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"

    def annotated(kind: str, inside: str) -> str:
        said = f'w:type="Word.{kind}" aml:author="Ann"'
        return f"<aml:annotation {said}><aml:content>{inside}</aml:content></aml:annotation>"

    lists = (
        '<w:lists><w:listDef w:listDefId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:nfc w:val="4"/>'
        '<w:lvlText w:val="(%1)"/></w:lvl></w:listDef><w:list w:ilfo="1"><w:ilst w:val="0"/></w:list></w:lists>'
    )
    styles = (
        '<w:styles><w:style w:type="paragraph" w:styleId="H"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:type="character" w:styleId="Gone"><w:rPr><w:vanish/></w:rPr></w:style></w:styles>'
    )
    listed = '<w:pPr><w:listPr><w:ilvl w:val="0"/><w:ilfo w:val="1"/></w:listPr></w:pPr>'
    signs = '<w:rFonts w:ascii="Symbol" w:h-ansi="Symbol"/>'
    body = (
        '<wx:sect><w:p><w:pPr><w:pStyle w:val="H"/></w:pPr>' + r("Lease") + "</w:p><wx:sub-section><w:p>"
        + r("EUR 1,000") + r("1", '<w:vertAlign w:val="superscript"/>') + r(" rent ") + r("900", "<w:strike/>")
        + r(" 5 ")
        + r("m", signs) + r("g") + r("unseen", "<w:vanish/>") + r("unseen", '<w:rStyle w:val="Gone"/>')
        + annotated("Deletion", "<w:r><w:delText>deleted</w:delText></w:r>") + annotated("Insertion", r(" new"))
        + "<w:r>" + annotated("Comment", f"<w:p>{r('a remark')}</w:p>") + "</w:r>"
        + f"<w:r><w:footnote><w:p>{r('a note')}</w:p></w:footnote></w:r></w:p>"
        + f"<w:p>{listed}{r('item')}</w:p></wx:sub-section>"
        + f'<w:sectPr><w:hdr w:type="odd"><w:p>{r("head")}</w:p></w:hdr></w:sectPr></wx:sect>'
    )  # fmt: skip
    parsed = parse(word_2003(body, lists + styles), "lease.xml")
    assert parsed.media_type == WORD
    assert parsed.text == (
        "head\n\nLease\n\nEUR 1,000^1 rent ~~900~~ 5 \u00b5g new[1]\n(a) item\n\n[1] a note\n\nComment (Ann): a remark"
    )
    assert parsed.hidden == (Hidden("marked_hidden", 12),)
    assert [section.title for section in parsed.sections] == ["Lease"]


def test_pictures_of_word_2003_are_noted_and_damage_is_corrupt(parse, fail) -> None:
    picture = '<w:binData w:name="wordml://01.png">aGVsbG8=</w:binData><v:shape><v:imagedata src="wordml://01.png"/></v:shape>'
    body = f"<w:p><w:r><w:t>text</w:t></w:r><w:r><w:pict>{picture}</w:pict></w:r></w:p>"
    assert parse(word_2003(body)).notes == ("pictures and other media not read: 1",)
    assert fail(word_2003(body.replace("aGVsbG8=", "?"))).failure is Failure.CORRUPT


SHEETS = (
    '<?xml version="1.0"?>\n<?mso-application progid="Excel.Sheet"?>\n'
    '<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:x="urn:schemas-microsoft-com:office:excel" '
    'xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet">{}</Workbook>'
)


def cell(text: str, kind: str = "String", attributes: str = "", more: str = "") -> str:
    return f'<Cell {attributes}><Data ss:Type="{kind}">{text}</Data>{more}</Cell>'


def test_a_workbook_of_excel_2003(parse) -> None:
    styles = (
        '<Styles><Style ss:ID="Default"/><Style ss:ID="pale"><Font ss:Color="#FFFFFF"/></Style>'
        '<Style ss:ID="dark" ss:Parent="pale"><Interior ss:Color="#000000" ss:Pattern="Solid"/></Style>'
        '<Style ss:ID="none"><NumberFormat ss:Format=";;;"/></Style></Styles>'
    )
    remark = '<Comment ss:Author="Ann"><ss:Data>a remark</ss:Data></Comment>'
    rows = (
        f"<Row>{cell('Rent', more=remark)}{cell('950.5', 'Number')}{cell('unseen')}</Row>"
        f'<Row ss:Hidden="1">{cell("a hidden row")}</Row>'
        f'<Row ss:Index="4">{cell("pale", attributes="ss:StyleID=&quot;pale&quot;".replace("&quot;", chr(34)))}'
        f"{cell('dark', attributes='ss:StyleID=' + chr(34) + 'dark' + chr(34))}</Row>"
        f"<Row>{cell('7', 'Number', 'ss:StyleID=' + chr(34) + 'none' + chr(34))}"
        f"{cell('2026-05-01T00:00:00.000', 'DateTime', 'ss:Index=' + chr(34) + '2' + chr(34))}</Row>"
    )
    table = f'<Table><Column/><Column ss:Index="3" ss:Hidden="1"/>{rows}</Table>'
    hidden = "<x:WorksheetOptions><x:Visible>SheetHidden</x:Visible></x:WorksheetOptions>"
    book = SHEETS.format(
        styles + f'<Worksheet ss:Name="Plan">{table}</Worksheet>'
        f'<Worksheet ss:Name="Old"><Table><Row>{cell("a hidden sheet")}</Row></Table>{hidden}</Worksheet>'
    )
    parsed = parse(book.encode(), "plan.xml")
    assert parsed.media_type.endswith("spreadsheetml.sheet")
    assert parsed.text == "Plan\n\nRent | 950.5\n\n | dark\n | 2026-05-01\n\nComment (A1, Ann): a remark"
    assert {one.kind: one.characters for one in parsed.hidden} == {
        "same_colour": 4, "hidden_row": 16, "marked_hidden": 1, "hidden_sheet": 15,
    }  # fmt: skip
