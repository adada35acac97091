"""`cloister bundle create --extra cluster`: what the extra needs comes along, and nothing else is another one."""

import importlib.metadata
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from jobs.bundle.create.licences import is_permissive, stated
from jobs.bundle.create.wheels import environment, needed_by, read_lock
from tests.bundle.cyclonedx import mistakes
from tests.bundle.test_create import Ground
from tests.bundle.tiny import TinyWheel, digest, write_key, write_source, write_wheels
from tests.jobs.conftest import Cloister
from tests.pages import ROOT

EPSILON, ZETA = "wheels/any/epsilon-1.0-py3-none-any.whl", "wheels/cp311/zeta-1.0-py3-none-any.whl"


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    wheels = write_wheels(tmp_path / "wheels")
    key, public = write_key(tmp_path / "keys")
    return Ground(tmp_path, wheels, write_source(tmp_path / "source", wheels), key, public)


def test_what_the_extra_needs_comes_where_it_is_asked_for(ground: Ground, cloister: Cloister) -> None:
    def made(name: str, *more: str) -> tuple[dict[str, Any], Path]:
        done = cloister(*ground.arguments(ground.root / name, "--python", "3.12", "--python", "3.11", "--json", *more))
        assert done.code == 0, done.err
        with tarfile.open(done.json["archive"]) as archive:
            archive.extractall(ground.root / name / "in", filter="data")
        return {wheel["path"]: wheel["pythons"] for wheel in done.json["wheels"]}, ground.root / name / "in"

    (without, one), (told, other) = made("without"), made("with", "--extra", "cluster")
    assert told == without | {EPSILON: ["3.11", "3.12"], ZETA: ["3.11"]}
    assert sorted(told) == sorted(str(path.relative_to(other)) for path in other.glob("wheels/*/*"))
    for python, names in (("cp311", ("epsilon", "zeta")), ("cp312", ("epsilon",))):
        before, after = (set((at / f"locks/requirements-{python}.txt").read_text().splitlines()) for at in (one, other))
        pins = {f"{name}==1.0 --hash=sha256:{digest(ground.wheels / TinyWheel(name).file)}" for name in names}
        assert (before - after, after - before) == (set(), pins)
    parts = json.loads((other / "sbom/cyclonedx.json").read_text())
    assert mistakes(parts) == []
    assert {one["name"] for one in parts["components"]} >= {"epsilon", "zeta"}


def test_a_source_without_a_lock_of_the_extra_is_refused(ground: Ground, cloister: Cloister) -> None:
    lock = ground.source / "cluster.lock"
    lock.write_text(lock.read_text().replace("zeta==1.0 ; python_full_version <", "zeta==1.0 ; python_full_version >"))
    arguments = ground.arguments(ground.root / "out", "--python", "3.11", "--extra", "cluster")
    assert "cluster.lock: has no zeta, which is needed with Python 3.11" in cloister(*arguments).err
    lock.unlink()
    done = cloister(*arguments)
    assert done.code == 2
    assert "source: has no cluster.lock, which pins the packages of the extra cluster" in done.err


def test_the_locks_of_this_repository_agree() -> None:
    """What has more pins the rest in the same version, with the same files: nothing else is tested than is carried."""
    without, cluster, tested = (
        set(read_lock(ROOT / f"{name}.lock")) for name in ("requirements", "cluster", "requirements-test")
    )
    assert without < cluster < tested


def test_the_extra_has_what_each_python_needs_under_permissive_licences() -> None:
    """Each package of the lock, as it is installed here, states a licence that a bundle may carry."""
    file = ROOT / "cluster.lock"
    needed = {
        python: needed_by(read_lock(file), environment(python), file).keys() for python in ("3.11", "3.12", "3.13")
    }
    assert all({"dask", "distributed", "tornado"} <= names for names in needed.values())
    assert [python for python, names in needed.items() if "importlib-metadata" in names] == ["3.11"]
    here = needed_by(read_lock(file), environment(f"{sys.version_info.major}.{sys.version_info.minor}"), file)
    told = {name: stated(importlib.metadata.distribution(name).metadata) for name in here}
    assert {name: licence for name, licence in told.items() if not is_permissive(licence)} == {}
