"""What is done with documents: the family of tasks, and how to make one."""

from collections.abc import Mapping

from pipeline.tasks import classify, extract, summarize
from pipeline.tasks.base import Answer, Embedder, Task, TaskType
from pipeline.tasks.classify import ClassifySettings, Label
from pipeline.tasks.columns import EVIDENCE
from pipeline.tasks.extract import ExtractSettings, Field
from pipeline.tasks.summarize import SummarizeSettings

Settings = ClassifySettings | ExtractSettings | SummarizeSettings

TASKS: Mapping[str, TaskType] = {
    "classify": TaskType(ClassifySettings, classify.Classify, classify.COLUMNS),
    "extract": TaskType(ExtractSettings, extract.Extract, extract.COLUMNS),
    "summarize": TaskType(SummarizeSettings, summarize.Summarize, summarize.COLUMNS),
}


def make_task(settings: Settings, model: Embedder) -> Task:
    """The task that the settings are for; it embeds what is the same for every document once."""
    task: Task = next(kind.make for kind in TASKS.values() if isinstance(settings, kind.settings))(settings, model)
    return task


__all__ = [
    "EVIDENCE",
    "TASKS",
    "Answer",
    "ClassifySettings",
    "Embedder",
    "ExtractSettings",
    "Field",
    "Label",
    "Settings",
    "SummarizeSettings",
    "Task",
    "TaskType",
    "make_task",
]
