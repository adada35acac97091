"""The family of tasks: what is asked of each document. pipeline/tasks/README.md tells how to add one."""

from collections.abc import Mapping
from typing import Any

from pipeline.document import Row
from pipeline.tasks.ask import AskSettings
from pipeline.tasks.base import (
    EVIDENCE,
    Answer,
    Dialogue,
    EmbeddingTask,
    HeadedTask,
    Line,
    Slot,
    Task,
    TaskRefusedError,
    Value,
    Window,
    WritingTask,
)
from pipeline.tasks.batch import BatchSettings
from pipeline.tasks.classify import ClassifySettings
from pipeline.tasks.classify.answers import Label
from pipeline.tasks.correcting import ReviewRefusedError
from pipeline.tasks.examples import ExamplesRefusedError
from pipeline.tasks.extract import ExtractSettings
from pipeline.tasks.extract.fields import Field
from pipeline.tasks.judging import Figure
from pipeline.tasks.kinds import EMBEDDING, SEQUENCE, SPAN, TEXT, TOKENS, Answerer, Embedder, Headed, Writer, Writing
from pipeline.tasks.prompts import VERSION as PROMPTS
from pipeline.tasks.settings import NOT_BLANK, Key, Settings, SettingsError, Text, keys_of
from pipeline.tasks.summarize import SummarizeSettings

TASKS: Mapping[str, type[Task]] = {
    "classify": ClassifySettings,
    "extract": ExtractSettings,
    "summarize": SummarizeSettings,
    "ask": AskSettings,
    "batch": BatchSettings,
}

MEASURES: Mapping[str, tuple[str, ...]] = {name: kind.measures for name, kind in TASKS.items() if kind.measures}
"""Task -> the figures for which a floor can be set; models are compared by the first."""
FIGURES: Mapping[str, str] = {name: told for kind in TASKS.values() for name, told in kind.figures.items()}
"""What a figure says, for people."""


def name_of(task: Task) -> str:
    """The name under which the task is registered."""
    return next(name for name, kind in TASKS.items() if kind is type(task))


def task_of(row: Row) -> str | None:
    """The name of the task of a row; of one from before rows named it, the one whose columns it has."""
    columns = ((name, [column.name for column in kind.columns]) for name, kind in TASKS.items())
    return row.task or next((name for name, its in columns if any(row.get(each) is not None for each in its)), None)


def kind_of(row: Row) -> type[Task] | None:
    """The task of a row; None where it has none, or one that is not registered."""
    return TASKS.get(task_of(row) or "")


def to_json(task: Task) -> dict[str, Any]:
    """The task with its settings as JSON values: the log keeps them, and the job digest covers them."""
    return {"type": name_of(task), **task.to_json()}


def from_json(values: Mapping[str, Any]) -> Task:
    """The inverse of `to_json`. ValueError where no task has the name."""
    if (kind := TASKS.get(values["type"])) is None:
        raise ValueError(f"no task is called {values['type']!r}")
    return kind.from_json({name: value for name, value in values.items() if name != "type"})


__all__ = [
    "EMBEDDING",
    "EVIDENCE",
    "FIGURES",
    "MEASURES",
    "NOT_BLANK",
    "PROMPTS",
    "SEQUENCE",
    "SPAN",
    "TASKS",
    "TEXT",
    "TOKENS",
    "Answer",
    "Answerer",
    "AskSettings",
    "BatchSettings",
    "ClassifySettings",
    "Dialogue",
    "Embedder",
    "EmbeddingTask",
    "ExamplesRefusedError",
    "ExtractSettings",
    "Field",
    "Figure",
    "Headed",
    "HeadedTask",
    "Key",
    "Label",
    "Line",
    "ReviewRefusedError",
    "Settings",
    "SettingsError",
    "Slot",
    "SummarizeSettings",
    "Task",
    "TaskRefusedError",
    "Text",
    "Value",
    "Window",
    "Writer",
    "Writing",
    "WritingTask",
    "from_json",
    "keys_of",
    "kind_of",
    "name_of",
    "task_of",
    "to_json",
]
