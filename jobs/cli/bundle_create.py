"""`cloister bundle create`: makes one signed archive of everything that a machine without a network needs."""

from __future__ import annotations

import re
import sys
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer

from jobs.bundle.create.compose import Created, Wanted
from jobs.bundle.create.compose import create as create_bundle
from jobs.bundle.create.sbom import Part
from jobs.bundle.create.source import ON_REQUEST
from jobs.bundle.create.wheels import format_glibc
from jobs.bundle.publish import MIB, Published, open_key
from jobs.cli.options import JsonOption
from jobs.cli.output import print_json, print_table, say
from jobs.config.load import shown
from jobs.config.workspace import CREDENTIAL, credential
from jobs.errors import ConfigError, Problem
from jobs.progress import telling
from jobs.visible import counted

OutOption = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="FOLDER", help="Put the archive into this folder, and two programs beside it."),
]
KeyOption = Annotated[
    Path, typer.Option("--key", metavar="FILE", help="The private key that signs it (`cloister audit key new`).")
]
PassphraseOption = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file", metavar="FILE", help="The passphrase of --key; else the systemd credential, if any."
    ),
]
PythonOption = Annotated[
    list[str] | None,
    typer.Option("--python", metavar="VERSION", help="A Python that it is for, as 3.12; may be given several times."),
]
WheelsOption = Annotated[
    Path | None,
    typer.Option("--wheels", metavar="FOLDER", help="Take the wheels from this folder, without a network."),
]
ModelOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--model", metavar="FILE", help="A model (.gguf) or a head (.head) to carry; may be given several times."
    ),
]

ExtraOption = Annotated[
    str | None,
    typer.Option("--extra", metavar="NAME", help="Carry what this extra needs, too: cluster, for many machines."),
]


def create(
    out: OutOption,
    key: KeyOption,
    passphrase_file: PassphraseOption = None,
    source: Annotated[
        Path, typer.Option("--source", metavar="FOLDER", help="A checkout of Cloister, without changes.")
    ] = Path(),
    python: PythonOption = None,
    wheels: WheelsOption = None,
    model: ModelOption = None,
    extra: ExtraOption = None,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="DATE", help="The last day on which it may be installed.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a bundle: one signed archive for machines without a network (Linux on x86-64).

    It carries wheels with their hashes, models, heads, example jobs, the pages, the licences, and a list of all parts
    (CycloneDX). pip brings the wheels, from where its own configuration says. The same inputs give the same bytes.
    Beside the archive lie verify.py and install.py, which the other machine runs.
    """
    day = _day(expires, date.today())
    wanted = Wanted(source, out, _pythons(python), wheels, tuple(model or ()), day, _extra(extra))
    opened = open_key(key, passphrase_file or credential(CREDENTIAL))
    with telling("making the bundle") as progress:
        created = create_bundle(wanted, opened, progress)
    if as_json:
        print_json(to_json(created.published) | {"wheels": [_wheel(part) for part in created.parts]})
        return
    say_published(created.published)
    _say_glibc(created)


def _pythons(asked: list[str] | None) -> tuple[str, ...]:
    """The versions of Python in their order; the one that runs if none is named. ConfigError."""
    versions = asked or [f"{sys.version_info.major}.{sys.version_info.minor}"]
    for version in versions:
        if not re.fullmatch(r"3\.(1[1-9]|[2-9]\d)", version):
            raise ConfigError(Problem("--python", f"{version!r}", "a version of Python as 3.11, or a newer one"))
    return tuple(sorted(set(versions), key=_minor))


def _extra(asked: str | None) -> str | None:
    if asked is not None and asked not in ON_REQUEST:
        known = f"an extra that a bundle can carry: {', '.join(sorted(ON_REQUEST))}"
        raise ConfigError(Problem("--extra", f"{asked!r}", known))
    return asked


def _day(text: str | None, today: date) -> str | None:
    if text is None:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(Problem("--expires", f"{text!r} is no day", "a day as 2027-01-31")) from error
    if day < today:
        raise ConfigError(Problem("--expires", f"{day} is past: nobody could install the bundle", "a day to come"))
    return day.isoformat()


def to_json(published: Published) -> dict[str, Any]:
    """The facts about a bundle that was made, for programs."""
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


def say_published(published: Published) -> None:
    """Print the facts about a bundle that was made, and what the other side must be told in another way than on the
    disk."""
    manifest, archive = published.manifest, published.archive
    say(f"Made {shown(archive)}: {counted(len(manifest.carried), 'file')}, {published.size / MIB:,.1f} MiB")
    say(f"  sha256      {published.sha256}")
    for path, digest in published.programs.items():
        say(f"  {path.name:<10}  {digest}")
    say(f"  public key  {published.public_key}")
    if manifest.expires:
        say(f"  expires     {manifest.expires}")
    say("Give the public key to the other side in another way than on the disk. There:")
    say(f"  python3 -I verify.py {archive.name} --key KEY")
    say(f"  python3 -I install.py {archive.name} --key KEY")


def _wheel(part: Part) -> dict[str, Any]:
    glibc = part.wheel.name.glibc
    told = {"name": part.wheel.package, "version": part.wheel.version, "path": part.path}
    return told | {"pythons": list(part.pythons), "glibc": None if glibc is None else format_glibc(glibc)}


def _say_glibc(created: Created) -> None:
    """Print which version of glibc each wheel needs, the highest version first."""
    pythons, glibc = " or ".join(created.published.manifest.pythons), created.published.manifest.glibc
    say(f"Runs on Linux on x86-64 with {f'glibc {glibc} or newer and ' if glibc else ''}Python {pythons}")
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
        print_table(["wheel", "version", "glibc", "python"], told, right=["glibc"])
    pure = sum(part.wheel.name.glibc is None for part in created.parts)
    say(f"and {counted(pure, 'wheel')} without machine code")


def _minor(python: str) -> int:
    return int(python.partition(".")[2])
