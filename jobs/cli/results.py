"""`cloister results`: what became of each document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any, NamedTuple

import typer
from rich.text import Text

import pipeline
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import counted, print_json_array, print_table, say, shortened
from jobs.errors import ConfigError, Problem
from jobs.load import did_you_mean, shown
from jobs.plan import make_site
from jobs.record import record
from jobs.visible import visible
from jobs.workspace import Workspace, open_workspace


class Settings(StrEnum):
    """Which rows are shown of a job whose settings were others before."""

    ALL = "all"
    CURRENT = "current"


_ANSWER_CHARACTERS = 160
_NOTE_CHARACTERS = 80
_NOTES = 3
_UNKNOWN = "unknown"


def results(
    job: Annotated[str | None, typer.Argument(metavar="JOB", help="Only this job's documents.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only the documents that failed.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="At most N documents.")] = None,
    settings: Annotated[
        Settings,
        typer.Option("--settings", help="current: only rows made by the settings and model of the job's newest row."),
    ] = Settings.ALL,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show each document: its state, and its answer or why there is none.

    Of several rows for one document the current one: pipeline/outbox/README.md has the rule. Rows that were made by
    other settings, or another model, than the newest row of their job are marked. Below the table stands what to do
    about each class of failures. With --json: the rows of the result table, as they stand in Parquet, with
    "other_settings": true where that is so. The files are not held against the log by this: `audit verify` does that.
    """
    place = open_workspace(workspace)
    if job is not None:
        _check_known(place, job)
    only_current = settings is Settings.CURRENT
    rows = islice(_rows(place, job, failed, limit, only_current), limit)
    if as_json:
        print_json_array(rows)
        return
    head = ("document", "state", "answer") if job else ("job", "document", "state", "answer")
    shown = list(map(_Shown.of, rows))
    if shown:
        print_table(head, _cells(shown, len(head)), whole=("job", "state"))
        _tell_remedies(shown)
        _tell_others(shown)
    elif failed:
        say("no failed document")
    else:
        say(_why_none(place, job))


def _why_none(workspace: Workspace, job: str | None) -> str:
    """There were none, or their parts are gone."""
    known = pipeline.status(make_site(workspace))
    if rows := sum(each.totals.total() for each in known if job in (None, each.job)):
        fact = f"no results: the log has {counted(rows, 'row')}, whose parts are no longer in outbox/"
        return f"{fact}. Restore it from a backup; cloister audit verify tells what was taken away, and what deleted"
    return "no results yet; cloister run JOB makes some"


class _Shown(NamedTuple):
    """The parts of a row that are shown. `settings`: if it was made by other settings, the digests of these and of
    their model."""

    job: str
    path: str
    sha256: str | None
    notes: list[str]
    state: str
    failure: str | None
    answer: Text
    settings: tuple[str, str] | None

    @classmethod
    def of(cls, row: dict[str, Any]) -> _Shown:
        """Make what is shown of a whole row, which may be long."""
        made_by = (row["job_digest"] or _UNKNOWN, row["model_sha256"] or _UNKNOWN)
        settings = made_by if row.get("other_settings") else None
        answer = answer_of(row)
        return cls(
            row["job"], row["path"], row["document"], _notes(row), row["state"], row["failure"], answer, settings
        )


def _cells(rows: Sequence[_Shown], columns: int) -> list[tuple[str | Text, ...]]:
    """The last `columns` cells of each row; a document bears digits of its sha256 where others have its path too."""
    times = Counter((row.job, row.path) for row in rows)
    return [
        (row.job, _document(row, row.sha256 if times[row.job, row.path] > 1 else None), row.state, row.answer)[
            -columns:
        ]
        for row in rows
    ]


def _tell_remedies(rows: Sequence[_Shown]) -> None:
    """A line for each class of failures that is among the rows: what to do about it."""
    classes = {row.failure for row in rows if row.failure}
    for failure in pipeline.Failure:
        if failure in classes:
            say(f"{failure}: {failure.remedy}")


def _tell_others(rows: Sequence[_Shown]) -> None:
    """A line for each job some of whose rows are of other settings."""
    marked = Counter(row.job for row in rows if row.settings)
    for job, count in marked.items():
        of = Counter(row.settings for row in rows if row.job == job and row.settings)
        told = "; ".join(f"{n:,} of settings {s[:8]}, model {m[:8]}" for (s, m), n in of.items())
        be = "row is" if count == 1 else "rows are"
        say(f"{job}: {count:,} {be} of other settings than its newest one: {told}. --settings current leaves them out")


def _notes(row: dict[str, Any]) -> list[str]:
    """The notes on the document, and on an answer that needs one."""
    marked = [f"of other settings ({(row['job_digest'] or _UNKNOWN)[:8]})"] if row.get("other_settings") else []
    reason = [row["reason"]] if row["state"] == "done" and row["reason"] else []
    return [*marked, *(row["notes"] or ()), *reason]


def _document(row: _Shown, sha256: str | None) -> Text:
    """The path, and below it what a reader of the answer should know of the document."""
    told, notes = Text(visible(row.path)), row.notes
    if sha256:
        told.append(f" {sha256[:8]}", "dim")
    for note in notes[:_NOTES]:
        told.append(f"\nnote: {visible(shortened(note, _NOTE_CHARACTERS))}", "dim")
    if len(notes) > _NOTES:
        told.append(f"\nand {counted(len(notes) - _NOTES, 'more note')}", "dim")
    return told


def _rows(
    workspace: Workspace, job: str | None, failed: bool, limit: int | None, only_current: bool
) -> Iterator[dict[str, Any]]:
    """The rows. That they are read is recorded before the first one."""
    site = make_site(workspace)
    record(site, pipeline.ReadResults(of_job=job, failed=failed, limit=limit))
    for row in pipeline.results(site, job, only_current_settings=only_current):
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


def answer_of(row: dict[str, Any]) -> Text:
    """The answer of a row in a few lines, or why there is none."""

    if row["state"] in ("failed", "review"):
        return Text(visible(f"{row['failure'] or 'review'}: {row['reason']}"))
    if row["state"] == "duplicate":
        again = row["duplicate_of"] == row["path"]
        return Text(visible("it came again, and was known" if again else f"the same bytes as {row['duplicate_of']}"))
    lines = [_line(line) for kind in pipeline.TASKS.values() for line in kind.lines(row)]
    return Text("\n").join(lines) if lines else Text(visible(str(row["reason"])))


def _line(line: pipeline.Line) -> Text:
    told = Text(visible(f"{line.name}{shortened(line.text, _ANSWER_CHARACTERS)}"))
    return told if line.score is None else told.append(f" ({line.score:.2f})", "dim")
