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
from pipeline.learn.reading import work_of
from pipeline.plan import RunPlan
from pipeline.records.current import answers_of
from pipeline.records.entries import documents_at
from pipeline.records.index import KNOWN
from pipeline.records.types import REJECTED
from pipeline.review.seen import held_row, text_of
from pipeline.tasks import MEASURES
from pipeline.tasks.examples import ExamplesRefusedError, refused

REVIEW = "review"
"""The word that stands for these examples where a file or folder is asked for."""


@contextlib.contextmanager
def review_examples(plan: RunPlan, *, placed: bool) -> Iterator[Path]:
    """The file of examples, as long as the context lasts, below state/ or in memory, for its owner alone. `placed`:
    only values that stand in the text, as a lesson needs them. ExamplesRefusedError where there is none;
    audit.AuditError, OSError."""
    if not plan.task.measures:
        raise refused(REVIEW, "the job has another task", ", ".join(MEASURES))
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
        if (taught := plan.task.taught(row, placed=placed)) is not None:
            yield entry.n, {"text": text, **taught}
