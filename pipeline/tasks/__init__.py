"""The family of tasks: what is asked of each document. pipeline/tasks/README.md tells how to add one."""

from collections.abc import Mapping
from typing import Any

from pipeline.tasks.ask import AskSettings
from pipeline.tasks.base import (
    EMBEDDING,
    EVIDENCE,
    SEQUENCE,
    SPAN,
    TEXT,
    TOKENS,
    Answer,
    Answerer,
    Dialogue,
    Embedder,
    EmbeddingTask,
    Headed,
    HeadedTask,
    Line,
    Slot,
    Task,
    TaskRefusedError,
    Window,
    Writer,
    Writing,
    WritingTask,
)
from pipeline.tasks.batch import BatchSettings
from pipeline.tasks.classify import ClassifySettings, Label
from pipeline.tasks.extract import ExtractSettings, Field
from pipeline.tasks.settings import NOT_BLANK, Key, Settings, SettingsError, Text, keys_of
from pipeline.tasks.summarize import SummarizeSettings
from pipeline.tasks.writing.prompts import VERSION as PROMPTS

TASKS: Mapping[str, type[Task]] = {
    "classify": ClassifySettings,
    "extract": ExtractSettings,
    "summarize": SummarizeSettings,
    "ask": AskSettings,
    "batch": BatchSettings,
}


def name_of(task: Task) -> str:
    """The name under which the task is registered."""
    return next(name for name, kind in TASKS.items() if kind is type(task))


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
    "ExtractSettings",
    "Field",
    "Headed",
    "HeadedTask",
    "Key",
    "Label",
    "Line",
    "Settings",
    "SettingsError",
    "Slot",
    "SummarizeSettings",
    "Task",
    "TaskRefusedError",
    "Text",
    "Window",
    "Writer",
    "Writing",
    "WritingTask",
    "from_json",
    "keys_of",
    "name_of",
    "to_json",
]
