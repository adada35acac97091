"""A finished bundle, or an update that carries only what another bundle has not, is put into a folder: the archive, and
beside it verify.py and install.py, which the other machine needs.

Each of these programs is one file that needs Python's standard library alone. They are joined from files of this
package, so that the commands and the programs have the same code; the check of a signature comes from the one-file
verifier of the log (`audit.VERIFIER`). Annotations become strings, which an old Python does not evaluate: it can then
say itself that it is too old.
"""

import ast
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import audit
from audit import standalone
from jobs.bundle.manifest import File, Manifest, Progress, archive_size, write_archive
from jobs.bundle.reader import (
    CHUNK,
    MANIFEST,
    MOST_MANIFEST,
    BundleFile,
    open_regular,
    parse_manifest,
    read_bundle,
    read_member,
)
from jobs.bundle.versions import order_of
from jobs.config.load import shown
from jobs.errors import ConfigError, Problem

MIB = 2**20
_ANY_DAY = "2000-01-01"  # a bundle that does not expire is whole on each
PROGRAMS: Final = {
    "verify.py": ("reader", "verify"),
    "install.py": ("reader", "versions", "install"),
}
_START = """\
#!/usr/bin/env python3
# fmt: off
{docstring}
import sys

if __name__ == "__main__" and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    del sys.path[0]  # nothing that lies beside this file is imported, whoever put it there

{imports}


"""
_END = """

if __name__ == "__main__":
    raise SystemExit(main())
"""
_OURS = ("audit", "jobs")


@dataclass(frozen=True)
class Key:
    """The private key of a bundle, which was opened before anything else was done."""

    public: str
    _sign: Callable[[str], bytes]

    def sign(self, manifest: Manifest) -> bytes:
        """The signed note of a manifest."""
        return self._sign(manifest.signed_text())


@dataclass(frozen=True)
class Published:
    """An archive that was put into a folder, and the programs beside it. `programs`: the sha256 of each by its path."""

    archive: Path
    sha256: str
    size: int
    manifest: Manifest
    programs: Mapping[Path, str]
    public_key: str


def open_key(file: Path, passphrase: Path | None) -> Key:
    """The private key in a file. ConfigError if it cannot be used."""
    try:
        if passphrase is None and audit.is_protected(file):
            what = f"{shown(file)} is protected by a passphrase"
            raise ConfigError(Problem("--key", what, None, "--passphrase-file FILE, the file that holds it"))
        signer = audit.open_signer(file, passphrase)
        return Key(audit.public_key_of(file), signer.sign)
    except audit.KeyRefused as error:
        raise ConfigError(Problem("--key", str(error), "a private key that `cloister audit key new` made")) from error


def make_folder(folder: Path) -> None:
    """The folder of a bundle, made if it is not there. ConfigError if it cannot be one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ConfigError(Problem("--out", f"{shown(folder)} is no folder", "a folder")) from None


def check_new(archive: Path) -> None:
    """ConfigError if the archive is there already."""
    if archive.exists():
        what = f"{shown(archive)} is there already; a bundle is never overwritten"
        raise ConfigError(Problem("--out", what, None, "name another folder, or remove the archive"))


def publish(
    folder: Path,
    manifest: Manifest,
    key: Key,
    read: Callable[[File], Iterable[bytes]],
    progress: Progress | None,
) -> Published:
    """Write the programs, then the archive, which has its name only when it is whole. ConfigError if there is no room,
    or if something else is in the way; OSError."""
    archive = folder / manifest.name
    check_new(archive)
    programs = {name: program(name).encode() for name in PROGRAMS}
    signature = key.sign(manifest)
    size = archive_size(manifest, signature)
    needed = size + sum(map(len, programs.values()))
    if (free := shutil.disk_usage(folder).free) < needed:
        what = f"{shown(folder)} has {free / MIB:,.1f} MiB free, the bundle takes {needed / MIB:,.1f} MiB"
        raise ConfigError(Problem("--out", what, None, "make room on that disk, or name a folder on another one"))
    digests = {folder / name: _put(folder / name, data) for name, data in programs.items()}
    partial = folder / f".{archive.name}.{os.getpid()}.part"
    try:
        with partial.open("xb") as stream:
            digest = write_archive(stream, manifest, signature, read, progress)
            stream.flush()
            os.fsync(stream.fileno())
        read_bundle(partial, key.public, manifest.expires or _ANY_DAY)  # as the other machine will
        partial.replace(archive)
    except standalone.WrongError as error:  # a file was changed while it was read, or has a name that none can have
        raise ConfigError(Problem(shown(archive), f"cannot be made: {error}")) from None
    finally:
        partial.unlink(missing_ok=True)
    audit.sync_folder(folder)
    return Published(archive, digest, size, manifest, digests, key.public)


def _put(path: Path, data: bytes) -> str:
    """Write a program unless it is there already; its sha256."""
    if path.exists() and path.read_bytes() != data:
        what = f"{shown(path)} is there, of another version"
        raise ConfigError(Problem("--out", what, None, "name a new folder: a program belongs to its bundle"))
    audit.write_file_atomically(path, data)
    return sha256(data).hexdigest()


def program(name: str) -> str:
    """The text of one of PROGRAMS, which the same version always writes alike."""
    texts = [Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8") for module in PROGRAMS[name]]
    bodies = [_quote_annotations(_body(text)) for text in texts]
    borrowed = sorted({found for body in bodies for found in re.findall(r"\bstandalone\.(\w+)", body)})
    checks = _quote_annotations("\n\n\n".join(_definitions(audit.VERIFIER.read_text(encoding="utf-8"), borrowed)))
    imports = sorted({line for text in texts for line in _imports(text)} | {"import re", "import hashlib"})
    docstring = ast.get_docstring(ast.parse(texts[-1]), clean=False)
    start = _START.format(docstring=f'"""{docstring}"""', imports="\n".join(imports))
    return start + "\n\n\n".join([checks, *(body.replace("standalone.", "") for body in bodies)]) + _END


def _segment(lines: list[str], node: ast.stmt) -> str:
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
    return "\n".join(lines[first - 1 : node.end_lineno])


def _imports(text: str) -> Iterator[str]:
    for node in ast.parse(text).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = node.names[0].name if isinstance(node, ast.Import) else str(node.module)
            if module.split(".")[0] not in _OURS:
                yield ast.unparse(node)


def _body(text: str) -> str:
    last = [node for node in ast.parse(text).body if isinstance(node, (ast.Import, ast.ImportFrom))][-1]
    return "\n".join(text.splitlines()[last.end_lineno :]).strip("\n")


def _definitions(text: str, names: list[str]) -> Iterator[str]:
    """The statements of a file that define these names, and those that they need, in the order of the file."""
    lines, tree = text.splitlines(), ast.parse(text)
    defined = {name: node for node in tree.body for name in _defines(node)}
    needed, asked = set[ast.stmt](), list(names)
    while asked:
        node = defined.get(asked.pop())
        if node is not None and node not in needed:
            needed.add(node)
            asked += [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    yield from (_segment(lines, node) for node in tree.body if node in needed)


def _defines(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]


def _quote_annotations(text: str) -> str:
    lines = [line.encode() for line in text.splitlines()]
    for node in sorted(_annotations(ast.parse(text)), key=lambda node: (node.lineno, node.col_offset), reverse=True):
        line, end = lines[node.lineno - 1], node.end_col_offset
        inner = line[node.col_offset : end]
        lines[node.lineno - 1] = line[: node.col_offset] + b'"' + inner + b'"' + line[end:]
    return b"\n".join(lines).decode()


def _annotations(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            found = getattr(node, name, None)
            if isinstance(found, ast.expr) and not isinstance(found, (ast.Name, ast.Constant)):
                yield found


@dataclass(frozen=True)
class Difference:
    """An update: what was published, the version that it leads from, and the bytes of a bundle that carries
    everything."""

    published: Published
    old_version: str
    whole: int


def difference(old: Path, new: Path, out: Path, key: Key, today: str, progress: Progress) -> Difference:
    """Write the update from `old` to `new`. Files are the same if they have the same sha256, wherever they lie. The old
    bundle need not be trusted: whoever installs the update has its files, and checks each. ConfigError."""
    with _refusals(old), open_regular(old) as file:
        data = read_member(file, MANIFEST, MOST_MANIFEST)
        base, before = sha256(data).hexdigest(), parse_manifest(data)
    with _refusals(new):
        after = read_bundle(new, key.public, today)  # signed by the same key: nobody's files are signed unknown
    if base == after.digest:
        raise ConfigError(Problem(shown(new), "is the same bundle, so there is nothing to update"))
    if after.told["kind"] != "full":
        what = "is an update itself, which does not carry all files of its version"
        raise ConfigError(Problem(shown(new), what, "a bundle that `cloister bundle create` made"))
    if order_of(after.told["version"]) < order_of(before["version"]):
        what = f"is of {after.told['version']}, which is older than {before['version']}"
        raise ConfigError(Problem(shown(new), what, "a newer bundle", "name the old bundle first, then the new one"))
    known = {told["sha256"] for told in before["files"]}
    files = tuple(
        File(one.path, one.size, one.sha256, one.role, one.sha256 not in known, one.facts) for one in after.files
    )
    told = after.told
    glibc = told["platform"]["glibc"]
    manifest = Manifest(told["version"], tuple(told["pythons"]), glibc, told["expires"], files, base)
    places = {one.path: one for one in after.files}
    make_folder(out)
    published = publish(out, manifest, key, lambda file: _read(new, places[file.path]), progress)
    return Difference(published, before["version"], sum(file.size for file in files))


def _read(archive: Path, file: BundleFile) -> Iterator[bytes]:
    """The bytes of a file of the new bundle, which was found whole."""
    assert file.at is not None
    with archive.open("rb") as stream:
        stream.seek(file.at)
        left = file.size
        while left and (block := stream.read(min(left, CHUNK))):
            left -= len(block)
            yield block


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """A bundle that cannot be read or trusted is a mistake of the command."""
    try:
        yield
    except (standalone.WrongError, OSError) as error:
        why = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
        expected = "a bundle that `cloister bundle create` made, signed by --key"
        raise ConfigError(Problem(shown(path), why, expected)) from None
