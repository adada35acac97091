"""Small bundles, written byte by byte as jobs/bundle/README.md says: real wheels of a few lines, which pip installs.

The command of such a version is `cloister`, which prints its version and whether what it needs is there.
"""

import json
import sys
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.util import cache_from_source
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pip

import audit
from audit.sign import open_signer
from jobs.bundle.reader import BLOCK, FORMAT, MANIFEST, SIGNATURE, header, lock_of, padding

PYTHON = "{}.{}".format(*sys.version_info[:2])
COMMAND = """\
from cloister_part import PART


def main():
    print("cloister {version}", PART)
"""


@dataclass(frozen=True)
class Small:
    """What a small bundle has; `changed` are members of its manifest that are other ones than usual."""

    version: str = "1.0"
    part: str = "part"  # what the other package says
    command: str = COMMAND
    base: "Small | None" = None
    changed: Mapping[str, object] = field(default_factory=dict)

    def contents(self) -> dict[str, tuple[str, bytes]]:
        """Role and bytes of each file of the version, by path."""
        command = self.command.format(version=self.version)
        wheels = {
            f"wheels/any/cloister-{self.version}-py3-none-any.whl": wheel("cloister", self.version, command, True),
            "wheels/any/cloister_part-1-py3-none-any.whl": wheel("cloister_part", "1", f"PART = {self.part!r}\n"),
        }
        lines = [f"{name_of(path)} --hash=sha256:{sha256(data).hexdigest()}\n" for path, data in wheels.items()]
        return {
            **{path: ("wheel", data) for path, data in wheels.items()},
            "pip/pip-1-py3-none-any.whl": ("pip", pip_wheel()),
            lock_of(PYTHON): ("lock", "".join(lines).encode()),
            "models/tiny.gguf": ("model", b"no model, but the same bytes in each version" * 999),
            "pages/README.html": ("page", f"<h1>{self.version}</h1>".encode()),
        }

    def files(self) -> list[dict[str, object]]:
        """The files of the manifest."""
        known = {told["sha256"] for told in self.base.files()} if self.base else set()
        return [
            {
                "path": path,
                "size": len(data),
                "sha256": (digest := sha256(data).hexdigest()),
                "role": role,
                "carried": digest not in known,
                **({"pythons": [PYTHON]} if role == "wheel" else {}),
            }
            for path, (role, data) in sorted(self.contents().items())
        ]

    def manifest(self) -> bytes:
        """The bytes of manifest.json."""
        told = {
            "format": FORMAT,
            "product": "cloister",
            "version": self.version,
            "platform": {"system": "linux", "machine": "x86_64", "glibc": "2.17"},
            "pythons": [PYTHON],
            "expires": None,
            "kind": "update" if self.base else "full",
            "base": sha256(self.base.manifest()).hexdigest() if self.base else None,
            "files": self.files(),
        }
        return audit.canonical({**told, **self.changed}) + b"\n"

    def id(self) -> str:
        """The name of its folder in an installation."""
        return f"{self.version}-{sha256(self.manifest()).hexdigest()[:12]}"


def sign(manifest: bytes, key: Path) -> bytes:
    """The bytes of manifest.sig."""
    version = json.loads(manifest)["version"]
    return open_signer(key).sign(f"{FORMAT}\n{version}\n{sha256(manifest).hexdigest()}\n")


def write_bundle(path: Path, small: Small, key: Path) -> Path:
    """Write the archive, signed by the private key in a file."""
    manifest = small.manifest()
    carried = [told["path"] for told in json.loads(manifest)["files"] if told["carried"]]
    members = [(name, small.contents()[name][1]) for name in carried]
    path.write_bytes(join_members([(MANIFEST, manifest), (SIGNATURE, sign(manifest, key)), *members]))
    return path


def join_members(members: list[tuple[str, bytes]]) -> bytes:
    """The archive of these members."""
    blocks = [header(name, len(data)) + data + padding(len(data)) for name, data in members]
    return b"".join(blocks) + bytes(2 * BLOCK)


def wheel(name: str, version: str, module: str, is_command: bool = False) -> bytes:
    """A wheel with one module, and the command `cloister` if it is to have one."""
    folder = f"{name}-{version}.dist-info"
    tags = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {f"{name}.py": module, f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"}
    files |= {f"{folder}/WHEEL": tags}
    if is_command:
        files |= {f"{folder}/entry_points.txt": f"[console_scripts]\ncloister = {name}:main\n"}
    record = "".join(f"{path},sha256={digest(text)},{len(text)}\n" for path, text in files.items())
    return pack({**files, f"{folder}/RECORD": f"{record}{folder}/RECORD,,\n"})


def digest(text: str) -> str:
    """The digest of a file in a wheel's RECORD."""
    return urlsafe_b64encode(sha256(text.encode()).digest()).decode().rstrip("=")


def pack(files: Mapping[str, str | bytes]) -> bytes:
    """A zip archive of these files, always the same bytes."""
    with BytesIO() as data:
        with ZipFile(data, "w") as archive:
            for path, content in files.items():
                archive.writestr(ZipInfo(path), content, ZIP_DEFLATED)
        return data.getvalue()


@cache
def pip_wheel() -> bytes:
    """The pip of this environment, as a wheel has it; modules that were compiled before are there in this form, which
    saves a second each time that it starts."""
    folder, files = Path(pip.__file__).parent, dict[str, bytes]()
    for path in sorted(folder.rglob("*")):
        name, compiled = str(path.relative_to(folder.parent)), Path(cache_from_source(str(path)))
        if path.suffix == ".py" and compiled.is_file():
            data = compiled.read_bytes()
            files[f"{name}c"] = data[:4] + b"\1\0\0\0" + bytes(8) + data[16:]  # never compared with a source: PEP 552
        elif path.is_file() and "__pycache__" not in path.parts:
            files[name] = path.read_bytes()
    return pack(files)


def name_of(path: str) -> str:
    """The line of a wheel in a list of packages, up to its hash."""
    name, version, *_ = path.rpartition("/")[2].split("-")
    return f"{name}=={version}"
