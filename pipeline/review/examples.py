"""Rows that people accepted or corrected, as examples from which a head is learned, or on which a job is measured.

They are written as the file that a person would write, so that they are read, checked and told of as any other: one
line for each document with its parsed text from the archive, in the order of the entries. Rows whose text or whose part
is gone are left out, and so is what the job does not ask any more.
"""

import contextlib
import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.errors import BadPartError
from pipeline.learn.examples import ExamplesRefusedError, refused
from pipeline.learn.reading import work_of
from pipeline.plan import RunPlan
from pipeline.records.current import answers_of
from pipeline.records.entries import documents_at
from pipeline.records.types import REJECTED
from pipeline.review.known import KNOWN
from pipeline.review.seen import held_row, text_of
from pipeline.tasks import ClassifySettings, ExtractSettings, SummarizeSettings

REVIEW = "review"
"""The word that stands for these examples where a file or folder is asked for."""
Row = dict[str, Any]


@contextlib.contextmanager
def review_examples(plan: RunPlan, *, placed: bool) -> Iterator[Path]:
    """The file of examples, as long as the context lasts, below state/ or in memory, for its owner alone. `placed`:
    only values that stand in the text, as a lesson needs them. ExamplesRefusedError where there is none;
    audit.AuditError, OSError."""
    plan.site.state.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="review-", dir=plan.site.at_rest.cache(plan.site.state)) as folder:
        file, rows = Path(folder) / "review.jsonl", list[int]()
        with file.open("x", encoding="utf-8") as lines:
            for row, example in _examples(plan, placed):
                lines.write(json.dumps(example, ensure_ascii=False) + "\n")
                rows.append(row)
        if not rows:
            found = f"no row of {plan.job} was accepted or corrected, or their texts are gone"
            raise refused(REVIEW, found, "rows that people decided on", "decide on some with `cloister review`")
        try:
            yield file
        except ExamplesRefusedError as error:
            line = re.compile(rf"{re.escape(str(file))}(?::(\d+))?")

            def told(text: str) -> str:  # rows that people know, for lines of a file that they never saw
                return line.sub(lambda at: f"{REVIEW}, row {rows[int(at[1]) - 1]}" if at[1] else REVIEW, text)

            mistakes = [replace(one, where=told(one.where), found=told(one.found)) for one in error.mistakes]
            raise ExamplesRefusedError(mistakes) from None


def _examples(plan: RunPlan, placed: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows on which people decided, by the number of their entry, as lines of examples."""
    history = KNOWN.history(plan.site, plan.job)
    for entry in documents_at(plan.site, list(history.decided.values())):
        decided = entry.review is not None and entry.review.action != REJECTED
        if not decided or entry.n not in answers_of(history.last, entry):
            continue
        text = text_of(plan.site, entry)
        if not text or work_of(REVIEW, text).parsed.text != text:
            continue  # gone, or no example would have exactly this text
        try:
            row = held_row(plan.site, entry)
        except (LookupError, BadPartError, OSError):
            continue
        if (taught := _taught(plan, row, placed)) is not None:
            yield entry.n, {"text": text, **taught}


def _taught(plan: RunPlan, row: Row, placed: bool) -> dict[str, Any] | None:
    """The right answer as a line of examples says it; None where the job does not ask for it any more."""
    match plan.task:
        case ClassifySettings():
            return {"label": row["label"]} if row["label"] in [one.name for one in plan.task.labels] else None
        case ExtractSettings():
            asked = [field.name for field in plan.task.fields]
            fields = dict(_fields(row, asked, placed))
            return {"fields": fields} if fields else None
        case SummarizeSettings():
            return {"summary": row["summary"]} if row["summary"] else None
    raise refused(REVIEW, "the job has another task", "classify, extract, summarize")


def _fields(row: Row, asked: list[str], placed: bool) -> Iterator[tuple[str, Any]]:
    """The values of each field: where they stand, or what they are; None for one that the document does not have."""
    for name in asked:
        its = [each for each in row["fields"] or () if each["name"] == name]
        values = [each for each in its if each["value"] is not None]
        if not its or (placed and any(each["evidence"] is None for each in values)):
            continue
        said = [_place(each) or each["value"] for each in values]
        yield name, said or None


def _place(element: Row) -> list[int] | None:
    at = element["evidence"]
    return [at["start"], at["end"]] if at else None
