"""Machines on which parsers cannot be held: a run is refused before any document, or says what is not in force."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from pipeline.parse import find_tesseract
from tests.faults.hindered import UNHINDERED
from tests.jobs.conftest import LEASE, WITH_PICTURES, Cloister, Place, entries


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
