"""A source of a few files, and the wheels that it needs: `cloister bundle create` makes a real bundle of them."""

import importlib.metadata
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path

import audit

PROJECT = """\
[build-system]
requires = ["setuptools>=80"]
build-backend = "setuptools.build_meta"

[project]
name = "cloister"
version = "{version}"
license = "Apache-2.0"
license-files = ["LICENSE"]
requires-python = ">=3.11"
dependencies = ["alpha", "beta[fast]>=1"]

[project.optional-dependencies]
ocr = ["gamma ; sys_platform == 'linux'"]
cluster = ["epsilon"]

[tool.setuptools.packages.find]
include = ["jobs*"]

[tool.setuptools.package-data]
"*" = ["*.md"]
"""
README = """\
# The *product*

See [the jobs](jobs/README.md#how-it-ends), [the code](jobs/work.py), [here](#the-product) and
[elsewhere](https://example.org/).

![a picture](tests/picture.png) <script>alert(1)</script>

| a | b |
|---|---|
| 1 | 2 |
"""
PICTURE = bytes.fromhex("89504e470d0a1a0a")
MIT = "Permission is hereby granted, free of charge"
LINUX = "manylinux_2_17_x86_64.manylinux2014_x86_64"


@dataclass(frozen=True)
class TinyWheel:
    """A wheel of one module."""

    name: str
    version: str = "1.0"
    tags: str = "py3-none-any"
    needs: Sequence[str] = ()
    licence: str = "License-Expression: MIT"
    texts: Mapping[str, str] = field(default_factory=lambda: {"licenses/LICENSE": MIT})
    content: str = ""

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}-{self.version}-{self.tags}.whl"

    def to_bytes(self) -> bytes:
        """The bytes of its file, always the same."""
        info = f"{self.name}-{self.version}.dist-info"
        head = ["Metadata-Version: 2.4", f"Name: {self.name}", f"Version: {self.version}", "Summary: A tiny part"]
        head += [self.licence] if self.licence else []
        head += [f"Requires-Dist: {one}" for one in self.needs]
        files = {f"{self.name}.py": self.content, f"{info}/METADATA": "\n".join(head) + "\n"}
        files |= {f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {self.tags.split('.')[0]}\n"}
        files |= {f"{info}/{name}": text for name, text in self.texts.items()}
        return pack({**files, f"{info}/RECORD": ""})


WHEELS = (
    TinyWheel("alpha", "1.0"),
    TinyWheel("alpha", "2.0", licence="License: BSD"),
    TinyWheel("beta", tags=f"cp311-cp311-{LINUX}", needs=["delta ; extra == 'fast'", "nothing ; python_version < '3'"]),
    TinyWheel("beta", tags="cp311-cp311-manylinux_2_28_x86_64", content="# built on a newer system"),
    TinyWheel("beta", tags="cp312-cp312-manylinux_2_28_x86_64", needs=["delta ; extra == 'fast'"]),
    TinyWheel("beta", tags="cp311-cp311-win_amd64"),
    TinyWheel(
        "delta", tags="cp310-abi3-manylinux_2_31_x86_64", licence="License-Expression: Apache-2.0 OR GPL-2.0-only"
    ),
    TinyWheel("gamma", needs=["alpha"], licence="Classifier: License :: OSI Approved :: ISC License (ISCL)"),
    TinyWheel("pip", "9.0"),
    TinyWheel("epsilon", needs=["alpha", "zeta ; python_version < '3.12'"], licence="License: Apache 2.0"),
    TinyWheel("zeta"),
)
PINS = ("alpha==1.0 ; python_full_version < '3.12'", "alpha==2.0 ; python_full_version >= '3.12'", "beta==1.0",
        "delta==1.0", "gamma==1.0")  # fmt: skip
CLUSTER_PINS = (*PINS, "epsilon==1.0", "zeta==1.0 ; python_full_version < '3.12'")


def pack(files: Mapping[str, str | bytes]) -> bytes:
    """A zip archive of these files."""
    with io.BytesIO() as data:
        with zipfile.ZipFile(data, "w") as archive:
            for name, content in files.items():
                archive.writestr(zipfile.ZipInfo(name), content)
        return data.getvalue()


@cache
def setuptools_wheel() -> tuple[str, bytes]:
    """The setuptools that is installed here, as the wheel that it was: name and bytes."""
    found = importlib.metadata.distribution("setuptools")
    assert found.files
    names = [file for file in found.files if "__pycache__" not in file.parts and ".." not in file.parts]
    files: dict[str, str | bytes] = {str(file): Path(str(found.locate_file(file))).read_bytes() for file in names}
    return f"setuptools-{found.version}-py3-none-any.whl", pack(files)


def write_wheels(folder: Path, wheels: Sequence[TinyWheel] = WHEELS, *, backwards: bool = False) -> Path:
    """Write the wheels, and setuptools beside them."""
    folder.mkdir()
    files = {wheel.file: wheel.to_bytes() for wheel in wheels} | dict([setuptools_wheel()])
    for name in sorted(files, reverse=backwards):
        (folder / name).write_bytes(files[name])
    return folder


def write_lock(file: Path, wheels: Path, pins: Sequence[str]) -> None:
    """A lock file with the sha256 of each wheel that may stand for a pin."""
    lines = []
    for pin in pins:
        name, version = pin.split(" ;")[0].split("==")
        found = sorted(wheels.glob(f"{name}-{version}-*.whl"))
        lines += [" \\\n    ".join([pin, *(f"--hash=sha256:{digest(path)}" for path in found)]), "    # via cloister"]
    file.write_text("\n".join(lines) + "\n")


def digest(path: Path) -> str:
    """The sha256 of a file."""
    return sha256(path.read_bytes()).hexdigest()


def write_source(folder: Path, wheels: Path, version: str = "1.0") -> Path:
    """Write the source, whose lock has the wheels of that folder."""
    files: dict[str, str | bytes] = {
        "pyproject.toml": PROJECT.format(version=version),
        "README.md": README,
        "LICENSE": "The licence of the product",
        "jobs/__init__.py": '"""Code."""\n',
        "jobs/work.py": f"VERSION = {version!r}\n",
        "jobs/README.md": "# Jobs\n\n## How it ends\n\nBack to [the start](../README.md).\n\n## How it ends\n",
        "configs/letters.yaml": "job: letters\n",
        "tests/picture.png": PICTURE,
        "tests/corpus/demo/letters/in/Ein Brief (süß).txt": "Lieber Otto",
        "tests/corpus/demo/expected.json": json.dumps({"letters": {"in/Ein Brief (süß).txt": {"state": "done"}}}),
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    own = f"setuptools=={importlib.metadata.version('setuptools')}"
    write_lock(folder / "requirements.lock", wheels, [*PINS, own])
    write_lock(folder / "cluster.lock", wheels, [*CLUSTER_PINS, own])
    write_lock(folder / "pip.lock", wheels, ["pip==9.0"])
    return folder


def write_key(folder: Path) -> tuple[Path, str]:
    """A new private key, and its public half."""
    folder.mkdir(mode=0o700)
    return folder / "bundle.key", audit.generate_key(folder / "bundle.key", "example.org/bundles")
