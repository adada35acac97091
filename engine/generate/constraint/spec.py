"""Constraints as plain data, and the protocol of a matcher that holds one answer to a constraint."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Choice:
    """One of these texts, exactly, and nothing around it."""

    options: tuple[str, ...]


@dataclass(frozen=True)
class Pattern:
    """A text that the regular expression matches as a whole. Its syntax is that of Rust's `regex`: no look-around, no
    references back."""

    regex: str


@dataclass(frozen=True)
class Schema:
    """Compact JSON that a JSON Schema describes; README.md, "Constrained answers", says which keywords and bounds.

    `quotes`: JSON pointer into the schema, such as `/properties/total/properties/quote`, to a text. The string there is
    then a quote: `locate(text, quote)` finds it. The node must allow strings, and may allow null.

    `values`: JSON pointer into the schema to texts and numbers, of which one then stands there, spelled as `json.dumps`
    spells it. The node has a `type` that allows them all and nothing else, and may allow null."""

    schema: Mapping[str, object]
    quotes: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Sequence[str | int | float]] = field(default_factory=dict)


@dataclass(frozen=True)
class AnyObject:
    """Compact JSON that is an object, whatever is in it; README.md, "Constrained answers", says how much."""


Spec = Choice | Pattern | Schema | AnyObject


class Constraint(Protocol):
    """Holds one answer to what it must be. It has a state: the tokens it was advanced by. It is used by one thread."""

    @property
    def is_over(self) -> bool:
        """Whether the answer is complete and nothing but an end token may follow. An end token was advanced by, or
        need not be: the engine stops here without a step for it."""

    def mask(self) -> NDArray[np.uint32]:
        """uint32 [ceil(vocabulary / 32)]: bit i % 32 of word i // 32 says whether token i may be next. End tokens are
        among them where the answer may end here. When it is over, they alone are."""

    def forced(self) -> list[int]:
        """The tokens that must follow, without a step of the model; often none. The state does not change: advance by
        them. Where the answer must end next, that is not said here but by `is_over`."""

    def advance(self, ids: Sequence[int]) -> None:
        """Goes on by these tokens. Raises EngineError when one of them is not allowed; the state is then as before."""

    def check(self, ids: Sequence[int]) -> int:
        """How many of these tokens, from the first, are allowed one after another. The state does not change."""


class Makes(Protocol):
    """Makes constraints for one vocabulary; grammar.Grammars is one."""

    def make(self, spec: Spec) -> Any:
        """The Constraint at its start. Raises EngineError for what cannot be held or fulfilled."""

    def masks(self, constraints: Any) -> NDArray[np.uint32]:
        """`mask()` of many constraints at once, uint32 [constraints, words]."""
