"""How a stretch of text is drawn, in one form for all formats, and the one rule by which a person sees it or not.

A parser fills in what its format says. What it leaves unknown (None) hides nothing, so that no text is lost where a
format says more than is read here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pipeline.parse.sight.colours import TRANSPARENT, Colour, Paint, alike, mixed

SMALLEST = 1.0
"""Points: letters that are drawn this high, this wide or lower cannot be read."""
NARROWEST = 0.05
"""The horizontal scale at which letters of any usual size are lines."""
SLIVER = 2.0
"""Points: what is left of text in a line or row that is cut to this height cannot be read."""
FAINTEST = 0.05
"""The opacity at which even black on white differs too little to be read."""
_ADVANCE = 0.5  # of the size of a font: the usual width of a letter
EDGE = 0.5
"""Points: a box of this width or height or less shows nothing."""

Box = tuple[float, float, float, float]
"""x, y, width and height in points; y grows downwards or upwards, in `box` and `clip` alike."""


@dataclass(frozen=True)
class Appearance:
    """Text as it is drawn: its colour on a background, its size in points, its place; None where that is unknown.

    `shown` is False where the document itself marks the text as hidden. `opacity` (0 to 1) is the product of all
    opacities around the text. `size` is the height of the font with all transforms, `stretch` the horizontal scale of
    the letters (1: none), `line` the height to which its line or row is cut. `box` is where the text is drawn, `clip`
    the part of the page or of a container that is seen. `covered`: something opaque is drawn over it. `doubt`: what
    touches it whose effect is not computed, "" for nothing.
    """

    shown: bool = True
    colour: Colour | None = None
    background: Colour | None = None
    opacity: float | None = None
    size: float | None = None
    stretch: float | None = None
    line: float | None = None
    box: Box | None = None
    clip: Box | None = None
    covered: bool = False
    doubt: str = ""

    @property
    def hides(self) -> str | None:
        """The kind of hidden text (of hidden.KINDS) that this is; None where a person can see it."""
        if not self.shown:
            return "marked_hidden"
        if self._is_tiny:
            return "tiny"
        return self._lost_in_colour or self._lost_in_place or ("covered" if self.covered else None)

    def hides_in(self, paints: Iterable[Paint]) -> str | None:
        """How letters drawn in several paints, such as a fill and an outline, are hidden: if none of them is seen."""
        kinds = [replace(self, colour=paint.colour, opacity=paint.opacity).hides for paint in paints]
        return kinds[0] if all(kinds) else None

    @property
    def _is_tiny(self) -> bool:
        stretch = 1.0 if self.stretch is None else abs(self.stretch)
        if self.size is not None and abs(self.size) * min(stretch, 1.0) <= SMALLEST:
            return True
        return stretch <= NARROWEST or (self.line is not None and self.line <= SLIVER)

    @property
    def _lost_in_colour(self) -> str | None:
        opacity = 1.0 if self.opacity is None else self.opacity
        if self.colour == TRANSPARENT or opacity <= FAINTEST:
            return "invisible"
        if alike(self.colour, self.background):
            return "same_colour"
        if opacity < 1.0 and alike(mixed(self.colour, self.background, opacity), self.background):
            return "invisible"
        return None

    @property
    def _lost_in_place(self) -> str | None:
        if any(one is not None and min(one[2], one[3]) <= EDGE for one in (self.box, self.clip)):
            return "clipped"
        if self.box is None or self.clip is None:
            return None
        return None if overlap(self.box, self.clip) else "off_page"


def squeezed(spacing: float, size: float) -> float:
    """The horizontal scale that letters of a size come to which lie `spacing` apart, nearer where that is negative."""
    return max(0.0, 1 + spacing / (_ADVANCE * size)) if spacing < 0 < size else 1.0


def holds(outer: Box, inner: Box, slack: float = 0.0) -> bool:
    """Whether one box lies in another, out of which it may reach by `slack` points."""
    return all(
        outer[side] - slack <= inner[side]
        and inner[side] + inner[side + 2] <= outer[side] + outer[side + 2] + slack
        for side in (0, 1)
    )  # fmt: skip


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes have more than an edge in common."""
    return all(
        min(one[side] + one[side + 2], other[side] + other[side + 2]) - max(one[side], other[side]) > EDGE
        for side in (0, 1)
    )
