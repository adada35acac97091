"""Sample documents of the proof: each is small, has text to answer from, and asks its reader to reach for a network, as
real documents do: pictures and styles of other machines, entities, templates, links, things to do when it is opened.
"""

import io
import zipfile
from pathlib import Path
from typing import Final

_AWAY: Final = "http://192.0.2.80"  # TEST-NET-1 (RFC 5737), which belongs to nobody
_TEXT: Final = (
    "Lease agreement. The landlord leases the flat at 12 Harbour Street to the tenant from 1 March 2026. "
    "The rent of EUR 950.00 is due on the first day of each month. Either party may end the lease with three months' "
    "notice in writing."
)
_HTML: Final = f"""\
<!doctype html><html><head><title>Invoice 2026-17</title><base href="{_AWAY}/">
<link rel="stylesheet" href="{_AWAY}/style.css"><link rel="dns-prefetch" href="//cloister.invalid">
<style>@import url("{_AWAY}/more.css"); body {{ background: url("{_AWAY}/back.png") }}</style>
<script src="{_AWAY}/count.js"></script><meta http-equiv="refresh" content="0;url={_AWAY}/next"></head>
<body><img src="{_AWAY}/pixel.gif" alt=""><iframe src="{_AWAY}/frame"></iframe>
<h1>Invoice 2026-17</h1><p>Total due: EUR 120.00, payable to the account below until 30 April 2026.</p></body></html>
"""
_XML: Final = f"""\
<?xml version="1.0"?>
<!DOCTYPE order SYSTEM "{_AWAY}/order.dtd" [<!ENTITY more SYSTEM "{_AWAY}/more.xml">]>
<?xml-stylesheet href="{_AWAY}/order.xsl" type="text/xsl"?>
<order xmlns:xi="http://www.w3.org/2001/XInclude"><title>Order 7730</title>
<xi:include href="{_AWAY}/part.xml"><xi:fallback/></xi:include>
<text>We order 40 boxes of paper, to be delivered by 5 May 2026.</text></order>
"""
_MAIL: Final = f"""\
From: Ada <ada@cloister.invalid>
To: Office <office@cloister.invalid>
Subject: Notice of the lease
Date: Mon, 2 Mar 2026 09:30:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="b"

--b
Content-Type: text/html; charset=utf-8

<p>I end the lease with effect from 30 June 2026.</p><img src="{_AWAY}/read?by=office">
--b
Content-Type: message/external-body; access-type=URL; URL="{_AWAY}/body"

Content-Type: text/plain

--b--
"""
_WORD: Final = {
    "[Content_Types].xml": """\
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/word/document.xml"
 ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>""",
    "_rels/.rels": """\
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1"
 Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
 Target="word/document.xml"/></Relationships>""",
    "word/_rels/document.xml.rels": f"""\
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1"
 Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/attachedTemplate"
 Target="{_AWAY}/template.dotm" TargetMode="External"/><Relationship Id="r2"
 Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"
 Target="{_AWAY}/logo.png" TargetMode="External"/></Relationships>""",
    "word/document.xml": f"""\
<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>{_TEXT}\
</w:t></w:r></w:p></w:body></w:document>""",
}


def write_samples(folder: Path) -> list[str]:
    """Write the documents into a folder; returns their names."""
    samples: dict[str, bytes] = {
        "letter.txt": _TEXT.encode(),
        "note.md": f"# Lease\n\n{_TEXT}\n\n![logo]({_AWAY}/logo.png)\n".encode(),
        "invoice.html": _HTML.encode(),
        "order.xml": _XML.encode(),
        "notice.eml": _MAIL.replace("\n", "\r\n").encode(),
        "lease.docx": _zipped(_WORD),
        "lease.pdf": _pdf(),
    }
    for name, data in samples.items():
        (folder / name).write_bytes(data)
    return sorted(samples)


def _zipped(members: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in members.items():
            package.writestr(name, text)
    return packed.getvalue()


def _pdf() -> bytes:
    """A page with text, a link, and actions for when it is opened."""
    text = b"BT /F 11 Tf 40 700 Td (Lease agreement. The rent of EUR 950.00 is due on the first of March 2026.) Tj ET"
    away = f"<< /S /URI /URI ({_AWAY}/opened) >>"
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R /OpenAction {away} >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >>"
        f" /Annots [<< /Type /Annot /Subtype /Link /Rect [40 690 200 720] /A {away} >>]"
        f" /AA << /O << /S /SubmitForm /F ({_AWAY}/form) >> >> >>",
        f"<< /Length {len(text)} >>\nstream\n{text.decode()}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    made, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(made))
        made += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n"
    return made + f"{end}<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(made)}\n%%EOF\n".encode()
