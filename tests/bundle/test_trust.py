"""What an installation believes: the key that it remembers, versions in their order, and folders that are its own."""

import os
from pathlib import Path

import pytest

import audit
from jobs.bundle.install import install, trusted_key
from jobs.bundle.versions import (
    CURRENT,
    TRUSTED,
    RefusedError,
    check_safe,
    order_of,
    roll_back,
    this_machine,
    version_of,
)
from tests.bundle.disk import FIRST, UPDATE, Disk
from tests.bundle.small import Small, write_bundle

TODAY = "2026-11-27"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("1.9.0", "1.10.0"),
        ("1.0", "1.0.1"),
        ("1.0.dev3", "1.0a1"),
        ("1.0a2", "1.0b1"),
        ("1.0b1", "1.0rc1"),
        ("1.0rc1", "1.0rc2"),
        ("1.0rc2", "1.0"),
        ("1.0", "1.0.post1"),
        ("1.0.post1", "1.0.1"),
    ],
)
def test_versions_have_an_order(before: str, after: str) -> None:
    assert order_of(before) < order_of(after)
    assert order_of(f"{before}+site.9") == order_of(before)


def test_an_installation_that_began_meanwhile_keeps_its_key(disk: Disk, root: Path, tmp_path: Path) -> None:
    """Two first installs with two keys: the second one finds the first one's key when it has the lock."""
    other = tmp_path / "other.key"
    audit.generate_key(other, "test.example/other")
    foreign = write_bundle(tmp_path / "foreign.bundle", Small("9.0"), other)

    def begin(step: str) -> None:
        if step == "checking the bundle":
            install(disk.bundle("first"), root, disk.public_key, TODAY, this_machine(), lambda step: None)

    with pytest.raises(RefusedError, match="another key"):
        install(foreign, root, audit.public_key_of(other), TODAY, this_machine(), begin)
    assert (root / TRUSTED).read_text() == f"{disk.public_key}\n"
    assert [path.name.partition("-")[0] for path in (root / "versions").iterdir()] == ["1.0"]


@pytest.mark.parametrize("content", [b"", b"no key", b"\xff\xfe", b"a+b+c"])
def test_a_remembered_key_that_is_damaged_is_named(content: bytes, disk: Disk, root: Path) -> None:
    root.mkdir()
    (root / TRUSTED).write_bytes(content)
    for given in (None, disk.public_key):
        with pytest.raises(RefusedError, match=r"trusted\.key: not a public key"):
            trusted_key(root, given)


def test_a_folder_in_which_others_may_replace_the_installation(disk: Disk, tmp_path: Path) -> None:
    folder = tmp_path / "share"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(RefusedError, match=r"all users may write to .*/share"):
        install(disk.bundle("first"), folder / "opt", disk.public_key, TODAY, this_machine(), lambda step: None)
    assert list(folder.iterdir()) == []
    folder.chmod(0o1777)  # as /tmp has it: nobody renames what belongs to others
    check_safe(folder / "opt")


def test_nothing_of_an_unsafe_folder_is_started(disk: Disk, root: Path) -> None:
    """Who may write to it could have put there what looks like the version, and would have it run by the installer."""
    command = root / "versions" / FIRST.id() / "venv/bin/cloister"
    command.parent.mkdir(parents=True)
    (command.parents[2] / "complete").touch()
    command.write_text(f"#!/bin/sh\ntouch {root}/started\n")
    command.chmod(0o755)
    (root / "lock").touch()
    root.chmod(0o777)
    with pytest.raises(RefusedError, match="unsafe folder: others may write"):
        install(disk.bundle("first"), root, disk.public_key, TODAY, this_machine(), lambda step: None)
    assert not (root / "started").exists()


def test_an_older_version_is_refused_also_where_a_newer_one_was_about_to_be_current(disk: Disk, root: Path) -> None:
    """An update was killed between two renames: who comes next ends it first."""
    for name in ("first", "update"):
        install(disk.bundle(name), root, disk.public_key, TODAY, this_machine(), lambda step: None)
    roll_back(root)
    (root / "flip").write_text(f"{UPDATE.id()}\n{FIRST.id()}\n")
    with pytest.raises(RefusedError, match=r"an older version: 1\.0\n"):
        install(disk.bundle("first"), root, None, TODAY, this_machine(), lambda step: None)
    assert version_of(root, CURRENT) == UPDATE.id()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away")
def test_a_folder_of_another_user(root: Path) -> None:
    root.mkdir()
    os.chown(root, 12345, -1)
    with pytest.raises(RefusedError, match=r"belongs to another user\n.*\n.*as the user .* .uid 12345.,"):
        check_safe(root)
