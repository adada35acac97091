"""The contract of a value type: a module with `find(text, reading)`, which yields the values of that type in order."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from pipeline.text.values.reading import Reading


@dataclass(frozen=True)
class Value:
    """text[start:end] read as a value: `value` is its normal form, `note` what a reader should know of the reading.

    `sure` is False where the text alone does not show that it is of this type, such as an amount without a currency.
    `cues` are words in lower case that say what the value is for, where the way it stands there shows that: the first
    name after "by and between" is that of a party. A field is named by them as by words beside the value.
    """

    start: int
    end: int
    value: str
    note: str | None = None
    sure: bool = True
    cues: tuple[str, ...] = ()


class Finder(Protocol):
    """Finds every value of one type, in the order of their places, in time linear in the text."""

    def __call__(self, text: str, reading: Reading, /) -> Iterator[Value]: ...
