"""Ways to hide text from people but not from programs, by format: what `hidden: drop` must find."""

from collections.abc import Callable

from tests.hidden import characters, html
from tests.hidden.base import Technique

FAMILIES: dict[str, Callable[[], list[Technique]]] = {
    "html": html.techniques,
    "characters": characters.techniques,
}
"""The techniques of each format, built when they are asked for; their names are unique within a family."""
