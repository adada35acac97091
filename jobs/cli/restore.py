"""`cloister restore`: a workspace made of a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import pipeline
from jobs.cli.audit_verify import exit_code_of, print_verification
from jobs.cli.backup import refused, site_of
from jobs.cli.files import read_note
from jobs.cli.options import JsonOption
from jobs.cli.output import print_json, say
from jobs.config.load import shown
from jobs.config.workspace import keep_private
from jobs.errors import ConfigError, ExitCode, Problem, worst
from jobs.progress import telling
from jobs.record import tell_not_recorded
from jobs.visible import counted


def restore(
    source: Annotated[
        Path, typer.Argument(metavar="SRC", help="A backup, or a folder of backups: then the newest one in it.")
    ],
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder of the workspace; it must be empty or not exist.")
    ],
    against: Annotated[
        Path | None,
        typer.Option(
            "--against", metavar="FILE", help="Say whether the log is older than this kept or cosigned checkpoint."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a workspace of a backup, and verify it.

    Every file is held against the list of the backup, and the log against all that it proves; the log then gets the
    entry of that. Exit 4 if something was
    altered, or if the checkpoint knows of entries that the backup does not have, as is right for an older one.
    """
    keep_private()
    kept = read_note(against, "a checkpoint of this log") if against else None
    with telling("restoring") as tell:
        try:
            made = pipeline.restore(
                source, folder, site_of, against=kept, tell=lambda what, done, all: tell(done, all, what)
            )
        except pipeline.BackupRefusedError as error:
            raise refused(error) from error
        except pipeline.WorkspaceRefusedError as error:
            raise ConfigError(Problem(str(source), error.found, error.expected, error.remedy)) from error
    if made.recorded.why is not None:
        tell_not_recorded(made.recorded.why)
    code = worst([exit_code_of(made.verification), *([ExitCode.AUDIT_FAILED] if made.differs else [])])
    if as_json:
        verdicts = {"ok": made.verification.ok, "complete": made.verification.complete}
        said = {"folder": folder.absolute(), "backup": made.backup, "made": made.about.made, "keys": made.keys}
        said |= {"right": made.about.right, "files": made.files, "differs": made.differs}
        said |= {**verdicts, **vars(made.verification)}
        print_json({**said, "exit_code": int(code)})
    else:
        say(f"{shown(folder)}: {counted(made.files, 'file')} as they were at {made.about.made} ({made.backup}).")
        if not made.keys:
            say("  keys          not in the backup: bring them to keys/, readable by their owner alone (mode 0600)")
        print_verification(made.verification, made.about.origin)
        if not made.about.right:
            say("  NOT RIGHT     when it was made, as it says itself: an older backup of this folder may be")
        if against and made.differs:
            say(f"  OLDER OR ANOTHER than the checkpoint in {against}: {made.differs}")
            say("                what the checkpoint knows beyond this backup is lost, unless a later backup has it")
        elif against:
            say(f"  extends       the checkpoint in {against}")
    raise typer.Exit(int(code))
