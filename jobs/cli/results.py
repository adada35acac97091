"""`cloister results`: what became of each document."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import counted, print_json_array, print_table, say, shortened
from jobs.errors import ConfigError, Problem
from jobs.load import did_you_mean, shown
from jobs.visible import visible
from jobs.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from rich.text import Text

_ANSWER_CHARACTERS = 160
_NOTE_CHARACTERS = 80
_NOTES = 3


def results(
    job: Annotated[str | None, typer.Argument(metavar="JOB", help="Only this job's documents.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only the documents that failed.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="At most N documents.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show each document: its state, and its answer or why there is none.

    With --json: the rows of the result table, as they stand in Parquet, and the job of each. The files are not held
    against the log by this: `audit verify` does that.
    """
    place = open_workspace(workspace)
    if job is not None:
        _check_known(place, job)
    rows = islice(_rows(place, job, failed, limit), limit)
    if as_json:
        print_json_array(rows)
        return
    head = ("document", "state", "answer") if job else ("job", "document", "state", "answer")
    cells = _cells(rows, len(head))
    if cells:
        print_table(head, cells, whole=("job", "state"))
    elif failed:
        say("no failed document")
    else:
        say(_why_none(place, job))


def _why_none(workspace: Workspace, job: str | None) -> str:
    """There were none, or their parts are gone."""
    import pipeline
    from jobs.plan import make_site

    known = pipeline.status(make_site(workspace))
    if rows := sum(each.totals.total() for each in known if job in (None, each.job)):
        fact = f"no results: the log has {counted(rows, 'row')}, whose parts are no longer in outbox/"
        return f"{fact}. Restore it from a backup; cloister audit verify tells what was taken away, and what deleted"
    return "no results yet; cloister run JOB makes some"


def _cells(rows: Iterable[dict[str, Any]], columns: int) -> "list[tuple[str | Text, ...]]":
    """The last `columns` cells of each row; a document bears digits of its sha256 where others have its path too."""
    narrow = [(r["job"], r["path"], r["document"], _notes(r), r["state"], answer_of(r)) for r in rows]
    times = Counter((job, path) for job, path, *_ in narrow)
    return [
        (job, _document(path, sha256 if times[job, path] > 1 else None, notes), state, answer)[-columns:]
        for job, path, sha256, notes, state, answer in narrow
    ]


def _notes(row: dict[str, Any]) -> list[str]:
    """Those of the document, and of an answer that needs one."""
    return [*(row["notes"] or ()), *([row["reason"]] if row["state"] == "done" and row["reason"] else ())]


def _document(path: str, sha256: str | None, notes: Sequence[str]) -> "Text":
    """The path, and below it what a reader of the answer should know of the document."""
    from rich.text import Text

    told = Text(visible(path))
    if sha256:
        told.append(f" {sha256[:8]}", "dim")
    for note in notes[:_NOTES]:
        told.append(f"\nnote: {visible(shortened(note, _NOTE_CHARACTERS))}", "dim")
    if len(notes) > _NOTES:
        told.append(f"\nand {counted(len(notes) - _NOTES, 'more note')}", "dim")
    return told


def _rows(workspace: Workspace, job: str | None, failed: bool, limit: int | None) -> Iterator[dict[str, Any]]:
    """The rows. That they are read is recorded before the first one."""
    import pipeline
    from jobs.plan import make_site
    from jobs.record import record

    site = make_site(workspace)
    record(site, {"type": "read.results", "job": job, "failed": failed, "limit": limit})
    for row in pipeline.results(site, job):
        if not failed or row["state"] == "failed":
            yield row


def _check_known(workspace: Workspace, job: str) -> None:
    """A job has a file, or results of earlier runs."""
    known = {path.stem for path in workspace.job_files()} | {
        path.name for path in (workspace.root / "outbox").glob("*")
    }
    if job not in known:
        remedy = did_you_mean(job, sorted(known))
        expected = f"one of {', '.join(sorted(known))}" if known else None
        raise ConfigError(Problem(shown(workspace.root), f"no job {job!r}", expected, remedy))


def answer_of(row: dict[str, Any]) -> "Text":
    """The answer of a row in a few lines, or why there is none."""
    from rich.text import Text

    if row["state"] == "done" and row.get("body"):
        said = json.loads(row["body"])["choices"][0]["message"]["content"]
        return Text(visible(f"{row['custom_id']}: {shortened(said, _ANSWER_CHARACTERS)}"))
    if row["state"] in ("failed", "review"):
        return Text(visible(f"{row['failure'] or 'review'}: {row['reason']}"))
    if row["state"] == "duplicate":
        return Text(visible(f"the same bytes as {row['duplicate_of']}"))
    if row.get("fields") is not None:
        found = [_field(field) for field in row["fields"] if field["value"] is not None]
        return Text("\n").join(found) if found else Text(visible(str(row["reason"])))
    if row.get("summary"):
        return Text(visible(shortened(row["summary"], _ANSWER_CHARACTERS)))
    if row.get("answer"):
        return Text(visible(shortened(row["answer"], _ANSWER_CHARACTERS)))
    if row.get("label") is not None:
        return Text(visible(f"{row['label']} ({row['score']:.2f})"))
    return Text(visible(str(row["reason"])))


def _field(field: dict[str, Any]) -> "Text":
    from rich.text import Text

    told = Text(visible(f"{field['name']} = {shortened(str(field['value']), _ANSWER_CHARACTERS)}"))
    return told.append(f" ({field['score']:.2f})", "dim")
