"""`cloister results`: what became of each document."""

from __future__ import annotations

import contextlib
import errno
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Annotated, NamedTuple

from rich.text import Text

import pipeline
from jobs.cli.options import AllVersions, Newest, argument, check_job, check_one_of, newest_of, option, writing
from jobs.cli.printing import Answer, At, Table, shortened
from jobs.config.load import LoadedJob
from jobs.config.plan import digest_today, task_today
from jobs.config.workspace import load_job_of
from jobs.errors import ConfigError, Problem
from jobs.visible import counted, visible


class Settings(StrEnum):
    """Which rows are shown of a job whose settings were others before."""

    ALL = "all"
    CURRENT = "current"


_ANSWER_CHARACTERS = 160
_NOTE_CHARACTERS = 80
_NOTES = 3
_UNKNOWN = "unknown"


def results(
    at: At,
    job: Annotated[str | None, argument("JOB", "Only this job's documents.")] = None,
    failed: Annotated[bool, option("--failed", "Only the documents that failed.")] = False,
    limit: Annotated[int | None, option("--limit", "At most N documents.", "N", min=1)] = None,
    settings: Annotated[
        Settings,
        option("--settings", "current: only rows made by the settings and model that the job has today."),
    ] = Settings.ALL,
    state: Annotated[
        list[str] | None, option("--state", "Only documents in this state; may be given several times.", "STATE")
    ] = None,
    sort: Annotated[
        str | None,
        option("--sort", "score, uncertain, age, newest, size or path, instead of by job and path.", "ORDER"),
    ] = None,
    newest: Newest = False,
    all_versions: AllVersions = False,
    out: Annotated[
        Path | None, option("--out -o", "Write a table to this file: .xlsx, .csv, .parquet or .jsonl.", "FILE")
    ] = None,
) -> Answer:
    """Show each document: its state, and its answer or why there is none.

    Of several rows for one document the current one: pipeline/outbox/README.md has the rule. Rows that were made by
    other settings, or another model, than their job has today are marked; where its file or model cannot be read, than
    its newest row has. Below the table stands what to do about them, and about each class of failures. With --json: the
    rows of the result table, as they stand in Parquet, with "other_settings": true where that is so. With -o: one row a
    document, with a column for each field, typed; rows that say that a document came again are left out, unless --state
    asks for them. A row whose path has a newer file is marked with the entry of that one's row ("newer_file"); --newest
    leaves it out. The files are not held against the log by this: `audit verify` does that.
    """
    place, only = at.workspace, newest_of(newest, all_versions)
    if job is not None:
        check_job(place, job)
    for name in state or ():
        check_one_of("--state", name, known_states())
    if sort is not None:
        check_one_of("--sort", sort, [*pipeline.index.SORTS])
    states = (*(state or ()), *(["failed"] if failed else []))
    asked = Asked(at, job, states, sort, limit, settings is Settings.CURRENT, only)
    if out:
        return _written(asked, out)
    at.record(pipeline.records.ReadResults(of_job=job, failed=failed, limit=limit))
    return Answer(asked.rows(), _lines(asked, failed))


def known_states() -> list[str]:
    """The states that rows can have."""
    return sorted({*map(str, pipeline.State), "rejected"} - {"ignored", "pending"})


@dataclass(frozen=True)
class Asked:
    """The rows that are asked for."""

    at: At
    job: str | None
    states: tuple[str, ...]
    sort: str | None
    limit: int | None
    only_current: bool
    newest: bool | None

    @cached_property
    def _jobs(self) -> dict[str, LoadedJob]:
        """The jobs that are asked for, as far as their files can be read."""
        place, found = self.at.workspace, {}
        for path in (place.root / "outbox").glob("*") if self.job is None else (Path(self.job),):
            with contextlib.suppress(ConfigError, OSError):
                job = load_job_of(place, place.jobs / f"{path.name}.yaml")
                found[job.name] = job
        return found

    @cached_property
    def today(self) -> dict[str, str]:
        """The digests of the settings that the jobs have today, as far as their models can be read."""
        found = {}
        for name, job in self._jobs.items():
            with contextlib.suppress(ConfigError, pipeline.ModelRefusedError, OSError):
                found[name] = digest_today(self.at.workspace, job)
        return found

    @cached_property
    def task(self) -> pipeline.tasks.Task | None:
        """The task that the job's file says; None where it cannot be read."""
        with contextlib.suppress(ConfigError, KeyError):
            return task_today(self._jobs[self.job or ""])
        return None

    @cached_property
    def _only_newest(self) -> frozenset[str]:
        """The jobs of which only the newest file of each path is shown."""
        ruled = (name for name, job in self._jobs.items() if job.config.versions == "newest")
        return frozenset(ruled if self.newest is None else ())

    def rows(self) -> Iterator[pipeline.document.Row]:
        """The rows: by job and path as the parts are read through, in another order by the index."""
        yield from islice(filter(self._is_shown, self._all()), self.limit)

    def _all(self) -> Iterator[pipeline.document.Row]:
        site = self.at.site
        if self.sort is None:
            yield from pipeline.results(site, self.job, only_current_settings=self.only_current, today=self.today)
            return
        wanted = pipeline.index.Filter(jobs=(self.job,) if self.job else (), states=self.states)
        limit = None if self.only_current or self.newest or self._only_newest else self.limit
        with pipeline.index.open_index(site) as queue:
            queue.refresh()
            yield from map(self._marked, pipeline.index.rows_in_order(site, queue, wanted, self.sort, limit))

    def _is_shown(self, row: pipeline.document.Row) -> bool:
        if (self.states and row.state not in self.states) or (self.only_current and row.other_settings):
            return False
        return row.newer_file is None or not (self.newest or row.job in self._only_newest)

    def _marked(self, row: pipeline.document.Row) -> pipeline.document.Row:
        """A row of the index, which marks rows of other settings than the newest, marked as `results` does."""
        other = row.job_digest != self.today[row.job] if row.job in self.today else bool(row.other_settings)
        columns = {name: value for name, value in row.items() if name != "other_settings"}
        return pipeline.document.Row({**columns, "other_settings": True} if other else columns)


def _written(asked: Asked, out: Path) -> Answer:
    """A table to take away, which is written."""
    if asked.job is None:
        raise ConfigError(Problem("-o", "a table of which job?", "one job: cloister results JOB -o FILE"))
    if (ending := out.suffix.lower().removeprefix(".")) not in pipeline.outbox.FORMATS:
        expected = f"a name that ends in .{', .'.join(sorted(pipeline.outbox.FORMATS))}"
        raise ConfigError(Problem(str(out), f"no table is written as {ending or 'a file without an ending'}", expected))
    failed = asked.states == ("failed",)
    asked.at.record(pipeline.records.ReadResults(of_job=asked.job, failed=failed, limit=asked.limit))

    def rows() -> Iterator[pipeline.document.Row]:
        return (row for row in asked.rows() if row.state != "duplicate" or "duplicate" in asked.states)

    try:
        with writing(out):
            count = pipeline.outbox.write_table(asked.at.site, rows, out, asked.task)
    except pipeline.outbox.TableRefusedError as error:
        raise ConfigError(Problem(str(out), str(error))) from error
    unknown = f"; jobs/{asked.job}.yaml cannot be read, so its columns are those of the settings that made the rows"
    told = f"{counted(count, 'document')} of {asked.job} in {out}{'' if asked.task else unknown}"
    return Answer({"file": out, "rows": count}, [told])


def _lines(asked: Asked, failed: bool) -> Iterator[str | Table]:
    shown = list(map(_Shown.of, asked.rows()))
    if shown:
        head = ("document", "state", "answer") if asked.job else ("job", "document", "state", "answer")
        yield Table(head, _cells(shown, len(head)), whole=("job", "state"))
        classes = {row.failure for row in shown if row.failure}
        yield from (f"{failure}: {failure.remedy}" for failure in pipeline.Failure if failure in classes)
        today = asked.today
        marked = Counter(row.job for row in shown if row.settings)
        for job, count in marked.items():
            mine = [row.settings for row in shown if row.job == job and row.settings]
            told = "; ".join(
                f"{n:,} of settings {s[:8]}, model {m[:8]}" for (s, m), n in Counter(each[:2] for each in mine).items()
            )
            be, than = "row is" if count == 1 else "rows are", "it has today" if job in today else "its newest one"
            yield f"{job}: {count:,} {be} of other settings than {than}: {told}. --settings current leaves them out"
            for anew, number in sorted(Counter(each[2] for each in mine).items()) if job in today else ():
                yield f"{job}: {_ANEW[anew].format(job=job, them='it' if number == 1 else f'these {number:,}')}"
    elif failed:
        yield "no failed document"
    elif asked.states:
        yield f"no document is {' or '.join(asked.states)}"
    else:
        yield _why_none(asked.at, asked.job)


def _why_none(at: At, job: str | None) -> str:
    """There were none, or their parts are gone."""
    outbox = at.workspace.root / "outbox"
    if outbox.exists() and not os.access(outbox, os.R_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(outbox))
    known = pipeline.status(at.site)
    if rows := sum(each.totals.total() for each in known if job in (None, each.job)):
        fact = f"no results: the log has {counted(rows, 'row')}, whose parts are no longer in outbox/"
        return f"{fact}. Restore it from a backup; cloister audit verify tells what was taken away, and what deleted"
    return "no results yet; cloister run JOB makes some"


class _Shown(NamedTuple):
    """The parts of a row that are shown. `settings`: if it was made by other settings, the digests of these and of
    their model, and by what it is made anew (_ANEW)."""

    job: str
    path: str
    sha256: str | None
    notes: list[str]
    state: str
    failure: str | None
    answer: Text
    settings: tuple[str, str, str] | None

    @classmethod
    def of(cls, row: pipeline.document.Row) -> _Shown:
        """Make what is shown of a whole row, which may be long."""
        made_by = (row.job_digest or _UNKNOWN, row.model_sha256 or _UNKNOWN, _anew(row))
        settings = made_by if row.other_settings else None
        answer, notes = answer_of(row), _notes(row)
        return cls(row.job, row.path, row.document, notes, row.state, row.failure, answer, settings)


def _cells(rows: Sequence[_Shown], columns: int) -> list[tuple[str | Text, ...]]:
    """The last `columns` cells of each row; a document bears digits of its sha256 where others have its path too."""
    times = Counter((row.job, row.path) for row in rows)
    told = ((row, row.sha256 if times[row.job, row.path] > 1 else None) for row in rows)
    return [(row.job, _document(row, sha256), row.state, row.answer)[-columns:] for row, sha256 in told]


_ANEW = {
    "rerun": "cloister rerun {job} answers {them} again",
    "decided": "a person decided on {them}; cloister rerun {job} --decided answers {them} again all the same",
    "duplicate": "a copy has no answer of its own, and follows the document that it is a copy of",
    "failed": "cloister retry {job} takes up what failed",
    "batch": "put a batch file into the folder again to have its requests answered again",
}
"""What makes rows of other settings anew."""


def _anew(row: pipeline.document.Row) -> str:
    if row.state in ("failed", "duplicate"):
        return str(row.state)
    return "batch" if row.task == "batch" else "decided" if row.decided else "rerun"


def _notes(row: pipeline.document.Row) -> list[str]:
    """The notes on the document, and on an answer that needs one."""
    marked = [f"of other settings ({(row.job_digest or _UNKNOWN)[:8]})"] if row.other_settings else []
    if row.newer_file is not None:
        marked.append(f"a newer file has this path: entry {row.newer_file:,}")
    reason = [row.reason] if row.state == "done" and row.reason else []
    decided = [_decision_of(row)] if row.decided and row.state != "rejected" else []
    return [*decided, *marked, *(row.notes or ()), *reason]


def _decision_of(row: pipeline.document.Row) -> str:
    decided = row.decided
    assert decided is not None  # that is asked before
    return f"{decided.action} by {decided.by}" + (f": {decided.reason}" if decided.reason else "")


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


def answer_of(row: pipeline.document.Row) -> Text:
    """The answer of a row in a few lines, or why there is none."""
    if row.state in ("failed", "review"):
        return Text(visible(f"{row.failure or 'review'}: {row.reason}"))
    if row.state == "rejected":
        return Text(visible(_decision_of(row)))
    if row.state == "duplicate":
        again = row.duplicate_of == row.path
        return Text(visible("it came again, and was known" if again else f"the same bytes as {row.duplicate_of}"))
    lines = [_line(line) for kind in pipeline.TASKS.values() for line in kind.lines(row)]
    return Text("\n").join(lines) if lines else Text(visible(str(row.reason)))


def _line(line: pipeline.tasks.Line) -> Text:
    told = Text(visible(f"{line.name}{shortened(line.text, _ANSWER_CHARACTERS)}"))
    return told if line.score is None else told.append(f" ({line.score:.2f})", "dim")
