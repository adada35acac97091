"""`cloister audit key rotate`: another key signs the log from now on."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from jobs.cli.options import JsonOption, PassphraseOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.rotation import rotate_key
from jobs.config.workspace import open_workspace


def rotate(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="The new private key, made if it is not there; else a new file.",
            show_default=False,
        ),
    ] = None,
    passphrase: PassphraseOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace the key that signs the audit log.

    The old key hands over to the new one in an entry that both of them sign, and site.yaml names the new one. What the
    old key signed stays provable. A key with a passphrase is followed by one with the same, unless another is named.
    Stop `cloister serve` before.
    """
    place = open_workspace(workspace)
    rotated = rotate_key(place, file, passphrase)
    if as_json:
        print_json({**asdict(rotated), "old_file": place.site.log.key})
        return
    say(f"The log {place.site.log.origin} has another key since entry {rotated.n:,}, which both of them signed")
    say(f"  new key     {rotated.file}{', protected by a passphrase' if rotated.protected else ''}")
    say(f"  public key  {rotated.new_key}")
    say("              keep a copy of it elsewhere: it is what proves the log")
    say(f"  old key     {place.site.log.key} signs nothing any more: take it away. Who has it could still sign another")
    say("              history from that entry on, and show it to those who know no newer key")
