"""The contract of a task: a frozen dataclass that holds its settings and says and does all that is to be known of it.

`Settings` are the keys that a job file may say; their JSON is what the log keeps and the job digest covers. `Task` adds
the columns of the rows, what kind of model is needed, and how documents are answered on each kind. On a model that
embeds: which spans of a document to embed, and what their vectors answer (`EmbeddingTask`). On one that writes: what to
ask it of a document, again and again, until its answers make one (`WritingTask`). On one with a head of its own: which
windows of a document to read, and what follows from what the model says of them (`HeadedTask`).
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple, Protocol, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import engine
from pipeline.document import Evidence, Parsed, Row, Span
from pipeline.errors import Failure
from pipeline.heads import HeadFile
from pipeline.tasks.correcting import ReviewRefusedError
from pipeline.tasks.examples import Example, Lesson, Reads
from pipeline.tasks.judging import Judge
from pipeline.tasks.kinds import EMBEDDING, TEXT, Embedder, Headed, Writer, Writing
from pipeline.tasks.settings import Settings, SettingsError, Steps, keys_of, made, plain

EVIDENCE: Final = pa.struct(
    [("page", pa.int32()), ("start", pa.int64()), ("end", pa.int64()), ("text", pa.string()), ("section", pa.string())]
)
"""The type of a place in a document, for columns of rows."""


HeadAnswers = Callable[["engine.Model", Sequence[str]], Iterator[NDArray[np.float32]]]
"""The numbers that a learned head says of texts, on the model that it was learned on."""


@dataclass(frozen=True)
class Task(Settings):
    """A question that a job puts to each document. A member of the family is a subclass, registered in `TASKS`."""

    purpose: ClassVar[str]
    """What the task gives, in a few words: for the JSON Schema."""
    columns: ClassVar[tuple[pa.Field, ...]]
    """The columns of the result table that are this task's own; no other task may have one of the same name."""
    needs: ClassVar[str | None] = None
    """EMBEDDING or TEXT: the one kind of model on which it can be done; None: on either."""
    hints: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Kind of model -> what to write into a job that has other keys than a model of this kind needs."""
    max_tokens: ClassVar[str] = "of a model that writes: tokens of an answer, at most; 1024 if left out"
    """The description of the key `max_tokens`, which every task has, and which is no setting of its own."""
    learned_on: ClassVar[tuple[str, ...]] = ()
    """The kinds of model on which heads are learned for the task: EMBEDDING, TEXT."""
    texts: ClassVar[tuple[str, ...]] = ()
    """The columns whose text is the answer, as flat tables have them."""
    figures: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """The figures that are measured of answers, with their words for people; models are compared by the first."""
    measures: ClassVar[tuple[str, ...]] = ()
    """The figures for which a floor can be set, the one by which models are compared first."""
    of_requests: ClassVar[bool] = False
    """Whether what comes are files of requests, and answers go into files beside the parts."""
    unreviewed: ClassVar[str | None] = "answers of this task are not reviewed"
    """Why no person can decide on the rows; None where one can."""

    @classmethod
    def from_keys(cls, keys: Mapping[str, Any], model: str) -> Self:
        """The task of the keys that a job file says, whose model has the name `model`: JSON values; keys that are left
        out are not there. ExceptionGroup of SettingsError."""
        return cls.from_json(keys)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The task with these settings: the inverse of `to_json`. ExceptionGroup of SettingsError, one for each
        mistake."""
        wrong: list[SettingsError] = []
        task = made(cls, values, (), wrong)
        if wrong:
            raise ExceptionGroup("settings are not as they must be", wrong)
        return task  # type: ignore[no-any-return]

    def to_json(self) -> dict[str, Any]:
        """The settings as JSON values, which the job digest covers: two tasks with the same ones give the same
        answers."""
        words = {name: key.word for name, key in keys_of(type(self)).items() if key.word}
        return {name: words.get(name) or [] if value == () else plain(value) for name, value in asdict(self).items()}

    def in_words(self) -> str:
        """The task with its settings, for a person who checks the job."""
        return self.purpose

    def slots(self) -> "Sequence[Slot] | None":
        """The values that an answer has beside label, summary and score, in order; None where only the model knows."""
        return ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of model on which the task can be done as its keys are."""
        return (self.needs,) if self.needs else (EMBEDDING, TEXT)

    @property
    def variant(self) -> str:
        """The key that makes the task need another kind of model than usual, for messages; empty for none."""
        return ""

    @property
    def writing_only(self) -> str | None:
        """The key that is set and that only a model that writes can obey; None for none."""
        return None

    def head_only(self) -> tuple[Steps, ...]:
        """Where keys stand that are set and that only a learned head can obey. `self` is as in `check`."""
        return ()

    def on_embedding(self, model: "Embedder") -> "EmbeddingTask":
        """The task on a model that embeds; made once a run. TaskRefusedError."""
        raise TaskRefusedError("the task needs a model that writes text")

    def check_head(self, head: HeadFile) -> None:
        """TaskRefusedError unless the task can be answered by what was learned."""
        raise TaskRefusedError("no head can be learned for the task")

    def promises(self, head: HeadFile) -> Iterator[str]:
        """Tell in words what the settings promise of answers by a head that was checked."""
        return iter(())

    def on_head(self, model: "Embedder", head: HeadFile) -> "EmbeddingTask":
        """The task on a model that embeds, answered by what was learned on its vectors."""
        raise NotImplementedError  # `check_head` has refused it

    def check_own_head(self, head: "engine.Head") -> None:
        """TaskRefusedError unless a model of one of `kinds` has the labels that the task needs."""

    def on_own_head(self, model: "Headed") -> "HeadedTask":
        """The task on a model with a head of its own; made once a run. TaskRefusedError."""
        raise TaskRefusedError("the task does not use a model's own head")

    def on_writing(self, model: "Writer", writing: "Writing") -> "WritingTask":
        """The task on a model that writes; made once a run. TaskRefusedError."""
        raise TaskRefusedError("the task needs a model that gives embeddings")

    def on_prior(self, model: "Writer", writing: "Writing", head: HeadFile) -> "WritingTask":
        """The task on a model that writes, whose probabilities are held against what was learned of them."""
        raise NotImplementedError  # `check_head` has refused it

    def own_examples(self) -> Sequence[str]:
        """The texts that the job itself gives as examples, from which its answers and its head come."""
        return ()

    def lesson(self, source: Path, read: Reads, writing: Writing | None, *, skip: bool) -> Lesson[Any]:
        """The examples of a file or folder, from which a head is learned, on a model that embeds or, with `writing`, on
        one that writes. `skip`: values that do not stand in their document are left out. TaskRefusedError,
        ExamplesRefusedError, OSError."""
        raise TaskRefusedError("no head can be learned for the task")

    @classmethod
    def head_answers(cls, head: HeadFile) -> HeadAnswers:
        """What asks a learned head, on its model, about texts, each a document of its own. ValueError, KeyError and
        TypeError for a file whose parts do not go together."""
        raise NotImplementedError

    def truths(self, source: Path) -> Sequence[Example[Any]]:
        """The examples of a file or folder whose answers are known, if the task has measures. ExamplesRefusedError
        names each mistake; OSError."""
        raise NotImplementedError

    def unmeasured(self, truths: Sequence[Example[Any]]) -> list[str]:
        """Tell what cannot be measured on these examples. ExamplesRefusedError where that is everything."""
        return []

    def judge(self, truths: Sequence[Example[Any]], texts: Sequence[str]) -> Judge:
        """The judge of the rows of documents with these known answers and texts; what does not hang on rows is made
        once."""
        raise NotImplementedError

    def correct(self, row: Row, text: str | None, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        """The columns that a person's correction changes: `answer` is as `pipeline.Review` has it, `text` the parsed
        text of the document, None where it is gone. ReviewRefusedError."""
        raise ReviewRefusedError(self.unreviewed or "")

    def taught(self, row: Row, *, placed: bool) -> Mapping[str, Any] | None:
        """The right answer in a row as a line of examples says it; None where the job does not ask for it any more.
        `placed`: only values that stand in the text. Only of tasks that have measures."""
        raise NotImplementedError

    @classmethod
    def values(cls, row: Row) -> "Iterator[Value]":
        """The values of an answer beside the columns of `texts`."""
        return iter(())

    @classmethod
    def cells(cls, row: Row) -> Iterator[tuple[str, str, str | None]]:
        """The values of an answer as flat tables have them: name, type and value; of one name there may be several."""
        return ((value.name, value.type, value.value) for value in cls.values(row))

    @classmethod
    def scores(cls, row: Row) -> tuple[float | None, float | None]:
        """The score of an answer, and how certain the model was of it: the lowest score of a value."""
        found = (value.score for value in cls.values(row) if value.value is not None and value.score is not None)
        lowest = min(found, default=None)
        return lowest, lowest

    @classmethod
    def topics(cls, row: Row) -> Iterator[str]:
        """The names under which reports count an answer: of the values that were found."""
        return (value.name for value in cls.values(row) if value.value is not None)

    @classmethod
    def lines(cls, row: Row) -> Iterator["Line"]:
        """The answer in a row of the result table, for a person, in a few lines; none where the row has no answer. A
        row of another task lacks these columns, or has null there."""
        for column in cls.columns:
            if row.get(column.name) is not None:
                yield Line(str(row[column.name]), f"{column.name} = ")


class Slot(NamedTuple):
    """A value of an answer by its name: its type as fields have it, and whether there may be several."""

    name: str
    type: str = "text"
    many: bool = False


@dataclass(frozen=True)
class Value:
    """A value of an answer by its name, with its place; `value` is None where there is none, and `note` may say why."""

    name: str
    type: str
    value: str | None
    score: float | None
    evidence: Evidence | None = None
    verbatim: str | None = None
    note: str | None = None


def place_of(said: Mapping[str, Any] | None) -> Evidence | None:
    """A place as columns have it; None where there is none, or it was not read."""
    return Evidence(**said) if said else None


@dataclass(frozen=True)
class Line:
    """A line of an answer: `text` may be shown shortened, `name` before it may not; `score` stands behind it."""

    text: str
    name: str = ""
    score: float | None = None


@dataclass(frozen=True)
class Window:
    """The piece of a document that a model that writes read at once, and its tokens."""

    span: Span
    tokens: int


@dataclass(frozen=True)
class Answer:
    """One document's answer: `columns` are those that the task declares; `abstained` when it would not say.

    `review`: why a person should look at it all the same. `windows`: the pieces in which a model that writes read the
    document. `failure`: if it is set, the answer is not whole; the row is then `failed` with this class, and keeps the
    columns."""

    columns: Mapping[str, Any]
    evidence: Sequence[Evidence] = ()
    abstained: bool = False
    reason: str | None = None
    review: str | None = None
    windows: Sequence[Window] = ()
    failure: Failure | None = None


Dialogue = Generator[Sequence[engine.Request], Sequence[engine.Completion], Answer]
"""Gives requests, is sent their completions, in the same order, and so on until it has the answer; or raises
DocumentError."""


class EmbeddingTask(Protocol):
    """A task on a model that embeds, made once a run; it keeps nothing of the documents it saw."""

    def spans(self, document: Parsed) -> list[Span]:
        """The spans to embed; together they cover the whole text but for white space. Each fits the model."""

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: NDArray[np.float32]) -> Answer:
        """Answer from one vector a span, float32 [len(spans), dim]."""


class HeadedTask(Protocol):
    """A task on a model with a head of its own, made once a run; it keeps nothing of the documents it saw."""

    def spans(self, document: Parsed) -> list[Span]:
        """The windows to read; together they cover the whole text but for white space. Each fits the model."""

    def read(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return what the model says of each window."""

    def answer(self, document: Parsed, spans: Sequence[Span], said: Sequence[Any]) -> Answer:
        """Answer from what the model said of each window."""


class WritingTask(Protocol):
    """A task on a model that writes, made once a run; it keeps nothing of the documents it saw."""

    def dialogue(self, document: Parsed) -> Dialogue:
        """Ask about a document, and make an answer of what the model says."""


class TaskRefusedError(Exception):
    """The model cannot do the task: its instruction leaves no room for a document, or no answer can be as asked for."""
