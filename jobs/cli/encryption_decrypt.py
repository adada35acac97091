"""`cloister encryption decrypt`: a clear copy of a document that is kept encrypted."""

import os
from pathlib import Path
from typing import Annotated

import typer

from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.load import shown
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem


def decrypt(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file in archive/ or failed/.")],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="The clear copy, which must not exist.", show_default=False),
    ],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a clear copy of a document or text that is kept encrypted; only its owner may read it.

    A file that is not encrypted is copied as it is. For results there is `cloister results JOB -o FILE`.
    """
    at_rest = make_site(open_workspace(workspace)).at_rest
    try:
        data = at_rest.read_bytes(file)
        with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as copy:
            copy.write(data)
    except FileExistsError as error:
        raise ConfigError(Problem(shown(out), "exists already", None, "name another file")) from error
    except (FileNotFoundError, IsADirectoryError) as error:
        raise ConfigError(Problem(str(error.filename or file), f"no file: {error.strerror}")) from error
    if as_json:
        print_json({"file": str(out.absolute()), "bytes": len(data)})
        return
    say(f"Wrote {len(data):,} bytes to {shown(out)}, in the clear")
