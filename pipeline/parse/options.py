"""How one document is to be read: what its job says, and what its surroundings leave to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Options:
    """`hidden`: keep, or drop, text that no person sees. `documents` and `bytes`: what it may still unpack to.

    `images`: give pages without text as pictures; `page_texts`: what OCR read on such pages, by number from 1.
    `media_type`: what it is because its job says so; "" where its bytes decide.
    """

    hidden: str = "drop"
    documents: int = 10_000
    bytes: int = 1 << 30
    images: bool = False
    page_texts: Mapping[int, str] = field(default_factory=dict)
    media_type: str = ""

    def to_message(self) -> dict[str, Any]:
        """As JSON, whose keys are strings."""
        return vars(self) | {"page_texts": {str(page): text for page, text in self.page_texts.items()}}


def from_message(message: Mapping[str, Any]) -> Options:
    """What `to_message` made."""
    return Options(**{**message, "page_texts": {int(page): text for page, text in message["page_texts"].items()}})
