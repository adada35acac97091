"""The systemd units name commands that exist, and systemd, where there is one, finds nothing wrong with them."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer.main

from jobs.cli import make_app

UNITS = sorted((Path(__file__).parent.parent.parent / "configs" / "systemd").iterdir())


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_the_commands_exist(unit: Path) -> None:
    app = typer.main.get_command(make_app())
    lines = [line for line in unit.read_text().splitlines() if line.startswith("ExecStart=")]
    assert len(lines) == (unit.suffix == ".service")
    for line in lines:
        words = shlex.split(line.removeprefix("ExecStart="))
        command = app.commands[words[1]]  # type: ignore[attr-defined]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="this machine has no systemd")
def test_systemd_reads_them(unit: Path, tmp_path: Path) -> None:
    for each in UNITS:  # without the path of an installation that is not there
        name = each.name.replace("@.", "@srv-cloister.")
        (tmp_path / name).write_text(each.read_text().replace("/opt/cloister/.venv/bin/cloister", "/bin/true"))
    name = unit.name.replace("@.", "@srv-cloister.")
    analyze = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(tmp_path / name)]
    done = subprocess.run(analyze, capture_output=True, text=True, timeout=30, check=False)
    assert [line for line in done.stderr.splitlines() if str(tmp_path) in line or name in line] == []
    assert done.returncode == 0
