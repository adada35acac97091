"""A Word document: headings, numbered by hand as lawyers do, tables, a header line."""

import io
from datetime import datetime

import docx
from docx.document import Document
from docx.enum.text import WD_BREAK
from markup import Block, Source

from writers.zipped import repack


def write(source: Source) -> bytes:
    """The body as DOCX; `Header` is the running header, `Cut` stores it unpacked and keeps only so many bytes."""
    document = docx.Document()
    _describe(document, source)
    for block in source.blocks:
        _add(document, block)
    out = io.BytesIO()
    document.save(out)
    cut = source.headers.get("Cut")
    return repack(out.getvalue(), compress=False)[: int(cut)] if cut else repack(out.getvalue())


def _describe(document: Document, source: Source) -> None:
    properties = document.core_properties
    properties.title, properties.author = source.headers["Title"], source.headers["Author"]
    properties.comments = ""
    properties.created = properties.modified = datetime.fromisoformat(source.headers["Date"])
    document.sections[0].header.paragraphs[0].text = source.headers.get("Header", "")


def _add(document: Document, block: Block) -> None:
    if block.kind == "heading":
        document.add_heading(block.text, block.level)
    elif block.kind == "table":
        _add_table(document, block.rows)
    elif block.kind == "items":
        for line in block.lines:
            document.add_paragraph(line, style="List Bullet")
    elif block.kind == "break":
        document.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
    else:
        document.add_paragraph("\n".join(block.lines) if block.kind == "lines" else block.text)


def _add_table(document: Document, rows: list[list[str]]) -> None:
    table = document.add_table(len(rows), len(rows[0]), style="Table Grid")
    for row, cells in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
