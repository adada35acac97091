"""`cloister bundle`: Cloister itself, carried on a disk, and installed from it."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from audit import standalone
from jobs.bundle.create.compose import Created, Wanted
from jobs.bundle.create.compose import create as create_bundle
from jobs.bundle.create.source import ON_REQUEST
from jobs.bundle.create.wheels import format_glibc
from jobs.bundle.install import install as install_bundle
from jobs.bundle.install import trusted_key
from jobs.bundle.publish import MIB, Published, difference, open_key
from jobs.bundle.reader import describe, describe_files, next_commands, read_bundle
from jobs.bundle.remove import installed_version
from jobs.bundle.remove import remove as remove_versions
from jobs.bundle.versions import (
    CURRENT,
    PREVIOUS,
    HeldError,
    RefusedError,
    complete_versions,
    default_root,
    roll_back,
    this_machine,
    told_errors,
    version_of,
)
from jobs.cli.options import Passphrase, argument, day, option
from jobs.cli.printing import Answer, Aside, EndedError, Table, refused
from jobs.config.load import shown
from jobs.config.workspace import CREDENTIAL, credential
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.progress import saying, telling
from jobs.visible import counted

BundleFile = Annotated[Path, argument("BUNDLE", "The archive.")]
Prefix = Annotated[
    Path | None,
    option(
        "--prefix",
        "The installation; else that of this command, else /opt/cloister, or ~/.local/share/cloister for a user.",
        "DIR",
    ),
]
OutFolder = Annotated[
    Path, option("--out -o", "Put the archive into this folder, and two programs beside it.", "FOLDER")
]
Key = Annotated[Path, option("--key", "The private key that signs it (`cloister audit key new`).", "FILE")]


def create(
    out: OutFolder,
    key: Key,
    passphrase_file: Passphrase = None,
    source: Annotated[Path, option("--source", "A checkout of Cloister, without changes.", "FOLDER")] = Path(),
    python: Annotated[
        list[str] | None,
        option("--python", "A Python that it is for, as 3.12; may be given several times.", "VERSION"),
    ] = None,
    wheels: Annotated[
        Path | None, option("--wheels", "Take the wheels from this folder, without a network.", "FOLDER")
    ] = None,
    model: Annotated[
        list[Path] | None,
        option("--model", "A model (.gguf) or a head (.head) to carry; may be given several times.", "FILE"),
    ] = None,
    extra: Annotated[
        str | None, option("--extra", "Carry what this extra needs, too: cluster, for many machines.", "NAME")
    ] = None,
    expires: Annotated[str | None, option("--expires", "The last day on which it may be installed.", "DATE")] = None,
) -> Answer:
    """Make a bundle: one signed archive for machines without a network (Linux on x86-64).

    It carries wheels with their hashes, models, heads, example jobs, the pages, the licences, and a list of all parts
    (CycloneDX). pip brings the wheels, from where its own configuration says. The same inputs give the same bytes.
    Beside the archive lie verify.py and install.py, which the other machine runs.
    """
    last = day("--expires", expires, "a day as 2027-01-31")
    if last and last < date.today():
        raise ConfigError(Problem("--expires", f"{last} is past: nobody could install the bundle", "a day to come"))
    asked = python or [f"{sys.version_info.major}.{sys.version_info.minor}"]
    for version in asked:
        if not re.fullmatch(r"3\.(1[1-9]|[2-9]\d)", version):
            raise ConfigError(Problem("--python", f"{version!r}", "a version of Python as 3.11, or a newer one"))
    pythons = tuple(sorted(set(asked), key=_minor))
    if extra is not None and extra not in ON_REQUEST:
        known = f"an extra that a bundle can carry: {', '.join(sorted(ON_REQUEST))}"
        raise ConfigError(Problem("--extra", f"{extra!r}", known))
    wanted = Wanted(source, out, pythons, wheels, tuple(model or ()), last.isoformat() if last else None, extra)
    opened = open_key(key, passphrase_file or credential(CREDENTIAL))
    with telling("making the bundle") as progress:
        created = create_bundle(wanted, opened, progress)
    return Answer(_to_json(created.published) | {"wheels": list(_wheels(created))}, _created_lines(created))


def _minor(python: str) -> int:
    return int(python.partition(".")[2])


def _to_json(published: Published) -> dict[str, Any]:
    manifest = published.manifest
    return {
        "archive": published.archive,
        "sha256": published.sha256,
        "size": published.size,
        "manifest_sha256": manifest.sha256,
        "public_key": published.public_key,
        "version": manifest.version,
        "pythons": list(manifest.pythons),
        "glibc": manifest.glibc,
        "expires": manifest.expires,
        "base": manifest.base,
        "files": len(manifest.files),
        "carried": len(manifest.carried),
        "programs": {path.name: digest for path, digest in published.programs.items()},
    }


def _wheels(created: Created) -> Iterator[dict[str, Any]]:
    for part in created.parts:
        glibc = part.wheel.name.glibc
        told = {"name": part.wheel.package, "version": part.wheel.version, "path": part.path}
        yield told | {"pythons": list(part.pythons), "glibc": None if glibc is None else format_glibc(glibc)}


def _published_lines(published: Published) -> Iterator[str]:
    """The facts about a bundle that was made, and what the other side must be told in another way than on the disk."""
    manifest, archive = published.manifest, published.archive
    yield f"Made {shown(archive)}: {counted(len(manifest.carried), 'file')}, {published.size / MIB:,.1f} MiB"
    yield f"  sha256      {published.sha256}"
    yield from (f"  {path.name:<10}  {digest}" for path, digest in published.programs.items())
    yield f"  public key  {published.public_key}"
    if manifest.expires:
        yield f"  expires     {manifest.expires}"
    yield "Give the public key to the other side in another way than on the disk. There:"
    yield f"  python3 -I verify.py {archive.name} --key KEY"
    yield f"  python3 -I install.py {archive.name} --key KEY"


def _created_lines(created: Created) -> Iterator[str | Table]:
    """Also which version of glibc each wheel needs, the highest version first."""
    yield from _published_lines(created.published)
    pythons, glibc = " or ".join(created.published.manifest.pythons), created.published.manifest.glibc
    yield f"Runs on Linux on x86-64 with {f'glibc {glibc} or newer and ' if glibc else ''}Python {pythons}"
    rows = dict[tuple[int, int, str, str], list[str]]()
    for part in created.parts:
        if (needs := part.wheel.name.glibc) is not None:
            row = rows.setdefault((-needs[0], -needs[1], part.wheel.package, part.wheel.version), [])
            row += part.pythons
    if rows:
        told = [
            [name, version, format_glibc((-major, -minor)), ", ".join(sorted(users, key=_minor))]
            for (major, minor, name, version), users in sorted(rows.items())
        ]
        yield Table(["wheel", "version", "glibc", "python"], told, right=["glibc"])
    pure = sum(part.wheel.name.glibc is None for part in created.parts)
    yield f"and {counted(pure, 'wheel')} without machine code"


def diff(
    old: Annotated[Path, argument("OLD", "The bundle that is installed there.")],
    new: Annotated[Path, argument("NEW", "The bundle that is to be; --key signed it.")],
    out: OutFolder,
    key: Key,
    passphrase_file: Passphrase = None,
) -> Answer:
    """Make an update from one bundle to another, which carries only files that the old one has not.

    It installs where the old version is installed, and nowhere else. What is installed then is the new bundle, file by
    file.
    """
    opened = open_key(key, passphrase_file or credential(CREDENTIAL))
    with telling("making the update") as progress:
        made = difference(old, new, out, opened, str(date.today()), progress)
    share, after = 100 * made.published.size / max(made.whole, 1), made.published.manifest.version
    last = f"It updates {made.old_version} to {after}, with {share:.1f} % of {made.whole / MIB:,.1f} MiB"
    told = _to_json(made.published) | {"old_version": made.old_version, "whole_size": made.whole}
    return Answer(told, [*_published_lines(made.published), last])


def _root_of(prefix: Path | None) -> Path:
    if prefix is not None:
        return prefix.absolute()
    version = installed_version()
    return default_root() if version is None else version.parent.parent


@contextmanager
def _refusals(what: Path) -> Iterator[None]:
    """A bundle that cannot be trusted ends with exit 4, an installation that is being changed with 5; everything else
    that is not as it has to be is a ConfigError."""
    try:
        yield
    except standalone.WrongError as error:
        told = f"{what} CANNOT BE TRUSTED: {error}"
        raise EndedError(refused(told, told, ExitCode.AUDIT_FAILED)) from error
    except HeldError as error:
        raise EndedError(refused(error, Aside(error), ExitCode.WORKSPACE_HELD)) from error
    except RefusedError as error:
        where, found, expected, remedy = error.told
        raise ConfigError(Problem(where, found, expected or None, remedy or None)) from error


def verify(
    bundle: BundleFile,
    key: Annotated[
        str | None, option("--key", "The trusted public key, or its file; else the installation's.", "KEY")
    ] = None,
    files: Annotated[bool, option("--list", "Say what is in the bundle, file by file.")] = False,
) -> Answer:
    """Check a bundle: its signature, each byte, and that nothing else is in it.

    Writes nothing. Exit 4 if the bundle cannot be trusted.
    """
    with _refusals(bundle):
        try:
            found = read_bundle(bundle, trusted_key(_root_of(None), key), str(date.today()))
        except OSError as error:
            raise ConfigError(Problem(str(bundle), f"cannot be read: {error.strerror}")) from error
    told = {"ok": True, "id": found.id, "manifest_sha256": found.digest, "signed_by": found.signed_by}
    told |= {name: value for name, value in found.told.items() if files or name != "files"}
    return Answer(told, [*describe(found), *(describe_files(found) if files else ()), "WHOLE"])


def install(
    bundle: BundleFile,
    key: Annotated[
        str | None,
        option("--key", "The trusted public key, or a file with it; an installation remembers its own.", "KEY"),
    ] = None,
    prefix: Prefix = None,
    older: Annotated[
        bool, option("--older", "Also if it is older than the current version, which is refused else.")
    ] = False,
) -> Answer:
    """Install a bundle: check all of it, install it beside what is there, and make it the current version at the end.

    An install that fails or is interrupted leaves the version that runs as it is. Workspaces are never touched. On a
    machine that has no Cloister yet, install.py beside the bundle does the same.
    """
    root = _root_of(prefix)
    with _refusals(bundle), saying() as step:
        done = install_bundle(bundle, root, key, str(date.today()), this_machine(), step, older)
    told = {"id": done.id, "version": done.version, "before": done.before, "new": done.new, "prefix": root}
    return Answer(told, next_commands(root, done.id, done.before, done.new))


def rollback(prefix: Prefix = None) -> Answer:
    """Go back to the version before, which is still installed; a second time goes forward again.

    Workspaces are never touched, and nothing is removed. It starts that version once before it changes anything.
    """
    root = _root_of(prefix)
    with _refusals(root):
        current, before = roll_back(root)
    lines = (f"Went back to {current}; {before} is kept", "Next: start the service anew, if there is one.")
    return Answer({"id": current, "before": before, "prefix": root}, lines)


def list_(prefix: Prefix = None) -> Answer:
    """List the installed versions: the current one, the one before, and others, which `bundle remove` deletes."""
    root = _root_of(prefix)
    with _refusals(root), told_errors():
        current, previous, versions = version_of(root, CURRENT), version_of(root, PREVIOUS), complete_versions(root)
    told = {"prefix": root, "current": current, "previous": previous, "versions": versions}
    states = {current: "current", previous: "previous"}
    lines = [f"{each}  {states.get(each, f'unused: {root}/versions/{each}')}" for each in versions]
    return Answer(told, lines or [f"No version is installed in {root}"])


def remove(
    versions: Annotated[list[str], argument("VERSION...", "As `bundle list` names them.")], prefix: Prefix = None
) -> Answer:
    """Delete installed versions that are no longer needed, for the room that they take.

    The current version and the one before are kept, and one from which a process still runs: then nothing is deleted.
    Workspaces are never touched.
    """
    root, asked = _root_of(prefix), list(dict.fromkeys(versions))
    with _refusals(root):
        remove_versions(root, asked)
    return Answer({"removed": asked, "prefix": root}, [f"Removed {version}" for version in asked])
