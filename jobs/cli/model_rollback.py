"""`cloister model rollback`: a job goes back to the model that it used before."""

from __future__ import annotations

import hashlib
import stat
from typing import Annotated

import typer

import audit
import pipeline
from jobs.cli.options import ByOption, JsonOption, WaitOption, WorkspaceOption, check_reason, job_names, person
from jobs.cli.output import print_json, say
from jobs.config.amend import Values, amend
from jobs.config.load import LoadedJob, shown
from jobs.config.plan import make_plan
from jobs.config.workspace import find_job, load_job_of, open_workspace
from jobs.errors import ConfigError, Problem


def rollback(
    job: Annotated[
        str, typer.Argument(metavar="JOB", help="The job: its name, or its file's path.", autocompletion=job_names)
    ],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it stands in the log.")],
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="SHA", help="Another one that it used: its sha256, or six digits or more of it."),
    ] = None,
    by: ByOption = None,
    wait: WaitOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a job go back to the model, and the head, that it used before, by the log.

    Writes `model.name`, `sha256` and `head` into the job's file and keeps every other byte of it. Files are found by
    their bytes: those that `model import` or `learn` replaced lie in models/ under another name. What was revoked is
    passed over. Exit 2 if there is nothing to go back to, 3 if the older file is gone.
    """
    check_reason(reason)
    place = open_workspace(workspace)
    loaded = load_job_of(place, find_job(place, job))
    if to is not None and (len(to) < 6 or set(to) - set("0123456789abcdef")):
        raise ConfigError(Problem("--to", f"{to!r}", "six or more hexadecimal digits in lower case"))
    try:
        done = pipeline.roll_back(
            make_plan(place, loaded), to, lambda after: _write(loaded, after), person(by), reason, wait=wait
        )
    except pipeline.NothingBeforeError as error:
        raise ConfigError(Problem(shown(loaded.path), str(error), "a model that it used before")) from error
    if as_json:
        print_json(done)
        return
    for told in done.passed:
        say(f"passed over: {told}")
    say(f"{shown(loaded.path)} names what it used before, by entry {done.number}")
    say(f"  before  {_told(done.before)}")
    say(f"  now     {_told(done.after)}")
    say("Documents that are done stay as they are; to have one answered again, put it into the folder again.")


def _write(job: LoadedJob, after: pipeline.ModelAndHead) -> None:
    """Write the model into the job's file. ConfigError if that is not the file that was read, or cannot be amended."""
    data = job.path.read_bytes()
    if hashlib.sha256(data).hexdigest() != job.source.sha256:
        raise ConfigError(Problem(shown(job.path), "it was changed meanwhile", None, "start again"))
    head: Values | None = None
    if after.head is not None:
        head = {"name": after.head, "sha256": after.head_sha256}
    amended = amend(data, shown(job.path), "model", {"name": after.model, "sha256": after.sha256, "head": head})
    audit.write_file_atomically(job.path, amended, stat.S_IMODE(job.path.stat().st_mode), exact=True)


def _told(used: pipeline.ModelAndHead) -> str:
    head = f", head {used.head} ({(used.head_sha256 or 'gone')[:12]})" if used.head else ""
    return f"{used.model} ({(used.sha256 or 'gone')[:12]}){head}"
