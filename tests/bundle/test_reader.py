"""A bundle is whole, or one message says why not; and a manifest that a trusted key signed is no more trusted than it
has to be."""

import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

import audit
from audit.standalone import WrongError
from jobs.bundle.reader import MANIFEST, OWN, ROLES, SIGNATURE, header, read_bundle
from tests.bundle.disk import FIRST, UPDATE, Disk
from tests.bundle.small import Small, join_members, sign
from tests.bundle.tamper import SEED, split_members, tamper

TODAY = "2026-11-27"


def read(disk: Disk, archive: Path, today: str = TODAY) -> str:
    """Why a bundle is refused."""
    with pytest.raises(WrongError) as told:
        read_bundle(archive, disk.public_key, today)
    return str(told.value)


def test_a_whole_bundle(disk: Disk) -> None:
    bundle = read_bundle(disk.bundle("first"), disk.public_key, TODAY)
    assert (bundle.id, bundle.manifest, bundle.told["kind"]) == (FIRST.id(), FIRST.manifest(), "full")
    data = disk.bundle("first").read_bytes()
    for each in bundle.files:
        assert each.at is not None
        assert hashlib.sha256(data[each.at : each.at + each.size]).hexdigest() == each.sha256


def test_an_update_carries_what_is_new(disk: Disk) -> None:
    bundle = read_bundle(disk.bundle("update"), disk.public_key, TODAY)
    carried = [each.path for each in bundle.files if each.at is not None]
    assert [path.split("/")[0] for path in carried] == ["locks", "pages", "wheels"]
    assert bundle.told["base"] == hashlib.sha256(FIRST.manifest()).hexdigest()


def test_other_programs_read_the_archive(disk: Disk) -> None:
    with tarfile.open(disk.bundle("first")) as archive:
        names = archive.getnames()
        assert names == [MANIFEST, SIGNATURE, *(str(each["path"]) for each in FIRST.files())]
        assert {(each.mode, each.mtime, each.isreg()) for each in archive} == {(0o644, 0, True)}
        manifest = archive.extractfile(MANIFEST)
        assert manifest
        assert manifest.read() == FIRST.manifest()


@pytest.mark.parametrize("path", ["a", "a" * 100, "b" * 90 + "/" + "a" * 90, "x/" * 77 + "a" * 100])
def test_headers_are_those_of_a_tar_archive(path: str) -> None:
    with tarfile.open(fileobj=io.BytesIO(header(path, 7) + b"content" + bytes(505 + 1024))) as archive:
        (member,) = archive.getmembers()
    assert (member.name, member.size, member.mode) == (path, 7, 0o644)


def test_a_path_too_long_for_an_archive() -> None:
    for path in ("a" * 101, "a" * 156 + "/b", "a/" + "b" * 101):
        with pytest.raises(WrongError, match="too long"):
            header(path, 1)


def test_tampering_is_found_before_anything_is_written(disk: Disk, tmp_path: Path) -> None:
    found, wrong = tamper(disk, tmp_path, 60, SEED)
    assert wrong == []
    assert found.total() >= 55
    assert len(found) == 12


def test_what_is_wrong_is_named(disk: Disk, tmp_path: Path) -> None:
    data, archive = disk.bundle("first").read_bytes(), tmp_path / "x.bundle"
    for changed, told in (
        (data[: len(data) // 2], "only half copied, or cut"),
        (data + b"x", "something was added"),
        (data[:5000] + b"x" + data[5001:], "ALTERED"),
        (b"", "no bundle of Cloister"),
        (b"PK\3\4" + data, "no bundle of Cloister"),
    ):
        archive.write_bytes(changed)
        assert told in read(disk, archive)


def test_the_key_is_the_one_that_is_trusted(disk: Disk, tmp_path: Path) -> None:
    audit.generate_key(tmp_path / "other.key", "test.example/other")
    key = audit.public_key_of(tmp_path / "other.key")
    with pytest.raises(WrongError, match=r"signed by another key, test\.example/bundles"):
        read_bundle(disk.bundle("first"), key, TODAY)
    for wrong in ("", "a+b+c", disk.key.read_text(), key[:-1]):
        with pytest.raises(WrongError, match="not a public key") as told:
            read_bundle(disk.bundle("first"), wrong, TODAY)
        assert not wrong or wrong not in str(told.value)


def test_a_bundle_expires_after_its_day(disk: Disk, tmp_path: Path) -> None:
    archive = disk.write("expiring", Small(changed={"expires": "2026-11-27"}))
    assert read_bundle(archive, disk.public_key, "2026-11-27").told["expires"] == "2026-11-27"
    assert "EXPIRED on 2026-11-27" in read(disk, archive, "2026-11-28")


def test_a_pipe_is_not_read(disk: Disk, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read(disk, tmp_path / "pipe") == "not a regular file"


BAD_MEMBERS: tuple[dict[str, Any], ...] = (
    {"format": "cloister-bundle/2"}, {"product": "other"}, {"version": "../1"}, {"version": "a b"}, {"more": 1},
    {"platform": {"system": "linux", "machine": "x86_64"}}, {"pythons": ["3.99"]}, {"pythons": "3.11"},
    {"platform": {"system": "linux", "machine": "x86_64", "glibc": "new"}}, {"expires": "tomorrow"}, {"expires": 1},
    {"kind": "update"}, {"base": "0" * 64}, {"kind": "other"}, {"files": {}}, {"files": []}, {"files": None},
)  # fmt: skip
BAD_FILES: tuple[dict[str, Any], ...] = (
    {"path": "../x"}, {"path": "/x"}, {"path": "a/../../x"}, {"path": "a//x"}, {"path": "./x"}, {"path": "x/"},
    {"path": "a\\x"}, {"path": "a\nx"}, {"path": "ä"}, {"path": "x\n"}, {"path": ""}, {"path": 1}, {"path": "p" * 300},
    {"size": -1}, {"size": 1.5}, {"size": True}, {"size": 8**11}, {"sha256": "0"}, {"sha256": "G" * 64}, {"sha256": 0},
    {"role": "other"}, {"role": []}, {"carried": 1}, {"carried": False},
    *({"path": f"{name}/x"} for name in sorted(OWN)),
)  # fmt: skip


@pytest.mark.parametrize("changed", BAD_MEMBERS, ids=str)
def test_a_signed_manifest_of_another_form_is_refused(changed: dict[str, Any], disk: Disk, tmp_path: Path) -> None:
    assert "not in the form" in read(disk, forge(disk, tmp_path, {**json.loads(FIRST.manifest()), **changed}))


@pytest.mark.parametrize("changed", BAD_FILES, ids=str)
def test_a_signed_file_of_another_form_is_refused(changed: dict[str, Any], disk: Disk, tmp_path: Path) -> None:
    told = json.loads(FIRST.manifest())
    told["files"][0].update(changed)
    assert "not in the form" in read(disk, forge(disk, tmp_path, told))


def test_a_signed_list_without_order_or_with_one_path_twice_is_refused(disk: Disk, tmp_path: Path) -> None:
    told = json.loads(FIRST.manifest())
    first, *others = told["files"]
    for files in ([*others, first], [first, first, *others]):
        assert "not in order" in read(disk, forge(disk, tmp_path, {**told, "files": files}))
    inside = {**others[0], "path": f"{first['path']}/x"}
    assert "where there is a folder" in read(disk, forge(disk, tmp_path, {**told, "files": [first, inside, *others]}))


def test_only_the_one_form_of_json_is_taken(disk: Disk, tmp_path: Path) -> None:
    data = FIRST.manifest()
    for other in (data[:-1], data + b"\n", data.replace(b":", b": "), data.replace(b'"kind"', b'"kind":"full","kind"')):
        assert "not in the form" in read(disk, forge(disk, tmp_path, other))


def test_the_version_that_was_signed_is_that_of_the_manifest(disk: Disk, tmp_path: Path) -> None:
    members = split_members(disk.bundle("update").read_bytes())
    note = sign(UPDATE.manifest(), disk.key).replace(b"\n1.1\n", b"\n1.2\n")
    (tmp_path / "x").write_bytes(join_members([members[0], (SIGNATURE, note), *members[2:]]))
    assert "THE SIGNATURE IS WRONG" in read(disk, tmp_path / "x")


def test_every_role_is_known() -> None:
    assert {str(each["role"]) for each in FIRST.files()} <= ROLES


def forge(disk: Disk, folder: Path, told: object) -> Path:
    """A bundle with this manifest, which the trusted key signed, and with the files of the first one."""
    manifest = told if isinstance(told, bytes) else audit.canonical(told) + b"\n"
    (folder / "x.bundle").write_bytes(
        join_members(
            [
                (MANIFEST, manifest),
                (SIGNATURE, sign(manifest, disk.key)),
                *split_members(disk.bundle("first").read_bytes())[2:],
            ]
        )
    )
    return folder / "x.bundle"
