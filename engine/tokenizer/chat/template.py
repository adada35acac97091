"""Chat templates: messages to a prompt, as `tokenizer.chat_template` of a model file says.

What comes out are pieces: the template's own text, in which control tokens are known by name, and what the messages
say, in which there are none. A template is tried when it is loaded, so that one that fails, loops, or changes what a
user says is refused before any document.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date as Date  # noqa: N812
from typing import Any

from engine.errors import BadModelFile, EngineError, UnsupportedModel
from engine.tokenizer.chat.rendering import RENDERER, TemplateCost
from engine.tokenizer.chat.sandbox import MAX_TEMPLATE, TemplateFailure
from engine.tokenizer.metadata import Keys, Metadata
from engine.tokenizer.prompts import KEY, Piece, Specials, assumed, cut

Message = Mapping[str, str]
"""`role`, one of ROLES, and `content`."""

ROLES = ("system", "user", "assistant")

FALLBACK_DATE = Date(2024, 7, 26)
"""Where nobody gives a date and a template has none to fall back on; it is Llama 3's."""

_SYSTEM, _USER = "Probe of a System,\n\n 1 Text.", "Probe of a User's  text:\n 2 {x} \u00c4."


class ChatTemplate:
    """The template of a model file. It may be used by several threads at once."""

    def __init__(self, source: str, tokens: Mapping[str, str], specials: Specials) -> None:
        """`tokens` are what templates know by name, such as `bos_token`. Raises UnsupportedModel."""
        if len(source) > MAX_TEMPLATE:
            raise UnsupportedModel(f"{KEY}: {len(source):,} characters, expected at most {MAX_TEMPLATE:,}")
        self.sha256 = hashlib.sha256(json.dumps([source, dict(tokens)]).encode()).hexdigest()
        self._source, self._tokens = source, dict(tokens)
        self._usual_date = FALLBACK_DATE if _NEEDS_DATE.search(source) and not _HAS_DATE.search(source) else None
        self._tools: list[Any] | None = None
        try:
            pieces = self._first_pieces()
            self._joins_system = not self._takes_system()
        except TemplateFailure as error:
            raise UnsupportedModel(f"{KEY}: {error}") from error
        if not _says(pieces, _USER):
            raise UnsupportedModel(f"{KEY}: changes or leaves out what a user says")
        if _tokens(pieces, specials) != _tokens([Piece("".join(p.text for p in pieces), False)], specials):
            raise UnsupportedModel(f"{KEY}: writes control tokens by other means than its own text")

    def render(
        self, messages: Sequence[Message], *, date: Date | None = None, thinks: bool = False
    ) -> tuple[Piece, ...]:
        """The prompt for an answer to the messages. `date` is what a template is told that asks for today's; without
        it, it writes its own. `thinks` is for models that can be told to reason before they answer. A template that
        knows no system message gets its text at the beginning of the user's. Raises EngineError."""
        messages = _joined(messages) if self._joins_system else messages
        try:
            return self._pieces(messages, date, thinks)
        except TemplateFailure as error:
            raise EngineError(f"{KEY}: refuses these messages: {error}") from error

    def _first_pieces(self) -> tuple[Piece, ...]:
        """The pieces of a single user message. Templates that cannot do without tools get an empty list of them."""
        messages = [{"role": "user", "content": _USER}]
        try:
            return self._pieces(messages, None, False)
        except TemplateCost:
            raise
        except TemplateFailure:
            self._tools = []
            return self._pieces(messages, None, False)

    def _pieces(self, messages: Sequence[Message], date: Date | None, thinks: bool) -> tuple[Piece, ...]:
        """Renders messages to pieces. Raises TemplateFailure."""
        used = date or self._usual_date
        return RENDERER.render({
            "source": self._source, "tokens": self._tokens, "tools": self._tools, "thinks": thinks,
            "messages": [[_role(message), message["content"]] for message in messages],
            "date": used.isoformat() if used else None,
        })  # fmt: skip

    def _takes_system(self) -> bool:
        try:
            messages = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": _USER}]
            pieces = self._pieces(messages, None, False)
        except TemplateCost:
            raise
        except TemplateFailure:
            return False
        return _says(pieces, _SYSTEM) and _says(pieces, _USER)


def read_chat_template(metadata: Metadata, specials: Specials) -> ChatTemplate:
    """The template that a GGUF file has, else CHATML or PLAIN. Raises BadModelFile, UnsupportedModel."""
    source = metadata.get(KEY)
    if source is None:
        source = assumed(specials.control)
    if not isinstance(source, str):
        raise BadModelFile(f"{KEY}: found {type(source).__name__}, expected text")
    tokens = Keys(metadata).tokens
    ids = {role: metadata.get(f"tokenizer.ggml.{role}_token_id") for role in ("bos", "eos")}
    known = {role: number for role, number in ids.items() if type(number) is int and 0 <= number < len(tokens)}
    return ChatTemplate(
        source, {f"{role}_token": tokens[known[role]] if role in known else "" for role in ids}, specials
    )


def _role(message: Message) -> str:
    role, content = message.get("role"), message.get("content")
    if role not in ROLES or not isinstance(content, str):
        expected = f"one of {', '.join(ROLES)} and a text"
        raise EngineError(f"messages: found role {role!r:.40} and {type(content).__name__}, expected {expected}")
    return role


def _joined(messages: Sequence[Message]) -> list[Message]:
    """Puts the text of system messages at the beginning of the next user message."""
    found: list[Message] = []
    before = ""
    for message in messages:
        if _role(message) == "system":
            before += message["content"] + "\n\n"
        elif before and message["role"] == "user":
            found.append({"role": "user", "content": before + message["content"]})
            before = ""
        else:
            found.append(message)
    return [*found, {"role": "user", "content": before.removesuffix("\n\n")}] if before else found


def _says(pieces: Iterable[Piece], text: str) -> bool:
    return any(piece.is_content and text in piece.text for piece in pieces)


def _tokens(pieces: Iterable[Piece], specials: Specials) -> list[int]:
    return [number for number, _ in cut(pieces, specials) if number is not None]


_NEEDS_DATE = re.compile(r"\bstrftime_now\s*\(")
_HAS_DATE = re.compile(r"\bstrftime_now\s+is\s+defined")
