"""Pages that hide text by markup and styles, and pages that only look as if they did."""

from tests.hidden.base import Technique

HIDDEN, SHOWN = "zebra", "before"
_MARKED = {
    "attribute hidden": "<p hidden>zebra</p>",
    "display none": "<p style='DISPLAY : None'><b>zebra</b></p>",
    "visibility hidden": "<div style='visibility:hidden'><p>zebra</p></div>",
    "closed dialog": "<dialog>zebra</dialog>",
}
_CONTROLS = {
    "visible child of a hidden box": "<div style='visibility:hidden'><p style='visibility:visible'>show</p></div>",
    "white on a dark box": "<p style='color:white;background:#003366'>show</p>",
    "aria-hidden": "<p aria-hidden=true>show</p>",
}


def techniques() -> list[Technique]:
    """All of them, the controls at the end."""
    hiding = [_page(name, markup, (HIDDEN,), (SHOWN,)) for name, markup in _MARKED.items()]
    return hiding + [_page(f"control: {name}", markup, (), (SHOWN, "show")) for name, markup in _CONTROLS.items()]


def _page(name: str, markup: str, hidden: tuple[str, ...], shown: tuple[str, ...]) -> Technique:
    page = f"<!doctype html><html><body><p>{SHOWN}</p>{markup}</body></html>"
    return Technique(name, "page.html", page.encode(), hidden, shown)
