"""The text of a Word document that a person sees, by the one rule of appearance.py.

ISO/IEC 29500-1, 17.3.2: a property holds as the run says it, else its character style, the paragraph's style, the
style of the table, the defaults. Where what is behind a text is not known (a picture behind it) it counts as seen.
"""

import math
from dataclasses import replace
from typing import NamedTuple

from lxml import etree

from pipeline.parse.look.appearance import Appearance
from pipeline.parse.look.colours import TRANSPARENT, WHITE, Colour
from pipeline.parse.office.word.boxes import Boxes
from pipeline.parse.office.word.frames import indented, moved, widest
from pipeline.parse.office.word.looks import AUTO, PLAIN, Look, W, over, read_look
from pipeline.parse.office.word.sections import Sections
from pipeline.parse.office.word.styles import Style, WordStyles, value

_REMEMBERED = 10_000
_USUAL = 20  # half points, where no style says a size
_LEFT = {None, "left", "start", "both"}
_LETTER = 0.5  # the usual width of letters, in heights of their font


class Around(NamedTuple):
    """The surroundings of a paragraph: the colour behind it, the height that cuts its lines, its table's look.

    `origin` is how far from the left edge of the page its left margin may lie, in points.
    """

    behind: Colour = WHITE
    line: float = math.inf
    table: Look = PLAIN
    origin: float = math.inf

    def on(self, fill: Colour | None) -> "Around":
        """These surroundings with a fill behind the paragraph, if there is one."""
        return self if fill in {None, TRANSPARENT} else self._replace(behind=fill)


class Sight:
    """How the text of a document looks."""

    def __init__(self, styles: WordStyles, sections: Sections) -> None:
        self.styles = styles
        self.boxes = Boxes(styles.theme, sections.page, alone=sections.floats <= 1)
        self.first = Around(sections.behind, origin=sections.page.origin)
        self.page = sections.page
        self._known: dict[tuple[Look, str | None, Style, Around], str | None] = {}

    def hides(self, run: etree._Element, style: Style, around: Around) -> str | None:
        """How a run (w:r) in a paragraph of a style is hidden, if it is."""
        properties = run.find(W + "rPr")
        seen = (read_look(properties, self.styles.theme), value(properties, "rStyle"), style, around)
        if seen not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[seen] = self._judge(*seen)
        return self._known[seen]

    def hides_paragraph(self, style: Style, text: str, around: Around) -> str | None:
        """How a paragraph of a style is hidden as a whole, if it is, by the place of its frame or by its indents."""
        if style.frame is not None:
            return style.frame.appearance(self.page, around.origin).hides
        if style.aligned not in _LEFT or style.number is not None or "\t" in text:
            return None
        start, end, first = style.left or 0.0, style.right or 0.0, style.first or 0.0
        if not start and not first:
            return None
        size = (style.look.size or self.styles.defaults.size or _USUAL) / 2
        origin, width = min(around.origin, self.page.width), widest(len(text), size)
        hides = indented(self.page, origin, start + first, end, width).hides
        if hides is None or width <= self.page.width - start - first - end:
            return hides
        return indented(self.page, origin, start, end, width).hides

    def _judge(self, own: Look, named: str | None, style: Style, around: Around) -> str | None:
        character = self.styles.style(named).look if named else PLAIN
        said = over(own, over(character, style.look))
        look = over(said, over(around.table, self.styles.defaults))
        fills = (look.marker, look.fill, style.behind, around.behind)
        behind = next((fill for fill in fills if fill not in {None, TRANSPARENT}), WHITE)
        size = look.complex_size if look.is_complex else look.size
        line = min(around.line, math.inf if style.line is None else style.line)
        appearance = Appearance(
            shown=not look.always_hidden and not self._vanishes(own, character, style.look, around.table),
            background=behind,
            size=None if size is None else size / 2,
            stretch=_squeezed(look.stretch, look.spacing, (size or _USUAL) / 2),
            line=line,
        )
        if appearance.hides:
            return appearance.hides
        paints = [look.ink or AUTO, *(one for one in (look.outline, look.relief) if one is not None)]
        kinds = [replace(appearance, colour=paint.colour, opacity=paint.opacity).hides for paint in paints]
        if all(kinds):
            return kinds[0]
        return moved(self.page, look.raised, (size or _USUAL) / 2, line).hides if look.raised else None

    def _vanishes(self, own: Look, *styles: Look) -> bool:
        """Whether text is marked as hidden, a toggle that styles of different kinds add up (17.7.3)."""
        if own.hidden is not None:
            return own.hidden
        return bool(self.styles.defaults.hidden) or sum(bool(style.hidden) for style in styles) % 2 == 1


def _squeezed(stretch: float | None, spacing: float | None, size: float) -> float | None:
    """The horizontal scale of letters which also lie this many points nearer to each other."""
    if not spacing or spacing > 0:
        return stretch
    return (1.0 if stretch is None else stretch) * max(0.0, 1 + spacing / (size * _LETTER))
