"""`bundle diff`: an update that carries only what a bundle has and another one has not."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from audit import standalone
from jobs.bundle.archive import Progress
from jobs.bundle.manifest import File, Manifest
from jobs.bundle.publish import Key, Published, make_folder, publish
from jobs.bundle.reader import (
    CHUNK,
    MANIFEST,
    MOST_MANIFEST,
    Bundle,
    BundleFile,
    open_regular,
    parse_manifest,
    read_bundle,
    read_member,
)
from jobs.bundle.versions import order_of
from jobs.errors import ConfigError, Problem
from jobs.load import shown


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
    base, before = _read_manifest(old)
    after = _read_whole(new, key, today)
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


def _read_manifest(path: Path) -> tuple[str, dict[str, Any]]:
    """The sha256 of the old bundle's manifest, and the manifest."""
    try:
        with open_regular(path) as file:
            data = read_member(file, MANIFEST, MOST_MANIFEST)
        return sha256(data).hexdigest(), parse_manifest(data)
    except (standalone.WrongError, OSError) as error:
        raise _refused(path, error) from None


def _read_whole(path: Path, key: Key, today: str) -> Bundle:
    """The new bundle, which the same key signed: nobody's files are signed without being known."""
    try:
        return read_bundle(path, key.public, today)
    except (standalone.WrongError, OSError) as error:
        raise _refused(path, error) from None


def _refused(path: Path, error: Exception) -> ConfigError:
    why = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
    return ConfigError(Problem(shown(path), why, "a bundle that `cloister bundle create` made, signed by --key"))
