"""How one document is to be read: what its job says, and what its surroundings leave to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

NO_WORDS = "not read: no words were recognised"

Far = Callable[[int, int], None]
"""Told how many pages of a document are read, of how many."""


def nowhere(done: int, of: int) -> None:
    """Nobody asks how far it is."""


@dataclass(frozen=True)
class Options:
    """`hidden`: keep, or drop, text that no person sees. `documents` and `bytes`: what it may still unpack to.

    `images`: give pictures of text away; `texts`: what was recognised on these, by the names that they were given with,
    and `unread`: why others were not recognised.
    `media_type`: what it is because its job says so; "" where its bytes decide. `tell`: text that no person sees is
    given, not only counted.
    """

    hidden: str = "drop"
    documents: int = 10_000
    bytes: int = 1 << 30
    images: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    media_type: str = ""
    tell: bool = False

    def to_message(self) -> dict[str, Any]:
        """The options as a JSON object."""
        return vars(self) | {"texts": dict(self.texts), "unread": dict(self.unread)}
