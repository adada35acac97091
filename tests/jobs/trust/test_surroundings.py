"""Text recognition, the clock, systemd units: what is around Cloister on a machine."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import audit
from jobs.config.load import load_site
from jobs.trust import machine as checks
from jobs.trust.machine import ocr
from jobs.trust.patient import Patient
from jobs.trust.system import clock, is_synchronized, service
from tests.jobs.conftest import SORT, WITH_PICTURES, Place
from tests.jobs.trust.found import patient_of, told, tree

UNITS = Path(__file__).parents[3] / "configs" / "systemd"


@pytest.fixture
def tesseract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts a program on the path that answers as a Tesseract with some languages, or takes all programs away."""

    def install(*languages: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        if languages:
            for name in languages:
                (folder / f"{name}.traineddata").write_text(name)
            listed = "\\n".join((f'List of available languages in "{folder}/" ({len(languages)}):', *languages))
            script = f"#!/bin/sh\ncase $1 in --version) echo tesseract 5.9.1;; *) printf '%b\\n' '{listed}';; esac\n"
            (folder / "tesseract").write_text(script)
            (folder / "tesseract").chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))

    return install


def asking(place: Place, ocr: str) -> Patient:
    place.job("sort", SORT.replace("ocr: off", f"ocr: {ocr}"))
    return patient_of(place)


def test_scans_are_read(tesseract: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    tesseract("deu", "eng")
    assert told(ocr, Patient()) == [("ok", "Tesseract 5.9.1 with deu, eng reads scans.")]
    monkeypatch.setattr(checks, "find_spec", lambda name: None)
    ((level, sentence),) = told(ocr, Patient())
    assert (level, "reads scanned PDF files only, since Pillow is not installed" in sentence) == ("warning", True)


def test_a_language_that_a_job_asks_for_is_missing(ready: Place, tesseract: Callable[..., None]) -> None:
    tesseract("eng")
    assert told(ocr, asking(ready, "{{languages: [fra, eng]}}")) == [
        ("ok", "Tesseract 5.9.1 with eng reads scans."),
        ("problem", "The job sort asks for fra, which Tesseract has not: its scans fail."),
    ]


def test_without_tesseract(ready: Place, tesseract: Callable[..., None]) -> None:
    tesseract()
    assert told(ocr, Patient())[0][0] == "warning"
    ready.job("sort", WITH_PICTURES)
    ((level, sentence),) = told(ocr, patient_of(ready))
    assert (level, sentence.startswith("Tesseract is not installed: scans")) == ("warning", True)
    ((level, sentence),) = told(ocr, asking(ready, "{{languages: [fra]}}"))
    assert (level, "but sort asks for languages of it" in sentence) == ("problem", True)
    assert told(ocr, asking(ready, "off")) == [("ok", "Tesseract is not installed, and no job reads scans.")]


def shifted(**by: float) -> Callable[[], audit.Stamp]:
    """The present stamp, with another time of day: the clock was set, and the machine has not been started anew."""

    def stamp() -> audit.Stamp:
        moment = datetime.now(UTC) + timedelta(**by)
        return replace(audit.stamp_now(), time=moment.isoformat(timespec="microseconds").replace("+00:00", "Z"))

    return stamp


def kept(tmp_path: Path) -> Path:
    """A root whose clock is kept right by systemd-timesyncd."""
    return tree(tmp_path, run_systemd_timesync_synchronized="")


def test_who_keeps_the_clock_right(tmp_path: Path) -> None:
    root = kept(tmp_path)
    ((level, sentence),) = told(clock, Patient(root=root))
    assert (level, sentence.endswith("; kept right by a time server.")) == ("ok", True)
    (root / "run/systemd/timesync/synchronized").unlink()
    ((level, sentence),) = told(clock, Patient(root=root))
    assert (level, "nothing keeps the clock right" in sentence) == ("warning", True)
    shutil.rmtree(root / "run")
    ((level, sentence),) = told(clock, Patient(root=root))
    assert (level, "the kernel does not say" in sentence) == ("ok", True)


def test_the_kernel_says_whether_the_clock_is_kept_right() -> None:
    ((level, _),) = told(clock, Patient())
    assert (level == "warning") == (is_synchronized(Path("/")) is False)


@pytest.mark.parametrize("year", [1970, 2025, 2100])
def test_a_year_that_cannot_be(year: int, tmp_path: Path) -> None:
    stamp = replace(audit.stamp_now(), time=f"{year}-01-01T00:00:07.000000Z")
    ((level, sentence),) = told(clock, Patient(root=kept(tmp_path), stamp=lambda: stamp))
    assert (level, sentence) == ("problem", f"It is {year}-01-01T00:00:07Z, which cannot be.")


@pytest.fixture
def logged(place: Place) -> Place:
    """A workspace whose log has an entry of now."""
    said = load_site(place.root / "site.yaml").log
    with audit.Log.open(place.root / "audit", key_path=place.root / said.key, public_key=said.public_key) as log:
        log.commit([{"type": "test", "run": ""}])
    return place


def test_a_clock_that_is_behind_the_log(logged: Place, tmp_path: Path) -> None:
    patient = replace(patient_of(logged), root=kept(tmp_path / "root"), stamp=shifted(days=-2))
    ((level, sentence),) = told(clock, patient)
    assert (level, ", 2 days, 0:00:0" in sentence or "1 day, 23:59:5" in sentence) == ("problem", True)
    assert "before the last entry of the log" in sentence


def test_a_clock_that_was_set_since_the_last_entry(logged: Place, tmp_path: Path) -> None:
    patient = replace(patient_of(logged), root=kept(tmp_path / "root"))
    assert told(clock, patient)[0][0] == "ok"
    ((level, sentence),) = told(clock, replace(patient, stamp=shifted(hours=1)))
    assert (level, "the clock was set by +3600 s since the last entry" in sentence) == ("warning", True)


def test_a_log_that_cannot_be_read_is_no_matter_of_the_clock(logged: Place, tmp_path: Path) -> None:
    (logged.root / "audit" / "checkpoint").write_text("nothing")
    assert told(clock, replace(patient_of(logged), root=kept(tmp_path / "root")))[0][0] == "ok"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine with our unit for a service, which is enabled, and what it starts."""
    folder = tmp_path / "machine/etc/systemd/system"
    (folder / "multi-user.target.wants").mkdir(parents=True)
    shutil.copy(UNITS / "cloister-serve@.service", folder)
    (folder / "multi-user.target.wants/cloister-serve@srv-cloister.service").touch()
    tree(tmp_path / "machine", etc_passwd="cloister:x:990:990::/:/bin/false\n")
    program = tmp_path / "machine/opt/cloister/bin/cloister"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    return tmp_path / "machine"


def test_a_unit_that_is_as_ours_is(machine: Path) -> None:
    sentence = "The unit cloister-serve@.service starts what is there, as a user who is there."
    assert told(service, Patient(root=machine)) == [("ok", sentence)]


def test_no_unit(tmp_path: Path) -> None:
    ((level, sentence),) = told(service, Patient(root=tmp_path))
    assert (level, sentence.startswith("No systemd unit of Cloister is installed")) == ("ok", True)


def test_a_unit_that_starts_nothing_and_holds_less(machine: Path) -> None:
    unit = machine / "etc/systemd/system/cloister-serve@.service"
    lines = unit.read_text().splitlines()
    unit.write_text("\n".join(line for line in lines if not line.startswith(("PrivateNetwork", "LimitCORE"))))
    shutil.rmtree(machine / "opt")
    (machine / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    shutil.rmtree(machine / "etc/systemd/system/multi-user.target.wants")
    assert told(service, Patient(root=machine)) == [
        ("problem", "cloister-serve@.service starts /opt/cloister/bin/cloister, which is not there."),
        ("problem", "cloister-serve@.service runs as the user cloister, who does not exist."),
        ("warning", "cloister-serve@.service lacks LimitCORE, PrivateNetwork, which ours has."),
        ("warning", "Units of Cloister are installed, but nothing starts them when the machine starts."),
    ]


def test_a_drop_in_counts(machine: Path) -> None:
    unit = machine / "etc/systemd/system/cloister-serve@.service"
    unit.write_text(unit.read_text().replace("PrivateNetwork=yes", ""))
    tree(machine / "etc/systemd/system/cloister-serve@.service.d", **{"net.conf": "[Service]\nPrivateNetwork=yes\n"})
    assert [level for level, _ in told(service, Patient(root=machine))] == ["ok"]
