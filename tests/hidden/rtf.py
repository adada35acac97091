"""RTF documents that hide text, and such as only look as if they did."""

from tests.hidden.base import Technique

HIDDEN, SHOWN = "zebra", "before"
_COLOURS = (
    r"{\colortbl;\red255\green255\blue255;\red0\green51\blue102;\red255\green255\blue0;\red246\green246\blue246;}"
)
_SHAPE = r"{\shp{\*\shpinst%s{\shptxt %s\par}}}"
_ROW = r"\trowd%s\cellx5000\pard\intbl %s\cell\row\pard"
_HIDING = {
    "marked as hidden": r"{\v zebra}",
    "white": r"{\cf1 zebra}",
    "nearly white": r"{\cf4 zebra}",
    "white letters by their numbers": r"{\cf1 \u122?\u101?bra}",
    "half a point": r"{\fs1 zebra}",
    "1 point": r"{\fs2 zebra}",
    "letters 1 % wide": r"{\charscalex1 zebra}",
    "letters on one another": r"{\expnd-200 zebra}",
    "letters on one another in twips": r"{\expndtw-400 zebra}",
    "same as the highlight": r"{\cf3\highlight3 zebra}",
    "same as the pattern's background": r"{\cf2\chcbpat2 zebra}",
    "same as the paragraph": r"\pard\cbpat2 {\cf2 zebra}\par\pard",
    "same as the cell": _ROW % (r"\clcbpat2", r"{\cf2 zebra}"),
    "lines of no height": r"\pard\sl-2\slmult0 zebra\par\pard",
    "row of no height": _ROW % (r"\trrh-10", "zebra"),
    "shape of no size": _SHAPE % (r"\shpleft100\shptop100\shpright100\shpbottom100", "zebra"),
    "deleted": r"{\deleted zebra}",
}
_CONTROLS = {
    "white on a dark highlight": r"{\cf1\highlight2 show}",
    "white in a dark cell": _ROW % (r"\clcbpat2", r"{\cf1 show}"),
    "white in a patterned cell": _ROW % (r"\clshdng5000", r"{\cf1 show}"),
    "background that programs do not draw": r"{\cf2\cb2 show}",
    "shape that is moved onto the page": _SHAPE % (r"\shpleft-90000\shptop0\shpright-80000\shpbottom1000", "show"),
    "colour that ends with its group": r"{\cf1 }show",
    "reset by plain": r"\v\cf1\fs1\plain show",
    "automatic colour": r"{\cf0\cb1 show}",
    "small print": r"{\fs12\charscalex80\expnd-1 show}",
    "rows and lines of a least height": r"\pard\sl2\slmult0 show\par" + _ROW % (r"\trrh10", "show"),
    "shape in the margin": _SHAPE % (r"\shpleft-1500\shptop0\shpright-500\shpbottom1000", "show"),
}


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
