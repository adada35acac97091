"""RTF documents that hide text, and such as only look as if they did."""

import json
from pathlib import Path

from tests.hidden.base import Technique

HIDDEN, SHOWN = "zebra", "before"
_COLOURS = (
    r"{\colortbl;\red255\green255\blue255;\red0\green51\blue102;\red255\green255\blue0;\red246\green246\blue246;}"
)
_SHAPE = r"{\shp{\*\shpinst%s{\shptxt %s\par}}}"
_ROW = r"\trowd%s\cellx5000\pard\intbl %s\cell\row\pard"
_DATA: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("rtf.json").read_text("utf-8"))
_HIDING = _DATA["hiding"]
_CONTROLS = _DATA["controls"]


def techniques() -> list[Technique]:
    """All of them, the controls at the end."""
    hiding = [_made(name, body, (HIDDEN,), (SHOWN,)) for name, body in _HIDING.items()]
    return hiding + [_made(f"control: {name}", body, (), (SHOWN, "show")) for name, body in _CONTROLS.items()]


def rtf_document(body: str) -> bytes:
    """A document of a word that is shown, and a body; \\cf1 is white."""
    text = rf"{{\rtf1\ansi\paperw12240\paperh15840{_COLOURS}\pard {SHOWN}\par {body}\par}}"
    return text.encode("ascii")


def _made(name: str, body: str, hidden: tuple[str, ...], shown: tuple[str, ...]) -> Technique:
    return Technique(name, "file.rtf", rtf_document(body), hidden, shown)
