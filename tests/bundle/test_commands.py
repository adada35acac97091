"""`cloister bundle`: what the programs beside a bundle do, too; and what `cloister init` takes from an installation."""

import json
import shutil
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from jobs.bundle.install import install
from jobs.bundle.remove import installed_version
from jobs.bundle.versions import this_machine
from tests.bundle.disk import FIRST, OTHER, Disk, runs
from tests.bundle.small import Small
from tests.jobs.conftest import Cloister

EXAMPLE, MODEL = "correspondence-triage", "all-minilm-l6-v2-q8_0"


@pytest.fixture(scope="module")
def opt(disk: Disk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation of the first version."""
    root = tmp_path_factory.mktemp("machine") / "opt"
    install(disk.bundle("first"), root, disk.public_key, str(date.today()), this_machine(), lambda step: None)
    return root


@pytest.fixture
def inside(opt: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the version of which this process has the environment."""
    version = opt / "versions" / FIRST.id()
    monkeypatch.setattr(sys, "prefix", str(version / "venv"))
    return version


def test_verify(disk: Disk, cloister: Cloister) -> None:
    done = cloister("bundle", "verify", disk.bundle("first"), "--key", disk.public_key)
    assert (done.code, done.err) == (0, "")
    assert done.out == disk.start("first.bundle", "--key", disk.public_key, program="verify.py").stdout
    told = cloister("bundle", "verify", disk.bundle("first"), "--key", disk.public_key, "--list", "--json").json
    assert (told["ok"], told["id"], told["files"]) == (True, FIRST.id(), FIRST.files())


def test_verify_finds_what_is_wrong(disk: Disk, cloister: Cloister, tmp_path: Path) -> None:
    cut = tmp_path / "cut.bundle"
    cut.write_bytes(disk.bundle("first").read_bytes()[:-1])
    done = cloister("bundle", "verify", cut, "--key", disk.public_key)
    assert done.code == 4
    assert done.out.startswith(f"{cut} CANNOT BE TRUSTED: the archive has ")
    told = cloister("bundle", "verify", cut, "--key", disk.public_key, "--json").json
    assert (told["ok"], told["exit_code"]) == (False, 4)
    for words in ([tmp_path / "none", "--key", disk.public_key], [cut, "--key", "a+b+c"], [cut, "--key", "none"]):
        assert cloister("bundle", "verify", *words).code == 2


def test_the_installation_knows_its_key(disk: Disk, inside: Path, cloister: Cloister) -> None:
    assert installed_version() == inside
    assert cloister("bundle", "verify", disk.bundle("other")).out.endswith("WHOLE\n")


def test_install_list_and_rollback(disk: Disk, opt: Path, inside: Path, cloister: Cloister) -> None:
    assert cloister("bundle", "rollback").code == 2
    done = cloister("bundle", "install", disk.bundle("other"), "--json")
    assert done.json == {
        "id": OTHER.id(), "version": "2.0", "before": FIRST.id(), "new": True, "prefix": str(opt),
    }  # fmt: skip
    assert runs(opt) == "cloister 2.0 another part"
    assert cloister("bundle", "list").out == f"{FIRST.id()}  previous\n{OTHER.id()}  current\n"
    assert cloister("bundle", "rollback", "--json").json["id"] == FIRST.id()
    assert runs(opt) == "cloister 1.0 part"
    told = cloister("bundle", "list", "--prefix", opt, "--json").json
    assert (told["current"], told["previous"]) == (FIRST.id(), OTHER.id())


def test_an_older_version_is_installed_only_if_it_is_asked_for(disk: Disk, opt: Path, cloister: Cloister) -> None:
    words = ["bundle", "install", disk.bundle("first"), "--prefix", opt]
    cloister("bundle", "install", disk.bundle("other"), "--prefix", opt)
    refused = cloister(*words)
    assert (refused.code, "an older version: 1.0\n    expected: 2.0, which is the current one" in refused.err) == (
        2,
        True,
    )
    alone = disk.start("first.bundle", "--prefix", opt)
    assert (alone.returncode, "an older version: 1.0" in alone.stdout) == (2, True)
    assert runs(opt) == "cloister 2.0 another part"
    assert cloister(*words, "--older", "--json").json["id"] == FIRST.id()
    assert runs(opt) == "cloister 1.0 part"


def test_what_is_refused(disk: Disk, tmp_path: Path, cloister: Cloister) -> None:
    root = tmp_path / "opt"
    assert cloister("bundle", "list", "--prefix", root).out == f"No version is installed in {root}\n"
    told = cloister("bundle", "install", disk.bundle("first"), "--prefix", root)
    assert (told.code, told.err.startswith("no key: ")) == (2, True)
    disk.write("old", Small(changed={"expires": "2001-01-01"}))
    told = cloister("bundle", "install", disk.bundle("old"), "--prefix", root, "--key", disk.public_key)
    assert (told.code, "EXPIRED on 2001-01-01" in told.out) == (4, True)
    disk.write("foreign", Small(changed={"platform": {"system": "linux", "machine": "sparc64", "glibc": None}}))
    told = cloister("bundle", "install", disk.bundle("foreign"), "--prefix", root, "--key", disk.public_key)
    assert (told.code, "expected: linux sparc64" in told.err) == (2, True)
    assert not root.exists()


@pytest.fixture
def brought(inside: Path, tiny_model: Path) -> Iterator[Path]:
    """The installed version, with a model and two documents for an example."""
    documents = inside / "jobs" / "documents" / EXAMPLE
    documents.mkdir(parents=True)
    for name in ("a.txt", "b.txt"):
        (documents / name).write_text(name)
    shutil.copy(tiny_model, inside / "models" / f"{MODEL}.gguf")
    yield inside
    shutil.rmtree(inside / "jobs")
    (inside / "models" / f"{MODEL}.gguf").unlink()


def test_an_example_brings_its_model_and_documents(
    brought: Path,
    tmp_path: Path,
    cloister: Cloister,
) -> None:
    root = tmp_path / "ws"
    done = cloister("init", root, "--example", EXAMPLE)
    assert done.code == 0, done.err
    assert f"from the installation, for {EXAMPLE}:" in done.out
    assert "model import" not in done.out
    assert sorted(path.name for path in (root / "inbox" / EXAMPLE).iterdir()) == ["a.txt", "b.txt"]
    model = root / "models" / f"{MODEL}.gguf"
    assert model.read_bytes() == (brought / "models" / model.name).read_bytes()
    said = [json.loads(line) for line in (root / "audit").glob("entries/*").__next__().read_bytes().splitlines()]
    assert [each["model"] for each in said if each["type"] == "model.admitted"] == [MODEL]

    (root / "inbox" / EXAMPLE / "a.txt").unlink()
    again = cloister("init", root, "--example", EXAMPLE, "--json").json
    assert again["brought"] == {}
    assert not (root / "inbox" / EXAMPLE / "a.txt").exists()


def test_without_an_installation_an_example_brings_nothing(tmp_path: Path, cloister: Cloister) -> None:
    assert installed_version() is None
    assert cloister("init", tmp_path / "ws", "--example", EXAMPLE, "--json").json["brought"] == {}
