"""The small rules of a bundle: headers, paths, markers, names of wheels, licences, parts lists."""

import json
import re
import tarfile
from pathlib import Path

import pytest

from jobs.bundle.create.licences import is_permissive, licences
from jobs.bundle.create.pages import make_pages
from jobs.bundle.create.sbom import Part, builtin_heads, make_sbom, read_models
from jobs.bundle.create.source import Source
from jobs.bundle.create.wheels import Wheel, environment, holds, needed_by, parse_wheel_name, platforms, read_lock
from jobs.bundle.manifest import MOST_SIZE, File, Manifest
from jobs.bundle.reader import header, parse_manifest
from jobs.errors import ConfigError
from tests.bundle.cyclonedx import mistakes
from tests.bundle.tiny import TinyWheel, digest
from tests.pages import ROOT, tracked


@pytest.mark.parametrize(("path", "size"), [("a", 0), ("jobs/" + "x" * 95, 7), ("a/b+c_d.e-f", MOST_SIZE)])
def test_a_header_is_what_tar_reads(path: str, size: int) -> None:
    found = tarfile.TarInfo.frombuf(header(path, size), "ascii", "strict")
    assert (found.name, found.size, found.mode, found.mtime, found.uid, found.type) == (path, size, 0o644, 0, 0, b"0")


def test_a_manifest_is_in_order() -> None:
    locks = [File(f"locks/requirements-{tag}.txt", 0, "0" * 64, "lock") for tag in ("cp312", "cp311")]
    wheel = File("a", 2, "1" * 64, "wheel", False, {"glibc": None, "pythons": ["3.11"]})
    files = (*locks, File("b", 1, "0" * 64, "pip"), wheel)
    manifest = Manifest("1.0", ("3.11", "3.12"), "2.28", "2030-01-01", files, "2" * 64)
    told = parse_manifest(manifest.to_bytes())
    order = ["a", "b", "locks/requirements-cp311.txt", "locks/requirements-cp312.txt"]
    assert [file["path"] for file in told["files"]] == order
    assert (told["kind"], told["files"][0]["glibc"]) == ("update", None)
    assert manifest.name == "cloister-1.0-linux-x86_64-cp311-cp312.from-222222222222.bundle"
    assert [file.path for file in manifest.carried] == order[1:]


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        ("", True),
        ("python_version < '3.12'", True),
        ("python_full_version >= '3.11'", True),
        ("python_version >= '3.9' and python_version < '3.10'", False),
        ("sys_platform == 'win32' or (os_name == 'posix' and extra == 'fast')", True),
        ("sys_platform == 'win32' or os_name == 'posix' and extra == 'slow'", False),
        ("platform_machine in 'x86_64 AMD64'", True),
        ("platform_machine not  in 'aarch64'", True),
        ("python_version == '3.*'", True),
        ("python_version ~= '3.8'", True),
        ("'linux' != sys_platform", False),
        ("python_version === '3.11'", True),
    ],
)
def test_markers(marker: str, expected: bool) -> None:
    assert holds(marker, environment("3.11", "fast")) is expected


@pytest.mark.parametrize("marker", ["python_version", "a == 'b'", "python_version < '3' and", "(os_name == 'x'", "$"])
def test_what_is_no_marker_is_refused(marker: str) -> None:
    with pytest.raises(ValueError, match="no marker"):
        holds(marker, environment("3.11"))


def test_wheels_in_the_order_of_pip() -> None:
    names = [
        "a-1-cp311-cp311-manylinux_2_17_x86_64.whl",
        "a-1-cp311-cp311-manylinux_2_28_x86_64.whl",
        "a-1-cp311-abi3-manylinux_2_5_x86_64.whl",
        "a-1-cp39-abi3-manylinux2014_x86_64.whl",
        "a-1-cp38-abi3-manylinux2014_x86_64.whl",
        "a-1-py3-none-manylinux1_x86_64.whl",
        "a-1-py3-none-any.whl",
    ]
    parsed = [parse_wheel_name(name) for name in names]
    ranks = [one.rank("3.11") for one in parsed if one]
    assert sorted(each for each in ranks if each is not None) == ranks
    for name in ("a-1-cp312-cp312-manylinux_2_17_x86_64.whl", "a-1-cp311-cp311-musllinux_1_2_x86_64.whl",
                 "a-1-cp311-cp311-linux_x86_64.whl", "a-1-cp312-abi3-manylinux1_x86_64.whl"):  # fmt: skip
        wheel = parse_wheel_name(name)
        assert wheel
        assert wheel.rank("3.11") is None
    assert parse_wheel_name("a-1.tar.gz") is None


def test_glibc_is_the_lowest_of_a_name() -> None:
    name = parse_wheel_name("a-1-7-cp311-cp311-manylinux_2_28_x86_64.manylinux2014_x86_64.manylinux_2_17_x86_64.whl")
    assert name
    assert name.glibc == (2, 17)
    assert name.lowest == "a-1-7-cp311-cp311-manylinux2014_x86_64.whl"
    assert platforms()[:3] == ["manylinux1_x86_64", "manylinux_2_5_x86_64", "manylinux_2_6_x86_64"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("GPL-2.0-only", False),
        ("MIT OR GPL-2.0-only", True),
        ("MIT AND GPL-2.0-only", False),
        ("(MIT OR GPL-2.0-only) AND (BSD-3-Clause)", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0-or-later WITH GCC-exception-3.1", True),
        ("GPL-3.0-or-later WITH Classpath-exception-2.0", False),
        ("MIT MIT", False),
        ("(MIT", False),
        ("MIT, GPL", False),
        ("", False),
        ("Proprietary", False),
    ],
)
def test_permissive_licences(expression: str, expected: bool) -> None:
    assert is_permissive(expression) is expected


def test_names_in_an_expression() -> None:
    assert licences("(MIT OR GPL-2.0-only) AND Apache-2.0 WITH LLVM-exception") == {"MIT", "GPL-2.0-only", "Apache-2.0"}


def test_the_lock_of_this_repository_is_read() -> None:
    file = ROOT / "requirements.lock"
    lock = read_lock(file)
    old, new = (needed_by(lock, environment(python), file) for python in ("3.11", "3.12"))
    assert old["numpy"] != new["numpy"]
    assert "colorama" not in old
    assert [one.name for one in read_lock(ROOT / "pip.lock")] == ["pip"]


def test_links_between_our_pages_lead_somewhere() -> None:
    """Of all pages of this repository as HTML: each link, and each part of a page that it names, is there."""
    pages = {content.path: content.source for content in make_pages(Source(ROOT, tuple(sorted(tracked()))))}
    texts = {Path(path): source.decode() for path, source in pages.items() if isinstance(source, bytes)}
    anchors = {path: set(re.findall(r' id="([^"]+)"', text)) for path, text in texts.items()}
    checked = 0
    for path, text in texts.items():
        assert not re.search(r'(src|href)="(?!data:|https://|#|[\w./#-]+")', text)
        for target in re.findall(r'<a href="([^":]+)"', text):
            name, _, part = target.partition("#")
            found = Path("/".join(resolve(path.parent / name))) if name else path
            if not str(found).startswith("licences/"):
                assert found in texts, (path, target)
                assert not part or part in anchors[found], (path, target)
                checked += 1
    assert checked > 100


def resolve(path: Path) -> list[str]:
    """The parts of a path without "..", from the root of a bundle."""
    parts = list[str]()
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return parts


def test_models_stand_in_the_parts_list(tmp_path: Path, tiny_model: Path) -> None:
    """A model and a head of it, as the files themselves tell it."""
    source = Source(ROOT, tuple(sorted(tracked())))
    models, contents = read_models([tiny_model])
    heads = builtin_heads(source)
    wheels = [TinyWheel("cloister", licence="License-Expression: Apache-2.0"), TinyWheel("pip")]
    parts = []
    for wheel in wheels:
        file = tmp_path / wheel.file
        file.write_bytes(wheel.to_bytes())
        name = parse_wheel_name(wheel.file)
        assert name
        parts.append(Part(Wheel(file, name, digest(file)), f"wheels/{wheel.file}", ("3.11",), {}))
    made = make_sbom("1.0", parts[:1], parts[1], [*models, *heads])
    assert isinstance(made.source, bytes)
    document = json.loads(made.source)
    assert mistakes(document) == []
    listed = {one["name"]: one for one in document["components"] if one["type"] == "machine-learning-model"}
    assert listed.keys() == {tiny_model.stem, "contracts"}
    assert listed[tiny_model.stem]["modelCard"]["modelParameters"] == {"modelArchitecture": "bert"}
    assert listed[tiny_model.stem]["hashes"] == [{"alg": "SHA-256", "content": digest(tiny_model)}]
    assert listed["contracts"]["licenses"] == [{"license": {"name": "CC BY 4.0"}}]
    assert [content.path for content in contents] == [f"models/{tiny_model.name}"]


def test_a_check_of_parts_lists_finds_mistakes() -> None:
    tool = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "dependencies": [{"ref": "a"}]}
    part = {"type": "library", "name": "a", "bom-ref": "a"}
    right = tool | {"metadata": {"component": part}, "components": []}
    assert mistakes(right) == []
    for wrong in (
        right | {"specVersion": "1.5"},
        right | {"extra": 1},
        right | {"components": [part]},
        right | {"dependencies": [{"ref": "a", "dependsOn": ["b"]}]},
        right | {"dependencies": []},
        right | {"components": [part | {"bom-ref": "b", "hashes": [{"alg": "SHA-256", "content": "0"}]}]},
        right | {"components": [part | {"bom-ref": "b", "licenses": [{"license": {"id": "MIT", "name": "MIT"}}]}]},
    ):
        assert mistakes(wrong) != []


def test_files_that_are_no_models_are_refused(tmp_path: Path) -> None:
    for name, expected in (("a.bin", "is no model"), ("a b.gguf", "is no name"), ("none.gguf", "there is no file")):
        if name != "none.gguf":
            (tmp_path / name).write_bytes(b"")
        with pytest.raises(ConfigError, match=expected):
            read_models([tmp_path / name])
