"""Exit codes: their precedence, and the one place that turns exceptions into them."""

import itertools
from pathlib import Path

import pytest

import audit
import pipeline
from jobs.errors import ConfigError, Ending, ExitCode, OutputError, Problem, ending_of, worst
from jobs.stop import ServiceHeldError


def test_precedence_where_several_hold() -> None:
    order = (130, 70, 4, 3, 6, 1, 0)  # the table of the design
    for first, second in itertools.combinations(order, 2):
        assert worst([ExitCode(second), ExitCode(first), ExitCode(second)]) == first
    assert worst([]) == ExitCode.DONE
    assert {worst([code]) for code in ExitCode} == set(ExitCode)


def test_the_operators_mistakes() -> None:
    problem = Problem("jobs/a.yaml", "unknown key 'x'", line=1, column=2)
    ending = ending_of(ConfigError(problem))
    assert ending == Ending(ExitCode.BAD_CONFIG, "jobs/a.yaml:1:2: unknown key 'x'", (problem,))
    told = ending.to_json()
    assert told["exit_code"] == 2
    assert ending_of(KeyboardInterrupt()).code == ExitCode.INTERRUPTED
    assert ending_of(ServiceHeldError(7)).code == ExitCode.WORKSPACE_HELD


def test_the_pipelines_and_the_logs_refusals() -> None:
    assert ending_of(pipeline.ModelRefusedError("no such file")).code == ExitCode.MODEL_REFUSED
    assert ending_of(audit.LogHeld("audit/lock", "host", 7, None)).code == ExitCode.WORKSPACE_HELD
    for kind in (audit.LogUntrusted, audit.LogUnwritable):
        ending = ending_of(kind.__new__(kind), processing=True)
        assert ending.code == ExitCode.AUDIT_FAILED
        assert "Nothing more was processed." in ending.message
        assert "processed" not in ending_of(kind.__new__(kind)).message


def test_a_key_that_is_refused_says_nothing_against_the_log() -> None:
    error = audit.KeyRefused("keys/log.key: others may read it (mode 0644)", "chmod 600 keys/log.key")
    assert ending_of(error, processing=True) == Ending(
        ExitCode.BAD_CONFIG,
        "keys/log.key: others may read it (mode 0644)\n    Nothing more was processed.\n"
        "    remedy:   chmod 600 keys/log.key",
    )
    assert ending_of(audit.KeyRefused("this is no public key")).message == "this is no public key"


def crash() -> Exception:
    try:
        raise RuntimeError("ours")
    except RuntimeError as error:
        return error


def test_a_defect_keeps_its_traceback_in_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    ending = ending_of(crash(), tmp_path)
    (kept,) = (tmp_path / "state" / "crashes").iterdir()
    assert ending.code == ExitCode.DEFECT
    assert ending.message.startswith("A defect of Cloister: RuntimeError: ours")
    assert str(kept) in ending.message
    assert "in crash" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_defect_without_a_workspace_keeps_it_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ending_of(crash(), tmp_path / "none")
    assert len(list(tmp_path.glob("cloister-*.txt"))) == 1
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    assert "could not be kept" in ending_of(crash()).message


@pytest.mark.parametrize("errno_", [28, 30, 13])
def test_a_full_or_read_only_disk_is_no_defect(errno_: int) -> None:
    ending = ending_of(OSError(errno_, "reason", "outbox/x"))
    assert ending.code == ExitCode.BAD_CONFIG
    remedy = "\n    remedy:   make room on that disk" if errno_ == 28 else ""
    assert ending.message == f"outbox/x: reason{remedy}"
    assert ending_of(OSError(errno_, "reason", "x"), processing=True).message == (
        f"x: reason\n    What is committed stays; the next run goes on.{remedy}"
    )


def test_a_lock_names_its_remedy_once() -> None:
    assert ending_of(audit.LogHeld("audit/lock", "host", 7, None)).message.count("stop it") == 1


def test_a_full_disk_without_a_path_is_told_of_the_workspace(tmp_path: Path) -> None:
    told = ending_of(OSError(28, "Error writing bytes to file"), tmp_path).message
    assert told.startswith(f"{tmp_path}: Error writing bytes to file (")
    assert f"MiB free on the file system of the workspace {tmp_path})" in told
    error = audit.LogUnwritable("audit/entries: No space left on device")
    error.__cause__ = OSError(28, "No space left on device")
    assert "MiB free" in ending_of(error, tmp_path).message


def test_output_that_cannot_be_written() -> None:
    full = ending_of(OutputError(OSError(28, "No space left on device")))
    assert full == Ending(ExitCode.BAD_CONFIG, "cannot write the output: No space left on device")
    assert ending_of(OutputError(BrokenPipeError(32, "Broken pipe"))).code == ExitCode.PIPE_CLOSED
