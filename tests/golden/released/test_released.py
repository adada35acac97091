"""Workspaces that released versions left: another version opens them, verifies, replays and goes on with them."""

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.golden.released.make import COMMAND
from tests.jobs.conftest import Cloister, cloister

HERE = Path(__file__).parent
RELEASED = sorted(HERE.glob("*.tar.xz"))

__all__ = ["cloister"]


@pytest.fixture(scope="module", params=RELEASED, ids=lambda path: path.name.removesuffix(".tar.xz"))
def unpacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a released workspace."""
    folder = tmp_path_factory.mktemp("released")
    with tarfile.open(request.param) as packed:
        packed.extractall(folder, filter="tar")
    return folder / "workspace"


@pytest.fixture
def workspace(unpacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in which commands run."""
    root = Path(shutil.copytree(unpacked, tmp_path / "workspace"))
    monkeypatch.chdir(root)
    monkeypatch.delenv("CLOISTER_WORKSPACE", raising=False)
    return root


def entries(root: Path, kind: str) -> list[dict[str, Any]]:
    lines = (line for file in sorted((root / "audit/entries").iterdir()) for line in file.read_text().splitlines())
    return [entry for line in lines if (entry := json.loads(line))["type"] == kind]


def test_each_release_has_left_one() -> None:
    assert RELEASED


def test_it_is_verified_replayed_and_gone_on_with(workspace: Path, cloister: Cloister, tmp_path: Path) -> None:
    """By another version than the one that wrote it, which the log says once."""
    said = json.loads((workspace / "version.json").read_text())
    (workspace / "version.json").write_text(json.dumps({**said, "version": "0.0.1"}))
    (verified, replayed) = (
        cloister("audit", "verify", "--json"),
        cloister("audit", "replay", "--sample", "100%", "--json"),
    )
    assert (verified.code, verified.json["ok"], verified.json["complete"]) == (0, True, True)
    counts = replayed.json["counts"]
    assert (counts["different"], counts["identical"] + counts["changed"] >= 8) == (0, True)
    for row in replayed.json["rows"]:
        assert row["verdict"] != "changed" or "numerics (cloister-int" in row["reason"], row["reason"]
    before = {row["path"]: row["state"] for row in cloister("results", "sort", "--json").json}
    (workspace / "inbox" / "sort" / "later.txt").write_text("The tenant leases another flat.")
    assert cloister("run", "sort").code == 0
    after = {row["path"]: row["state"] for row in cloister("results", "sort", "--json").json}
    assert after == before | {"later.txt": "done"}
    assert len(entries(workspace, "version.changed")) == 1
    assert cloister("backup", tmp_path / "b").code == 0
    restored = cloister("restore", tmp_path / "b", tmp_path / "restored", "--json")
    assert (restored.code, restored.json["complete"]) == (0, True)


def test_a_version_of_an_older_format_refuses_it(workspace: Path) -> None:
    """The same code, whose number of the format is one less."""
    older = "import pipeline.version as v; v.FORMAT = 0; " + COMMAND[-1]
    done = subprocess.run([sys.executable, "-P", "-c", older, "status"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "a workspace of format 1, which Cloister 0.1.0 wrote" in done.stderr
