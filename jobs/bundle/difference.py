"""`bundle diff`: an update that carries only what a bundle has and another one has not."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import audit
from jobs.bundle.archive import Archive, BundleError, Progress, open_archive
from jobs.bundle.manifest import Manifest
from jobs.bundle.publish import Key, Published, make_folder, publish
from jobs.errors import ConfigError, Problem
from jobs.load import shown


@dataclass(frozen=True)
class Difference:
    """An update: what was published, the versions that it leads from and to, and the bytes of a bundle that carries
    everything."""

    published: Published
    old: Manifest
    whole: int


def difference(old: Path, new: Path, out: Path, key: Key, progress: Progress) -> Difference:
    """Write the update from `old` to `new`. Files are the same if they have the same sha256, wherever they lie. The old
    bundle need not be trusted: whoever installs the update has its files, and checks each. ConfigError."""
    with ExitStack() as opened:
        before, after = (_open(path, opened) for path in (old, new))
        if before.manifest.sha256 == after.manifest.sha256:
            raise ConfigError(Problem(shown(new), "is the same bundle, so there is nothing to update"))
        if after.manifest.base is not None:
            what = "is an update itself, which does not carry all files of its version"
            raise ConfigError(Problem(shown(new), what, "a bundle that `cloister bundle create` made"))
        _check_signed(new, after, key)
        known = {file.sha256 for file in before.manifest.files}
        files = tuple(replace(file, carried=file.sha256 not in known) for file in after.manifest.files)
        manifest = replace(after.manifest, files=files, base=before.manifest.sha256)
        make_folder(out)
        published = publish(out, manifest, key, after.read, progress)
        return Difference(published, before.manifest, sum(file.size for file in files))


def _open(path: Path, opened: ExitStack) -> Archive:
    try:
        return opened.enter_context(open_archive(path))
    except BundleError as error:
        raise ConfigError(Problem(shown(path), str(error), "a bundle that `cloister bundle create` made")) from None
    except OSError as error:
        raise ConfigError(Problem(shown(path), f"cannot be read: {error.strerror}")) from None


def _check_signed(path: Path, archive: Archive, key: Key) -> None:
    """ConfigError unless the same key signed the bundle: nobody's files are signed without being known."""
    try:
        text = audit.open_note(archive.signature, audit.parse_public_key(key.public))
    except ValueError:
        text = ""
    if text != archive.manifest.signed_text():
        what = f"is not signed by {key.public}"
        raise ConfigError(Problem(shown(path), what, "a bundle that --key signed", "create it with that key"))
