"""What the commands about bundles have in common: options, and how a bundle that is refused ends."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from audit import standalone
from jobs.bundle.remove import installed_version
from jobs.bundle.versions import HeldError, RefusedError, default_root
from jobs.cli.output import print_json, say
from jobs.errors import ConfigError, ExitCode, Problem

BundleArgument = Annotated[Path, typer.Argument(metavar="BUNDLE", help="The archive.")]
PrefixOption = Annotated[
    Path | None,
    typer.Option(
        "--prefix",
        metavar="DIR",
        help="The installation; else that of this command, else /opt/cloister, or ~/.local/share/cloister for a user.",
        show_default=False,
    ),
]


def find_root(prefix: Path | None) -> Path:
    """The folder of the installation that is meant."""
    if prefix is not None:
        return prefix.absolute()
    version = installed_version()
    return default_root() if version is None else version.parent.parent


@contextmanager
def refusals(what: Path, as_json: bool) -> Iterator[None]:
    """A bundle that cannot be trusted ends with exit 4, an installation that is being changed with 5; everything else
    that is not as it has to be is a ConfigError."""
    try:
        yield
    except standalone.WrongError as error:
        _end(f"{what} CANNOT BE TRUSTED: {error}", ExitCode.AUDIT_FAILED, as_json)
    except HeldError as error:
        _end(str(error), ExitCode.WORKSPACE_HELD, as_json)
    except RefusedError as error:
        where, found, expected, remedy = error.told
        raise ConfigError(Problem(where, found, expected or None, remedy or None)) from error


def _end(message: str, code: ExitCode, as_json: bool) -> None:
    if as_json:
        print_json({"ok": False, "error": message, "exit_code": int(code)})
    else:
        print(message, file=sys.stderr) if code == ExitCode.WORKSPACE_HELD else say(message)
    raise typer.Exit(int(code))
