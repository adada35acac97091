"""The installed version that this process runs from; and `bundle remove`, which deletes old ones that nobody needs."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from jobs.bundle.versions import (
    COMPLETE,
    CURRENT,
    PREVIOUS,
    VERSIONS,
    RefusedError,
    changing,
    complete_versions,
    discard,
    told_errors,
    version_of,
)


def remove(root: Path, versions: Sequence[str]) -> None:
    """Delete installed versions, named as `bundle list` names them. RefusedError, with nothing deleted, if one is not
    installed, is the current one or the one to which `rollback` goes, or if a process runs from it."""
    with told_errors(), changing(root):
        for version in versions:
            check_unused(root, version)
        for version in versions:
            discard(root / VERSIONS / version)


def check_unused(root: Path, version: str) -> None:
    """RefusedError unless this is an installed version that nobody needs."""
    complete, what = complete_versions(root), f"{version} is not removed"
    if version not in complete:
        raise RefusedError(what, "no such version is installed", f"one of {', '.join(complete)}")
    for link, is_what in ((CURRENT, "the current version"), (PREVIOUS, "the version to which `rollback` goes")):
        if version == version_of(root, link):
            raise RefusedError(what, f"it is {is_what}", "a version that `cloister bundle list` calls unused")
    if numbers := processes(root / VERSIONS / version):
        found = f"processes run from it: {', '.join(map(str, numbers))}"
        raise RefusedError(what, found, "", "start the service anew, or wait until they have ended")


def processes(folder: Path) -> list[int]:
    """The numbers of the processes that run from a version: its folder stands in their command, or they have mapped a
    file of it. Of other users' processes only root sees all."""
    signs = {os.fsencode(f"{each}/") for each in (folder, folder.resolve())}
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        told = b""
        for name in ("cmdline", "maps"):
            with suppress(OSError):
                told += (process / name).read_bytes()
        if any(sign in told for sign in signs):
            found.append(int(process.name))
    return sorted(found)


def installed_version() -> Path | None:
    """The folder of the version whose environment this process has; None if it has another one."""
    folder = Path(sys.prefix).parent
    return folder if (folder / COMPLETE).is_file() and (folder / "manifest.json").is_file() else None


def example_documents(version: Path, job: str) -> list[Path]:
    """The documents that came with an example job."""
    return sorted(path for path in (version / "jobs" / "documents" / job).glob("*") if path.is_file())
