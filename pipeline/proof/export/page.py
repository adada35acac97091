"""report.html: one page without scripts, links to elsewhere or other files, which prints well. The only jinja2."""

import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.proof.export.summary import Summary, type_in_words

_DIGEST = r"(?:hmac-sha256:)?\b[0-9a-f]{32,}\b|(?<!\S)[^\s+]{1,200}\+[0-9a-f]{8}\+[A-Za-z0-9+/=]{40,}"
_PIECES = re.compile(rf"({_DIGEST}|\s+)")
_SIGNS = r"/\\._@:,;+=!?&~-"
_BEHIND_SIGNS = re.compile(rf"(?<=[{_SIGNS}])(?=[^{_SIGNS}])")
_SHORT = 12  # characters that fit into the narrowest column
_WORD = 40  # characters: what is longer without a sign is no word


class Html(str):
    """Markup, which the template takes as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def write_report(path: Path, about: Mapping[str, Any], summary: Summary) -> None:
    """The page of an export: `about` it and the log, and what its records say."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # no other command has to load it

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["broken"] = broken
    environment.globals["says"] = type_in_words
    environment.get_template("report.html").stream(about=about, summary=summary).dump(str(path), encoding="utf-8")


def broken(text: str) -> Html:
    """Text for a narrow column. A digest or key becomes `code`, which may be broken anywhere. What else has no blanks,
    such as a path, may be broken behind its signs, and where it is longer than a word is, within; a word never."""
    return Html("".join(map(_piece, _PIECES.split(text))))


def _piece(text: str) -> str:
    if re.fullmatch(_DIGEST, text):
        return f"<code>{html.escape(text)}</code>"
    if len(text) <= _SHORT or text.isspace():
        return html.escape(text)
    parts = (part[at : at + _WORD] for part in _BEHIND_SIGNS.split(text) for at in range(0, len(part), _WORD))
    return "<wbr>".join(map(html.escape, parts))
