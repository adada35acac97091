"""How text of OpenDocument is drawn: colour, size, opacity and ground of runs (ODF 1.3, part 3, 16.29 and 20).

A property holds as the run's style says it, else the paragraph's, else that of the shape or cell around it, else the
default. The colour of text without one is chosen by the program to be read, so it is unknown and hides nothing.
"""

import re
from dataclasses import dataclass, replace

from pipeline.parse.look.appearance import Appearance
from pipeline.parse.look.colours import Colour
from pipeline.parse.office.drawing.theme import rgb
from pipeline.parse.office.odf.styles import Styles

_TEXT, _GRAPHIC = "style:text-properties", "style:graphic-properties"
_LENGTH = re.compile(r"(-?\d*\.?\d+)\s*(cm|mm|in|pt|pc|px|%)?")
_POINTS = {"cm": 72 / 2.54, "mm": 7.2 / 2.54, "in": 72.0, "pt": 1.0, "pc": 12.0, "px": 0.75, None: 72 / 2.54}
_ADVANCE = 0.5  # of the size: the width of a letter
_USUAL = 12.0  # points
_REMEMBERED = 10_000


def length(text: str | None, whole: float | None = None) -> float | None:
    """A length in points, a share of `whole` where it is in percent; None where that is not known."""
    match = _LENGTH.fullmatch((text or "").strip())
    if not match:
        return None
    if match[2] == "%":
        return None if whole is None else float(match[1]) / 100 * whole
    return float(match[1]) * _POINTS[match[2]]


@dataclass(frozen=True)
class Look:
    """How a run is drawn, and on what; None is what is not known. Sizes are in points."""

    shown: bool = True
    colour: Colour | None = None
    ground: Colour | None = None
    size: float = _USUAL
    raised: float = 1.0
    stretch: float = 1.0
    spacing: float = 0.0
    opacity: float = 1.0
    line: float | None = None

    @property
    def hides(self) -> str | None:
        """The kind of hidden text (of hidden.KINDS) that text of this look is; None if it can be seen."""
        size = self.size * self.raised
        squeezed = max(0.0, 1 + self.spacing / (_ADVANCE * size)) if self.spacing < 0 < size else 1.0
        return Appearance(
            shown=self.shown, colour=self.colour, background=self.ground, opacity=self.opacity, size=size,
            stretch=self.stretch * squeezed, line=self.line,
        ).hides  # fmt: skip


class Looks:
    """The looks that the styles of one part give; remembered, for there are few of them."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._known: dict[tuple[str, str, Look], Look] = {}
        self.first = self._changed(Look(), [styles.default("paragraph", _TEXT)])

    def of(self, family: str, name: str, outer: Look) -> Look:
        """The look in something of a family ("text", "paragraph", "table-cell") and style within another."""
        if not name:
            return outer
        key = (family, name, outer)
        if key not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = self._made(family, name, outer)
        return self._known[key]

    def _made(self, family: str, name: str, outer: Look) -> Look:
        chain = list(reversed(list(self._styles.properties(family, name, _TEXT))))
        look = self._changed(outer, chain)
        fill = self._styles.value(family, name, f"style:{family}-properties", "fo:background-color")
        return look if family == "text" else replace(look, ground=_over(fill, look.ground))

    def fill(self, family: str, name: str, around: Colour | None, *, flows: bool) -> Colour | None:
        """The colour behind the text of a shape: its own if that is opaque, else the one around it; None if not known.

        `flows`: it is a frame of a text, which is filled by nothing if it says nothing; other shapes by what is usual.
        """
        default = {} if flows else self._styles.default("graphic", _GRAPHIC)
        fill, colour, opacity, plain = (
            self._styles.value(family, name, _GRAPHIC, wanted) or default.get(wanted)
            for wanted in ("draw:fill", "draw:fill-color", "draw:opacity", "fo:background-color")
        )
        if fill is None and flows:
            return _over(plain, around)
        if fill == "none":
            return around
        solid = fill == "solid" and (length(opacity, 1.0) or (0.0 if opacity else 1.0)) >= 1
        return rgb(colour[1:]) if solid and colour else None

    def _changed(self, look: Look, chain: list[dict[str, str]]) -> Look:
        """A look changed by the properties of styles, from the most general one on."""
        for place, said in enumerate(chain):
            display, automatic = said.get("text:display"), said.get("style:use-window-font-color") == "true"
            colour = None if automatic else rgb(said["fo:color"][1:]) if "fo:color" in said else look.colour
            opacity = length(said.get("loext:opacity"), 1.0)
            if automatic or (opacity is None and "fo:color" in said):
                opacity = 1.0  # it is the colour's; that of the window is written with 0 % and drawn in full
            size = length(said.get("fo:font-size"), look.size if place else None)  # a share of what it is based on
            stretch, position = length(said.get("style:text-scale"), 1.0), said.get("style:text-position", "").split()
            spacing = length(said.get("fo:letter-spacing"))
            look = replace(
                look,
                shown=look.shown if display is None else display != "none",
                colour=colour,
                ground=_over(said.get("fo:background-color"), look.ground),
                opacity=look.opacity if opacity is None else opacity,
                size=look.size if size is None else size,
                stretch=look.stretch if stretch is None else stretch,
                raised=(length(position[1], 1.0) or 0.0) if len(position) == 2 else look.raised,
                spacing=look.spacing if spacing is None else spacing,
            )
        return look


def _over(fill: str | None, around: Colour | None) -> Colour | None:
    """The colour of a ground that may let that around it through."""
    return around if fill is None or fill in {"transparent", ""} else rgb(fill[1:])
