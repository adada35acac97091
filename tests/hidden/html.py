"""Pages that hide text by markup and styles, and pages that only look as if they did."""

import json
from pathlib import Path

from tests.hidden.base import Technique

HIDDEN, SHOWN = "zebra", "before"
_PLACE = "position:absolute;top:0;left:0"
_DATA: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("html.json").read_text("utf-8"))
_MARKED = _DATA["marked"]
_SELECTED = _DATA["selected"]
_DRAWN = _DATA["drawn"]
_COLOURED = _DATA["coloured"]
_CONTROLS = _DATA["controls"]
_SIZED = {
    "letters of 1 px": "<p style='font-size:1px'>zebra</p>",
    "letters of no size in calc": "<p style='font-size:calc(1em - 15.5px)'>zebra</p>",
    "letters of no size in clamp": "<p style='font-size:clamp(0px, 10vw, .5px)'>zebra</p>",
    "shorthand of fonts": "<p style='font:italic 0/0 serif'>zebra</p>",
    "letters on one another": "<p style='letter-spacing:-1em'>zebra</p>",
    "letters of no size in quirks mode": "<p style='font-size:0.5'>zebra</p>",
}
_HIDING = {**_MARKED, **_SELECTED, **_DRAWN, **_SIZED, **_COLOURED}


def techniques() -> list[Technique]:
    """All of them, the controls at the end."""
    hiding = [_page(name, markup, (HIDDEN,), (SHOWN,)) for name, markup in _HIDING.items()]
    return hiding + [_page(f"control: {name}", markup, (), (SHOWN, "show")) for name, markup in _CONTROLS.items()]


def _page(name: str, markup: str, hidden: tuple[str, ...], shown: tuple[str, ...]) -> Technique:
    kind = "" if "quirks" in name else "<!doctype html>"
    page = f"{kind}<html><body><h6>{SHOWN}</h6>{markup}</body></html>"
    return Technique(
        name, "page.html", page.encode(), hidden, (*shown, "show") if hidden and "show" in markup else shown
    )
