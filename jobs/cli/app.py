"""The application: its commands, each loaded when it is asked for, and the one place where errors end."""

import contextlib
import inspect
import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from jobs.cli.commands import COMMANDS, Group
from jobs.cli.output import guarded_output, print_json
from jobs.config.workspace import find_workspace
from jobs.errors import ConfigError, Ending, ExitCode, OutputError, StoppedError, ending_of
from jobs.silence.guard import NetworkAttemptError, attempts
from jobs.visible import visible

_PROCESSING = (["run"], ["retry"], ["rerun"], ["serve"])
_UsageError: Any = typer.BadParameter.__base__  # typer does not name it
_SETTINGS: dict[str, Any] = {"no_args_is_help": True, "add_completion": False, "pretty_exceptions_enable": False}


class _Told:
    """Commands and groups whose help shows no type for flags, `--json`, not `--json <bool>`, and whose end is told."""

    def invoke(self, ctx: Any) -> Any:
        """Run it. StoppedError where Ctrl-C ended it, of which typer says nothing."""
        try:
            return super().invoke(ctx)  # type: ignore[misc]  # that of typer
        except (KeyboardInterrupt, typer.Abort) as error:
            raise StoppedError from error

    def get_params(self, ctx: Any) -> Any:
        """The parameters, flags without a metavar."""
        return _without_types(super().get_params(ctx))  # type: ignore[misc]


class _Command(_Told, TyperCommand):
    """A command."""


class _Group(_Told, TyperGroup):
    """A group of commands (`cloister` itself, `cloister model`, `cloister audit`) that ends errors as commands do."""


def _without_types(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


def make_app(arguments: Sequence[str] = ()) -> typer.Typer:
    """Make the application with all commands and groups; where `arguments` name one of them, with that one alone: a
    command need not wait until all others are loaded."""
    app = typer.Typer(
        **_SETTINGS | {"add_completion": True},
        cls=_Group,
        help="Documents in, audited answers out: on your own CPUs, without a network.",
    )
    app.callback()(_options)
    _add(app, COMMANDS, arguments)
    return app


def _add(app: typer.Typer, commands: Mapping[str, str | Group], arguments: Sequence[str]) -> None:
    """Add the commands to the application, or only the one that `arguments` begin with."""
    asked = [name for name in arguments[:1] if name in commands]
    for name in asked or commands:
        command = commands[name]
        if isinstance(command, Group):
            app.add_typer(_make_group(command, arguments[1:] if asked else ()), name=name)
        else:
            function = _load(command)
            app.command(name, cls=_Command, help=_help_of(function))(function)


def _make_group(group: Group, arguments: Sequence[str]) -> typer.Typer:
    if group.own is None:
        made = typer.Typer(**_SETTINGS, cls=_Group, help=group.help)
    else:
        own = _load(group.own)
        settings = _SETTINGS | {"no_args_is_help": False, "invoke_without_command": True}
        made = typer.Typer(**settings, cls=_Group, help=_help_of(own), callback=own)
    _add(made, group.commands, arguments)
    return made


def _load(command: str) -> Callable[..., Any]:
    """The function of a command, from its file."""
    module, name = command.split(".")
    function: Callable[..., Any] = getattr(import_module(f"jobs.cli.{module}"), name)
    return function


def _help_of(command: Callable[..., Any]) -> str:
    """The help of a command is its docstring, whose lines the terminal breaks and not the source."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)


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
    """Write characters that the encoding of stdout lacks as escapes, and drop what goes to a closed stream."""
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _run(arguments: list[str]) -> int:
    """The exit code of the command, or what follows from it that its process reached for a network."""
    try:
        code = _ended(arguments)
        if not attempts():
            return code
        ending = ending_of(NetworkAttemptError(str(attempts()[0])), _workspace(arguments))  # somebody swallowed it
    except NetworkAttemptError as error:
        ending = ending_of(error, _workspace(arguments))
        if "--json" in arguments:
            print_json(ending.to_json())
    _tell(ending)
    import_module("jobs.record").record_attempts(_workspace(arguments), arguments)
    return int(ending.code)


def _ended(arguments: list[str]) -> int:
    """The exit code of the command. What it raises is told; OutputError where that cannot be."""
    stdout = sys.stdout
    try:
        code = make_app(arguments)(arguments, prog_name="cloister", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except SystemExit as end:
        if sys.stdout is not stdout:  # so typer ends a command whose stderr is a closed pipe
            return int(ExitCode.PIPE_CLOSED)
        return end.code if isinstance(end.code, int) else 0
    except OutputError:
        raise
    except _UsageError as error:
        error.message = error.message.replace("Value error, ", "")  # pydantic's, through which typer reads an Enum
        import_module("typer.rich_utils").rich_format_error(error)  # a third of a second, for bad usage alone
        ending = Ending(ExitCode.BAD_CONFIG, error.format_message())
    except (Exception, KeyboardInterrupt) as error:
        ending = ending_of(error, _workspace(arguments), processing=arguments[:1] in _PROCESSING)
        _tell(ending)
    if "--json" in arguments:
        print_json(ending.to_json())
    return int(ending.code)


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
        print(f"cloister {version('cloister')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Documents in, audited answers out: on your own CPUs, without a network."""
