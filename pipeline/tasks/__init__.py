"""What is done with documents: the family of tasks, and how to make one."""

from collections.abc import Mapping

from pipeline.tasks import ask, batch, classify, extract, summarize, writing
from pipeline.tasks.ask import AskSettings, SchemaError
from pipeline.tasks.base import (
    Answer,
    Answerer,
    Dialogue,
    Embedder,
    Task,
    TaskRefusedError,
    TaskType,
    Window,
    Writer,
    Writing,
    WritingTask,
)
from pipeline.tasks.batch import BatchSettings
from pipeline.tasks.classify import ClassifySettings, Label
from pipeline.tasks.columns import EVIDENCE
from pipeline.tasks.extract import ExtractSettings, Field
from pipeline.tasks.summarize import SummarizeSettings
from pipeline.tasks.writing.prompts import VERSION as PROMPTS

Settings = ClassifySettings | ExtractSettings | SummarizeSettings | AskSettings | BatchSettings

TASKS: Mapping[str, TaskType] = {
    "classify": TaskType(ClassifySettings, classify.COLUMNS, classify.Classify, writing.Classify),
    "extract": TaskType(ExtractSettings, extract.COLUMNS, extract.Extract, writing.Extract),
    "summarize": TaskType(SummarizeSettings, summarize.COLUMNS, summarize.Summarize, writing.Summarize),
    "ask": TaskType(AskSettings, ask.COLUMNS, None, writing.Ask),
    "batch": TaskType(BatchSettings, batch.COLUMNS, None, writing.Batch),
}


def name_of(settings: Settings) -> str:
    """What the task of these settings is called."""
    return next(name for name, kind in TASKS.items() if isinstance(settings, kind.settings))


def make_task(settings: Settings, model: Embedder) -> Task:
    """The task that the settings are for, on a model that embeds; it embeds what is the same for every document once.
    TaskRefusedError."""
    make = TASKS[name_of(settings)].embed
    if make is None:
        raise TaskRefusedError(f"the task {name_of(settings)} needs a model that writes text")
    return make(settings, model)


def make_writing_task(settings: Settings, model: Writer, writing: Writing) -> WritingTask:
    """The task that the settings are for, on a model that writes. TaskRefusedError."""
    return TASKS[name_of(settings)].write(settings, model, writing)


__all__ = [
    "EVIDENCE",
    "PROMPTS",
    "TASKS",
    "Answer",
    "Answerer",
    "AskSettings",
    "BatchSettings",
    "ClassifySettings",
    "Dialogue",
    "Embedder",
    "ExtractSettings",
    "Field",
    "Label",
    "SchemaError",
    "Settings",
    "SummarizeSettings",
    "Task",
    "TaskRefusedError",
    "TaskType",
    "Window",
    "Writer",
    "Writing",
    "WritingTask",
    "make_task",
    "make_writing_task",
    "name_of",
]
