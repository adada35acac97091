"""`cloister bundle remove`: deletes versions that are installed and no longer needed."""

from typing import Annotated

import typer

from jobs.bundle.remove import remove as remove_versions
from jobs.cli.bundled import PrefixOption, find_root, refusals
from jobs.cli.options import JsonOption
from jobs.cli.output import print_json, say


def remove(
    versions: Annotated[list[str], typer.Argument(metavar="VERSION...", help="As `bundle list` names them.")],
    prefix: PrefixOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete installed versions that are no longer needed, for the room that they take.

    The current version and the one before are kept, and one from which a process still runs: then nothing is deleted.
    Workspaces are never touched.
    """
    root = find_root(prefix)
    asked = list(dict.fromkeys(versions))
    with refusals(root, as_json):
        remove_versions(root, asked)
    if as_json:
        print_json({"removed": asked, "prefix": root})
        return
    for version in asked:
        say(f"Removed {version}")
