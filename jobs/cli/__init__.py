"""The command `cloister`: one file for each command, one dict that names them, one place where errors end."""

import contextlib
import inspect
import io
import os
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from jobs.cli import (
    audit_hold,
    audit_release,
    audit_show,
    audit_verify,
    bench,
    check,
    init,
    model_import,
    model_inspect,
    model_list,
    model_quantize,
    results,
    retry,
    run,
    serve,
)
from jobs.cli import status as status_command
from jobs.cli.output import guarded_output, print_json
from jobs.errors import ConfigError, Ending, ExitCode, OutputError, ending_of
from jobs.visible import visible
from jobs.workspace import find_workspace

COMMANDS: dict[str, Callable[..., Any]] = {
    "init": init.init,
    "check": check.check,
    "run": run.run,
    "retry": retry.retry,
    "serve": serve.serve,
    "status": status_command.status,
    "results": results.results,
    "bench": bench.bench,
}
GROUPS: dict[str, tuple[str, dict[str, Callable[..., Any]]]] = {
    "model": (
        "Model files: import, quantize, inspect, list.",
        {
            "import": model_import.import_,
            "quantize": model_quantize.quantize,
            "inspect": model_inspect.inspect,
            "list": model_list.list_,
        },
    ),
    "audit": (
        "The audit log: verify, show, hold, release.",
        {
            "verify": audit_verify.verify,
            "show": audit_show.show,
            "hold": audit_hold.hold,
            "release": audit_release.release,
        },
    ),
}
_SETTINGS: dict[str, Any] = {"no_args_is_help": True, "add_completion": False, "pretty_exceptions_enable": False}


class _Command(TyperCommand):
    """A command whose help shows no type for flags: `--json`, not `--json <bool>`."""

    def get_params(self, ctx: Any) -> Any:
        """The parameters, flags without a metavar."""
        return _without_types(super().get_params(ctx))


class _Group(TyperGroup):
    """The same for `cloister` itself, `cloister model` and `cloister audit`."""

    def get_params(self, ctx: Any) -> Any:
        """The parameters, flags without a metavar."""
        return _without_types(super().get_params(ctx))


def _without_types(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


def make_app() -> typer.Typer:
    """All commands."""
    app = typer.Typer(
        **_SETTINGS, cls=_Group, help="Documents in, audited answers out: on your own CPUs, without a network."
    )
    app.callback()(_options)
    for name, command in COMMANDS.items():
        _add(app, name, command)
    for name, (help_text, commands) in GROUPS.items():
        group = typer.Typer(**_SETTINGS, cls=_Group, help=help_text)
        for each, command in commands.items():
            _add(group, each, command)
        app.add_typer(group, name=name)
    return app


def _add(app: typer.Typer, name: str, command: Callable[..., Any]) -> None:
    """Its docstring is the help; a terminal breaks the lines, not the source."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    app.command(name, cls=_Command, help="\n\n".join(" ".join(each.split()) for each in paragraphs))(command)


def main() -> None:
    """The console script."""
    _prepare_streams()
    try:
        with guarded_output():
            code = _run(sys.argv[1:])
    except OutputError as error:
        ending = ending_of(error)
        code = int(ending.code)
        if ending.code != ExitCode.PIPE_CLOSED:
            _tell(ending)
    sys.exit(code)


def _prepare_streams() -> None:
    """What an encoding lacks is written as an escape; what goes to a closed stdout or stderr goes nowhere."""
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _run(arguments: list[str]) -> int:
    """The exit code of the command. What it raises is told; OutputError where that cannot be."""
    stdout = sys.stdout
    try:
        make_app()(arguments, prog_name="cloister")
    except SystemExit as end:
        if sys.stdout is not stdout:  # so typer ends a command whose stderr is a closed pipe
            return int(ExitCode.PIPE_CLOSED)
        return end.code if isinstance(end.code, int) else 0
    except OutputError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        ending = ending_of(error, _workspace(arguments))
        _tell(ending)
        if "--json" in arguments:
            print_json(ending.to_json())
        return int(ending.code)
    return 0


def _tell(ending: Ending) -> None:
    with contextlib.suppress(OSError):
        print(visible(ending.message), file=sys.stderr)


def _workspace(arguments: list[str]) -> Path | None:
    """The workspace of a command that failed, if it has one."""
    named = [value for flag, value in pairwise(arguments) if flag == "--workspace"]
    named += [flag.removeprefix("--workspace=") for flag in arguments if flag.startswith("--workspace=")]
    try:
        return find_workspace(Path(named[0]) if named else None)
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
