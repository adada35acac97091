"""Texts with characters that nobody sees, and texts whose script needs such characters."""

# ruff: noqa: RUF001  invisible characters are meant
from tests.hidden.base import Technique

_HIDING = {
    "zero width space": ("pay\u200b here", "\u200b", "pay here"),
    "tags": ("x" + "".join(chr(0xE0000 + ord(one)) for one in "doit"), "\U000e0064", "x"),
    "override of direction": ("a\u202egnp.exe", "\u202e", "agnp.exe"),
}
_CONTROLS = {
    "Persian joiner": "می\u200cخواهم",
    "family of emoji": "👨\u200d👩\u200d👧",
}


def techniques() -> list[Technique]:
    """All of them, the controls at the end."""
    hiding = [
        Technique(name, "text.txt", f"{text} now".encode(), (hidden,), (shown, "now"))
        for name, (text, hidden, shown) in _HIDING.items()
    ]
    return hiding + [
        Technique(f"control: {name}", "text.txt", f"see {text} now".encode(), (), (text, "see", "now"))
        for name, text in _CONTROLS.items()
    ]
