"""`cloister audit key show`: which key signs the log, which did before, and what to do if site.yaml names another."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import audit
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.workspace import Workspace, open_workspace
from jobs.errors import ConfigError, ExitCode, Problem


def show(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="A private key, to tell its public half.", show_default=False),
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell the public key of a log, and which keys signed it before.

    Private keys are not shown. Exit 4 if the log is not signed by the key of site.yaml.
    """
    if file is not None:
        _show_file(file, as_json)
        return
    told = _describe(open_workspace(workspace))
    code = ExitCode.DONE if told["trusted"] else ExitCode.AUDIT_FAILED
    if as_json:
        print_json({**told, "exit_code": int(code)})
    else:
        _print(told)
    raise typer.Exit(int(code))


def _show_file(file: Path, as_json: bool) -> None:
    try:
        public, protected = audit.public_key_of(file), audit.is_protected(file)
    except audit.KeyRefused as error:
        raise ConfigError(Problem("key show", str(error))) from error
    if as_json:
        print_json({"file": str(file.absolute()), "public_key": public, "protected": protected})
    else:
        say(public)


def _describe(place: Workspace) -> dict[str, Any]:
    log, folder = place.site.log, place.root / "audit"
    try:
        signs: str | None = audit.current_key(folder, log.public_key)
    except audit.LogUntrusted:
        signs = None
    earlier = audit.rotations(folder, signs) if signs else []
    return {
        "origin": log.origin,
        "public_key": log.public_key,
        "trusted": signs == log.public_key,
        "signed_by": signs,
        "key": _file(place.root / log.key, place.root),
        "earlier": [{"public_key": each.old_key, "until": each.n, "time": each.time} for each in earlier],
        "other_files": list(_others(place, log.public_key)),
    }


def _file(path: Path, root: Path) -> dict[str, Any]:
    name = str(path.relative_to(root) if path.is_relative_to(root) else path)
    try:
        return {"file": name, "public_key": audit.public_key_of(path), "protected": audit.is_protected(path)}
    except audit.KeyRefused as error:
        return {"file": name, "problem": str(error)}


def _others(place: Workspace, trusted: str) -> Iterator[dict[str, Any]]:
    """The other files beside the key: earlier keys, and what an interrupted rotation made."""
    key = place.root / place.site.log.key
    for path in sorted(key.parent.glob("*.key")) if key.parent.is_dir() else ():
        if path != key:
            yield _file(path, place.root)


def _print(told: dict[str, Any]) -> None:
    say(f"log         {told['origin']}")
    say(f"public key  {told['public_key']}")
    _print_signer(told)
    say(f"key         {_line(told['key'])}")
    for each in told["earlier"]:
        say(f"earlier     {each['public_key']}, until entry {each['until']:,} ({each['time']})")
    known = {each["public_key"] for each in told["earlier"]}
    for each in told["other_files"]:
        if each.get("public_key") in known:
            say(f"old file    {_line(each)}: signs nothing any more; take it away")
        elif each.get("public_key") != told["signed_by"]:
            say(f"other file  {_line(each)}: no key of this log")


def _print_signer(told: dict[str, Any]) -> None:
    """Print what to do if the log is not signed by the key that site.yaml trusts."""
    if told["trusted"]:
        return
    if told["signed_by"] is None:
        say("            THE LOG IS NOT SIGNED BY IT, nor by one that it handed over to")
        return
    file = next((each["file"] for each in told["other_files"] if each.get("public_key") == told["signed_by"]), None)
    say("            it handed over to another key, which signs the log now. Write into site.yaml:")
    say(f"              key: {file or 'the file of that key'}")
    say(f"              public_key: {told['signed_by']}")


def _line(file: dict[str, Any]) -> str:
    if "problem" in file:
        return str(file["problem"])
    return f"{file['file']}{', protected by a passphrase' if file['protected'] else ''}"
