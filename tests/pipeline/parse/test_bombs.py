"""Documents made to hurt: each ends as its own typed failure, and the next one is read."""

import io
import random
import zipfile

import pytest
import xlsxwriter

from pipeline.errors import DocumentError, Failure
from tests.pipeline.parse.odf import book, content, flat, opendocument

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def word(text: str) -> str:
    return f"<w:document {W}><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>"


@pytest.fixture(autouse=True)
def next_one_is_read(parse):
    yield
    assert parse(b"the next document").text == "the next document"


def test_entities_are_never_expanded(fail, office) -> None:
    lines = [f'<!ENTITY e{number} "&e{number + 1};&e{number + 1};">' for number in range(30)]
    laughs = f'<!DOCTYPE x [<!ENTITY e30 "lol">{"".join(lines)}]>{word("&e0;")}'
    assert fail(office("docx", {"word/document.xml": laughs})).failure is Failure.CORRUPT


def test_files_of_the_machine_are_not_read(fail, office) -> None:
    xxe = f'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>{word("&f;")}'
    error = fail(office("docx", {"word/document.xml": xxe}))
    assert error.failure is Failure.CORRUPT
    assert "document type" in error.reason


def test_a_part_that_unpacks_to_too_much(fail, office) -> None:
    buffer = io.BytesIO(office("docx", {}))
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("word/document.xml", "w") as part:
        for _ in range(300):
            part.write(b" " * 2**20)
    error = fail(buffer.getvalue())
    assert error.failure is Failure.TOO_LARGE
    assert "word/document.xml" in error.reason


def test_a_size_that_lies(fail, office) -> None:
    body = f"<w:document {W}>" + "<w:p/>" * 10_000 + "</w:document>"
    data = bytearray(office("docx", {"word/document.xml": body}))
    size = len(body).to_bytes(4, "little")
    while (place := data.find(size)) >= 0:
        data[place : place + 4] = (100).to_bytes(4, "little")
    assert fail(bytes(data)).failure is Failure.CORRUPT


def test_xml_of_great_depth(parse, fail, office) -> None:
    def nested(depth: int) -> bytes:
        box = "<w:sdt><w:sdtContent>" * depth + "<w:p><w:r><w:t>x</w:t></w:r></w:p>" + "</w:sdtContent></w:sdt>" * depth
        return office("docx", {"word/document.xml": f"<w:document {W}><w:body>{box}</w:body></w:document>"})

    assert parse(nested(200)).text == "x"
    assert fail(nested(30_000)).failure in {Failure.CORRUPT, Failure.CRASHED, Failure.OUT_OF_MEMORY}


def test_one_text_for_a_million_cells(fail, office, rels) -> None:
    cells = "<row>" + "<c t='s'><v>0</v></c>" * 100 + "</row>"
    parts = {
        "xl/workbook.xml": f"<workbook {S} xmlns:r='{R}'><sheets><sheet name='A' r:id='rId1'/></sheets></workbook>",
        "xl/_rels/workbook.xml.rels": rels(("worksheet", "sheet.xml"), ("sharedStrings", "strings.xml")),
        "xl/strings.xml": f"<sst {S}><si><t>{'x' * 10_000}</t></si></sst>",
        "xl/sheet.xml": f"<worksheet {S}><sheetData>{cells * 100}</sheetData></worksheet>",
    }
    assert fail(office("xlsx", parts)).failure is Failure.TOO_LARGE


def test_entities_in_opendocument_and_books(fail) -> None:
    lines = [f'<!ENTITY e{number} "&e{number + 1};&e{number + 1};">' for number in range(30)]
    laughs = f'<!DOCTYPE x [<!ENTITY e30 "lol">{"".join(lines)}]>'
    for part in (
        content("text", "<text:p>&e0;</text:p>"),
        content("text", "<text:p text:style-name='&e0;'>x</text:p>"),
    ):
        error = fail(opendocument("text", "", **{"content.xml": laughs + part}))
        assert error.failure is Failure.CORRUPT
    files = '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>' + content("text", "<text:p>&f;</text:p>")
    assert fail(opendocument("text", "", **{"content.xml": files})).failure is Failure.CORRUPT


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<text:section>", "</text:section>"),
        ("<text:p><text:span>", "</text:span></text:p>"),
        ("<text:list><text:list-item>", "</text:list-item></text:list>"),
        ("<table:table><table:table-row><table:table-cell>", "</table:table-cell></table:table-row></table:table>"),
        ("<draw:g>", "</draw:g>"),
        ("<text:p><text:note><text:note-body>", "</text:note-body></text:note></text:p>"),
        ("<text:section text:display='none'>", "</text:section>"),
    ],
)
def test_opendocument_of_great_depth(parse, fail, before: str, after: str) -> None:
    """What can be read is read whole; what is too deep for that is said to be."""

    def nested(depth: int) -> bytes:
        return opendocument("text", "<text:p>seen</text:p>" + before * depth + "<text:p>x</text:p>" + after * depth)

    shown = "none" not in before
    assert ("x" in parse(nested(100)).text) == shown
    for depth in (400, 600, 2_000, 30_000):
        try:
            assert ("x" in parse(nested(depth)).text) == shown
        except DocumentError as error:
            assert error.failure is Failure.CORRUPT, (depth, error)  # noqa: PT017
    assert fail(nested(30_000)).failure is Failure.CORRUPT


def test_an_object_that_shows_itself(parse) -> None:
    again = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
    chart = content("chart", f"<chart:chart><text:p>x</text:p>{again * 3}</chart:chart>")
    parsed = parse(opendocument("text", f"<text:p>{again}</text:p>", **{"Object 1__content.xml": chart}))
    assert parsed.text == "x"
    assert parsed.notes == ("embedded documents not read: 3",)


def test_styles_and_pages_in_a_circle(parse) -> None:
    automatic = "".join(
        f'<style:style style:name="{one}" style:family="paragraph" style:parent-style-name="{other}"/>'
        for one, other in ("AB", "BA")
    )
    master = "".join(
        f'<style:master-page style:name="{one}" style:next-style-name="{other}"/>' for one, other in ("AB", "BA")
    )
    body = '<text:p text:style-name="A">x</text:p>'
    assert parse(opendocument("text", body, automatic=automatic, master=master)).text == "x"


def samples(office) -> list[bytes]:
    workbook = io.BytesIO()
    with xlsxwriter.Workbook(workbook) as made:
        made.add_worksheet("A").write_row(0, 0, ["one", 2, "three"])
    return [
        office("docx", {"word/document.xml": word("x")}),
        workbook.getvalue(),
        rb"{\rtf1\ansi{\fonttbl{\f0\fcharset204 A;}}\f0 text\'e4\u228?{\footnote x}\trowd\intbl a\cell\row\par}",
        b"<html><meta charset=utf-8><table><tr><td>a<td>b</table><p>text &amp; more</html>",
        b"From: a@b\nTo: c@d\nSubject: =?utf-8?q?x?=\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nx\n--b--\n",
        opendocument("text", "<text:h text:outline-level='1'>a</text:h><text:list><text:list-item/></text:list>"),
        opendocument("spreadsheet", "<table:table><table:table-row><table:table-cell office:value-type='float' "
                     "office:value='1'/></table:table-row></table:table>"),
        flat("text", "<text:p>a<text:s/><text:note text:note-class='endnote'/></text:p><table:table/>"),
        book({"one": "<h1>a</h1><p>b</p>"}),
        b'{"a": [1, 2, {"b": "c"}], "d": null}',
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj trailer<</Root 1 0 R>>",
        "Größe;1,5\nMaß;2\n".encode("utf-16"),
    ]  # fmt: skip


def test_damage_anywhere_gives_text_or_a_typed_failure(parse, office) -> None:
    """Bytes changed, cut and doubled at random places; offsets of pages stay within the text."""
    rng = random.Random(20261120)
    for original in samples(office):
        for _ in range(40):
            data = bytearray(original)
            for _ in range(rng.randint(1, 8)):
                place = rng.randrange(len(data))
                act = rng.randrange(3)
                if act == 0:
                    data[place] = rng.randrange(256)
                elif act == 1:
                    del data[place : place + rng.randint(1, 20)]
                else:
                    data[place:place] = data[place : place + rng.randint(1, 20)]
                data = data or bytearray(b"x")
            try:
                parsed = parse(bytes(data))
            except DocumentError as error:
                assert error.failure is not Failure.CRASHED, (error, bytes(data))  # noqa: PT017
            else:
                assert parsed.text.strip()
                assert all(0 <= start <= len(parsed.text) for start in parsed.page_starts)
