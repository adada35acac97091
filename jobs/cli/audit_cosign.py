"""`cloister audit witness cosign`: on a second person's machine, which needs no workspace."""

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

import audit
from jobs.cli.files import read_key, read_note, write_given
from jobs.cli.options import JsonOption, OutOption
from jobs.cli.output import print_json, say, write_exact
from jobs.config.workspace import CREDENTIAL, credential
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.visible import counted, visible

InputArgument = Annotated[Path, typer.Argument(metavar="FILE", help="What `cloister audit witness -o FILE` wrote.")]
KeyOption = Annotated[
    Path, typer.Option("--key", metavar="FILE", help="This witness's private key (`cloister audit key new`).")
]
StateOption = Annotated[
    Path, typer.Option("--state", metavar="DIR", help="The folder in which it remembers what it cosigned last.")
]
LogOption = Annotated[
    str | None,
    typer.Option(
        "--log", metavar="KEY", help="The log's public key, from its keeper; the first time, or when it changed."
    ),
]
PassphraseOption = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file", metavar="FILE", help="The passphrase of --key; else the systemd credential, if any."
    ),
]


def cosign(
    file: InputArgument,
    key: KeyOption,
    state: StateOption,
    log: LogOption = None,
    passphrase_file: PassphraseOption = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add this witness's signature to a log's checkpoint, if it extends what was cosigned last.

    A roll-back or a fork is refused, with exit 4. What was signed is remembered before the signature is given.
    """
    data = read_note(file, "a file that `cloister audit witness -o FILE` wrote", request=True)
    log_key = read_key("--log", log) if log is not None else None
    if state.exists() and not state.is_dir():
        raise ConfigError(Problem(f"--state {state}", "is no folder", "the folder of this witness"))
    passphrase, now = passphrase_file or credential(CREDENTIAL), int(time.time())
    with _refusals(as_json):
        given = audit.cosign_checkpoint(
            data, state, key_path=key, passphrase_path=passphrase, log_key=log_key, seconds=now
        )
    if out:
        write_given(out, given.note)
    if as_json:
        print_json({"ok": True, **vars(given), "note": given.note.decode(), "file": out})
    elif out:
        _print(given, out)
    else:
        write_exact(given.note.decode())


@contextlib.contextmanager
def _refusals(as_json: bool) -> Iterator[None]:
    """A key that cannot be used is a mistake of the command; a checkpoint that is refused ends it with exit 4."""
    try:
        yield
    except audit.KeyRefused as error:
        raise ConfigError(Problem("--key", str(error), "this witness's private key")) from error
    except audit.ProofRefused as error:
        if as_json:
            print_json({"ok": False, "error": str(error), "exit_code": int(ExitCode.AUDIT_FAILED)})
        else:
            print(visible(str(error)), file=sys.stderr)
        raise typer.Exit(int(ExitCode.AUDIT_FAILED)) from None


def _print(given: "audit.Witnessed", out: Path) -> None:
    before = f", which extend the {given.before.size:,} cosigned last" if given.before else ", the first time"
    say(f"Cosigned: {counted(given.checkpoint.size, 'entry')} of the log {given.checkpoint.origin}{before}.")
    say(f"  file     {out}")
    say(f"  witness  {given.witness}")
