"""Versions, packages, kernels that are compiled, protections, time zones: each made wrong, and told."""

import base64
import hashlib
import subprocess
import sys
import zoneinfo
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import audit
from jobs.trust import system
from jobs.trust.machine import kernels, sandbox
from jobs.trust.patient import Patient
from jobs.trust.system import find_lock, packages, read_pins, software, timezones
from tests.faults.hindered import UNHINDERED
from tests.jobs.conftest import Place
from tests.jobs.trust.found import patient_of, told, tree

ROOT = Path(__file__).parents[3]


def install(folder: Path, name: str, version: str = "1.0", tag: str = "py3-none-any") -> Path:
    """A package of one module in a folder, as pip leaves it; its module."""
    info, module = folder / f"{name}-{version}.dist-info", folder / f"{name}.py"
    info.mkdir(parents=True)
    module.write_text("answer = 42\n")
    digest = base64.urlsafe_b64encode(hashlib.sha256(module.read_bytes()).digest()).rstrip(b"=").decode()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
    (info / "RECORD").write_text(f"{name}.py,sha256={digest},{module.stat().st_size}\n{info.name}/RECORD,,\n")
    return module


def test_versions_that_fit() -> None:
    (level, sentence), *_ = told(software, Patient())
    assert "glibc" in sentence
    assert level in ("ok", "warning")


def test_a_package_for_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "fromafar", tag="cp311-cp311-manylinux_2_99_x86_64")
    monkeypatch.syspath_prepend(tmp_path)
    ((level, sentence),) = told(software, Patient())
    assert (level, sentence.endswith("but the package fromafar was made for 2.99 or later.")) == ("problem", True)


def test_a_python_that_is_too_new_and_another_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_NEWEST", (3, 10))
    ((level, sentence),) = told(software, Patient())
    assert (level, "newer than those that were tested" in sentence) == ("warning", True)

    def unknown(name: str) -> str:
        raise ValueError(name)  # as on musl

    monkeypatch.setattr("os.confstr", unknown)
    assert told(software, Patient())[0] == ("problem", "The C library is not glibc, for which the packages are made.")


HASH = f"--hash=sha256:{'0' * 64}"


@pytest.fixture
def pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the packages `one` and `two`, which are pinned, and the lock."""
    lock = tmp_path / "requirements.lock"
    lock.write_text(f"one==1.0 \\\n    {HASH}\n    # via cloister\ntwo==1.0 ; sys_platform == 'linux' {HASH}\n")
    for name in ("one", "two"):
        install(tmp_path / "site", name)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setattr("jobs.trust.system._CHECKOUT", tmp_path)
    return tmp_path


def test_packages_that_are_those_that_are_pinned(pinned: Path) -> None:
    sentence = "2 packages are those that are pinned, and each of their files is as it was installed."
    assert told(packages, Patient()) == [("ok", sentence)]


def test_a_package_that_is_missing_or_another_one(pinned: Path) -> None:
    with (pinned / "requirements.lock").open("a") as lock:
        lock.write(f"three==3.0 {HASH}\nfour==4.0 ; sys_platform == 'win32' {HASH}\npillow-of-ours==1 {HASH}\n")
    (pinned / "requirements.lock").write_text((pinned / "requirements.lock").read_text().replace("two==1.0", "two==2"))
    assert told(packages, Patient()) == [
        ("problem", "Not installed: pillow-of-ours 1, three 3.0."),
        ("warning", "Other versions than were tested: two is 1.0, pinned 2."),
    ]


def test_a_package_whose_files_are_not_those_that_were_installed(pinned: Path) -> None:
    (pinned / "site" / "one.py").write_text("answer = 43\n")
    (pinned / "site" / "two.py").unlink()
    assert told(packages, Patient()) == [("problem", "Not as they were installed: one.py, two.py is gone.")]


def test_without_the_list_of_what_was_tested(pinned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pinned / "requirements.lock").unlink()
    monkeypatch.setattr(sys, "prefix", str(pinned / "venv"))
    ((level, sentence),) = told(packages, Patient())
    assert (level, "cannot be held against what was tested" in sentence) == ("warning", True)


def test_the_lock_of_a_bundle(pinned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pinned / "requirements.lock").unlink()
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tree(pinned / "locks", **{f"requirements-{python}.txt": f"one==1.0 {HASH}\ntwo==3 {HASH}\n"})
    monkeypatch.setattr(sys, "prefix", str(pinned / "venv"))
    assert told(packages, Patient()) == [("warning", "Other versions than were tested: two is 1.0, pinned 3.")]


def test_the_lock_of_this_version_is_understood() -> None:
    lock = find_lock()
    assert lock is not None
    text = lock.read_text()
    pins = read_pins(lock)
    assert pins["numba"]
    assert "colorama" not in pins
    lines = [line for line in text.splitlines() if "==" in line and not line.startswith(" ")]
    assert 0 < len(lines) - len(pins) < 10, "of packages with conditions one is for this environment"


def test_kernels_that_are_compiled_or_not(ready: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patient = patient_of(ready)
    patient.__dict__["machine"] = replace(patient.machine, kernels=tmp_path / "cache" / "kernels")
    (tmp_path / "cache" / "kernels").mkdir(parents=True)
    monkeypatch.setattr("engine.compiling.FOLDER", tmp_path / "cache" / "kernels")
    ((level, sentence),) = told(kernels, patient)
    assert (level, sentence.startswith("The first run compiles kernels for sort, which takes")) == ("ok", True)
    (tmp_path / "cache" / "kernels" / "bert.encode-1.py311.1.nbc").touch()
    ((level, sentence),) = told(kernels, patient)
    assert (level, sentence.startswith("The kernels of all jobs are compiled")) == ("ok", True)
    (tmp_path / "cache").chmod(0o777)
    ((level, sentence),) = told(kernels, patient)
    assert (level, "what lies there is executed" in sentence) == ("problem", True)


def test_kernels_without_a_job() -> None:
    ((level, sentence),) = told(kernels, Patient())
    assert (level, sentence.startswith("The first run of a model compiles its kernels")) == ("ok", True)


def python(code: str, *arguments: str, **environment: str) -> list[str]:
    """The lines that a fresh process prints, with the repository on its path."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(environment) or None)
    if done.returncode == UNHINDERED:
        pytest.skip("no seccomp on this machine")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


KERNELS = """
from jobs.trust.machine import kernels
from jobs.trust.patient import Patient
for each in kernels(Patient()):
    print(each.state, each.evidence, each.remedy)
"""
HINDERED = """
import os
from pathlib import Path
from jobs.trust.machine import sandbox
from jobs.trust.patient import Patient, find_patient
from tests.faults.hindered import UNHINDERED, hinder

def tell(protections, patients):
    if not hinder(protections.split(",")):
        os._exit(UNHINDERED)
    for patient in patients:
        for each in sandbox(patient):
            print(each.state, each.evidence, each.remedy, flush=True)
    os._exit(0)

best_effort = find_patient(Path(sys.argv[1]))
for protections in ("namespaces", "landlock,namespaces", "seccomp"):
    child = os.fork()  # each has its own filter, and what was loaded is loaded once
    if not child:
        tell(protections, (Patient(), best_effort))
    if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        sys.exit(code)
"""


def test_kernels_that_cannot_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (said,) = python(KERNELS, CLOISTER_CACHE=str(tmp_path / "file" / "cache"))
    assert said.startswith("warning Compiled kernels cannot be kept")
    assert "set CLOISTER_CACHE" in said


def test_what_holds_parsers_here() -> None:
    ((_, sentence),) = told(sandbox, Patient())
    assert "protections" in sentence


def test_protections_that_cannot_be_put_in_force(place: Place) -> None:
    site = place.root / "site.yaml"
    site.write_text(site.read_text().replace("isolation: required", "isolation: best_effort"))
    second_line, same, tesseract, again, required, best_effort = python(HINDERED, str(place.root))
    assert second_line.startswith("warning 10 of 11 protections")
    assert "this would be a second line" in second_line
    assert tesseract.startswith("warning 9 of 11 protections")
    assert "Parsers are held, but Tesseract is not started." in tesseract
    assert (same, again) == (second_line, tesseract), "site.yaml has no say in these"
    assert required.startswith("problem 10 of 11 protections of the parsers are in force: system_call_filter needs")
    assert "No document is read." in required
    assert "isolation: best_effort" in required
    assert best_effort.startswith("warning ")
    assert "Documents are read all the same" in best_effort


def at(year: int) -> audit.Stamp:
    return replace(audit.stamp_now(), time=f"{year}-11-27T09:00:00.000000Z")


def test_time_zones_of_the_system(tmp_path: Path) -> None:
    tree(tmp_path, usr_share_zoneinfo_Europe_Berlin="TZif")
    (tmp_path / "usr/share/zoneinfo/tzdata.zi").write_text("# version 2024a\nR d 1916 o - Jun 14 23s 1 S\n")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/localtime").symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    ((level, sentence),) = told(timezones, Patient(root=tmp_path, stamp=lambda: at(2026)))
    assert (level, sentence) == ("ok", "Time zone data 2024a; this machine's zone is Europe/Berlin.")
    ((level, sentence),) = told(timezones, Patient(root=tmp_path, stamp=lambda: at(2027)))
    assert (level, sentence.endswith("The data is old.")) == ("warning", True)


def test_time_zones_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", ":America/Lima")
    ((_, sentence),) = told(timezones, Patient(root=tmp_path, stamp=lambda: at(2026)))
    assert "this machine's zone is America/Lima" in sentence


@pytest.fixture
def no_zones(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Neither the system nor a package has time zone data."""
    before = zoneinfo.TZPATH
    for name in ("tzdata", "tzdata.zoneinfo", "tzdata.zoneinfo.Europe"):
        monkeypatch.setitem(sys.modules, name, None)
    zoneinfo.reset_tzpath(to=[])
    yield
    zoneinfo.reset_tzpath(to=before)


def test_without_time_zone_data(no_zones: None) -> None:
    ((level, sentence),) = told(timezones, Patient())
    assert (level, sentence) == ("problem", "There is no time zone data: no schedule can be kept.")
