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
