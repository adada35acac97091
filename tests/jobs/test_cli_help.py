"""Every command and option says what it is; and the help is quick, because it loads nothing that computes."""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from PIL import Image

from jobs.cli.app import make_app
from jobs.cli.commands import COMMANDS, HELP, Group
from pipeline.parse import find_tesseract
from tests.faults.hindered import UNHINDERED
from tests.jobs.conftest import LEASE, WITH_PICTURES, Cloister, Place, entries


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


@pytest.mark.parametrize(
    ("arguments", "more"), [(["--help"], {"audit", "pydantic", "ruamel", "jobs.config.load"}), (["run", "x"], set())]
)
def test_help_and_mistakes_load_nothing_that_computes(tmp_path: Path, arguments: list[str], more: set[str]) -> None:
    heavy = {"numba", "numpy", "pyarrow", "engine", "pipeline.plan", "apscheduler", *more}
    code = f"import sys, atexit; atexit.register(lambda: print('loaded', {heavy} & set(sys.modules)))\n"
    code += "from jobs.cli import main; main()"
    command = [sys.executable, "-P", "-c", code, *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout.endswith("loaded set()\n")


def test_the_help_says_of_each_command_what_it_says_itself() -> None:
    own = {name: (LEAVES.get(f"cloister {name}") or ALL[f"cloister {name}"]).help or "" for name in HELP}
    assert {name: told.partition("\n\n")[0] for name, told in own.items()} == HELP
    assert HELP.keys() == {name for name, each in COMMANDS.items() if not isinstance(each, Group) or each.own}


COMMAND = [sys.executable, "-P", "-c", "from jobs.cli import main; main()"]
FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.is_char_device(), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [
        (["status"], ""),
        (["results", "--json"], "1"),
        (["--help"], ""),
        (["--help"], "1"),
        (["run", "none", "--json"], ""),
    ],
)
def test_a_full_disk_under_stdout_is_one_message(place: Place, arguments: list[str], unbuffered: str) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.endswith("cannot write the output: No space left on device\n")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["audit", "prove", "xx"], "Invalid value for 'N'"),
        (["run"], "Missing argument 'JOB"),
        (["serve", "--bogus"], "No such option: --bogus"),
        (["model", "quantize", "m", "--type", "qx"], "'qx' is not one of"),
        (["nothing"], "No such command 'nothing'"),
    ],
)
def test_wrong_usage_is_json_too(place: Place, cloister: Cloister, arguments: list[str], said: str) -> None:
    told = cloister(*arguments, "--json")
    assert (told.code, told.json["exit_code"], told.json["error"]["problems"]) == (2, 2, [])
    assert said in told.json["error"]["message"]
    assert "Error" in told.err
    assert cloister(*arguments).out == ""


@pytest.mark.parametrize("arguments", [["results", "--json"], ["--help"]])
def test_a_closed_pipe_ends_quietly(place: Place, arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*COMMAND, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_encoding_that_lacks_characters(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "Verträge € 2026.txt", LEASE)
    assert cloister("run", "sort").code == 0
    poor = os.environ | {"PYTHONIOENCODING": "ascii"}
    for arguments in (["results"], ["results", "--json"], ["--help"]):
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, env=poor, check=False)
        assert done.returncode == 0, done.stderr
        told = done.stdout.decode("ascii")
        if arguments[-1] == "--json":
            assert json.loads(told)[0]["path"] == "Verträge € 2026.txt"
        elif arguments == ["results"]:
            assert "Vertr\\xe4ge \\u20ac 2026.txt" in told


def hindered(*arguments: str, of: str = "seccomp") -> "subprocess.CompletedProcess[str]":
    """The command, where the protections named cannot be put in force."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); "
    code += "from jobs.cli import main; main()"
    hinder = Path(__file__).parents[1] / "faults" / "hindered.py"
    command = [sys.executable, str(hinder), of, sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == UNHINDERED:
        pytest.skip("no seccomp on this machine")
    return done


def allow_less(place: Place) -> None:
    site = place.root / "site.yaml"
    site.write_text(site.read_text().replace("isolation: required", "isolation: best_effort"))


def test_a_run_is_refused_before_any_document_with_the_reason_and_the_remedy(ready: Place) -> None:
    document = ready.drop("sort", "lease.txt", LEASE)
    done = hindered("run", "sort")
    assert done.returncode == 2
    assert "cannot be isolated on this machine" in done.stderr
    assert "system_call_filter: needs seccomp filters" in done.stderr
    assert "isolation: best_effort under limits: in site.yaml" in done.stderr
    assert document.read_text() == LEASE
    (refused,) = entries(ready)
    assert (refused["type"], "system_call_filter" in refused["reason"]) == ("run.refused", True)
    assert not any((ready.root / "archive").rglob("copy"))


def test_check_says_so_before_the_night(ready: Place) -> None:
    done = hindered("check", "sort")
    assert done.returncode == 2
    assert re.match(r"no job runs: \d+ of \d+ protections of the parsers .* No document is read", done.stdout)


def test_best_effort_runs_and_says_what_is_not_in_force(ready: Place, cloister: Cloister, tmp_path: Path) -> None:
    allow_less(ready)
    ready.drop("sort", "lease.txt", LEASE)
    done = hindered("run", "sort")
    assert done.returncode == 0, done.stderr
    assert "parsers  isolation best_effort: system_call_filter not in force" in done.stdout
    assert any(json.loads(line)["event"] == "isolation of the parsers" for line in done.stderr.splitlines())
    (started,) = entries(ready, "run.started")
    assert started["isolation"] == {"wanted": "best_effort", "lacking": ["system_call_filter"]}
    assert "parsers  isolation best_effort: system_call_filter not in force" in cloister("status").out
    (job,) = cloister("status", "--json").json["jobs"]
    assert job["isolation"]["lacking"] == ["system_call_filter"]
    assert cloister("audit", "export", tmp_path / "export").code == 0
    report = (tmp_path / "export" / "report.html").read_text()
    assert "isolation of the parsers best_effort; not in force: system_call_filter" in report


def test_old_kernels_and_containers_that_refuse_second_lines_are_not_refused(ready: Place) -> None:
    """What is recognised of pictures is: Landlock alone keeps Tesseract from files."""
    ready.job("sort", WITH_PICTURES)
    ready.drop("sort", "lease.txt", LEASE)
    picture = io.BytesIO()
    Image.new("L", (200, 100), 255).save(picture, "PNG")
    (ready.root / "inbox" / "sort" / "scan.png").write_bytes(picture.getvalue())
    done = hindered("run", "sort", "--json", of="landlock,namespaces")
    (run,) = json.loads(done.stdout)["runs"]
    assert run["isolation"] == {"wanted": "required", "lacking": ["no_files", "no_network"]}
    assert run["counts"]["done"] == 1
    (failed,) = run["failed"]
    assert failed["failure"] == "needs_ocr"
    if not isinstance(find_tesseract(()), str):
        assert "cannot be held here, which needs Landlock" in failed["reason"]


def test_best_effort_is_said_also_where_everything_is_in_force(ready: Place, cloister: Cloister) -> None:
    allow_less(ready)
    ready.drop("sort", "lease.txt", LEASE)
    done = cloister("run", "sort", "--json")
    (run,) = done.json["runs"]
    assert run["isolation"]["wanted"] == "best_effort"
    assert "isolation best_effort" in cloister("status").out


def test_where_it_is_required_nothing_need_be_said(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    done = cloister("run", "sort")
    assert (done.code, "isolation" in done.out) == (0, False)
    (started,) = entries(ready, "run.started")
    assert started["isolation"]["wanted"] == "required"
    assert "isolation" not in cloister("status").out
