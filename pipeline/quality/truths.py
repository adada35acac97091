"""Evaluation examples: documents with their label, the values of their fields, or their summary.

They have the form of the examples of `cloister learn`. A field that is empty or null is absent in the document; one
that is not said at all is not measured there. In JSONL a value and a summary may be a list, of which any is right.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import audit
from pipeline.learn import fields, labels, summaries
from pipeline.learn.examples import Example, ExamplesRefusedError, Mistake
from pipeline.learn.fields import Said
from pipeline.paths.names import file_sha256
from pipeline.tasks import ClassifySettings, ExtractSettings, SummarizeSettings, Task
from pipeline.tasks.settings import FROM_MODEL


@dataclass(frozen=True)
class Truth:
    """A document, and what is known of it: its label; or field -> the values that are right, none where it is absent;
    or the summaries that are right."""

    example: Example[Any]
    label: str = ""
    fields: Mapping[str, tuple[Said, ...]] = field(default_factory=dict)
    summaries: tuple[str, ...] = ()

    @property
    def said(self) -> object:
        """The known answers as one value, which is equal for two examples that say the same."""
        return [self.label, sorted(self.fields.items()), self.summaries]

    def values(self, name: str, text: str) -> tuple[str, ...] | None:
        """The values of a field that are right, of the document with this text; None where nothing is said of it."""
        its = self.fields.get(name)
        if its is None:
            return None
        return tuple(text[one[0] : one[1]] if isinstance(one, tuple) else one for one in its)


def read_truths(source: Path, task: Task) -> list[Truth]:
    """The examples of a file or folder for a task. ExamplesRefusedError names each mistake; OSError."""
    match task:
        case ClassifySettings(labels=()) | ExtractSettings(fields=()):
            raise _refused(source, f"a job whose answers are {FROM_MODEL}", "one that names its labels or fields")
        case ClassifySettings():
            found = _of_labels(source, [label.name for label in task.labels])
        case ExtractSettings():
            names = [field.name for field in task.fields]
            found = [Truth(one, fields=one.taught) for one in fields.read_examples(source, names)]
            if empty := [one.example.place for one in found if not one.fields]:
                raise ExamplesRefusedError([Mistake(place, "no fields", "values of fields") for place in empty])
        case SummarizeSettings():
            found = [Truth(one, summaries=one.taught) for one in summaries.read_examples(source)]
        case _:
            raise _refused(source, "the job has another task", "classify, extract, summarize")
    if not found:
        raise _refused(source, "no examples", "documents whose answers are known")
    return found


def _of_labels(source: Path, names: Sequence[str]) -> list[Truth]:
    found = [Truth(one, one.taught) for one in labels.read_examples(source, names)]
    if len({one.label for one in found}) == 1:
        told = f"only the label {found[0].label!r}, of {len(found)} examples"
        raise _refused(source, told, "documents of two labels at least")
    return found


def _refused(source: Path, found: str, expected: str) -> ExamplesRefusedError:
    return ExamplesRefusedError([Mistake(str(source), found, expected)])


def eval_digest(source: Path, truths: Sequence[Truth]) -> str:
    """The sha256 over the evaluation file and all documents that it names, wherever they lie."""
    own = file_sha256(source) if source.is_file() else ""
    documents = [
        [one.label, _name(one.example.path, source), file_sha256(one.example.path)]
        for one in truths
        if one.example.path
    ]
    return hashlib.sha256(audit.canonical([own, documents])).hexdigest()


def _name(path: Path, source: Path) -> str:
    """The path of a document from the folder of the examples, or from the root where it was given so, as text."""
    folder = source if source.is_dir() else source.parent
    told = path.relative_to(folder) if path.is_relative_to(folder) else path
    return str(told).encode(errors="surrogateescape").decode(errors="backslashreplace")
