"""Summarize by a head that was learned from examples."""

from pipeline.heads.file import HeadFile
from pipeline.heads.sentences import SentencesHead
from pipeline.tasks.base import TaskRefusedError


def sentences_of(head: HeadFile) -> SentencesHead:
    """The head in a file. TaskRefusedError if it is none."""
    try:
        return SentencesHead.from_file(head)
    except (ValueError, KeyError, TypeError) as error:
        raise TaskRefusedError(f"its head cannot be used: {error}; learn it again with `cloister learn`") from error
