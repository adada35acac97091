"""Text of others on a page: in one line, shortened, and with breaks where people break it."""

import html
import re
from typing import Final

from pipeline.text.visible import visible

_DIGEST = r"(?:hmac-sha256:)?\b[0-9a-f]{32,}\b|(?<!\S)[^\s+]{1,200}\+[0-9a-f]{8}\+[A-Za-z0-9+/=]{40,}"
_PIECES = re.compile(rf"({_DIGEST}|\s+)")
_SIGNS = r"/\\._@:,;+=!?&~-"
_BEHIND_SIGNS = re.compile(rf"(?<=[{_SIGNS}])(?=[^{_SIGNS}])")
_SHORT: Final = 12  # characters that fit into the narrowest column
_WORD: Final = 40  # characters: what is longer without a sign is no word
_LONG_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{20,}\b")


class Html(str):
    """Markup, which a template takes as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def one_line(text: str, most: int) -> str:
    """Text of others in one line of at most so many characters, in which nothing acts."""
    told = visible(" ".join(text.split()))
    return told if len(told) <= most else f"{told[: most - 1].rstrip()}…"


def broken(text: str) -> Html:
    """Text for a narrow column. A digest or key becomes `code`, which may be broken anywhere. What else has no blanks,
    such as a path, may be broken behind its signs, and where it is longer than a word is, within; a word never."""
    return Html("".join(map(_piece, _PIECES.split(text))))


def brief(text: str) -> str:
    """The text with twelve digits of each digest, which tell one from another."""
    return _LONG_DIGEST.sub(r"\1…", text)


def _piece(text: str) -> str:
    if re.fullmatch(_DIGEST, text):
        return f"<code>{html.escape(text)}</code>"
    if len(text) <= _SHORT or text.isspace():
        return html.escape(text)
    parts = (part[at : at + _WORD] for part in _BEHIND_SIGNS.split(text) for at in range(0, len(part), _WORD))
    return "<wbr>".join(map(html.escape, parts))
