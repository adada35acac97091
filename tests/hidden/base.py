"""The contract of a family of techniques: whole documents that hide some of their words, and say which."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Technique:
    """A document named `file_name`; a rendered page of it shows every word of `shown` and none of `hidden`.

    A control is a document that looks as if it hid something and does not: its `hidden` is empty.
    """

    name: str
    file_name: str
    data: bytes
    hidden: tuple[str, ...]
    shown: tuple[str, ...]

    def reached(self, text: str) -> list[str]:
        """The hidden words that a parsed text holds."""
        return [word for word in self.hidden if word in text]

    def lost(self, text: str) -> list[str]:
        """The shown words that a parsed text lacks."""
        return [word for word in self.shown if word not in text]
