"""`cloister results`: what became of each document."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import typer

from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json_array, print_table
from jobs.errors import ConfigError, Problem
from jobs.load import did_you_mean, shown
from jobs.workspace import Workspace, open_workspace

_SUMMARY_CHARACTERS = 160


def results(
    job: Annotated[str | None, typer.Argument(metavar="[JOB]", help="Only this job's documents.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only the documents that failed.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="At most N documents.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show each document: its state, and its answer or why there is none.

    With --json: the rows of the result table, as they stand in Parquet, and the job of each.
    """
    place = open_workspace(workspace)
    if job is not None:
        _check_known(place, job)
    rows = islice(_rows(place, job, failed), limit)
    if as_json:
        print_json_array(rows)
        return
    head = ("document", "state", "answer") if job else ("job", "document", "state", "answer")
    cells = [(row["job"], row["path"], row["state"], answer_of(row))[-len(head) :] for row in rows]
    if cells:
        print_table(head, cells)
    else:
        print("no failed document" if failed else "no results yet; cloister run JOB makes some")


def _rows(workspace: Workspace, job: str | None, failed: bool) -> Iterator[dict[str, Any]]:
    import pipeline
    from jobs.plan import make_site

    for row in pipeline.results(make_site(workspace), job):
        if not failed or row["state"] == "failed":
            yield row


def _check_known(workspace: Workspace, job: str) -> None:
    """A job has a file, or results of earlier runs."""
    known = {path.stem for path in workspace.job_files()} | {
        path.name for path in (workspace.root / "outbox").iterdir()
    }
    if job not in known:
        remedy = did_you_mean(job, sorted(known))
        raise ConfigError(
            Problem(shown(workspace.root), f"no job {job!r}", f"one of {', '.join(sorted(known))}", remedy)
        )


def answer_of(row: dict[str, Any]) -> str:
    """The answer of a row in a line, or why there is none."""
    if row["state"] in ("failed", "review"):
        return f"{row['failure'] or 'review'}: {row['reason']}"
    if row["state"] == "duplicate":
        return f"the same bytes as {row['duplicate_of']}"
    if row.get("fields") is not None:
        found = [f"{field['name']} = {field['value']}" for field in row["fields"] if field["value"] is not None]
        return "\n".join(found) or str(row["reason"])
    if row.get("summary"):
        text = " ".join(row["summary"].split())
        return text if len(text) <= _SUMMARY_CHARACTERS else text[: _SUMMARY_CHARACTERS - 1] + "…"
    if row.get("label") is not None:
        return f"{row['label']} ({row['score']:.2f})"
    return str(row["reason"])
