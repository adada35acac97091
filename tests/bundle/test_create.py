"""`cloister bundle create`: what is in a bundle, that it always has the same bytes, and what is refused."""

import json
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import audit
from jobs.bundle.publish import PROGRAMS
from jobs.bundle.reader import read_bundle
from tests.bundle.cyclonedx import mistakes
from tests.bundle.tiny import WHEELS, TinyWheel, digest, write_key, write_source, write_wheels
from tests.jobs.conftest import Cloister, Done


@dataclass(frozen=True)
class Ground:
    """What a bundle is made of."""

    root: Path
    wheels: Path
    source: Path
    key: Path
    public: str

    def arguments(self, out: Path, *more: str | Path) -> list[str | Path]:
        """The command."""
        given = ["--source", self.source, "--wheels", self.wheels, "--key", self.key, "-o", out]
        return ["bundle", "create", *given, *more]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    root = tmp_path_factory.mktemp("ground")
    wheels = write_wheels(root / "wheels")
    key, public = write_key(root / "keys")
    return Ground(root, wheels, write_source(root / "source", wheels), key, public)


@pytest.fixture
def own_ground(tmp_path: Path) -> Ground:
    """One that a test may change."""
    wheels = write_wheels(tmp_path / "wheels")
    key, public = write_key(tmp_path / "keys")
    return Ground(tmp_path, wheels, write_source(tmp_path / "source", wheels), key, public)


def run(*arguments: str | Path, before: str = "", **environment: str) -> Done:
    """The command in a process of its own, after some lines of Python."""
    program = f"import sys; {before or 'pass'}; from jobs.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def made(ground: Ground) -> tuple[Path, Any]:
    """A bundle for two Pythons, unpacked, and what the command told."""
    out = ground.root / "made"
    done = run(*ground.arguments(out, "--python", "3.12", "--python", "3.11", "--json"))
    assert done.code == 0, done.err
    with tarfile.open(done.json["archive"]) as archive:
        archive.extractall(ground.root / "unpacked", filter="data")
    return ground.root / "unpacked", done.json


def test_wheels_are_those_that_each_python_needs(made: tuple[Path, Any]) -> None:
    told = {(wheel["path"], tuple(wheel["pythons"]), wheel["glibc"]) for wheel in made[1]["wheels"]}
    assert told == {
        ("wheels/any/cloister-1.0-py3-none-any.whl", ("3.11", "3.12"), None),
        ("wheels/any/gamma-1.0-py3-none-any.whl", ("3.11", "3.12"), None),
        ("wheels/any/delta-1.0-cp310-abi3-manylinux_2_31_x86_64.whl", ("3.11", "3.12"), "2.31"),
        ("wheels/cp311/alpha-1.0-py3-none-any.whl", ("3.11",), None),
        ("wheels/cp312/alpha-2.0-py3-none-any.whl", ("3.12",), None),
        ("wheels/cp311/beta-1.0-cp311-cp311-manylinux_2_17_x86_64.whl", ("3.11",), "2.17"),
        ("wheels/cp312/beta-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", ("3.12",), "2.28"),
    }
    assert made[1]["glibc"] == "2.31"


def test_locks_pin_each_wheel(made: tuple[Path, Any], ground: Ground) -> None:
    lines = (made[0] / "locks/requirements-cp311.txt").read_text().splitlines()
    pins = dict(line.split(" --hash=sha256:") for line in lines)
    assert sorted(pins) == ["alpha==1.0", "beta==1.0", "cloister==1.0", "delta==1.0", "gamma==1.0"]
    there = {digest(path): path for path in made[0].glob("wheels/*/*.whl")}
    assert all(sha256 in there for sha256 in pins.values())
    assert pins["beta==1.0"] == digest(ground.wheels / WHEELS[2].file)


def test_verify_py_finds_it_whole(made: tuple[Path, Any], ground: Ground) -> None:
    archive = Path(made[1]["archive"])
    done = subprocess.run(
        [sys.executable, "-I", archive.with_name("verify.py"), archive, "--key", ground.public],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "WHOLE"), done.stdout
    assert made[1]["programs"]["verify.py"] == digest(archive.with_name("verify.py"))
    assert made[1]["sha256"] == digest(archive)


def test_pages_read_without_a_network(made: tuple[Path, Any]) -> None:
    start = (made[0] / "pages/README.html").read_text()
    assert '<h1 id="the-product">The <em>product</em></h1>' in start
    assert '<a href="jobs/README.html#how-it-ends">the jobs</a>' in start
    assert "<a>the code</a>" in start
    assert '<a href="https://example.org/">elsewhere</a>' in start
    assert 'src="data:image/png;base64,iVBORw0KGgo=' in start
    assert "&lt;script&gt;" in start
    assert "<td>1</td>" in start
    jobs = (made[0] / "pages/jobs/README.html").read_text()
    assert '<a href="../README.html">the start</a>' in jobs
    assert 'id="how-it-ends"' in jobs
    assert 'id="how-it-ends-1"' in jobs
    assert '<a href="../index.html">All pages</a>' in jobs
    assert '<a href="jobs/README.html">Jobs (jobs/README.md)</a>' in (made[0] / "pages/index.html").read_text()


def test_examples_have_documents(made: tuple[Path, Any]) -> None:
    assert (made[0] / "jobs/letters.yaml").read_text() == "job: letters\n"
    assert (made[0] / "jobs/documents/letters/Ein-Brief-suss.txt").read_text() == "Lieber Otto"


def test_licences_of_all_parts(made: tuple[Path, Any]) -> None:
    page = (made[0] / "licences/index.html").read_text()
    for name, licence in (("alpha", "BSD License"), ("delta", "Apache-2.0 OR GPL-2.0-only"), ("gamma", "ISC")):
        assert f"<tr><td>{name}</td>" in page
        assert f"<td>{licence}</td>" in page
    assert '<a href="pip-9.0/LICENSE">' in page
    assert (made[0] / "licences/cloister-1.0/LICENSE").read_text() == "The licence of the product"


def test_parts_list_is_cyclonedx(made: tuple[Path, Any]) -> None:
    document = json.loads((made[0] / "sbom/cyclonedx.json").read_text())
    assert mistakes(document) == []
    needs = {one["ref"]: one.get("dependsOn", []) for one in document["dependencies"]}
    beta = f"pkg:pypi/beta@1.0?file_name={WHEELS[2].file}"
    assert beta in needs["pkg:generic/cloister@1.0"]
    assert needs[beta] == [f"pkg:pypi/delta@1.0?file_name={WHEELS[6].file}"]
    assert {one["name"] for one in document["components"]} == {"alpha", "beta", "delta", "gamma", "pip"}


def test_same_inputs_same_bytes(made: tuple[Path, Any], ground: Ground, tmp_path: Path) -> None:
    """Wheels brought by pip, in another order, from elsewhere; another folder, mask, time zone and time."""
    wheels = write_wheels(tmp_path / "others", backwards=True)
    source = write_source(tmp_path / "checkout", wheels)
    os.utime(source / "README.md", (1, 1))
    (source / "jobs/work.py").chmod(0o600)
    arguments = ["bundle", "create", "--source", "checkout", "--key", ground.key, "-o", "out"]
    registry = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull}
    more, place = ["--python", "3.11", "--python", "3.12"], f"import os; os.umask(0o077); os.chdir({str(tmp_path)!r})"
    done = run(*arguments, *more, before=place, TZ="Asia/Tokyo", PYTHONHASHSEED="7", **registry)
    assert done.code == 0, done.err
    again = tmp_path / "out" / Path(made[1]["archive"]).name
    assert again.read_bytes() == Path(made[1]["archive"]).read_bytes()
    assert {name: digest(again.with_name(name)) for name in PROGRAMS} == made[1]["programs"]
    assert "glibc 2.31 or newer and Python 3.11 or 3.12" in done.out
    assert ["beta", "1.0", "2.17", "3.11"] in [line.split() for line in done.out.splitlines()]


def test_an_archive_is_never_overwritten(made: tuple[Path, Any], ground: Ground, cloister: Cloister) -> None:
    archive = Path(made[1]["archive"])
    before = archive.stat()
    done = cloister(*ground.arguments(archive.parent, "--python", "3.11", "--python", "3.12"))
    assert done.code == 2
    assert "is there already; a bundle is never overwritten" in done.err
    assert archive.stat() == before


def test_missing_wheels_are_all_named(ground: Ground, cloister: Cloister, tmp_path: Path) -> None:
    done = cloister(*ground.arguments(tmp_path / "out", "--python", "3.13"))
    assert done.code == 2
    assert "no wheel of beta 1.0 for Python 3.13" in done.err
    assert "is for another Python or platform" in done.err
    assert list((tmp_path / "out").iterdir()) == []


def test_pip_names_a_missing_wheel(ground: Ground, tmp_path: Path) -> None:
    registry = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(ground.wheels), "PIP_CONFIG_FILE": os.devnull}
    arguments = ["bundle", "create", "--source", ground.source, "--key", ground.key, "-o", tmp_path / "out"]
    done = run(*arguments, "--python", "3.13", **registry)
    assert done.code == 2
    assert "there is no wheel of beta==1.0 for Python 3.13 on x86-64 Linux" in done.err


def test_without_a_network_it_says_so(ground: Ground, tmp_path: Path) -> None:
    registry = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1", "PIP_CONFIG_FILE": os.devnull}
    registry |= {"PIP_EXTRA_INDEX_URL": "", "PIP_FIND_LINKS": ""}
    done = run("bundle", "create", "--source", ground.source, "--key", ground.key, "-o", tmp_path / "out", **registry)
    assert done.code == 2
    assert "the package registry cannot be reached" in done.err
    assert "--wheels FOLDER needs no network" in done.err


def test_a_wheel_that_was_changed_is_refused(own_ground: Ground, cloister: Cloister) -> None:
    file = own_ground.wheels / WHEELS[7].file
    file.write_bytes(file.read_bytes() + b"\0")
    done = cloister(*own_ground.arguments(own_ground.root / "out", "--python", "3.11"))
    assert done.code == 2
    assert "gamma-1.0-py3-none-any.whl has not the sha256 of the lock" in done.err


def test_licences_that_are_not_known_are_refused_by_name(tmp_path: Path, cloister: Cloister) -> None:
    strict = [replace(WHEELS[7], licence="License-Expression: AGPL-3.0-only"), TinyWheel("delta", licence="")]
    names = {wheel.name for wheel in strict}
    wheels = write_wheels(tmp_path / "wheels", [*(wheel for wheel in WHEELS if wheel.name not in names), *strict])
    source = write_source(tmp_path / "source", wheels)
    key, public = write_key(tmp_path / "keys")
    ground = Ground(tmp_path, wheels, source, key, public)
    done = cloister(*ground.arguments(tmp_path / "out", "--python", "3.11"))
    assert done.code == 2
    assert "not known to be permissive: delta 1.0 (it states none), gamma 1.0 (AGPL-3.0-only)" in done.err


def test_a_lock_without_what_is_needed_is_refused(own_ground: Ground, cloister: Cloister) -> None:
    lock = own_ground.source / "requirements.lock"
    lines = lock.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.startswith("delta"))
    lock.write_text("".join(lines[:at] + lines[at + 2 :]))
    done = cloister(*own_ground.arguments(own_ground.root / "out", "--python", "3.11"))
    assert "requirements.lock: has no delta, which is needed with Python 3.11" in done.err
    lock.write_text("delta>=1\n")
    done = cloister(*own_ground.arguments(own_ground.root / "out", "--python", "3.11"))
    assert "requirements.lock:1: 'delta>=1' is no pinned requirement" in done.err


def test_a_source_that_is_not_whole_or_not_committed_is_refused(own_ground: Ground, cloister: Cloister) -> None:
    def told() -> Done:
        return cloister(*own_ground.arguments(own_ground.root / "out", "--python", "3.11"))

    def git(*arguments: str) -> None:
        name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *name, *arguments], cwd=own_ground.source, check=True, capture_output=True)

    git("init")
    git("add", ".")
    git("commit", "-m", "all")
    (own_ground.source / "jobs/new.py").write_text("")
    (own_ground.source / "jobs/work.py").write_text("changed = True\n")
    assert "has changes that are not committed: jobs/work.py, jobs/new.py" in told().err
    git("stash", "--include-untracked")
    git("update-index", "--assume-unchanged", "jobs/work.py")
    (own_ground.source / "jobs/work.py").write_text("changed = True\n")
    assert "has changes that are not committed: jobs/work.py" in told().err
    git("rm", "-f", "pip.lock", "jobs/work.py")
    done = told()
    assert done.code == 2
    assert "is no whole source of cloister: it has no pip.lock" in done.err


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--python", "3.9"], "--python: '3.9'"),
        (["--extra", "ocr"], "--extra: 'ocr'\n    expected: an extra that a bundle can carry: cluster"),
        (["--expires", "2001-01-01"], "--expires: 2001-01-01 is past"),
        (["--expires", "soon"], "--expires: 'soon' is no day"),
        (["--model", "nothing.gguf"], "--model: there is no file nothing.gguf"),
        (["--wheels", "nowhere"], "nowhere: cannot be read"),
        (["--source", "nowhere"], "nowhere: is no folder"),
        (["--key", "nokey"], "nokey: the signing key cannot be read"),
    ],
)
def test_what_cannot_be_obeyed_is_told(
    more: list[str], expected: str, ground: Ground, cloister: Cloister, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cloister(*ground.arguments(tmp_path / "out", *more))
    assert done.code == 2
    assert expected in done.err


def test_a_key_with_a_passphrase(own_ground: Ground, cloister: Cloister) -> None:
    secret, key = own_ground.key.with_name("secret"), own_ground.key.with_name("sealed")
    secret.write_text("correct horse")
    secret.chmod(0o600)
    audit.generate_key(key, "example.org/sealed", secret)
    arguments = own_ground.arguments(own_ground.root / "out", "--python", "3.11", "--key", key)
    assert "is protected by a passphrase" in cloister(*arguments).err
    done = cloister(*arguments, "--passphrase-file", secret, "--expires", "2999-12-31", "--json")
    assert done.json["public_key"] == audit.public_key_of(key)
    assert (
        read_bundle(Path(done.json["archive"]), audit.public_key_of(key), "2999-12-31").told["expires"] == "2999-12-31"
    )


def test_a_disk_that_takes_no_more(ground: Ground, tmp_path: Path) -> None:
    """The archive would be longer than files may be: nothing of it stays."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000000, 2000000)); import signal; "
    limit += "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)"
    big = TinyWheel("pip", "9.0", content="#" * 3_000_000)
    wheels = write_wheels(tmp_path / "wheels", [*(wheel for wheel in WHEELS if wheel.name != "pip"), big])
    source = write_source(tmp_path / "source", wheels)
    own = replace(ground, wheels=wheels, source=source)
    done = run(*own.arguments(tmp_path / "out", "--python", "3.11"), before=limit)
    assert done.code == 2
    assert "File too large" in done.err
    assert [path.name for path in (tmp_path / "out").iterdir() if path.suffix != ".py"] == []
