"""`cloister backup`: the workspace as it is now, on another disk."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

import pipeline
from jobs.cli.audit_verify import exit_code_of, print_verification
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, say, say_list
from jobs.config.load import load_site
from jobs.config.plan import make_site
from jobs.config.workspace import Workspace, open_workspace
from jobs.errors import NO_ROOM, ConfigError, ExitCode, Problem
from jobs.progress import telling
from jobs.record import tell_not_recorded
from jobs.visible import counted

_MIB = 2**20


def backup(
    folder: Annotated[Path, typer.Argument(metavar="DEST", help="The folder of the backups, made if it is not there.")],
    keys: Annotated[
        bool, typer.Option("--with-keys", help="Copy the keys, too: who has such a backup can sign the log.")
    ] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy the workspace into a new folder in DEST, and verify the copy.

    Runs and the service go on meanwhile. What has not changed since the backup before is one with its files there, and
    takes no room. A backup that is cut off or finds no room leaves those before it as they were. Caches are left out,
    and folders of documents that lie outside of the workspace.
    """
    site = make_site(open_workspace(workspace))
    with telling("backing up") as tell:
        try:
            made = pipeline.back_up(
                site, folder, site_of, datetime.now(UTC), keys=keys, tell=lambda what, done, all: tell(done, all, what)
            )
        except pipeline.BackupRefusedError as error:
            raise refused(error) from error
        except pipeline.NeverStillError as error:
            raise ConfigError(Problem("backup", str(error), None, "try again, or when no job is running")) from error
        except OSError as error:
            where = str(error.filename or folder)
            if error.errno not in NO_ROOM or (site.root / where).is_relative_to(site.root):
                raise
            remedy = "make room there, or let this user write there; the backups before are as they were"
            raise ConfigError(Problem(where, error.strerror or str(error), None, remedy)) from error
    code = exit_code_of(made.verification)
    if made.recorded.why:
        tell_not_recorded(made.recorded.why)
    if as_json:
        print_json(
            {"folder": made.folder, **vars(made.about), "files": made.files, "copied_bytes": made.copied_bytes,
             "linked": made.linked, "damaged_before": made.damaged, "exit_code": int(code)}
        )  # fmt: skip
    else:
        _tell(made, site.origin, code)
    raise typer.Exit(int(code))


def site_of(root: Path) -> pipeline.Site:
    """The site of a workspace that was copied."""
    return make_site(Workspace(root, load_site(root / "site.yaml")))


def refused(error: pipeline.BackupRefusedError) -> ConfigError:
    """A backup that is refused is a mistake of the command, or a damaged disk."""
    return ConfigError(Problem(error.where, error.found, None, error.remedy))


def _tell(made: pipeline.BackedUpNow, origin: str, code: ExitCode) -> None:
    new = f"{made.copied_bytes / _MIB:,.1f} MiB copied"
    say(f"{made.folder}: {counted(made.files, 'file')}, {new}, {made.linked:,} as in the backup before.")
    say(f"  log           {counted(made.about.size, 'entry')}, root {made.about.root}")
    say(f"  keys          {'in it: keep it as you keep the keys' if made.about.keys else 'not in it: keep them apart'}")
    if made.damaged:
        say(f"  DAMAGED       {made.damaged}, the backup before: nothing was taken from it. Look at that disk")
    if made.about.left_out:
        say(f"  left out      {counted(len(made.about.left_out), 'thing')}:")
        say_list([f"{path}: {why}" for path, why in made.about.left_out.items()], len(made.about.left_out))
    if code == ExitCode.DONE and made.verification.complete:
        say("  verified      all that the log proves is in it, unchanged")
    else:
        print_verification(made.verification, origin)
