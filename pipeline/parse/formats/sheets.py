"""The older and the rarer workbooks: XLS and XLSB, through calamine."""

import datetime
import io
from importlib.metadata import version
from typing import Any

import python_calamine

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.formats.base import Source, finish

PARSER = f"sheets/1 python-calamine {version('python-calamine')}"
# The record FilePass ([MS-XLS] 2.4.117) of each kind of encryption: type, size, kind.
_FILE_PASS = (b"\x2f\x00\x06\x00\x00\x00", b"\x2f\x00\x36\x00\x01\x00", b"\x2f\x00\xc8\x00\x01\x00")


def parse(source: Source, media_type: str) -> Parsed:
    """The workbook, laid out as by xlsx.py; comments and drawings are not read, which a note says."""
    writer, empty = source.writer(), True
    try:
        workbook = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(source.data))
        for name in workbook.sheet_names:
            writer.page()
            writer.block(name)
            before = writer.length
            for row in workbook.get_sheet_by_name(name).to_python(skip_empty_area=True):
                writer.row(map(_text, row))
            empty = empty and writer.length == before
    except python_calamine.PasswordError as error:
        raise DocumentError(Failure.ENCRYPTED, "a workbook with a password") from error
    except (python_calamine.CalamineError, OSError) as error:
        if any(record in source.data for record in _FILE_PASS):
            raise DocumentError(Failure.ENCRYPTED, "a workbook with a password") from error
        raise DocumentError(Failure.CORRUPT, f"not a readable workbook: {error}") from error
    if empty:
        raise DocumentError(Failure.EMPTY, "its sheets hold no text")
    return finish(
        source, writer, media_type, PARSER, notes=["comments, text boxes and charts of this format are not read"]
    )


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ", "seconds")
    return str(value)
