"""The tasks on a model that writes: prompts, what an answer must be, and what is made of it."""

from pipeline.tasks.writing.ask import Ask
from pipeline.tasks.writing.batch import Batch
from pipeline.tasks.writing.classify import Classify
from pipeline.tasks.writing.extract import Extract
from pipeline.tasks.writing.summarize import Summarize

__all__ = ["Ask", "Batch", "Classify", "Extract", "Summarize"]
