"""The command `cloister`: one file for each command, one dict that names them, one place where errors end."""

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from jobs.cli import audit_show, audit_verify, check, init, model_import, model_inspect, model_list, results, run, serve
from jobs.cli import status as status_command
from jobs.cli.output import print_json
from jobs.errors import ConfigError, ending_of
from jobs.workspace import find_workspace

COMMANDS: dict[str, Callable[..., Any]] = {
    "init": init.init,
    "check": check.check,
    "run": run.run,
    "serve": serve.serve,
    "status": status_command.status,
    "results": results.results,
}
GROUPS: dict[str, tuple[str, dict[str, Callable[..., Any]]]] = {
    "model": (
        "Model files: import, inspect, list.",
        {"import": model_import.import_, "inspect": model_inspect.inspect, "list": model_list.list_},
    ),
    "audit": ("The audit log: verify, show.", {"verify": audit_verify.verify, "show": audit_show.show}),
}
_SETTINGS: dict[str, Any] = {"no_args_is_help": True, "add_completion": False, "pretty_exceptions_enable": False}


def make_app() -> typer.Typer:
    """All commands."""
    app = typer.Typer(**_SETTINGS, help="Documents in, audited answers out: on your own CPUs, without a network.")
    app.callback()(_options)
    for name, command in COMMANDS.items():
        app.command(name)(command)
    for name, (help_text, commands) in GROUPS.items():
        group = typer.Typer(**_SETTINGS, help=help_text)
        for each, command in commands.items():
            group.command(each)(command)
        app.add_typer(group, name=name)
    return app


def main() -> None:
    """The console script."""
    arguments = sys.argv[1:]
    try:
        make_app()(arguments, prog_name="cloister")
    except (Exception, KeyboardInterrupt) as error:
        ending = ending_of(error, _crashes(arguments))
        print(ending.message, file=sys.stderr)
        if "--json" in arguments:
            print_json(ending.to_json())
        sys.exit(int(ending.code))


def _crashes(arguments: list[str]) -> Path | None:
    """Where a traceback of ours is kept: in the workspace, if there is one."""
    named = [value for flag, value in pairwise(arguments) if flag == "--workspace"]
    named += [flag.removeprefix("--workspace=") for flag in arguments if flag.startswith("--workspace=")]
    try:
        return find_workspace(Path(named[0]) if named else None) / "state" / "crashes"
    except (ConfigError, OSError):
        return None


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"cloister {version('cloister')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Documents in, audited answers out: on your own CPUs, without a network."""
