"""The systemd units name commands that exist, and systemd, where there is one, finds nothing wrong with them."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.cli.app import make_app
from jobs.errors import ExitCode
from tests.jobs.conftest import Place, entries

CONFIGS = Path(__file__).parent.parent.parent / "configs" / "systemd"
UNITS = sorted(path for path in CONFIGS.iterdir() if path.suffix != ".conf")  # which test_roles.py is about


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_the_commands_exist(unit: Path) -> None:
    app = make_app()
    text = unit.read_text().replace("\\\n", "")
    lines = [line for line in text.splitlines() if line.startswith("ExecStart=")]
    assert len(lines) == (unit.suffix == ".service")
    for line in lines:
        words = shlex.split(line.removeprefix("ExecStart="))
        command = app.commands[words[1]]  # type: ignore[attr-defined]
        command = getattr(command, "commands", {}).get(words[2], command)
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="this machine has no systemd")
def test_systemd_reads_them(unit: Path, tmp_path: Path) -> None:
    for each in UNITS:  # without the path of an installation that is not there
        name = each.name.replace("@.", "@srv-cloister.")
        (tmp_path / name).write_text(each.read_text().replace("/opt/cloister/bin/cloister", "/bin/true"))
    name = unit.name.replace("@.", "@srv-cloister.")
    analyze = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(tmp_path / name)]
    done = subprocess.run(analyze, capture_output=True, text=True, timeout=300, check=False)
    assert [line for line in done.stderr.splitlines() if str(tmp_path) in line or name in line] == []
    assert done.returncode == 0


def _lines(name: str) -> dict[str, str]:
    unit = next(each for each in UNITS if each.name == name)
    return dict(line.split("=", 1) for line in unit.read_text().splitlines() if "=" in line and line[0].isalpha())


def test_the_service_is_watched_reloaded_and_limited() -> None:
    lines = _lines("cloister-serve@.service")
    assert (lines["Type"], lines["NotifyAccess"]) == ("notify", "main")
    assert int(lines["WatchdogSec"]) >= 600
    assert lines["ExecReload"].endswith("kill -HUP $MAINPID")
    assert lines["RestartPreventExitStatus"] == f"{int(ExitCode.BAD_CONFIG)} {int(ExitCode.AUDIT_FAILED)}"
    assert (lines["OOMPolicy"], lines["LimitCORE"]) == ("continue", "0")


def test_a_run_with_failed_documents_or_a_closed_window_is_no_failure_of_its_unit() -> None:
    wanted = f"{int(ExitCode.DOCUMENTS_FAILED)} {int(ExitCode.WINDOW_CLOSED)}"
    assert _lines("cloister-run@.service")["SuccessExitStatus"] == wanted


def _user_manager() -> bool:
    """Whether systemd runs for this user."""
    if not shutil.which("systemd-run"):
        return False
    asked = ["systemctl", "--user", "is-system-running"]
    return subprocess.run(asked, capture_output=True, check=False).stdout.strip() in (b"running", b"degraded")


@pytest.mark.skipif(not _user_manager(), reason="no systemd runs for this user on this machine")
def test_systemd_starts_reloads_and_stops_it(ready: Place) -> None:
    name = f"cloister-test-{os.getpid()}.service"
    settings = [f"--property={line}" for line in ("Type=notify", "NotifyAccess=main", "WatchdogSec=60", "LimitCORE=0")]
    paths = [f"--setenv={key}={os.environ[key]}" for key in ("PYTHONPATH", "PATH") if key in os.environ]
    command = [sys.executable, "-P", "-c", "from jobs.cli import main; main()", "serve", "--workspace", str(ready.root)]
    subprocess.run(["systemd-run", "--user", f"--unit={name}", *settings, *paths, *command], check=True, timeout=1200)
    try:
        asked = ["systemctl", "--user", "show", "--property=ActiveState,StatusText", name]
        shown = subprocess.run(asked, check=True, capture_output=True, text=True, timeout=300).stdout
        assert "ActiveState=active" in shown
        assert "StatusText=1 jobs, 0 wait" in shown
    finally:
        subprocess.run(["systemctl", "--user", "stop", name], check=True, timeout=1200)
    assert [entry["why"] for entry in entries(ready, "service.ended")] == ["SIGTERM"]
