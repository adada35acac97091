"""Installs a bundle of Cloister on a machine that has nothing but Python: no network, no compiler, no pip.

    python3 -I install.py BUNDLE --key KEY [--prefix DIR] [--older]
    python3 -I install.py --rollback [--prefix DIR]

KEY is the public key that you trust, or a file with it; it came to you in another way than the bundle. The first
install remembers it, and later ones need it no more. DIR is /opt/cloister for root and ~/.local/share/cloister for
others, if it is left out. All of the bundle is checked before anything is written, and the version that runs is
replaced by a link at the very end: an install that fails or is interrupted changes nothing. Workspaces are never
touched. A version that is older than the current one is installed with --older only: whoever carries the disk could
otherwise bring back an old mistake. --rollback goes back to the version before. Exit code 0: done. 1: the bundle cannot
be trusted. 2: something else has to be otherwise. Both say what. 130: interrupted.
"""

import argparse
import os
import shutil
import subprocess
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import NamedTuple

from audit import standalone
from jobs.bundle.reader import (
    CHUNK,
    MANIFEST,
    SIGNATURE,
    Bundle,
    BundleFile,
    check_key,
    digest_of,
    find_key,
    lock_of,
    next_commands,
    open_regular,
    parse_manifest,
    read_bundle,
    say,
)
from jobs.bundle.versions import (
    COMMAND,
    COMPLETE,
    CURRENT,
    TRUSTED,
    VERSIONS,
    Machine,
    RefusedError,
    check_machine,
    check_safe,
    check_space,
    check_start,
    complete_versions,
    default_root,
    flip,
    locked,
    order_of,
    roll_back,
    sync_filesystem,
    this_machine,
    told_errors,
    version_of,
    write_whole,
)

TEMPORARY = "temporary"
RUN_PIP = "import sys; sys.path.insert(0, sys.argv.pop(1)); from pip._internal.cli.main import main; sys.exit(main())"
OPTIONS = (
    *("--isolated", "--no-index", "--require-hashes", "--only-binary", ":all:", "--no-cache-dir", "--no-input"),
    *("--no-warn-script-location", "--disable-pip-version-check", "--quiet"),
)


class Installed(NamedTuple):
    """What an install did: `before` is the version that was the current one, `new` whether this one was not there."""

    id: str
    version: str
    before: str | None
    new: bool


def install(
    archive: Path,
    root: Path,
    key: str | None,
    today: str,
    machine: Machine,
    step: Callable[[str], None],
    older: bool = False,
) -> Installed:
    """Install a bundle in an installation, which begins with it if there is none, and make it the current version.
    `key` is what the user gave, `step` is told what happens next, `older` allows a version that is older than the
    current one. Raises WrongError for a bundle that cannot be trusted, RefusedError for anything else that has to be
    otherwise, and then nothing was changed."""
    trusted = trusted_key(root, key)
    step("checking the bundle")
    try:
        bundle = read_bundle(archive, trusted, today)
    except OSError as error:
        raise RefusedError(str(archive), f"cannot be read: {error.strerror}") from None
    check_machine(bundle.told, machine)
    with usual_umask(), told_errors():
        check_safe(root)  # before a program of it is started
        folder = root / VERSIONS / bundle.id
        new = not is_installed(folder)
        sources = find_sources(bundle, root) if new else {}
        wheels = [each for each in bundle.files if each.role == "wheel" and machine.python in each.facts["pythons"]]
        if new:
            check_space(bundle, folder, wheels, sources)
        with locked(root, make=True) as lock:
            trusted_key(root, trusted)  # another install may have begun the installation meanwhile
            before = version_of(root, CURRENT)
            check_order(bundle, before, older)
            if not (folder / COMPLETE).exists():
                build(bundle, folder, wheels, sources, machine.python, lock, step)
            write_whole(root / TRUSTED, trusted + "\n")
            link_command(root)
            if before != bundle.id:
                flip(root, bundle.id, before)
    return Installed(bundle.id, bundle.told["version"], before, new)


def trusted_key(root: Path, given: str | None) -> str:
    """The public key that bundles have to be signed by: the one that the installation remembers, else the one that is
    given. RefusedError if there is none, or if they differ."""
    try:
        key = None if given is None else find_key(given)
    except (OSError, standalone.WrongError) as error:
        found = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise RefusedError("--key", found, "the public key that you trust, or a file with nothing else") from None
    try:
        remembered = check_key((root / TRUSTED).read_text("utf-8", "replace")) if (root / TRUSTED).exists() else key
    except (OSError, standalone.WrongError) as error:
        raise RefusedError(str(root / TRUSTED), str(error), "", "write the public key that you trust into it") from None
    if remembered is None:
        found, expected = f"{root} remembers none, and --key is missing", "the public key that you trust"
        raise RefusedError("no key", found, expected, "give it by --key; it came to you in another way than the bundle")
    if key is not None and key != remembered:
        remedy = f"if the key was replaced, write the new one into {root / TRUSTED}"
        raise RefusedError("another key", key, f"{remembered}, which this installation trusts", remedy)
    return remembered


def check_order(bundle: Bundle, current: str | None, older: bool) -> None:
    """RefusedError for a version that is older than the current one, unless that is wanted: it is signed like a newer
    one, so that whoever carries the disk could bring back a mistake that was mended."""
    version = bundle.told["version"]
    installed = version if current is None else current.rpartition("-")[0]
    if order_of(version) < order_of(installed) and not older:
        remedy = "--rollback goes back to the version before; --older installs an older one all the same"
        raise RefusedError("an older version", version, f"{installed}, which is the current one, or newer", remedy)


def is_installed(folder: Path) -> bool:
    """Whether a version is in this folder, complete. RefusedError if it is, and does not start: something may run from
    it, so that it is not installed over."""
    if not (folder / COMPLETE).exists():
        return False
    try:
        check_start(folder)
    except RefusedError as error:
        what, found, _, _ = error.told
        remedy = f"if nothing runs from it, move {folder} away, and install it again"
        raise RefusedError(what, found, "", remedy) from None
    return True


def find_sources(bundle: Bundle, root: Path) -> dict[str, Path]:
    """The files of this bundle that an installed version has: their paths, and where they lie. Each was read, and has
    its sha256. RefusedError if one is missing that the bundle does not carry."""
    known = {}
    for version in complete_versions(root):
        folder = root / VERSIONS / version
        with suppress(OSError, standalone.WrongError):  # what a damaged version has is not known
            for told in parse_manifest((folder / MANIFEST).read_bytes())["files"]:
                known[told["sha256"]] = folder / told["path"]
    sources = {}
    for each in bundle.files:
        place = known.get(each.sha256)
        if place is not None and place.is_file() and digest_of(place) == each.sha256:
            sources[each.path] = place
        elif each.at is None:
            expected = f"the version whose manifest has the sha256 {bundle.told['base']}, whole"
            found = f"no installed version has {each.path}"
            raise RefusedError("an update of another version", found, expected, "take a full bundle")
    return sources


@contextmanager
def usual_umask() -> Iterator[None]:
    """What is written meanwhile may be read by all users, and written by none but this one."""
    before = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(before)


def build(
    bundle: Bundle,
    folder: Path,
    wheels: list[BundleFile],
    sources: dict[str, Path],
    python: str,
    lock: int,
    step: Callable[[str], None],
) -> None:
    """Make the folder of a version, which is complete at the end. It is removed if that fails."""
    try:
        step("copying its files")
        folder.mkdir(parents=True)
        copy_files(bundle, folder, sources)
        step(f"installing {len(wheels)} packages, which takes a minute or two")
        install_packages(bundle, folder, wheels, python, lock)
        step("starting the new version once")
        check_start(folder)
        sync_filesystem(folder)
        write_whole(folder / COMPLETE, "")
    except BaseException:
        shutil.rmtree(str(folder), ignore_errors=True)
        raise


def copy_files(bundle: Bundle, folder: Path, sources: dict[str, Path]) -> None:
    """Put the files of a version into its folder: from an installed one, else from the archive, checked once more."""
    (folder / MANIFEST).write_bytes(bundle.manifest)
    (folder / SIGNATURE).write_bytes(bundle.signature)
    with open_regular(bundle.archive) as file:
        for each in bundle.files:
            target = folder / each.path
            target.parent.mkdir(parents=True, exist_ok=True)
            if each.path in sources:
                try:
                    os.link(str(sources[each.path]), str(target))
                except OSError:  # a file system without such links, or with too many of them
                    shutil.copyfile(str(sources[each.path]), str(target))
                continue
            file.seek(each.at or 0)
            with target.open("wb") as out:
                for start in range(0, each.size, CHUNK):
                    out.write(file.read(min(CHUNK, each.size - start)))
            if digest_of(target) != each.sha256:
                raise RefusedError(str(bundle.archive), f"{each.path} was changed since it was checked")


def install_packages(bundle: Bundle, folder: Path, wheels: list[BundleFile], python: str, lock: int) -> None:
    """Make the environment of a version, by the pip that the bundle brings. RefusedError with what that said last."""
    venv.create(str(folder / "venv"), symlinks=True)
    temporary = folder / TEMPORARY
    temporary.mkdir()
    pip = next(each.path for each in bundle.files if each.role == "pip")
    places = sorted({str((folder / each.path).parent) for each in wheels})
    command = [str(folder / "venv/bin/python"), "-I", "-c", RUN_PIP, str(folder / pip), "install", *OPTIONS]
    command += [word for place in places for word in ("--find-links", place)]
    command += ["-r", str(folder / lock_of(python))]
    settings = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "PIP_CONFIG_FILE": os.devnull}
    settings.update({name: str(temporary) for name in ("HOME", "TMPDIR")})
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", env=settings, pass_fds=(lock,)
    )
    shutil.rmtree(str(temporary))
    if done.returncode != 0:
        told = done.stdout.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.returncode}"]
        raise RefusedError("the packages cannot be installed", told[-1])


def link_command(root: Path) -> None:
    """Have bin/cloister lead to the command of the current version, whichever that is."""
    (root / COMMAND).parent.mkdir(exist_ok=True)
    with suppress(FileExistsError):
        (root / COMMAND).symlink_to(f"../{CURRENT}/venv/bin/cloister")


def main() -> int:
    """The program; it returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", nargs="?", type=Path, metavar="BUNDLE")
    parser.add_argument("--key")
    parser.add_argument("--prefix", type=Path, default=default_root(), metavar="DIR")
    parser.add_argument("--older", action="store_true")
    parser.add_argument("--rollback", action="store_true")
    options = parser.parse_args()
    if (options.bundle is None) != options.rollback:
        parser.error("give a BUNDLE to install, or --rollback")
    root = options.prefix.absolute()
    try:
        if options.rollback:
            say("Went back to {}; the version before that was {}".format(*roll_back(root)))
            return 0
        today, machine, older = str(date.today()), this_machine(), options.older
        done = install(options.bundle, root, options.key, today, machine, lambda text: say(f"{text} ..."), older)
    except standalone.WrongError as error:
        say(f"{options.bundle}: {error}")
        say("THIS BUNDLE CANNOT BE TRUSTED. Nothing was changed.")
        return 1
    except RefusedError as error:
        for line in [*str(error).splitlines(), "Nothing was changed."]:
            say(line)
        return 2
    except KeyboardInterrupt:
        say(f"Interrupted. The current version is {version_of(root, CURRENT) or 'none'}.")
        return 130
    for line in next_commands(root, done.id, done.before, done.new):
        say(line)
    return 0
