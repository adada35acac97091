"""The older and the rarer workbooks: XLS and XLSB, through calamine; comments and text boxes of XLS beside it."""

import datetime
import io
from importlib.metadata import version
from typing import Any

import python_calamine

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.limits import Limits
from pipeline.parse.office.binary.biff import Sheet, read_sheets
from pipeline.parse.office.binary.ole import CompoundFile, format_compound
from pipeline.parse.writer import TextWriter

PARSER = f"sheets/2 python-calamine {version('python-calamine')}"
_SMALL = "small"  # a small stream, without any of which calamine takes a file for an empty one
_XLS = "application/vnd.ms-excel"
_CELL = 40  # bytes for each cell; calamine holds the grids of all sheets, one of them twice, and room for the largest


def parse(source: Source, media_type: str) -> Parsed:
    """The workbook, laid out as by xlsx.py; what is not read, a note says."""
    writer = source.writer()
    data, asides = _opened(source) if media_type == _XLS else (source.data, {})
    try:
        workbook = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        empty = True
        for sheet in workbook.sheets_metadata:
            empty &= not _write_sheet(writer, workbook, sheet, asides.get(sheet.name))
    except python_calamine.PasswordError as error:
        raise DocumentError(Failure.ENCRYPTED, "a workbook with a password") from error
    except (python_calamine.CalamineError, OSError) as error:
        raise DocumentError(Failure.CORRUPT, f"not a readable workbook: {error}") from error
    if empty:
        unseen = "".join(f"; {one.characters} characters of hidden text" for one in source.hidden.found()[:1])
        raise DocumentError(Failure.EMPTY, f"its sheets hold no text{unseen}")
    return finish(source, writer, media_type, PARSER, notes=_notes(media_type, asides))


def _write_sheet(
    writer: TextWriter,
    workbook: python_calamine.CalamineWorkbook,
    sheet: python_calamine.SheetMetadata,
    aside: Sheet | None,
) -> bool:
    """Write a sheet, unless it is hidden and to be left out; whether there is something on it."""
    hidden = sheet.visible != python_calamine.SheetVisibleEnum.Visible
    inner = writer.unseen() if hidden else writer.inner()
    for row in workbook.get_sheet_by_name(sheet.name).to_python(skip_empty_area=True):
        inner.row(map(_text, row))
    for text in aside.boxes if aside else ():
        inner.block(text)
    for place, author, text in aside.comments if aside else ():
        inner.block(f"Comment ({place}, {author}): {text}")
    text = inner.finish()[0]
    if hidden and writer.hide("hidden_sheet", text):
        writer.page()
        return False
    writer.page(sheet.name, "sheet")
    writer.block(sheet.name)
    writer.line(text)
    return bool(text.strip())


def _opened(source: Source) -> tuple[bytes, dict[str, Sheet]]:
    """The workbook alone in a sound compound file, and what stands on its sheets beside the cells, by their names.

    Raises DocumentError, also where a grid is too large. (calamine panics where a compound file is damaged.)
    """
    file = CompoundFile(source.data)
    stream = file.need(file.root, "Workbook")
    sheets = read_sheets(stream)
    _check_grids(sheets, source.limits)
    return format_compound({"Workbook": stream, _SMALL: b"\0"}), {sheet.name: sheet for sheet in sheets}


def _check_grids(sheets: list[Sheet], limits: Limits) -> None:
    if not sheets:
        return
    most = max(sheets, key=lambda sheet: max(sheet.cells, sheet.said))
    cells = sum(sheet.cells for sheet in sheets) + max(sheet.cells for sheet in sheets)
    cells += max(sheet.said for sheet in sheets)
    if cells * _CELL > limits.memory_bytes * 3 // 4:
        raise DocumentError(
            Failure.TOO_LARGE,
            f"sheet {most.name!r} spans {max(most.cells, most.said):,} cells; all have to be held in memory at once, "
            f"for which {limits.named('memory_bytes')} is too little",
        )


def _notes(media_type: str, asides: dict[str, Sheet]) -> list[str]:
    if media_type != _XLS:
        return ["comments, text boxes and charts of this format are not read"]
    charts = sum(sheet.charts for sheet in asides.values())
    return [f"charts not read: {charts}"] if charts else []


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ", "seconds")
    return str(value)
