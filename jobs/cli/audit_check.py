"""`cloister audit check`: does a proof show what it says? On any machine, without a workspace."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

import audit
from jobs.cli.files import read_key, read_proof
from jobs.cli.options import JsonOption, WitnessOption
from jobs.cli.output import print_json, say
from jobs.errors import ExitCode


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `cloister audit prove` wrote.")],
    key: Annotated[
        str, typer.Option("--key", metavar="KEY", help="The log's public key, from elsewhere, or a file with it.")
    ],
    witness: WitnessOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the proof of one record: that the log with this key holds it, exactly so, at this place.

    Needs nothing else, no workspace and no log. Exit 4 if the proof does not hold.
    """
    text, trusted = read_proof(file), read_key("--key", key)
    witnesses = [read_key("--witness", each, witness=True) for each in witness or ()]
    try:
        proven = audit.check_proof(text, trusted, witnesses)
    except audit.ProofRefused as error:
        if as_json:
            print_json({"ok": False, "error": str(error), "exit_code": int(ExitCode.AUDIT_FAILED)})
        else:
            say(f"{file} PROVES NOTHING: {error}")
        raise typer.Exit(int(ExitCode.AUDIT_FAILED)) from None
    if as_json:
        print_json({"ok": True, **vars(proven), "data": proven.data.decode()})
    else:
        _print(proven)


def _print(proven: "audit.Proven") -> None:
    checkpoint = proven.checkpoint
    say(f"Proved: this is entry {proven.index} of the log {checkpoint.origin}, under a checkpoint of "
        f"{checkpoint.size:,} entries.")  # fmt: skip
    if "handed" in proven.entry:
        say(
            "  It was handed to the log by who may write to state/: proved is that somebody said it, not that it is so."
        )
    for name, seconds in proven.cosigned.items():
        say(f"  cosigned   {datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC by {name}")
    width = max(10, *map(len, proven.entry))
    for name, value in proven.entry.items():
        say(f"  {name:<{width}} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
