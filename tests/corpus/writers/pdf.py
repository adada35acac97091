"""A PDF with the layout of an office: headings, tables that run over pages, a running footer with page numbers.

Page streams stay uncompressed, so that the bytes do not depend on the version of zlib.
"""

import io
from html import escape

from markup import Block, Source
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.lib.units import cm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

_WIDTH = A4[0] - 4.6 * cm
_SHEET = getSampleStyleSheet()
_BODY = ParagraphStyle("body", _SHEET["BodyText"], fontSize=10, leading=13.5, spaceAfter=5)
_HEADINGS = {level: ParagraphStyle(f"heading{level}", _SHEET[f"Heading{level}"], keepWithNext=1) for level in (1, 2)}
_CELL = ParagraphStyle("cell", _BODY, fontSize=8.5, leading=10.5, spaceAfter=0, spaceBefore=0)
_GRID = TableStyle(
    [
        ("BACKGROUND", (0, 0), (-1, 0), colors.Color(0.9, 0.92, 0.95)),
        ("LINEBELOW", (0, 0), (-1, -1), 0.4, colors.grey),
        ("LEFTPADDING", (0, 0), (-1, -1), 3),
        ("RIGHTPADDING", (0, 0), (-1, -1), 3),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
    ]
)


def write(source: Source) -> bytes:
    """The body as PDF; `Password` encrypts it (RC4, which needs no random salt), `Footer` replaces its title."""
    headers, out = source.headers, io.BytesIO()
    password = headers.get("Password")
    template = SimpleDocTemplate(
        out,
        pagesize=A4,
        leftMargin=2.3 * cm,
        rightMargin=2.3 * cm,
        topMargin=2.2 * cm,
        bottomMargin=2.2 * cm,
        title=headers["Title"],
        author=headers["Author"],
        invariant=1,
        pageCompression=0,
        encrypt=StandardEncryption(password, password + "-owner", strength=128) if password else None,
    )
    footer = _Footer(headers.get("Footer", headers["Title"]), "Seite" if source.german else "Page")
    story = [part for block in source.blocks for part in _flow(block)]
    template.build(story, onFirstPage=footer.draw, onLaterPages=footer.draw)
    return out.getvalue()


class _Footer:
    def __init__(self, text: str, page: str) -> None:
        self._text, self._page = text, page

    def draw(self, canvas: Canvas, template: SimpleDocTemplate) -> None:
        """Left the title, right the page number, on every page."""
        canvas.setFont("Helvetica", 8)
        canvas.drawString(2.3 * cm, 1.3 * cm, self._text)
        canvas.drawRightString(A4[0] - 2.3 * cm, 1.3 * cm, f"{self._page} {template.page}")


def _flow(block: Block) -> list[Flowable]:
    if block.kind == "heading":
        return [Paragraph(escape(block.text), _HEADINGS[block.level])]
    if block.kind == "table":
        return [_table(block.rows), Spacer(1, 8)]
    if block.kind == "items":
        return [Paragraph(escape(line), _BODY, bulletText="•") for line in block.lines]
    if block.kind == "break":
        return [PageBreak()]
    return [Paragraph("<br/>".join(map(escape, block.lines)) if block.kind == "lines" else escape(block.text), _BODY)]


def _table(rows: list[list[str]]) -> Table:
    """Columns as wide as their longest cells ask for; a long table repeats its head on each page."""
    longest = [min(max(map(len, column)), 50) + 5 for column in zip(*rows, strict=True)]
    widths = [_WIDTH * length / sum(longest) for length in longest]
    cells = [[Paragraph(escape(cell), _CELL) for cell in row] for row in rows]
    return Table(cells, widths, repeatRows=1, style=_GRID, hAlign="LEFT")
