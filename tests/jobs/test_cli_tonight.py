"""What a run would refuse this evening is found before by `check` and by `status --check`, with what mends it."""

import errno
import os
import shutil
import tempfile
from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import audit
from jobs.config.workspace import open_workspace
from jobs.trust.doctor import CHECKS
from jobs.trust.patient import Patient
from tests.jobs.conftest import LEASE, SORT, Cloister, Place

NOBODY = 65534
_GONE = ("No such file or directory", "bring it back from where it is kept")
_USAGE = namedtuple("_USAGE", "total used free")


def refused(place: Place, cloister: Cloister, code: int, *words: str) -> None:
    """All three commands say so; and a run takes nothing."""
    document = place.root / "inbox/sort/lease.txt"
    run, checked, status = cloister("run", "sort"), cloister("check", "sort"), cloister("status", "--check")
    assert (run.code, checked.code, status.code) == (code, 2, 7), (run.err, checked.out, status.out)
    for word in words:
        assert word in run.err, run.err
        assert word in checked.out, checked.out
        assert word in status.out, status.out
    assert document.exists()


@pytest.fixture
def waiting(ready: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A workspace with a document that waits, on a disk with room."""
    ready.drop("sort", "lease.txt", LEASE)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _USAGE(1 << 40, 1 << 39, 1 << 39))
    return ready


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_key_that_others_may_read(waiting: Place, cloister: Cloister, mode: int) -> None:
    key = waiting.root / "keys/log.key"
    key.chmod(mode)
    refused(waiting, cloister, 2, f"others may read it (mode {mode:04o})", f"chmod 600 {key}")
    told = cloister("run", "sort").err
    assert f"    remedy:   chmod 600 {key}" in told
    assert "sort: in order in itself; it does not run, as is said above\n" in cloister("check", "sort").out
    assert "Audit log" not in told
    assert "restore" not in told
    key.chmod(0o600)
    assert cloister("status", "--check").out == ""
    assert cloister("run", "sort").code == 0


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda keys: keys.chmod(0o777), ("others may replace the signing key in it", "chmod go-w ")),
        (lambda keys: keys.chmod(0o770), ("others may replace the signing key in it", "chmod go-w ")),
        (
            lambda keys: (keys / "log.key").unlink(),
            ("No such file or directory", "bring it back from where it is kept"),
        ),
        (lambda keys: shutil.rmtree(keys), _GONE),
        (lambda keys: (keys / "log.key").write_text("odd"), ("no signing key",)),
        (lambda keys: os.chown(keys / "log.key", NOBODY, -1), ("belongs to nobody", "chown root ")),
        (lambda keys: os.chown(keys, NOBODY, -1), ("the folder of the signing key belongs to nobody", "chown root ")),
    ],
)
def test_a_key_that_is_not_there_or_somebody_else_s(
    waiting: Place, cloister: Cloister, spoil: Callable[[Path], object], words: tuple[str, ...]
) -> None:
    if os.geteuid() != 0 and "chown root " in words:
        pytest.skip("only root may give a file away")
    spoil(waiting.root / "keys")
    refused(waiting, cloister, 2, *words)


def test_another_key(waiting: Place, cloister: Cloister) -> None:
    (waiting.root / "keys/log.key").unlink()
    audit.generate_key(waiting.root / "keys/log.key", "test.example/log")
    refused(waiting, cloister, 2, "signs as test.example/log+", "audit key show")


def test_a_key_whose_passphrase_nothing_gives(waiting: Place, cloister: Cloister, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("open sesame")
    secret.chmod(0o600)
    assert cloister("audit", "key", "rotate", "--passphrase-file", secret).code == 0
    assert cloister("check", "sort").code == 0
    secret.chmod(0o640)
    refused(waiting, cloister, 2, "others may read it (mode 0640)", f"chmod 600 {secret}")
    secret.chmod(0o600)
    secret.write_text("open barley")
    refused(waiting, cloister, 2, "the passphrase in ", "does not open it")
    secret.unlink()
    refused(waiting, cloister, 2, "the passphrase cannot be read")
    site = waiting.root / "site.yaml"
    site.write_text("\n".join(line for line in site.read_text().splitlines() if "passphrase_file" not in line))
    run, checked = cloister("run", "sort"), cloister("check", "sort")
    assert (run.code, checked.code, cloister("status", "--check").code) == (2, 2, 7)
    assert "protected by a passphrase" in run.err
    assert "has a passphrase, and nothing gives it" in checked.out


def test_a_key_of_what_is_encrypted(waiting: Place, cloister: Cloister) -> None:
    key = waiting.root / "keys/encryption.key"
    assert cloister("encryption", "new", key).code == 0
    with (waiting.root / "site.yaml").open("a") as site:
        site.write("encryption: {key_file: keys/encryption.key}\n")
    assert cloister("check", "sort").code == 0
    key.chmod(0o644)
    refused(waiting, cloister, 2, "others may read it (mode 0644)", f"chmod 600 {key}")
    key.unlink()
    refused(waiting, cloister, 2, "No such file or directory", "bring it back from where it is kept")


def test_another_model_than_the_pinned_one(waiting: Place, cloister: Cloister) -> None:
    waiting.job("sort", SORT.replace("name: tiny", f"name: tiny, sha256: {'0' * 64}"))
    run, checked, status = cloister("run", "sort"), cloister("check", "sort"), cloister("status", "--check")
    assert (run.code, checked.code, status.code) == (3, 3, 7)
    assert "but the job pins" in status.out


def test_quality_that_was_not_measured(waiting: Place, cloister: Cloister) -> None:
    (waiting.root / "truth.jsonl").write_text(
        '{"text": "a lease", "label": "lease"}\n{"text": "a bill", "label": "invoice"}\n'
    )
    waiting.job("sort", SORT + "quality: {{eval: truth.jsonl, floor: {{accuracy: 0.5}}}}\n")
    run, checked, status = cloister("run", "sort"), cloister("check", "sort"), cloister("status", "--check")
    assert (run.code, checked.code, status.code) == (3, 3, 7)
    assert "quality is demanded" in status.out


def test_a_lock_that_is_gone(waiting: Place, cloister: Cloister) -> None:
    lock = waiting.root / "audit/lock"
    lock.unlink()
    refused(waiting, cloister, 4, "missing", "touch ")
    lock.touch(0o600)
    assert cloister("run", "sort").code == 0


def test_private_jobs_whose_openings_others_may_read(waiting: Place, cloister: Cloister) -> None:
    waiting.job("sort", SORT + "private: true\n")
    (waiting.root / "private").chmod(0o750)
    refused(waiting, cloister, 2, "others may read it, too", "chmod 700 ")


def test_a_disk_without_room_for_what_waits(
    waiting: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _USAGE(1 << 30, (1 << 30) - (33 << 20), 33 << 20))
    waiting.drop("sort", "long.txt", LEASE * 40_000)
    refused(waiting, cloister, 2, os.strerror(errno.ENOSPC), "a part needs ")


def test_recognition_that_a_job_asks_for(waiting: Place, cloister: Cloister) -> None:
    waiting.job("sort", SORT.replace("ocr: off", "ocr: {{languages: [eng, xzq]}}"))
    checked, status = cloister("check", "sort"), cloister("status", "--check")
    assert (checked.code, status.code) == (2, 7)
    assert "asks for" in checked.out
    assert "asks for" in status.out


def test_a_clock_that_is_behind_the_log(waiting: Place, cloister: Cloister) -> None:
    assert cloister("run", "sort").code == 0
    early = replace(audit.stamp_now(), time="2026-01-01T00:00:00.000000Z")
    (found,) = CHECKS["clock"].examine(Patient(waiting.root, open_workspace(None), stamp=lambda: early))
    assert found.stops
    assert "before the last entry of the log" in found.evidence


@pytest.fixture
def owned(cloister: Cloister, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A workspace of another user than root, as whom the commands are given."""
    if os.geteuid() != 0:
        pytest.skip("only root can work as another user")
    folder = Path(tempfile.mkdtemp(prefix="cloister-owned-"))
    folder.chmod(0o755)
    place = Place(folder / "ws")
    assert cloister("init", place.root).code == 0
    shutil.copy(tiny_model, place.root / "models" / "tiny.gguf")
    place.job("sort")
    place.drop("sort", "lease.txt", LEASE)
    for path in (place.root, *place.root.rglob("*")):
        os.chown(path, NOBODY, -1)
    monkeypatch.chdir(place.root)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _USAGE(1 << 40, 1 << 39, 1 << 39))
    os.seteuid(NOBODY)
    yield place
    os.seteuid(0)
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("path", "mode", "command"),
    [
        ("audit", 0o500, "chmod u+rwx {}"),
        ("audit/entries", 0o500, "chmod u+rwx {}"),
        ("audit/lock", 0o400, "chmod u+rw {}"),
        ("keys/log.key", 0o000, "chmod u+rw {}"),
        ("keys", 0o000, "chmod u+rwx {}"),
    ],
)
def test_a_right_of_the_owner_that_is_gone(
    owned: Place, cloister: Cloister, path: str, mode: int, command: str
) -> None:
    place = owned.root / path
    place.chmod(mode)
    checked, status = cloister("check", "sort"), cloister("status", "--check")
    place.chmod(0o700)
    assert (checked.code, status.code) == (2, 7), (checked.out, checked.err, status.out, status.err)
    assert command.format(place) in checked.out or f"chmod u+rwx {path}" in checked.out, checked.out
    assert "chmod u+rw" in status.out
