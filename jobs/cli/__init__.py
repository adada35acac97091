"""The command `cloister`: one file for each command, one dict that names them, one place where errors end."""

import contextlib
import inspect
import io
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import rich_utils
from typer.core import TyperCommand, TyperGroup

from jobs.cli import (
    audit_check,
    audit_cosign,
    audit_erase,
    audit_export,
    audit_hold,
    audit_key_new,
    audit_key_rotate,
    audit_key_show,
    audit_prove,
    audit_recall,
    audit_release,
    audit_replay,
    audit_search,
    audit_show,
    audit_verify,
    audit_witness,
    bench,
    check,
    init,
    learn,
    model_admit,
    model_diff,
    model_import,
    model_inspect,
    model_list,
    model_quantize,
    model_revoke,
    model_rollback,
    model_verify,
    qualify,
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
    "learn": learn.learn,
    "qualify": qualify.qualify,
    "bench": bench.bench,
}
# a group of commands: what its help says, or a command that it is by itself; and those in it, which may be groups too
Group = tuple["str | Callable[..., Any]", dict[str, "Callable[..., Any] | Group"]]
GROUPS: dict[str, Group] = {
    "model": (
        "Model files and heads: bring them in, list and compare them, and say which may be used.",
        {
            "import": model_import.import_,
            "quantize": model_quantize.quantize,
            "inspect": model_inspect.inspect,
            "list": model_list.list_,
            "admit": model_admit.admit,
            "revoke": model_revoke.revoke,
            "verify": model_verify.verify,
            "diff": model_diff.diff,
            "rollback": model_rollback.rollback,
        },
    ),
    "audit": (
        "The audit log: what it says, and whether it can be trusted.",
        {
            "verify": audit_verify.verify,
            "show": audit_show.show,
            "search": audit_search.search,
            "recall": audit_recall.recall,
            "replay": audit_replay.replay,
            "hold": audit_hold.hold,
            "release": audit_release.release,
            "export": audit_export.export,
            "erase": audit_erase.erase,
            "prove": audit_prove.prove,
            "check": audit_check.check,
            "key": (
                "The key that signs the log: new, show, rotate.",
                {"new": audit_key_new.new, "show": audit_key_show.show, "rotate": audit_key_rotate.rotate},
            ),
            "witness": (audit_witness.witness, {"cosign": audit_cosign.cosign}),
        },
    ),
}
_PROCESSING = (["run"], ["retry"], ["serve"])
_UsageError: Any = typer.BadParameter.__base__  # typer does not name it
_SETTINGS: dict[str, Any] = {"no_args_is_help": True, "add_completion": False, "pretty_exceptions_enable": False}


class _Command(TyperCommand):
    """A command whose help shows no type for flags: `--json`, not `--json <bool>`."""

    def get_params(self, ctx: Any) -> Any:
        """The parameters, flags without a metavar."""
        return _without_types(super().get_params(ctx))


class _Group(TyperGroup):
    """A group of commands (`cloister` itself, `cloister model`, `cloister audit`) that ends errors as commands do."""

    def get_params(self, ctx: Any) -> Any:
        """The parameters, flags without a metavar."""
        return _without_types(super().get_params(ctx))


def _without_types(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


def make_app() -> typer.Typer:
    """Make the application with all commands and groups."""
    app = typer.Typer(
        **_SETTINGS | {"add_completion": True},
        cls=_Group,
        help="Documents in, audited answers out: on your own CPUs, without a network.",
    )
    app.callback()(_options)
    for name, command in COMMANDS.items():
        _add(app, name, command)
    for name, group in GROUPS.items():
        app.add_typer(_make_group(*group), name=name)
    return app


def _make_group(own: str | Callable[..., Any], commands: dict[str, Callable[..., Any] | Group]) -> typer.Typer:
    if isinstance(own, str):
        group = typer.Typer(**_SETTINGS, cls=_Group, help=own)
    else:
        settings = _SETTINGS | {"no_args_is_help": False, "invoke_without_command": True}
        group = typer.Typer(**settings, cls=_Group, help=_help_of(own), callback=own)
    for name, command in commands.items():
        if isinstance(command, tuple):
            group.add_typer(_make_group(*command), name=name)
        else:
            _add(group, name, command)
    return group


def _add(app: typer.Typer, name: str, command: Callable[..., Any]) -> None:
    app.command(name, cls=_Command, help=_help_of(command))(command)


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
        rich_utils.rich_format_error(error)
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
