"""One small valid file of each format, made here: what is damaged to see what parsers make of it."""

import base64
import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from functools import cache

import docx
import pptx
import xlsxwriter
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

TEXT = "The landlord leases the flat to the tenant. The rent of EUR 1,200.00 is due on 1 March 2026.\n"


def _docx() -> bytes:
    document, buffer = docx.Document(), io.BytesIO()
    document.add_heading("Lease", 1)
    document.add_paragraph(TEXT)
    table = document.add_table(2, 3)
    for row in table.rows:
        for cell in row.cells:
            cell.text = "cell"
    document.sections[0].header.paragraphs[0].text = "Header"
    document.save(buffer)
    return buffer.getvalue()


def _pptx() -> bytes:
    deck, buffer = pptx.Presentation(), io.BytesIO()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Lease"
    slide.placeholders[1].text = TEXT
    slide.notes_slide.notes_text_frame.text = "a note"
    deck.save(buffer)
    return buffer.getvalue()


def _xlsx() -> bytes:
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        for name in ("A", "B"):
            sheet = book.add_worksheet(name)
            for row in range(20):
                sheet.write_row(row, 0, ["rent", row, 1.5 * row, TEXT[:row]])
            sheet.write_comment("A1", "a remark")
    return buffer.getvalue()


def _pdf() -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    for page in range(3):
        canvas.bookmarkPage(f"p{page}")
        canvas.addOutlineEntry(f"Page {page}", f"p{page}")
        canvas.drawString(72, 700, TEXT[:80])
        canvas.acroForm.textfield(name=f"field{page}", value="a value", x=72, y=600)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def _image(kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (64, 64), 200).save(buffer, kind)
    return buffer.getvalue()


def _mail(body: str = TEXT) -> bytes:
    attached = base64.b64encode(_zip({"a.txt": body.encode()})).decode()
    return (
        "From: Anna <anna@example.org>\nTo: bert@example.org\nSubject: =?utf-8?q?Miete?=\n"
        "Date: Mon, 2 Mar 2026 10:00:00 +0100\n"
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=frontier\n\n--frontier\n"
        f"Content-Type: text/plain; charset=utf-8\n\n{body}\n--frontier\nContent-Type: text/html\n\n<p>{body}</p>\n"
        '--frontier\nContent-Type: application/zip\nContent-Disposition: attachment; filename="a.zip"\n'
        f"Content-Transfer-Encoding: base64\n\n{attached}\n--frontier--\n"
    ).encode()


def _mbox() -> bytes:
    mails = [_mail(f"{TEXT} {number}").decode() for number in range(3)]
    return "".join(f"From a@example.org Mon Mar  2 10:00:00 2026\n{mail}\n" for mail in mails).encode()


def _zip(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(zipfile.ZipInfo(name), body)
    return buffer.getvalue()


def _tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in ("a.txt", "ü/" + "b" * 150 + ".txt"):
            info = tarfile.TarInfo(name)
            info.size = len(TEXT)
            archive.addfile(info, io.BytesIO(TEXT.encode()))
    return buffer.getvalue()


_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_SPACES = " ".join(f'xmlns:{name}="{_ODF}:{name}:1.0"' for name in ("office", "text", "table", "style", "drawing"))


def _odf(kind: str, body: str) -> bytes:
    content = f"<office:document-content {_SPACES}><office:body>{body}</office:body></office:document-content>"
    return _zip(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}".encode(),
            "META-INF/manifest.xml": b"<manifest/>",
            "content.xml": content.encode(),
        }
    )


def _epub() -> bytes:
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Lease</dc:title></metadata><manifest><item id="a" '
        'href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>'
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="p.opf" '
        'media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    page = f'<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>One</h1><p>{TEXT}</p></body></html>'
    return _zip(
        {
            "mimetype": b"application/epub+zip",
            "META-INF/container.xml": container.encode(),
            "p.opf": package.encode(),
            "a.xhtml": page.encode(),
        }
    )


@cache
def samples() -> dict[str, bytes]:
    """By suffix."""
    rows = "".join("<table:table-row><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row>" * 5)
    table = f'<table:table table:name="A">{rows}</table:table>'
    return {
        "docx": _docx(),
        "pptx": _pptx(),
        "xlsx": _xlsx(),
        "pdf": _pdf(),
        "odt": _odf("text", f"<office:text><text:h>Lease</text:h><text:p>{TEXT}</text:p>{table}</office:text>"),
        "ods": _odf("spreadsheet", f"<office:spreadsheet>{table}</office:spreadsheet>"),
        "epub": _epub(),
        "eml": _mail(),
        "mbox": _mbox(),
        "zip": _zip({"a/lease.txt": TEXT.encode(), "b.html": b"<p>text</p>", "c.docx": _docx()}),
        "tar": _tar(),
        "tar.gz": gzip.compress(_tar()),
        "txt.gz": gzip.compress(TEXT.encode() * 20),
        "txt.bz2": bz2.compress(TEXT.encode() * 20),
        "txt.xz": lzma.compress(TEXT.encode() * 20),
        "rtf": rb"{\rtf1\ansi{\fonttbl{\f0\fcharset204 A;}}{\stylesheet{\s1 heading 1;}}"
        rb"\f0 text\'e4\u228?{\footnote x}\trowd"
        rb"\cellx100\intbl a\cell b\cell\row\par " + TEXT.encode() + b"}",
        "html": f"<html><head><meta charset=utf-8><title>Lease</title></head><body><h1>L</h1><p>{TEXT}</p><table><tr>"
        "<td colspan=2>a<td>b</table><div style='display:none'>x</div></html>".encode(),
        "xml": f'<?xml version="1.0"?><Invoice xmlns="urn:x"><ID>4711</ID><Note>{TEXT}</Note></Invoice>'.encode(),
        "csv": b"name;amount\n" + b"rent;1200\n" * 30,
        "json": b'{"a": [1, 2, {"b": "c"}], "d": null, "text": "' + TEXT.strip().encode() + b'"}',
        "jsonl": b'{"a": 1}\n{"a": 2}\n',
        "md": f"# Lease\n\n{TEXT}\n| a | b |\n| - | - |\n| 1 | 2 |\n".encode(),
        "utf16.txt": TEXT.encode("utf-16"),
        "latin.txt": ("Größe und Maß, Straße für Übung. " * 5).encode("cp1252"),
        "png": _image("PNG"),
        "tiff": _image("TIFF"),
        "jpg": _image("JPEG"),
    }


SAMPLES = samples()
