"""The application: its commands, each loaded when it is asked for, and the one place where errors end."""

import contextlib
import inspect
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, cast

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from jobs.cli.commands import COMMANDS, HELP, TITLE, Group
from jobs.cli.printing import guarded_output, print_json
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
        parameters = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class _Command(_Told, TyperCommand):
    """A command."""


class _Commands(Mapping[str, Any]):
    """The commands of a group by name, each loaded when it is asked for."""

    def __init__(self, table: Mapping[str, str | Group]) -> None:
        self._table, self._made = table, dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _make(name, self._table[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


class _Group(_Told, TyperGroup):
    """A group of commands (`cloister` itself, `cloister model`, `cloister audit`) that ends errors as commands do."""

    helps: Mapping[str, str] = {}
    """What the help of the group says of commands that it does not load for that."""
    _says_help = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command; a stub of it for the help of the group."""
        if self._says_help and cmd_name in self.helps:
            return TyperCommand(cmd_name, help=self.helps[cmd_name])
        return self.commands.get(cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands, which loads none."""
        return list(self.commands)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the group."""
        self._says_help = True
        _load_helper()
        try:
            super().format_help(ctx, formatter)
        finally:
            self._says_help = False


_UNUSED = {"rich.markdown": "Markdown", "rich.traceback": "Traceback"}


def _load_helper() -> Any:
    """What writes help and usage errors, without what it brings and we never use: two thirds of the time it takes."""
    stubs = {name: ModuleType(name) for name in _UNUSED if name not in sys.modules}
    for name, stub in stubs.items():
        setattr(stub, _UNUSED[name], None)
    sys.modules.update(stubs)
    try:
        return import_module("typer.rich_utils")
    finally:
        for name in stubs:
            del sys.modules[name]


def make_app() -> _Group:
    """Make the application."""
    app = _made_group(Group(TITLE, None, COMMANDS), _options, add_completion=True)
    app.helps = HELP
    return app


def _make(name: str, command: str | Group) -> Any:
    if isinstance(command, Group):
        made = _made_group(command, _load(command.own) if command.own else None)
        made.name = name
        return made
    function = _load(command)
    app = typer.Typer(**_SETTINGS)
    app.command(name, cls=_Command, help=_help_of(function))(import_module("jobs.cli.printing").bound(function))
    return typer.main.get_command(app)


def _made_group(group: Group, own: Callable[..., Any] | None, **more: Any) -> _Group:
    settings = _SETTINGS | {"cls": _Group, "help": group.help} | more
    if group.own and own:
        settings |= {"no_args_is_help": False, "invoke_without_command": True, "help": _help_of(own)}
        own = import_module("jobs.cli.printing").bound(own, is_group=True)
    app = typer.Typer(**settings)
    app.callback()(own or (lambda: None))
    made = cast(_Group, typer.main.get_command(app))
    made.commands = _Commands(group.commands)  # type: ignore[assignment]  # typer adds none to it
    return made


def _load(command: str) -> Callable[..., Any]:
    module, name = command.split(".")
    function: Callable[..., Any] = getattr(import_module(f"jobs.cli.{module}"), name)
    return function


def _help_of(command: Callable[..., Any]) -> str:
    """The help of a command is its docstring, whose lines the terminal breaks and not the source."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)


def main() -> None:
    """The console script."""
    # Write characters that the encoding of stdout lacks as escapes, and drop what goes to a closed stream.
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with guarded_output():
            code = _run(sys.argv[1:])
    except OutputError as error:
        ending = ending_of(error)
        code = int(ending.code)
        if ending.code != ExitCode.PIPE_CLOSED:
            _tell(ending)
    sys.exit(code)


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
        code = make_app()(arguments, prog_name="cloister", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except SystemExit as end:
        if sys.stdout is not stdout:  # so typer ends a command whose stderr is a closed pipe
            return int(ExitCode.PIPE_CLOSED)
        return end.code if isinstance(end.code, int) else 0
    except OutputError:
        raise
    except _UsageError as error:
        error.message = error.message.replace("Value error, ", "")  # pydantic's, through which typer reads an Enum
        _load_helper().rich_format_error(error)
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
        found: Path = import_module("jobs.config.workspace").find_workspace(Path(named[0]) if named else None)
        return found
    except (ConfigError, OSError):
        return None


def _print_version(asked: bool) -> None:
    if asked:
        print(f"cloister {import_module('importlib.metadata').version('cloister')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Documents in, audited answers out: on your own CPUs, without a network."""
