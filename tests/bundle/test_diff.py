"""`cloister bundle diff`: an update carries what changed and nothing else, and is signed as a bundle is."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import audit
from jobs.bundle.create.compose import Wanted, create
from jobs.bundle.publish import open_key
from jobs.bundle.reader import read_bundle
from tests.bundle.disk import Disk
from tests.bundle.test_create import run
from tests.bundle.tiny import WHEELS, TinyWheel, write_key, write_source, write_wheels
from tests.jobs.conftest import Cloister


def made(root: Path, name: str, key: Path, wheels: list[TinyWheel]) -> Path:
    """A bundle of these wheels."""
    folder = write_wheels(root / f"{name}-wheels", wheels)
    source = write_source(root / f"{name}-source", folder)
    wanted = Wanted(source, root / name, ("3.11",), folder, (), None)
    return create(wanted, open_key(key, None), lambda done, total, at: None).published.archive


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path, str]:
    """Two bundles, of which the second has another gamma; their key, and its public half."""
    root = tmp_path_factory.mktemp("pair")
    key, public = write_key(root / "keys")
    newer = [replace(wheel, content="# changed") if wheel.name == "gamma" else wheel for wheel in WHEELS]
    return made(root, "old", key, list(WHEELS)), made(root, "new", key, newer), key, public


@pytest.fixture(scope="module")
def update(pair: tuple[Path, Path, Path, str]) -> Any:
    """What the command tells of the update."""
    old, new, key, _ = pair
    done = run("bundle", "diff", old, new, "-o", old.parents[1] / "update", "--key", key, "--json")
    assert done.code == 0, done.err
    return done.json


def test_only_what_changed_is_carried(pair: tuple[Path, Path, Path, str], update: Any) -> None:
    old, new, _, public = pair
    archive = Path(update["archive"])
    before, after, found = (read_bundle(path, public, "2000-01-01") for path in (old, new, archive))
    assert [file.path for file in found.files if file.at is not None] == [
        "locks/requirements-cp311.txt",
        "sbom/cyclonedx.json",
        "wheels/cp311/gamma-1.0-py3-none-any.whl",
    ]
    assert found.told["base"] == before.digest
    assert [file._replace(at=None) for file in found.files] == [file._replace(at=None) for file in after.files]
    assert archive.name.endswith(f"cp311.from-{before.digest[:12]}.bundle")
    assert (update["carried"], update["old_version"]) == (3, "1.0")


def test_verify_py_finds_the_update_whole(pair: tuple[Path, Path, Path, str], update: Any) -> None:
    archive = Path(update["archive"])
    command = [sys.executable, "-I", archive.with_name("verify.py"), archive, "--key", pair[3]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "WHOLE"), done.stdout


def test_the_same_update_has_the_same_bytes(
    pair: tuple[Path, Path, Path, str], update: Any, cloister: Cloister, tmp_path: Path
) -> None:
    old, new, key, _ = pair
    done = cloister("bundle", "diff", old, new, "-o", tmp_path, "--key", key)
    assert done.code == 0
    assert (tmp_path / Path(update["archive"]).name).read_bytes() == Path(update["archive"]).read_bytes()
    assert "It updates 1.0 to 1.0" in done.out


def test_what_is_no_update_is_refused(
    pair: tuple[Path, Path, Path, str], update: Any, cloister: Cloister, tmp_path: Path
) -> None:
    old, new, key, _ = pair
    other = tmp_path / "other.key"
    audit.generate_key(other, "example.org/others")
    cut, text = tmp_path / "cut.bundle", tmp_path / "text.bundle"
    cut.write_bytes(new.read_bytes()[:-512])
    text.write_text("no bundle")
    for before, after, signer, expected in (
        (new, new, key, "is the same bundle"),
        (old, new, other, "signed by another key"),
        (new, Path(update["archive"]), key, "is an update itself"),
        (old, cut, key, "only half copied"),
        (text, new, key, "no bundle of Cloister"),
        (old, tmp_path / "nothing", key, "cannot be read: No such file"),
    ):
        done = cloister("bundle", "diff", before, after, "-o", tmp_path / "out", "--key", signer)
        assert done.code == 2
        assert expected in done.err
    assert list((tmp_path / "out").glob("*.bundle")) == []


def test_an_update_does_not_lead_to_an_older_version(disk: Disk, cloister: Cloister, tmp_path: Path) -> None:
    words = ["bundle", "diff", disk.bundle("other"), disk.bundle("first"), "-o", tmp_path / "out", "--key", disk.key]
    done = cloister(*words)
    assert (done.code, "is of 1.0, which is older than 2.0" in done.err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_a_bundle_whose_files_were_changed_gives_no_update(
    pair: tuple[Path, Path, Path, str], cloister: Cloister, tmp_path: Path
) -> None:
    old, new, key, _ = pair
    data = bytearray(new.read_bytes())
    data[data.rindex(b"# changed")] ^= 1
    (tmp_path / "bad.bundle").write_bytes(data)
    done = cloister("bundle", "diff", old, tmp_path / "bad.bundle", "-o", tmp_path / "out", "--key", key)
    assert done.code == 2
    assert "gamma-1.0-py3-none-any.whl: ALTERED" in done.err
    assert list((tmp_path / "out").glob("*.bundle")) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
def test_a_disk_without_room_is_told_before_anything_is_written(
    pair: tuple[Path, Path, Path, str], tmp_path: Path
) -> None:
    old, new, key, _ = pair
    (tmp_path / "out").mkdir()
    program = (
        'mount -t tmpfs -o size=32k none "$1" && "$0" -c "from jobs.cli import main; main()" bundle diff "$2" "$3" '
    )
    program += '--out "$1" --key "$4"; code=$?; ls -A "$1"; exit $code'
    command = ["unshare", "--mount", "sh", "-c", program, sys.executable, tmp_path / "out", old, new, key]
    done = subprocess.run(command, capture_output=True, text=True)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("this machine lets nobody mount a small disk")
    assert (done.returncode, done.stdout) == (2, "")
    assert "0.0 MiB free, the bundle takes 0.1 MiB" in done.stderr
