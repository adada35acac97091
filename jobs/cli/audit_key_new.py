"""`cloister audit key new`: makes a signing key."""

from pathlib import Path
from typing import Annotated

import typer

import audit
from jobs.cli.options import JsonOption, PassphraseOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.load import shown
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem


def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file of the private key, which must not exist.")],
    origin: Annotated[
        str | None,
        typer.Option(
            "--origin",
            metavar="NAME",
            help="The log that it signs, or a witness's name; else the workspace's log.",
        ),
    ] = None,
    passphrase: PassphraseOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a signing key (Ed25519), and print its public half.

    Only its owner may read the file. `audit key rotate FILE` makes it the key of a log.
    """
    name = open_workspace(workspace).site.log.origin if origin is None else origin
    try:
        public = audit.generate_key(file, name, passphrase)
    except audit.KeyRefused as error:
        raise ConfigError(Problem("key new", str(error))) from error
    if as_json:
        print_json({"file": str(file.absolute()), "public_key": public, "protected": passphrase is not None})
        return
    say(f"Made the key {shown(file)}{', protected by a passphrase' if passphrase else ''}")
    say(f"  public key  {public}")
