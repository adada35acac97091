"""Every command and option says what it is; and the help is quick, because it loads nothing that computes."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from jobs.cli.app import make_app
from tests.jobs.conftest import Cloister


def commands(command: click.Command, name: str = "cloister") -> Iterator[tuple[str, click.Command]]:
    yield name, command
    for each, sub in getattr(command, "commands", {}).items():
        yield from commands(sub, f"{name} {each}")


ALL = dict(commands(make_app()))
LEAVES = {name: command for name, command in ALL.items() if not hasattr(command, "commands")}


def test_the_commands_are_those_of_the_design() -> None:
    assert {name.removeprefix("cloister ") for name in LEAVES} == {
        "init", "new", "check", "plan", "run", "retry", "rerun", "serve", "status", "doctor", "results", "bench",
        "learn",
        "backup", "restore",
        "qualify", "model import", "model quantize",
        "model inspect", "model list", "model admit", "model revoke", "model verify", "model diff", "model rollback",
        "review list", "review show", "review sample", "review export", "review import",
        "review accept", "review correct", "review reject",
        "audit verify", "audit show", "audit search", "audit recall", "audit replay",
        "audit hold", "audit release", "audit export", "audit erase",
        "audit key new", "audit key show", "audit key rotate", "audit prove", "audit check", "audit controls",
        "bundle create", "bundle diff", "bundle verify", "bundle install", "bundle rollback", "bundle list",
        "bundle remove",
        "encryption new", "encryption rewrap", "encryption decrypt",
        "worker", "cluster up", "cluster down", "cluster status", "cluster scheduler", "cluster credential",
        "audit witness cosign", "console invite", "console people", "console revoke",
    }  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_every_option_has_help(name: str) -> None:
    command = ALL[name]
    assert command.help
    for parameter in command.params:
        if parameter.name != "help":
            assert getattr(parameter, "help", None), f"{name} {parameter.name}"


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_has_json_and_workspace(name: str) -> None:
    options = {option for parameter in LEAVES[name].params for option in parameter.opts}
    assert "--json" in options
    elsewhere = (
        "cloister init", "cloister restore", "cloister audit check", "cloister audit witness cosign",
        "cloister encryption new", "cloister worker", "cloister cluster scheduler",
    )  # fmt: skip
    assert "--workspace" in options or name in elsewhere or name.startswith("cloister bundle")


@pytest.mark.parametrize("name", ALL)
def test_help_is_printed(name: str, cloister: Cloister) -> None:
    done = cloister(*name.split()[1:], "--help")
    assert done.code == 0
    assert "Usage: cloister" in done.out


def test_help_shows_no_types_of_flags_and_flows(cloister: Cloister, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told = cloister("run", "--help").out
    assert "bool" not in told
    assert "Ctrl-C or SIGTERM commits what is computed and leaves the rest to the next" in told


def test_version(cloister: Cloister) -> None:
    assert cloister("--version").out.startswith("cloister 0.")


@pytest.mark.parametrize("arguments", [["nothing"], ["run"], ["run", "--jsn", "x"], ["results", "--limit", "0"]])
def test_wrong_usage(arguments: list[str], cloister: Cloister) -> None:
    done = cloister(*arguments)
    assert done.code == 2
    assert "Error" in done.err
    assert done.out == ""


def test_help_and_mistakes_load_nothing_that_computes() -> None:
    heavy = "{'numba', 'numpy', 'pyarrow', 'engine', 'pipeline.plan', 'apscheduler'} & set(sys.modules)"
    code = f"import sys, atexit; atexit.register(lambda: print('loaded', {heavy}))\n"
    code += "from jobs.cli import main; main()"
    for arguments in (["--help"], ["run", "--workspace", "/nowhere", "x"]):
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.stdout.endswith("loaded set()\n")
