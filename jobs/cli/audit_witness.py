"""`cloister audit witness`: the checkpoint for paper, for write-once media, and for a second person's machine."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

import audit
import pipeline
from jobs.cli.files import read_note, write_given
from jobs.cli.options import JsonOption, OutOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.record import record
from jobs.sheet import format_sheet, terminal_code

SheetOption = Annotated[
    Path | None,
    typer.Option("--sheet", metavar="FILE", help="Write a page for paper (HTML) with the checkpoint as QR code."),
]
SinceOption = Annotated[
    Path | None,
    typer.Option(
        "--since", metavar="FILE", help="Add the proof that today's log extends this kept or cosigned checkpoint."
    ),
]


def witness(
    context: typer.Context,
    out: OutOption = None,
    sheet: SheetOption = None,
    since: SinceOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write today's checkpoint as text and as QR code, to be kept where the log's keeper cannot change it.

    `cloister audit verify --against FILE` holds the log against it later. With `cosign`, a second person's machine
    signs it too; from the second time on it asks for `--since` with what it cosigned last. The log is not verified by
    this: `audit verify` does that.
    """
    if context.invoked_subcommand is not None:
        return

    site = make_site(open_workspace(workspace))
    kept = read_note(since, "a checkpoint of this log") if since else None
    request = audit.request_witness(site.audit, site.public_key, kept)
    note = request.rpartition(b"\n\n")[0].rpartition(b"\n\n")[2] + b"\n\n" + request.rpartition(b"\n\n")[2]
    size = int(note.split(b"\n")[1])  # https://c2sp.org/tlog-checkpoint: the second line
    record(site, pipeline.ReadCheckpoint(size=size))
    if out:
        write_given(out, request)
    if sheet:
        write_given(sheet, format_sheet(note.decode(), site.public_key, datetime.now(UTC)).encode())
    if as_json:
        print_json({"checkpoint": note.decode(), "request": request.decode(), "file": out, "sheet": sheet})
    else:
        _print(note, out, sheet)


def _print(note: bytes, out: Path | None, sheet: Path | None) -> None:
    say(note.decode())
    if not (out or sheet):
        say(terminal_code(note))
    for what, path in (("The checkpoint", out), ("The page for paper", sheet)):
        if path:
            say(f"{what} is in {path}.")
    if out or sheet:
        say("The log itself was not verified: cloister audit verify does that.")
