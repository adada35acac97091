"""Pages that hide text by markup and styles, and pages that only look as if they did."""

import json
from pathlib import Path

from tests.hidden.base import Technique

HIDDEN, SHOWN = "zebra", "before"
_DATA: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("html.json").read_text("utf-8"))


def techniques() -> list[Technique]:
    """All of them, the controls at the end."""
    hiding = [_page(name, markup, (HIDDEN,), (SHOWN,)) for name, markup in _DATA["hiding"].items()]
    return hiding + [
        _page(f"control: {name}", markup, (), (SHOWN, "show")) for name, markup in _DATA["controls"].items()
    ]


def _page(name: str, markup: str, hidden: tuple[str, ...], shown: tuple[str, ...]) -> Technique:
    kind = "" if "quirks" in name else "<!doctype html>"
    page = f"{kind}<html><body><h6>{SHOWN}</h6>{markup}</body></html>"
    return Technique(
        name, "page.html", page.encode(), hidden, (*shown, "show") if hidden and "show" in markup else shown
    )
