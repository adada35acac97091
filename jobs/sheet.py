"""A log's checkpoint on paper: a page that prints well, and its QR code for a terminal. The code holds the note's
bytes, so that what is scanned is a file for `cloister audit verify --against`."""

import io
from datetime import datetime
from html import escape

import segno

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>Checkpoint of {origin}</title>
<style>
  @page {{ size: A4; margin: 20mm }}
  body {{ font: 11pt/1.5 sans-serif; max-width: 170mm; margin: 10mm auto }}
  pre, td {{ font-family: monospace; font-size: 9pt; white-space: pre-wrap; overflow-wrap: anywhere }}
  pre {{ border: 1px solid; padding: 3mm }}
  th {{ text-align: left; vertical-align: top; padding-right: 5mm; font-weight: normal; white-space: nowrap }}
  svg {{ display: block; margin: 5mm 0; width: 80mm; height: 80mm }}
  .sign {{ margin-top: 15mm; border-top: 1px solid; width: 90mm }}
</style>
<h1>Checkpoint of an audit log</h1>
<table>
<tr><th>Log<td>{origin}
<tr><th>Entries<td>{size}
<tr><th>Root hash<td>{root}
<tr><th>Public key<td>{key}
<tr><th>Written<td>{written}
</table>
{code}
<pre>{note}</pre>
<p>This text, also in the code, was signed by the log. Keep it where the log's keeper cannot change it. Scanned or typed
into a file, it proves that the log has only grown since: <code>cloister audit verify --against FILE</code>. A log that
was put back to an earlier state, or rewritten, even with its key, fails.</p>
<p class="sign">Date, signature</p>
"""


def format_sheet(note: str, public_key: str, written: datetime) -> str:
    """The page for a checkpoint with its signature."""
    origin, size, root = note.split("\n")[:3]
    told = {"origin": origin, "size": size, "root": root, "key": public_key, "note": note}
    moment = written.strftime("%Y-%m-%d %H:%M:%S UTC")
    code = _code(note.encode()).svg_inline(border=4, omitsize=True)
    return _PAGE.format(**{name: escape(text) for name, text in told.items()}, written=moment, code=code)


def terminal_code(note: bytes) -> str:
    """The code as blocks of half a line's height, for a terminal of 75 columns or more."""
    text = io.StringIO()
    _code(note).terminal(text, border=2, compact=True)
    return text.getvalue()


def _code(note: bytes) -> segno.QRCode:
    """A quarter of it may be unreadable (level Q), or as much as a long note leaves."""
    for level in "qml":
        try:
            return segno.make_qr(note, error=level, mode="byte", boost_error=True)
        except segno.DataOverflowError:
            continue
    raise ValueError(f"{len(note)} bytes are more than a QR code holds")
