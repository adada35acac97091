"""`cloister encryption new`: makes a key for encryption."""

from pathlib import Path
from typing import Annotated

import typer

import pipeline
from jobs.cli.options import JsonOption
from jobs.cli.output import print_json, say
from jobs.config.load import shown
from jobs.errors import ConfigError, Problem


def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file of the key, which must not exist.")],
    as_json: JsonOption = False,
) -> None:
    """Make a key that wraps the keys of documents and results.

    Only its owner may read the file. site.yaml names it: `encryption: {key_file: FILE}`.
    """
    try:
        made = pipeline.make_kek(file)
    except FileExistsError as error:
        raise ConfigError(Problem(shown(file), "exists already; a key is never overwritten")) from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ConfigError(Problem(shown(file), "lies in no folder", None, f"mkdir -p {shown(file.parent)}")) from error
    if as_json:
        print_json({"file": str(file.absolute()), "key": made.name})
        return
    say(f"Made the key {made.name} in {shown(file)}")
    say("  Keep a copy of it elsewhere, and not with the backups: without it nothing that is encrypted can be read.")
    say("  In site.yaml:  encryption: {key_file: FILE}, with the path from the workspace, or the whole path")
