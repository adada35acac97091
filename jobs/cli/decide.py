"""`cloister review accept`, `correct`, `reject`, `export` and `import`: what people decide on rows, one by one or in a
sheet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pipeline
from jobs.cli.options import (
    Folder,
    Labels,
    Night,
    States,
    Text,
    argument,
    check_text,
    job_argument,
    option,
    writing,
)
from jobs.cli.printing import Answer, At
from jobs.cli.review import Current, Decided, Sort, check_filter
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.visible import counted, one_line

Row = Annotated[
    int, argument("ROW", "The row, by the number of its entry: audit_index in the table, or `review list`.", min=0)
]
As = Annotated[str, option("--as", "Who decides it; it stands in the log.", "NAME")]
Why = Annotated[str | None, option("--reason", "Why; it stands in the log.", "TEXT")]
_PLACE = re.compile(r"([0-9]{1,12}):([0-9]{1,12})", re.ASCII)


def accept(at: At, row: Row, by: As, reason: Why = None) -> Answer:
    """Accept the answer of a row as it is.

    A row with the same answer takes its place, in state done, with who accepted it; the log has an entry of it. While a
    run holds the log, the decision is signed and waits for it. Exit 2 where the row is no longer the one that holds.
    """
    return _decided(at, row, "accepted", by, reason)


def reject(at: At, row: Row, by: As, reason: Why = None) -> Answer:
    """Reject the answer of a row: none of the job's answers is right for the document.

    A row without an answer takes its place, in state rejected, with who rejected it; the log has an entry of it. While
    a run holds the log, the decision is signed and waits for it. Exit 2 where the row is no longer the one that holds.
    """
    return _decided(at, row, "rejected", by, reason)


def correct(
    at: At,
    row: Row,
    by: As,
    reason: Why = None,
    label: Annotated[str | None, option("--label", "The right label.", "LABEL")] = None,
    field: Annotated[
        list[str] | None,
        option("--field", "The right value of a field; of a question NAME is a JSON pointer.", "NAME=VALUE"),
    ] = None,
    place: Annotated[
        list[str] | None, option("--at", "Where that value stands, in characters of the text.", "NAME=START:END")
    ] = None,
    absent: Annotated[
        list[str] | None, option("--absent", "A field that has no value in the document.", "NAME")
    ] = None,
    summary: Annotated[str | None, option("--summary", "The right summary.", "TEXT")] = None,
) -> Answer:
    """Correct the answer of a row: another label, values of fields, or a summary.

    A row with the right answer takes its place, in state done, with who corrected it; the log has an entry of it. A
    label is one that the job had when it made the row; a value is read as the job reads values. A field that may have
    several values is given once for each. While a run holds the log, the decision is signed and waits for it. Exit 2
    where the row is no longer the one that holds, or cannot have this answer.
    """
    said: dict[str, Any] = {"label": label, "summary": summary}
    answer = {name: value for name, value in said.items() if value is not None}
    if field or absent:
        answer["fields"] = _fields(field or (), place or (), absent or ())
    elif place:
        raise ConfigError(Problem("--at", "a place without a value", "a --field of the same name"))
    if len(answer) != 1:
        found = "nothing that is right" if not answer else " and ".join(f"--{name}" for name in answer)
        raise ConfigError(Problem("correct", found, "--label, --summary, or --field and --absent"))
    return _decided(at, row, "corrected", by, reason, answer)


def _fields(values: Sequence[str], places: Sequence[str], absent: Sequence[str]) -> dict[str, Any]:
    """The values by their names: one, several in a list, or None for one that is absent."""
    said: list[tuple[str, dict[str, Any]]] = [
        (name, {"value": text}) for name, text in _pairs("--field", "NAME=VALUE", values)
    ]
    for name, text in list(_pairs("--at", "NAME=START:END", places)):
        found = _PLACE.fullmatch(text)
        given = next((value for its, value in said if its == name and "start" not in value), None)
        if found is None or given is None:
            what = "a place without a value" if found else f"{text!r}"
            raise ConfigError(Problem("--at", what, "NAME=START:END, of a field that --field gives"))
        given |= {"start": int(found[1]), "end": int(found[2])}
    both = sorted({name for name, _ in said} & set(absent))
    if both:
        raise ConfigError(Problem("--absent", f"{both[0]} has a value, too", "one of the two"))
    fields: dict[str, Any] = dict.fromkeys(absent)
    for name, value in said:
        fields[name] = [*fields[name], value] if name in fields else [value]
    return {name: value[0] if value and len(value) == 1 else value for name, value in fields.items()}


def _pairs(option: str, form: str, given: Sequence[str]) -> Iterator[tuple[str, str]]:
    for each in given:
        name, equals, text = each.partition("=")
        if not name or not equals:
            raise ConfigError(Problem(option, f"{each!r}", form))
        yield name, text


def _decided(
    at: At, row: int, action: str, by: str, reason: str | None, answer: Mapping[str, Any] | None = None
) -> Answer:
    """Decide on the row as the person `by`, and tell what became of it. ConfigError where that cannot be."""
    check_text("--as", by, "a person's name; it stands in the log")
    if reason is not None:
        check_text("--reason", reason)
    site = at.site
    try:
        job = pipeline.review.job_of(site, row)
        outcome = pipeline.decide(site, pipeline.Review(job, row, action, by, reason, answer))
    except LookupError as error:
        raise ConfigError(Problem(f"ROW {row}", str(error.args[0]), "a row of `cloister review list`")) from error
    except pipeline.tasks.ReviewRefusedError as error:
        raise ConfigError(Problem(f"ROW {row}", str(error))) from error
    if outcome.why is not None and not outcome.waits:
        raise ConfigError(Problem(f"ROW {row}", outcome.why))
    told = {"row": row, "action": action, "by": by, "entry": outcome.n, "waits": outcome.waits}
    return Answer(told, _decided_lines(site, row, action, outcome, (answer or {}).get("fields", ())))


def _decided_lines(
    site: pipeline.Site, row: int, action: str, outcome: pipeline.review.ReviewOutcome, changed: Sequence[str]
) -> Iterator[str]:
    if outcome.waits:
        yield f"{action}, and signed; it waits for the run that holds the log, which takes it up with its next part"
        return
    yield f"{action} by entry {outcome.n}, which takes the place of entry {row}"
    for each in (pipeline.review.row_of(site, outcome.n).get("fields") or ()) if changed and outcome.n else ():
        if each["name"] in changed and each["value"] and each["note"]:
            yield f"{each['name']}: {one_line(each['value'])} ({each['note']})"


def export(
    at: At,
    job: Annotated[str, job_argument("The job whose rows are exported.")],
    out: Annotated[Path, option("--out -o", "The sheet: FILE.csv or FILE.jsonl.", "FILE")],
    state: States = None,
    label: Labels = None,
    folder: Folder = None,
    night: Night = None,
    text: Text = None,
    decided: Decided = None,
    current_settings: Current = False,
    sort: Sort = "score",
    limit: Annotated[int, option("--limit", "At most N rows.", "N", min=1, max=100_000)] = 1_000,
    sample: Annotated[bool, option("--sample", "Only the rows of the last sample that wait.")] = False,
) -> Answer:
    """Write a sheet of rows on which people decide: CSV for a spreadsheet, JSON Lines for programs.

    Only rows on which can be decided: in review, abstained, done or rejected. Fill in the last columns: action (accept,
    correct or reject), why, and what is right in the new columns; `review import` takes the sheet. Each row has an id
    that stays the same.
    """
    ending, states = _ending(out), tuple(state or pipeline.review.REVIEWABLE)
    asked = pipeline.index.Filter(
        jobs=(job,), states=states, labels=tuple(label or ()), folder=folder, night=night, text=text, review=decided,
        settings="current" if current_settings else None,
    )  # fmt: skip
    check_filter(at, asked, sort)
    if refused := [each for each in states if each not in pipeline.review.REVIEWABLE]:
        expected = f"one of {', '.join(pipeline.review.REVIEWABLE)}"
        raise ConfigError(Problem("--state", f"nobody decides on rows that are {refused[0]}", expected))
    site = at.site
    with pipeline.index.open_index(site) as queue:
        queue.refresh()
        rows = pipeline.index.rows_in_order(site, queue, asked, sort, None if sample else limit)
        if sample:
            waiting = _waiting(site, queue, job)
            rows = (row for row in rows if row.audit_index in waiting)
        found = list(rows)
    at.record(pipeline.records.ReadResults(of_job=job, failed=False, limit=limit))
    is_csv = ending == "csv"
    data = (
        pipeline.review.format_csv(site.origin, found)
        if is_csv
        else b"".join(pipeline.review.format_jsonl(site.origin, found))
    )
    with writing(out):
        out.write_bytes(data)
    told = f"{counted(len(found), 'row')} in {out}; fill in its last columns, then: cloister review import {out}"
    return Answer({"file": out, "rows": len(found)}, [told])


def _ending(path: Path) -> str:
    """The format of a sheet, by its name. ConfigError."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in pipeline.review.SHEETS:
        raise ConfigError(
            Problem(str(path), "no sheet by its name", f"FILE.{' or FILE.'.join(pipeline.review.SHEETS)}")
        )
    return ending


def _waiting(site: pipeline.Site, queue: pipeline.index.Index, job: str) -> set[int]:
    last = [*pipeline.review.samples(site, job)][-1:]
    if not last:
        raise ConfigError(Problem("--sample", f"no sample of {job} was drawn", "cloister review sample JOB --size N"))
    return {row.entry for row in pipeline.review.standing(queue, last[0]).rows if row.verdict == "waits"}


def import_(
    at: At, file: Annotated[Path, argument("FILE", "The sheet, as `review export` wrote it.")], by: As
) -> Answer:
    """Take the decisions of a sheet: each becomes a row in the log, with who made it.

    Nothing is decided if a line cannot be understood. A row whose answer is no longer the one that was exported is
    refused and told, and the others are taken. A sheet that is imported again decides nothing twice, for its rows have
    been replaced. Exit 1 where a row was refused.
    """
    check_text("--as", by, "a person's name; it stands in the log")
    ending, site = _ending(file), at.site
    try:
        filled = pipeline.review.parse_sheet(file.read_bytes(), ending, site.origin)
    except OSError as error:
        raise ConfigError(Problem(str(file), f"cannot be read: {error.strerror}")) from error
    except pipeline.review.BadSheetError as error:
        raise ConfigError(Problem(str(file), error.found, error.expected, line=error.line)) from error
    told = [_taken(site, each, by.strip()) for each in filled]
    code = ExitCode.DOCUMENTS_FAILED if any(each["refused"] for each in told) else ExitCode.DONE
    return Answer({"file": file, "rows": told}, _taken_lines(file, told), code)


def _taken(site: pipeline.Site, filled: pipeline.review.Filled, by: str) -> dict[str, Any]:
    told = {"line": filled.line, "row": filled.entry, "action": filled.action, "entry": None, "waits": False}
    try:
        row = pipeline.review.row_of(site, filled.entry)
        if pipeline.review.seen_digits(pipeline.outbox.result_sha256(row)) != filled.seen:
            raise pipeline.tasks.ReviewRefusedError(
                f"the row of entry {filled.entry:,} is not the one that was exported"
            )
        answer = filled.answer(row)
        review = pipeline.Review(row.job, filled.entry, filled.action, by, filled.why, answer)
        outcome = pipeline.decide(site, review)
    except (LookupError, pipeline.tasks.ReviewRefusedError) as error:
        return told | {"refused": str(error.args[0])}
    return told | {"entry": outcome.n, "waits": outcome.waits, "refused": None if outcome.waits else outcome.why}


def _taken_lines(file: Path, told: list[dict[str, Any]]) -> Iterator[str]:
    for each in told:
        if each["refused"]:
            yield f"{file}:{each['line']}: row {each['row']} was not {each['action']}: {one_line(each['refused'])}"
    taken, waits = sum(each["entry"] is not None for each in told), sum(each["waits"] for each in told)
    refused = sum(bool(each["refused"]) for each in told)
    later = f", {waits:,} that wait for the run that holds the log" if waits else ""
    no = f", {refused:,} refused" if refused else ""
    yield f"{counted(taken, 'decision')} taken{later}{no}" if told else f"{file} decides nothing: its actions are empty"
