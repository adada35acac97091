"""Which answers change between two models, or two heads, for the same job on the same documents.

Documents are read once, as a run reads them, and answered by the very code of a run; nothing is committed.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pipeline.answer.heads import with_head
from pipeline.answer.models import answerer, check_machine, check_model, examine_model, load_model, writing_of
from pipeline.control.files import HEAD
from pipeline.document import Row
from pipeline.errors import ModelRefusedError
from pipeline.inbox.order import Ended, Work, ended_row
from pipeline.learn.reading import open_reader, work_of
from pipeline.paths.names import file_sha256
from pipeline.plan import HeadRef, RunPlan
from pipeline.tasks import Line
from pipeline.tasks.examples import SOURCES, ExamplesRefusedError, Given, Mistake, decoded, files_of, of_file, refused

Progress = Callable[[int, int, str], None]
_NO_ANSWER = frozenset({"score", "scores", "evidence"})
"""Members of an answer that may be others although the answer is the same."""


@dataclass(frozen=True)
class Side:
    """A model or head that answered: the file in models/, its sha256, and how many documents ended in which state."""

    file: str
    sha256: str
    states: Mapping[str, int]


@dataclass(frozen=True)
class Said:
    """The result of one side for a document: its state, the reason (None where it gives none), the columns of its
    answer, and the lines that show them to a person."""

    state: str
    reason: str | None
    columns: Mapping[str, Any]
    lines: tuple[Line, ...]

    @property
    def answer(self) -> tuple[str, Any]:
        """The members by which two answers differ: all but scores, evidence, and the reason, which may name a score."""
        return self.state, _without_scores(self.columns)


@dataclass(frozen=True)
class Change:
    """A document whose answer is another one: where it was given, and what each side says."""

    place: str
    a: Said
    b: Said


@dataclass(frozen=True)
class Comparison:
    """The comparison of two sides on a job's documents: of `documents` those that changed; `rescored`: so many others
    have the same answer with another score."""

    job: str
    a: Side
    b: Side
    documents: int
    rescored: int
    changed: tuple[Change, ...]

    @property
    def same(self) -> int:
        """How many documents have the same answer."""
        return self.documents - len(self.changed)


def compare(plan: RunPlan, a: Path, b: Path, source: Path, progress: Progress) -> Comparison:
    """Answer the documents of `source` for the job of a plan by two models, or by two heads. Raises ModelRefusedError,
    MachineRefusedError, ExamplesRefusedError and OSError."""
    check_machine()
    if plan.is_batch:
        raise ModelRefusedError("the task batch answers requests of programs; there are no documents to compare on")
    if (a.suffix == HEAD) != (b.suffix == HEAD):
        raise ModelRefusedError(f"{a.name} and {b.name} are a model and a head; compare two models, or two heads")
    plans = [_checked(_with(plan, path)) for path in (a, b)]
    read = _read(plan, read_given(source), progress)
    rows = [_rows(each, sha256, read, progress) for each, sha256 in plans]
    found = [[_said(plan, row) for row in its] for its in rows]
    return _compared(plan.job, (a, b), [item.arrival.path for item in read], *found)


def _with(plan: RunPlan, path: Path) -> RunPlan:
    if path.suffix == HEAD:
        return replace(plan, model=replace(plan.model, head=HeadRef(path.stem, path, None)))
    return replace(plan, model=replace(plan.model, name=path.stem, path=path, sha256=None))


def _checked(plan: RunPlan) -> tuple[RunPlan, str]:
    sha256 = check_model(plan)
    plan = with_head(plan, sha256)
    plan = replace(plan, writing=writing_of(plan))
    examine_model(plan)
    return plan, sha256


def _read(plan: RunPlan, given: Sequence[Given], progress: Progress) -> list[Work | Ended]:
    """The documents, as a run reads them; one that is in another is no document here."""
    with open_reader(plan, 1) if any(one.path for one in given) else contextlib.nullcontext() as read:
        found = list[Work | Ended]()
        for one in given:
            progress(len(found), len(given), "reading documents")
            text = work_of(one.place, one.text or "")
            found.append(text if read is None or one.path is None else read(one.place, one.path))
    return found


def _rows(plan: RunPlan, sha256: str, read: Sequence[Work | Ended], progress: Progress) -> list[Row]:
    name = (plan.model.head or plan.model).name
    model = load_model(plan, sha256, lambda fact: progress(0, len(read), fact))
    answers, rows = answerer(plan, model), list[Row]()
    for group in answers(read, lambda done, total: None, review_hidden=plan.input.hidden == "review"):
        for item, row in group:
            if isinstance(item, Ended):
                rows.append(ended_row(item))
            elif row is not None:
                rows.append(row)
        progress(len(rows), len(read), f"answers of {name}")
    return rows


def _said(plan: RunPlan, row: Row) -> Said:
    columns = {column.name: row.get(column.name) for column in plan.task.columns}
    return Said(row.state, row.reason, columns, tuple(plan.task.lines(row)))


def _without_scores(value: Any) -> Any:
    """A value of an answer without the members that do not make it another one."""
    if isinstance(value, Mapping):
        return {name: _without_scores(each) for name, each in value.items() if name not in _NO_ANSWER}
    return [_without_scores(each) for each in value] if isinstance(value, list | tuple) else value


def _compared(
    job: str, files: tuple[Path, Path], places: Sequence[str], a: Sequence[Said], b: Sequence[Said]
) -> Comparison:
    pairs = list(zip(places, a, b, strict=True))
    changed = tuple(Change(place, one, other) for place, one, other in pairs if one.answer != other.answer)
    rescored = sum(one.answer == other.answer and one.columns != other.columns for _, one, other in pairs)
    return Comparison(job, _side(files[0], a), _side(files[1], b), len(pairs), rescored, changed)


def _side(path: Path, said: Sequence[Said]) -> Side:
    return Side(path.name, file_sha256(path), _states(said))


def _states(said: Sequence[Said]) -> dict[str, int]:
    states = [one.state for one in said]
    return {state: states.count(state) for state in sorted(set(states))}


TABLES: Final = (".csv", ".jsonl", ".ndjson")
_FORM: Final = "a column `text` or `document`, and not both"


def read_lines(file: Path) -> list[Given]:
    """The texts of a text file, a line each, or of a CSV or JSONL file with a column `text`. ExamplesRefusedError for
    what is no such file, OSError."""
    if file.suffix.lower() in TABLES:
        found = list(_of_table(file))
        mistakes = [Mistake(one.place, "a document", "a text in the column `text`") for one in found if one.path]
    else:
        lines = enumerate(decoded(file).splitlines(), start=1)
        found = [Given(f"{file}:{number}", {}, line.strip(), None) for number, line in lines if line.strip()]
        mistakes = []
    if not found:
        mistakes.append(Mistake(str(file), "no text", "a text in each line, or a CSV or JSONL file with `text`"))
    if mistakes:
        raise ExamplesRefusedError(mistakes)
    return found


def read_given(source: Path) -> list[Given]:
    """The documents of a folder, of a CSV or JSONL file with a column `text` or `document`, or the one document that
    the file is; other columns, such as labels, play no part. ExamplesRefusedError, OSError."""
    if not source.exists():
        raise refused(str(source), "there is no such file or folder", "documents, or a CSV or JSONL file with them")
    if source.is_dir():
        found = [Given(str(inner), {}, None, path) for path, inner in files_of(source)]
    elif source.suffix.lower() in TABLES:
        found = list(_of_table(source))
    else:
        found = [Given(source.name, {}, None, source)]
    if not found:
        raise refused(str(source), "no document", "at least one")
    return found


def _of_table(file: Path) -> Iterator[Given]:
    mistakes = list[Mistake]()
    yield from of_file(file, SOURCES, _FORM, mistakes)
    if mistakes:
        raise ExamplesRefusedError(mistakes)
