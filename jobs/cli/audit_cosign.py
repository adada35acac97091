"""`cloister audit witness cosign`: on a second person's machine, which needs no workspace."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobs.cli.files import read_key, read_note, write_given
from jobs.cli.options import JsonOption, OutOption
from jobs.cli.output import counted, print_json, say, write_exact
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.visible import visible
from jobs.workspace import credential

if TYPE_CHECKING:
    import audit


def cosign(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `cloister audit witness -o FILE` wrote.")],
    key: Annotated[
        Path, typer.Option("--key", metavar="FILE", help="This witness's private key (`cloister audit key new`).")
    ],
    state: Annotated[
        Path, typer.Option("--state", metavar="DIR", help="The folder in which it remembers what it cosigned last.")
    ],
    log: Annotated[
        str | None,
        typer.Option(
            "--log", metavar="KEY", help="The log's public key, from its keeper; the first time, or when it changed."
        ),
    ] = None,
    passphrase_file: Annotated[
        Path | None,
        typer.Option(
            "--passphrase-file", metavar="FILE", help="The passphrase of --key; else the systemd credential, if any."
        ),
    ] = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add this witness's signature to a log's checkpoint, if it extends what was cosigned last.

    A roll-back or a fork is refused, with exit 4. What was signed is remembered before the signature is given.
    """
    import audit

    data = read_note(file, "a file that `cloister audit witness -o FILE` wrote", request=True)
    log_key = read_key("--log", log) if log is not None else None
    if state.exists() and not state.is_dir():
        raise ConfigError(Problem(f"--state {state}", "is no folder", "the folder of this witness"))
    try:
        given = audit.cosign_checkpoint(
            data,
            state,
            key_path=key,
            passphrase_path=passphrase_file or credential(),
            log_key=log_key,
            seconds=int(time.time()),
        )
    except audit.KeyRefused as error:
        raise ConfigError(Problem("--key", str(error), "this witness's private key")) from error
    except audit.ProofRefused as error:
        if as_json:
            print_json({"ok": False, "error": str(error), "exit_code": int(ExitCode.AUDIT_FAILED)})
        else:
            print(visible(str(error)), file=sys.stderr)
        raise typer.Exit(int(ExitCode.AUDIT_FAILED)) from None
    if out:
        write_given(out, given.note)
    if as_json:
        print_json({"ok": True, **vars(given), "note": given.note.decode(), "file": out})
    elif out:
        _print(given, out)
    else:
        write_exact(given.note.decode())


def _print(given: "audit.Witnessed", out: Path) -> None:
    before = f", which extend the {given.before.size:,} cosigned last" if given.before else ", the first time"
    say(f"Cosigned: {counted(given.checkpoint.size, 'entry')} of the log {given.checkpoint.origin}{before}.")
    say(f"  file     {out}")
    say(f"  witness  {given.witness}")
