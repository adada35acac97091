"""A run under what the systemd units allow, made by hand (confined.py), and how exposed systemd finds them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from jobs.silence.seal import TRACED
from pipeline.parse import find_tesseract
from tests.jobs import confined
from tests.jobs.conftest import WITH_PICTURES

UNITS = Path(__file__).parents[2] / "configs" / "systemd"
MOST = 2.0
UID = 31_000
COMMAND = [sys.executable, "-P", "-c", "from jobs.cli import main; main()"]

with_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="this machine has no systemd")
by_hand = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("systemd-analyze") or not confined.seccomp() or not confined.others_may_run(),
    reason="needs root, systemd-analyze, libseccomp, and a Python and repository that other users reach",
)


@with_systemd
@pytest.mark.parametrize("name", ["cloister-serve@.service", "cloister-run@.service"])
def test_systemd_finds_little_exposed(tmp_path: Path, name: str) -> None:
    shutil.copy(UNITS / name, tmp_path)
    analyze = ["systemd-analyze", "security", "--offline=true", "--no-pager", f"./{name}"]
    told = subprocess.run(analyze, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    (found,) = re.findall(r"Overall exposure level for \S+: ([0-9.]+)", told)
    assert float(found) <= MOST
    missing = [line.split()[1] for line in told.splitlines() if line.startswith("✗")]
    assert "MemoryDenyWriteExecute=" in missing  # the engine compiles: it could not run with it


def test_both_units_allow_the_same() -> None:
    serve, run = (confined.settings(UNITS / f"cloister-{name}@.service") for name in ("serve", "run"))
    own = {"Type", "ExecStart", "ReadWritePaths", "SuccessExitStatus", "Description", "ConditionPathExists"}
    assert {key: serve[key] for key in run.keys() - own} == {key: run[key] for key in run.keys() - own}


PROBE = """\
import os, socket
tries = {
    "network": lambda: socket.socket(socket.AF_INET),
    "elsewhere": lambda: open("/var/lib/x", "w"),
    "other": lambda: os.kill(1, 0),
    "nice": lambda: os.nice(1),
    "set-id": lambda: os.mkdir("/srv/cloister/x", 0o2700),
    "home": lambda: open(os.path.expanduser("~root/.bashrc")),
    "names": lambda: os.listdir("/run/dbus"),  # where there is none, this is refused, too
}
for name, call in tries.items():
    try:
        call()
        print(name, "allowed")
    except OSError as error:
        print(name, "refused")
"""


def under(unit: str, workspace: Path, cache: Path, *command: str) -> subprocess.CompletedProcess[str]:
    words = [str(UNITS / unit), str(workspace), str(cache), str(UID), *command]
    return subprocess.run(
        [sys.executable, "-m", "tests.jobs.confined", *words], cwd=UNITS.parents[1],
        env=os.environ | {"CLOISTER_CACHE": "/var/cache/cloister", "HOME": "/srv/cloister"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@by_hand
def test_what_is_forbidden_is_in_force(tmp_path: Path) -> None:
    for name in ("ws", "cache"):
        (tmp_path / name).mkdir()
        os.chown(tmp_path / name, UID, UID)
    done = under("cloister-serve@.service", tmp_path / "ws", tmp_path / "cache", sys.executable, "-c", PROBE)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.splitlines()) == {
        f"{each} refused" for each in ("network", "elsewhere", "other", "nice", "set-id", "home", "names")
    }


def write_scan(path: Path) -> None:
    """Write a picture of a line of text."""
    picture = Image.new("L", (900, 120), 255)
    ImageDraw.Draw(picture).text((20, 30), "The tenant leases the flat.", fill=0, font=ImageFont.load_default(48))
    picture.save(path)


@by_hand
def test_a_run_with_a_real_model_compiles_reads_and_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From an empty cache, so that the kernels are compiled under the filter, by numba, which need not optimise them;
    and a scan, where Tesseract is installed, which is started under it."""
    monkeypatch.setenv("NUMBA_OPT", "0")
    if not (model := os.environ.get("CLOISTER_MODEL")):
        pytest.skip("CLOISTER_MODEL names the real model")
    root, cache = tmp_path / "ws", tmp_path / "cache"
    subprocess.run([*COMMAND, "init", root, "--origin", "test.example/log"], check=True, capture_output=True)
    (root / "jobs" / "sort.yaml").write_text(
        WITH_PICTURES.format(name="sort", afterwards="archive").replace("tiny", "real")
    )
    shutil.copy(model, root / "models" / "real.gguf")
    (root / "inbox" / "sort").mkdir()
    (root / "inbox" / "sort" / "lease.html").write_text("<p>The tenant leases the flat from the landlord.</p>")
    if can_read_scans := not isinstance(find_tesseract(()), str):
        write_scan(root / "inbox" / "sort" / "scan.png")
    cache.mkdir()
    for path in (root, cache, *root.rglob("*")):
        os.chown(path, UID, UID)
    run = ["run", "sort", "--workspace", "/srv/cloister", "--json"]
    done = under("cloister-run@.service", root, cache, *COMMAND, *run)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs"][0]["counts"]["done"] == 1 + can_read_scans
    lines = [json.loads(line) for line in (root / "audit/entries/000000000000.jsonl").read_text().splitlines()]
    (started,) = [line for line in lines if line["type"] == "run.started"]
    assert started["isolation"] == {"wanted": "required", "lacking": []}  # parsers give up all that they do elsewhere
    assert started["silence"] == {"audit_hook": True, "system_calls": "traced" if TRACED in os.environ else "refused"}
    shared = [
        path for path in root.rglob("*") if path.lstat().st_mode & 0o077 and path.suffix not in (".yaml", ".gguf")
    ]
    assert [path for path in shared if path.is_file()] == []
