"""A command of `notify`: what it gets, and what holds it."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from jobs.nights.calling import MOST_OUTPUT, STOP_SECONDS, Called, call
from tests.pages import ROOT

SCRIPTS = sorted((ROOT / "configs" / "notify").glob("*.sh"))


def sh(script: str, place: Path, seconds: float = 30.0, told: bytes = b"{}\n", *, stopped: bool = False) -> Called:
    return call(["/bin/sh", "-c", script], told, seconds, place, lambda: stopped)


def test_it_gets_what_is_told_and_starts_in_its_place(tmp_path: Path) -> None:
    assert sh("cat > told; pwd", tmp_path, told=b'{"a": 1}\n') == Called(0, None, f"{tmp_path}\n")
    assert (tmp_path / "told").read_bytes() == b'{"a": 1}\n'


def test_one_that_reads_nothing_is_no_trouble(tmp_path: Path) -> None:
    assert sh("exec <&-; exit 0", tmp_path, told=b"x" * 200_000) == Called(0, None)


def test_one_that_fails_says_how(tmp_path: Path) -> None:
    assert sh("echo no route; exit 3", tmp_path) == Called(3, "it ended with exit code 3", "no route\n")
    assert sh("kill -9 $$", tmp_path).problem == "it was ended by SIGKILL"
    assert sh("kill -40 $$", tmp_path).problem == "it was ended by signal 40"


def test_one_that_is_not_there_says_so(tmp_path: Path) -> None:
    called = call([str(tmp_path / "none")], b"", 5, tmp_path, lambda: False)
    assert called == Called(None, "it could not be started: No such file or directory")


@pytest.mark.parametrize(
    "hang", ["sleep 600 & echo $! > child; wait", "exec >&- 2>&-; sleep 600 & echo $! > child; wait"]
)
def test_one_that_hangs_is_killed_with_its_group(tmp_path: Path, hang: str) -> None:
    began = time.monotonic()
    called = sh(hang, tmp_path, 0.5)
    assert (called.code, called.problem) == (None, "timed out: it was killed after 0.5 seconds")
    assert time.monotonic() - began < 20
    assert is_gone(int((tmp_path / "child").read_text()))


def is_gone(pid: int) -> bool:
    """Whether the process has ended; nobody may have waited for it yet."""
    status = Path(f"/proc/{pid}/status")
    end = time.monotonic() + 100
    while status.exists() and "State:\tZ" not in status.read_text():
        if time.monotonic() > end:
            return False
    return True


def test_one_that_floods_is_cut(tmp_path: Path) -> None:
    called = sh("yes", tmp_path)
    assert (called.code, called.problem) == (None, f"it was killed, because it wrote more than {MOST_OUTPUT:,} bytes")
    assert 0 < len(called.said) < 1000


def test_what_it_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    began = time.monotonic()
    assert sh("sleep 60 & echo $! > child; echo done", tmp_path) == Called(0, None, "done\n")
    assert time.monotonic() - began < 20
    os.kill(int((tmp_path / "child").read_text()), 9)


def test_a_service_that_is_to_stop_does_not_wait_for_long(tmp_path: Path) -> None:
    began = time.monotonic()
    assert sh("sleep 600", tmp_path, stopped=True).problem == "it was killed, because the service is to stop"
    assert time.monotonic() - began < STOP_SECONDS + 20
    assert sh("exit 0", tmp_path, stopped=True) == Called(0, None), "one that is quick is heard to its end"


def test_there_is_a_script_for_mail_syslog_and_a_file() -> None:
    assert [script.name for script in SCRIPTS] == ["file.sh", "mail.sh", "syslog.sh"]
    assert all(os.access(script, os.X_OK) for script in SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_is_valid_shell(script: Path) -> None:
    assert subprocess.run(["/bin/sh", "-n", script], capture_output=True, check=True).stderr == b""


def test_the_script_for_a_file_adds_a_line(tmp_path: Path) -> None:
    script = str(ROOT / "configs" / "notify" / "file.sh")
    for line in (b'{"n": 1}\n', b'{"n": 2}\n'):
        assert call([script, "told.jsonl"], line, 30, tmp_path, lambda: False) == Called(0, None)
    assert (tmp_path / "told.jsonl").read_text() == '{"n": 1}\n{"n": 2}\n'


def test_the_script_for_mail_hands_a_message_to_sendmail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "sendmail"
    program.write_text('#!/bin/sh\necho "$@" > arguments\ncat > message\n')
    program.chmod(0o755)
    monkeypatch.setenv("SENDMAIL", str(program))
    script = str(ROOT / "configs" / "notify" / "mail.sh")
    assert call([script, "night@example.org"], b'{"n": 1}\n', 30, tmp_path, lambda: False) == Called(0, None)
    assert (tmp_path / "arguments").read_text() == "-t -i\n"
    head, body = (tmp_path / "message").read_text().split("\n\n")
    assert head.splitlines()[0] == "To: night@example.org"
    assert body == '{"n": 1}\n'
