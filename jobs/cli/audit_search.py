"""`cloister audit search`: documents in the log, by what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

import pipeline
from jobs.cli.dates import FromOption, ToOption, from_date, to_date
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json_array, print_table, say
from jobs.config.load import did_you_mean
from jobs.config.plan import make_site
from jobs.config.workspace import Workspace, no_such_job, open_workspace
from jobs.errors import ConfigError, Problem
from jobs.record import record

_FEWEST = 6  # digits of a sha256


DocumentOption = Annotated[
    str | None, typer.Option("--document", metavar="SHA", help="The document's sha256, or its first digits.")
]
NameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="A pattern of the path (*.pdf), or a part of it.")
]
JobOption = Annotated[str | None, typer.Option("--job", metavar="JOB", help="This job's.")]
ModelOption = Annotated[
    str | None, typer.Option("--model", metavar="MODEL", help="Made by the model of this name or sha256.")
]
OutcomeOption = Annotated[
    str | None, typer.Option("--outcome", metavar="STATE", help="done, failed, …; or a class: timeout, encrypted, …")
]
RunOption = Annotated[str | None, typer.Option("--run", metavar="RUN", help="Of this run.")]


def search(
    document: DocumentOption = None,
    name: NameOption = None,
    job: JobOption = None,
    model: ModelOption = None,
    outcome: OutcomeOption = None,
    since: FromOption = None,
    until: ToOption = None,
    run: RunOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search the log for documents.

    All that is asked for must hold. Shows every row that ever was, also those that later ones replaced, and paths that
    got none (ignored, pending). audit show tells more of one document, audit prove proves an entry.
    """
    _check(document, outcome)
    first, end = from_date(since), to_date(until)
    if first and end and first >= end:
        raise ConfigError(Problem("--to", f"{until} lies before {since}", "the first day, or a later one"))
    query = pipeline.Query(document, name, job, model, outcome, first, end, run)
    place = open_workspace(workspace)
    site = make_site(place)
    searched = pipeline.search(site, query)
    found = searched.rows
    if not found:
        _check_known(place, site, query)
    record(site, searched.to_record())
    if as_json:
        print_json_array(found)
    else:
        _print(found)


def _print(found: Sequence[dict[str, Any]]) -> None:
    head = ("entry", "time", "job", "document", "state")
    cells = [(f"{row['entry']}", row["time"][:19] + "Z", row["job"], row["path"], _outcome(row)) for row in found]
    if cells:
        print_table(head, cells, right=("entry",), whole=("time", "job"))
    else:
        say("no entry of the log fits")


def _check_known(place: Workspace, site: pipeline.Site, query: pipeline.Query) -> None:
    """A job or a run that nobody ever heard of is a slip."""
    jobs, runs = pipeline.jobs_and_runs(site)
    jobs = sorted({*jobs, *(path.stem for path in place.job_files())})
    if query.job is not None and query.job not in jobs:
        raise ConfigError(no_such_job(place, query.job, jobs))
    if query.run is not None and query.run not in runs:
        expected = f"a run of the log, of which the last are {', '.join(runs[-3:])}" if runs else "a run; there is none"
        raise ConfigError(Problem("--run", f"no run {query.run!r}", expected, did_you_mean(query.run, runs)))


def _outcome(row: dict[str, str | None]) -> str:
    """The state, and of what has no answer, why; of what a person decided, who."""
    if by := row.get("decided_by"):
        return f"{row['state']}, {row['decision']} by {by}" + (f": {row['reason']}" if row["reason"] else "")
    return " ".join(f"{row[key]}:" if key == "failure" else str(row[key]) for key in _TOLD if row[key]) or "-"


_TOLD = ("state", "failure", "reason")


def _check(document: str | None, outcome: str | None) -> None:
    known = [*pipeline.State, *pipeline.Failure]
    if outcome is not None and outcome not in known:
        remedy = did_you_mean(outcome, [*map(str, known)])
        raise ConfigError(Problem("--outcome", f"{outcome!r}", f"one of {', '.join(known)}", remedy))
    if document is not None and len(document) < _FEWEST:
        raise ConfigError(Problem("--document", f"{document!r}", f"at least {_FEWEST} digits of a sha256"))
