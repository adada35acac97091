"""The contract of what a head is learned from: one kind of lesson for each task that can be learned."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pipeline.heads.file import HeadFile
from pipeline.learn.reading import Read

Progress = Callable[[int, int], None]
Model = TypeVar("Model", contravariant=True)


class Measured(Protocol):
    """Figures from examples that the head had not seen: a frozen dataclass, whose fields are JSON values."""

    def told(self) -> Iterator[tuple[str, str]]:
        """The figures for a person: what each is called, and what it is."""


@dataclass(frozen=True)
class Learned:
    """The result of learning: the head with its own facts and arrays, and how good it is."""

    head: HeadFile
    measured: Measured


class Lesson(Protocol[Model]):
    """Examples of one task, which were read and found to be as they must be."""

    @property
    def read(self) -> Sequence[Read[Any]]:
        """The examples with their texts, each text once."""

    @property
    def given(self) -> int:
        """How many examples there were, those included whose text came twice."""

    def teaches(self) -> list[Any]:
        """Return what each example teaches, as JSON values: with the texts they are what the head is made from."""

    def learn(self, model: Model, progress: Progress) -> Learned:
        """Learn from the examples, on a model of the kind that the lesson is for."""
