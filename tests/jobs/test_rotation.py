"""The key of a workspace is replaced: in the log and in site.yaml, or in neither, whatever is killed when."""

import errno
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from jobs.cli.audit_key import rotate_key
from jobs.config.amend import NEXT
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError
from jobs.stop import ServiceHeldError, service_lock
from pipeline.records.handover import hand_over
from pipeline.records.journal import Journal
from tests.audit.test_crash import Disk, die_at, intercepted
from tests.jobs.conftest import Place

READ = pipeline.records.ReadResults(of_job=None, failed=False, limit=None)


def rotate(root: Path, file: Path | None = None, passphrase: Path | None = None) -> Any:
    return rotate_key(open_workspace(root), file, passphrase)


def assert_old_or_new(root: Path, *, entries: int) -> bool:
    """After the next start all fits together, and goes on: a record can be written, and the key rotated."""
    place = open_workspace(root)
    site = make_site(place)
    assert not (root / NEXT).exists()
    assert (root / "site.yaml").read_text().endswith("# the end\n")
    report = audit.verify(site.audit, site.public_key)
    assert report.ok, report.findings
    earlier = audit.key_history(site.audit, site.public_key)
    assert report.size == entries + len(earlier)
    assert audit.public_key_of(site.key_file) == site.public_key
    assert (pipeline.records.record(site, READ).n or 0) >= report.size
    again = rotate_key(place, None, None)
    assert audit.key_history(site.audit, again.new_key) == [*earlier, site.public_key]
    assert audit.verify(site.audit, again.new_key).ok
    return bool(earlier)


@pytest.fixture
def root(place: Place, ram_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with two entries."""
    with (place.root / "site.yaml").open("a") as file:
        file.write("# the end\n")
    monkeypatch.chdir(ram_folder)
    root = ram_folder / "ws"
    shutil.copytree(place.root, root)
    site = make_site(open_workspace(root))
    for _ in range(2):
        assert pipeline.records.record(site, READ).n is not None
    return root


def restore(base: Path, root: Path) -> None:
    shutil.rmtree(root)
    shutil.copytree(base, root)


def test_a_rotation_killed_at_each_step(root: Path) -> None:
    base, ends = root.parent / "base", []
    shutil.copytree(root, base)
    for step in range(200):
        restore(base, root)
        if not die_at(step, lambda: rotate(root)):
            break
        ends.append(assert_old_or_new(root, entries=2))
    assert step > 20
    assert ends == sorted(ends)
    assert len(set(ends)) == 2


def test_the_end_of_a_rotation_killed_at_each_step(root: Path) -> None:
    """Death after the commit, then death while the next command ends the rotation."""
    base, dead = root.parent / "base", root.parent / "dead"
    shutil.copytree(root, base)
    total = next(step for step in range(200) if restore(base, root) or not die_at(step, lambda: rotate(root)))
    pairs = 0
    for step in range(total - 14, total, 3):
        restore(base, root)
        assert die_at(step, lambda: rotate(root))
        shutil.rmtree(dead, ignore_errors=True)
        shutil.copytree(root, dead)
        for later in range(100):
            restore(dead, root)
            if not die_at(later, lambda: open_workspace(root)):
                break
            pairs += 1
            assert_old_or_new(root, entries=2)
    assert pairs > 10


def test_a_power_cut_at_each_step_of_a_rotation(root: Path) -> None:
    disk, images = Disk(root), list[Disk]()

    def around(name: str, args: tuple[Any, ...], real: Callable[..., Any]) -> Any:
        result = disk.around(name, args, real)
        images.append(disk.copy())
        return result

    with intercepted(around):
        rotate(root)
    ends = set()
    for number, image in enumerate(images[::2]):
        for chance in (None, random.Random(number)):
            shutil.rmtree(root)
            image.write_to(root, chance)
            for key in (root / "keys").glob("*.key"):
                key.chmod(0o600)
            ends.add(assert_old_or_new(root, entries=2))
    assert ends == {False, True}


def fail_at(step: int, action: Callable[[], object]) -> tuple[bool, bool]:
    """Run the action with a disk that is full at its step number `step`: whether it came so far, and whether it ended
    with that. Some steps may fail, such as the look for records that others left."""
    left, failed = step, False

    def around(name: str, args: tuple[Any, ...], real: Callable[..., Any]) -> Any:
        nonlocal left
        left -= 1
        if left == -1:
            raise OSError(errno.ENOSPC, "No space left on device", str(args[0]))
        return real(*args)

    try:
        with intercepted(around):
            action()
    except (OSError, audit.AuditError, ConfigError):
        assert left < 0
        failed = True
    return left < 0, failed


def test_a_rotation_that_fails_at_each_step(root: Path) -> None:
    base, ends = root.parent / "base", []
    shutil.copytree(root, base)
    for step in range(1, 200, 2):
        restore(base, root)
        reached, failed = fail_at(step, lambda: rotate(root))
        if not reached:
            break
        is_new = assert_old_or_new(root, entries=2)
        if failed:
            ends.append(is_new)
        else:
            assert is_new
    assert ends == sorted(ends)
    assert len(set(ends)) == 2


def test_what_else_site_yaml_says_stays(root: Path) -> None:
    before = (root / "site.yaml").read_text()
    (root / "site.yaml").chmod(0o640)
    old = open_workspace(root).site
    done = rotate(root)
    new = open_workspace(root).site
    assert (done.n, done.old_key, done.new_key) == (2, old.log.public_key, new.log.public_key)
    assert (done.file, new.log.key, done.made, done.protected) == ("keys/log-2.key", "keys/log-2.key", True, False)
    after = before.replace(old.log.public_key, new.log.public_key).replace(" keys/log.key", ' "keys/log-2.key"')
    assert (root / "site.yaml").read_text() == after
    assert (root / "site.yaml").stat().st_mode & 0o777 == 0o640
    assert (root / "keys/log-2.key").stat().st_mode & 0o777 == 0o600


def test_a_site_yaml_that_cannot_be_changed_by_itself_changes_nothing(root: Path) -> None:
    file = root / "site.yaml"
    text = file.read_text().replace("key: keys/log.key", "key: >-\n    keys/log.key")
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"write into log: key: \"keys/log-2.key\", public_key: "):
        rotate(root)
    assert file.read_text() == text
    assert sorted(path.name for path in (root / "keys").iterdir()) == ["log.key"]
    assert assert_unrotated(root)


def assert_unrotated(root: Path) -> bool:
    site = make_site(open_workspace(root))
    assert not (root / NEXT).exists()
    assert audit.key_history(site.audit, site.public_key) == []
    return audit.verify(site.audit, site.public_key).ok


def test_a_key_made_before_takes_over(root: Path, tmp_path: Path) -> None:
    public = audit.generate_key(tmp_path / "mine", "test.example/log")
    done = rotate(root, tmp_path / "mine")
    assert (done.new_key, done.made) == (public, False)
    assert open_workspace(root).site.log.key == str(tmp_path / "mine")
    with pytest.raises(ConfigError, match="signs already"):
        rotate(root, tmp_path / "mine")
    with pytest.raises(ConfigError, match="does not come back"):
        rotate(root, root / "keys/log.key")
    audit.generate_key(tmp_path / "foreign", "another.example/log")
    with pytest.raises(ConfigError, match=r"of 'another.example/log', this log is 'test.example/log'"):
        rotate(root, tmp_path / "foreign")
    (tmp_path / "mine").chmod(0o640)
    with pytest.raises(audit.KeyRefused, match="others may read it"):
        rotate(root, tmp_path / "another")
    assert not (tmp_path / "another").exists()
    (tmp_path / "mine").chmod(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="never overwritten"):
        rotate(root, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "foreign").exists()
    assert not (root / NEXT).exists()


@pytest.mark.usefixtures("weak")
def test_passphrases(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (root / "keys" / name).write_text(f"{name}\n")
        (root / "keys" / name).chmod(0o600)
    assert rotate(root, None, root / "keys/one").protected
    assert open_workspace(root).site.log.passphrase_file == "keys/one"
    assert rotate(root).protected  # with the same
    assert open_workspace(root).site.log.passphrase_file == "keys/one"
    rotate(root, None, root / "keys/two")
    assert open_workspace(root).site.log.passphrase_file == "keys/two"
    assert assert_old_or_new(root, entries=2)
    text = (root / "site.yaml").read_text()
    (root / "site.yaml").write_text(text.replace('passphrase_file: "keys/two"\n  ', ""))
    with pytest.raises(audit.KeyRefused, match="protected by a passphrase"):
        rotate(root)
    (root / "keys/two").rename(root / "keys/cloister-key-passphrase")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(root / "keys"))
    assert rotate(root).protected
    (root / "keys/cloister-key-passphrase").chmod(0o604)
    with pytest.raises(audit.KeyRefused, match="others may read it"):
        rotate(root)


@pytest.fixture
def weak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passphrases that cost nothing."""
    monkeypatch.setattr("audit.sign._SCRYPT_N", 16)


def test_a_key_that_signs_is_never_taken_back(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """site.yaml becomes one that cannot be changed, just when the log has changed."""
    text = (root / "site.yaml").read_text()

    def rotate_and_write(self: Journal, *arguments: Any) -> int:
        n = real(self, *arguments)
        (root / "site.yaml").write_text(text.replace("key: keys/log.key", "key: >-\n    keys/log.key"))
        return n

    real = Journal.rotate
    monkeypatch.setattr(Journal, "rotate", rotate_and_write)
    with pytest.raises(ConfigError, match="write into log"):
        rotate(root)
    with pytest.raises(ConfigError, match="write into log"):
        open_workspace(root)
    (root / "site.yaml").write_text(text)
    monkeypatch.setattr(Journal, "rotate", real)
    assert assert_old_or_new(root, entries=2)


def test_what_waits_goes_before_it(root: Path) -> None:
    """In a commit of its own, with another stamp: else the two could be taken for one that was interrupted."""
    site = make_site(open_workspace(root))
    hand_over(site, READ)
    done = rotate(root)
    entries = [entry for _, entry in audit.read_entries(root / "audit", done.new_key, start=2)]
    assert [entry["type"] for entry in entries] == ["read.results", "key.rotated"]
    assert entries[0]["uptime_us"] < entries[1]["uptime_us"]


def test_not_while_others_work(root: Path) -> None:
    site = make_site(open_workspace(root))
    with service_lock(root / "audit"), pytest.raises(ServiceHeldError):
        rotate(root)
    with pipeline.records.open_journal(site), pytest.raises(audit.LogHeld):
        rotate(root)
    assert sorted(path.name for path in (root / "keys").iterdir()) == ["log.key"]
    assert assert_unrotated(root)


def test_an_interrupted_rotation_waits_for_who_holds_the_log(root: Path) -> None:
    shutil.copy(root / "site.yaml", root / NEXT)
    with audit.hold(root / "audit"):
        open_workspace(root)
        assert (root / NEXT).exists()
    open_workspace(root)
    assert not (root / NEXT).exists()
