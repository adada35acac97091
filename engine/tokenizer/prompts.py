"""Prompts: text of a template, in which control tokens are known by name, and content, in which there are none."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from engine.tokenizer.unicode import classes
from engine.tokenizer.unicode.codepoints import Ranges

KEY = "tokenizer.chat_template"

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PLAIN = (
    "{% for message in messages %}{{ message.role | capitalize }}:\n{{ message.content }}\n\n{% endfor %}"
    "{% if add_generation_prompt %}Assistant:\n{% endif %}"
)
"""For files without a template: ChatML where the vocabulary has its tokens, else plain text."""

NAMES = {CHATML: "ChatML is assumed", PLAIN: "plain text with the names of the roles is assumed"}
"""What is said of a file without a template."""


@dataclass(frozen=True)
class Piece:
    """Part of a prompt; `is_content` where it is a document's or a caller's text, and not the template's."""

    text: str
    is_content: bool


@dataclass(frozen=True)
class Specials:
    """The tokens of a vocabulary that are more than text. size: how many ids there are; control, added (user-defined):
    name -> id; ends: ids that end an answer, sorted; bos: the id of the beginning of a text, if there is one; adds_bos:
    whether a prompt begins with it; strips: tokens that take the white space after them."""

    size: int = 0
    control: dict[str, int] = field(default_factory=dict)
    added: dict[str, int] = field(default_factory=dict)
    ends: tuple[int, ...] = ()
    bos: int | None = None
    adds_bos: bool = False
    strips: tuple[int, ...] = ()

    @cached_property
    def find(self) -> re.Pattern[str] | None:
        """Names that are tokens in the text of a template. Runs of white space are so in every text."""
        return longest_first([*self.control, *(name for name in self.added if not is_white(name))])


def longest_first(names: Iterable[str]) -> re.Pattern[str] | None:
    """Finds any of the names, where several begin at the same place the longest; None where there are none."""
    ordered = sorted(names, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered))) if ordered else None


def fragments(text: str, find: re.Pattern[str] | None) -> Iterator[tuple[int, str, bool]]:
    """Where each begins, what is found in a text and what lies between, and which of both it is."""
    at = 0
    for match in find.finditer(text) if find else ():
        yield at, text[at : match.start()], False
        yield match.start(), match[0], True
        at = match.end()
    yield at, text[at:], False


def is_white(name: str) -> bool:
    """Whether a user-defined token is white space, and so has no other meaning."""
    return name.replace("\u2581", " ").isspace()


def cut(pieces: Iterable[Piece], specials: Specials) -> Iterator[tuple[int | None, str]]:
    """The tokens in the text of a template, and the texts between them, without token; none of these is empty."""
    known, strip, text = specials.control | specials.added, False, ""
    for piece in _joined(pieces):
        for _, fragment, is_token in fragments(piece.text, None if piece.is_content else specials.find):
            if not is_token:
                text += fragment if text or not strip else _WHITE.sub("", fragment)
                continue
            if text:
                yield None, text
            yield known[fragment], ""
            text, strip = "", known[fragment] in specials.strips
    if text:
        yield None, text


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Neighbours of one kind are one piece: a name may have been written in parts."""
    text, kind = "", False
    for piece in pieces:
        if piece.is_content != kind:
            yield Piece(text, kind)
            text, kind = "", piece.is_content
        text += piece.text
    yield Piece(text, kind)


def assumed(control: Collection[str]) -> str:
    """The template that is assumed for a vocabulary with these control tokens."""
    return CHATML if {"<|im_start|>", "<|im_end|>"} <= set(control) else PLAIN


_WHITE = re.compile(rf"\A[{Ranges(classes.WHITE_SPACE).pattern()}]+")
