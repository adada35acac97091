"""The source checkout from which a bundle is made: that it is whole and as it was committed, and what it says."""

import os
import re
import subprocess
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from jobs.bundle.manifest import PRODUCT
from jobs.config.load import shown
from jobs.errors import ConfigError, Problem

PROJECT: Final = "pyproject.toml"
LOCK: Final = "requirements.lock"
PIP_LOCK: Final = "pip.lock"
NEEDED: Final = (PROJECT, LOCK, PIP_LOCK, "README.md", "LICENSE")
EXTRA: Final = "ocr"  # the extra that each bundle installs; pictures of text cannot be read without it
ON_REQUEST: Final = {"cluster": "cluster.lock"}
"""The extras that a bundle carries if it is asked to -> the lock of all packages, those of the extra among them."""
_LEFT_OUT: Final = re.compile(r"^(build|demo)/|(^|/)(\.|__pycache__/|[^/]*\.egg-info/)|\.py[co]$")
_LISTED = 10


@dataclass(frozen=True)
class Source:
    """A checkout. `files` are paths from its folder, sorted."""

    folder: Path
    files: tuple[str, ...]

    def read(self, file: str) -> bytes:
        """The bytes of a file. OSError."""
        return (self.folder / file).read_bytes()

    @cached_property
    def project(self) -> dict[str, Any]:
        """The table [project] of pyproject.toml."""
        found: dict[str, Any] = tomllib.loads(self.read(PROJECT).decode())["project"]
        return found

    @property
    def version(self) -> str:
        """The version of Cloister."""
        return str(self.project["version"])

    def lock(self, extra: str | None) -> Path:
        """The lock of what a bundle installs, with this extra or without one. ConfigError if the source has none."""
        name = LOCK if extra is None else ON_REQUEST[extra]
        if name not in self.files:
            what = f"has no {name}, which pins the packages of the extra {extra}"
            raise ConfigError(Problem(shown(self.folder), what, None, "a checkout that has it, or no --extra"))
        return self.folder / name

    def below(self, folder: str, suffix: str = "") -> list[str]:
        """The files below a folder whose names end so."""
        return [file for file in self.files if file.startswith(f"{folder}/") and file.endswith(suffix)]


def open_source(folder: Path) -> Source:
    """The checkout in this folder. ConfigError if files are missing, or differ from what was committed."""
    if not folder.is_dir():
        raise ConfigError(Problem(shown(folder), "is no folder", f"a checkout of {PRODUCT} with {PROJECT} and {LOCK}"))
    checkout = (folder / ".git").exists()
    tracked = _git(folder, "ls-files", "-z").split("\0") if checkout else []
    files = [name for name in tracked if name and (folder / name).is_file()] if checkout else _walked(folder)
    found = Source(folder, tuple(sorted(files)))
    if missing := [name for name in NEEDED if name not in found.files]:
        what = f"is no whole source of {PRODUCT}: it has no {', '.join(missing)}"
        raise ConfigError(Problem(shown(folder), what, None, "name a checkout of it: --source FOLDER"))
    _check_project(found)
    if checkout:
        _check_committed(found)
    return found


def _check_project(source: Source) -> None:
    place = shown(source.folder / PROJECT)
    try:
        name, version = source.project["name"], source.version
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError) as error:
        raise ConfigError(Problem(place, f"cannot be read: {error}", "a project with name and version")) from error
    if name != PRODUCT or not re.fullmatch(r"[A-Za-z0-9._+]{1,40}", version):
        raise ConfigError(Problem(place, f"is the project {name!r}, version {version!r}", f"the project {PRODUCT}"))


def _check_committed(source: Source) -> None:
    """ConfigError if a file was changed, is missing or was added since the last commit: nobody could make the same
    bundle again."""
    parts = sorted({file.split("/")[0] for file in source.files})
    told = _git(source.folder, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", *parts)
    changed = [line[3:] for line in told.split("\0") if line]
    # files that git was told not to compare (assume-unchanged), or not to have here (skip-worktree)
    listed = _git(source.folder, "ls-files", "-v", "-z").split("\0")
    changed += [line[2:] for line in listed if line[:1].islower() or line[:1] == "S"]
    if changed:
        names = ", ".join(changed[:_LISTED]) + (f" and {len(changed) - _LISTED} more" if changed[_LISTED:] else "")
        what = f"has changes that are not committed: {names}"
        raise ConfigError(Problem(shown(source.folder), what, "a clean checkout", "commit them, or put them aside"))


def _walked(folder: Path) -> list[str]:
    """The files of a source that is no checkout, without what builds and runs leave behind."""
    found = []
    for place, folders, names in os.walk(folder):
        inner = os.path.relpath(place, folder)
        paths = [os.path.normpath(os.path.join(inner, name)) for name in names]  # noqa: PTH118
        found += [path for path in paths if not _LEFT_OUT.search(path)]
        folders[:] = [name for name in folders if not _LEFT_OUT.search(f"{os.path.normpath(f'{inner}/{name}')}/")]
    return found


def _git(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, env=environment, capture_output=True, check=True)
    except FileNotFoundError:
        raise ConfigError(
            Problem("git", "is not installed", "git, which says what of a checkout is committed")
        ) from None
    except subprocess.CalledProcessError as error:
        why = error.stderr.decode(errors="replace").strip().splitlines()
        raise ConfigError(Problem(shown(folder), f"git cannot read it: {why[-1] if why else error}")) from None
    return done.stdout.decode(errors="surrogateescape")
