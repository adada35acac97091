"""PDF: text that is painted so that nobody sees it, and text that only looks as if it were hidden."""

from tests.hidden import pdf_marks, pdf_paint, pdf_place
from tests.hidden.base import Technique
from tests.hidden.pdf_objects import SHOWN, Added


def techniques() -> list[Technique]:
    """All of them, the controls at the end."""
    families = (pdf_paint, pdf_place, pdf_marks)
    hiding = [_technique(name, added) for one in families for name, added in one.HIDING.items()]
    return hiding + [_technique(f"control: {name}", added) for one in families for name, added in one.CONTROLS.items()]


def _technique(name: str, added: Added) -> Technique:
    hidden = () if name.startswith("control") else added.hidden
    return Technique(name, "page.pdf", added.pdf(), hidden, SHOWN + added.shown)
