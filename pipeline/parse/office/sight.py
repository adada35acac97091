"""What of a Word document a person sees: text that is marked as hidden, in the colour of what is behind it, or tiny.

ISO/IEC 29500-1, 17.3.2: a property holds as the run says it, else its character style, the paragraph's style, the
defaults. Where what is behind a text is not known (a picture behind the text, a table style, a box) it counts as seen.
"""

from lxml import etree

from pipeline.parse.office.colours import WHITE, alike, hexadecimal
from pipeline.parse.office.word_styles import PLAIN, Look, Style, W, WordStyles, over, read_fill, read_look, value

_REMEMBERED = 10_000
_TINY = 2  # half points


class Sight:
    """How the text of a document looks. `UNKNOWN` stands for what is behind a text and cannot be told."""

    UNKNOWN = ""

    def __init__(self, styles: WordStyles, coloured: bool) -> None:
        self.styles = styles
        self._known: dict[tuple[Look, str | None, Look, str | None, str], str | None] = {}
        self._coloured = coloured  # whether pages may have a colour, or pictures behind their text

    def hides(self, run: etree._Element, style: Style, behind: str) -> str | None:
        """How a run (w:r) in a paragraph of a style is hidden, if it is; `behind` is the colour around that."""
        properties = run.find(W + "rPr")
        seen = (read_look(properties), value(properties, "rStyle"), style.look, style.behind, behind)
        if seen not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[seen] = self._judge(*seen)
        return self._known[seen]

    def _judge(self, own: Look, named: str | None, paragraph: Look, *fills: str | None) -> str | None:
        character = self.styles.style(named).look if named else PLAIN
        look = over(own, over(character, over(paragraph, self.styles.defaults)))
        if self._vanishes(own, character, paragraph):
            return "marked_hidden"
        if look.size is not None and look.size <= _TINY:
            return "tiny"
        colour = hexadecimal(look.colour)
        return "same_colour" if colour and self._merges(colour, look.fill, *fills) else None

    def behind_table(self, table: etree._Element, behind: str) -> str:
        """What is behind a table, as far as its cells say nothing else."""
        properties = table.find(W + "tblPr")
        fill, named = read_fill(properties), value(properties, "tblStyle")
        if fill is None and named and self.styles.style(named).coloured:
            return self.UNKNOWN
        return behind if fill in {None, "auto"} else fill or self.UNKNOWN

    def behind_cell(self, cell: etree._Element, behind: str) -> str:
        """What is behind the text of a cell in a table, or part of one, with this behind it."""
        fill = read_fill(cell.find(W + "tcPr"))
        return behind if fill in {None, "auto"} else fill or self.UNKNOWN

    def _vanishes(self, own: Look, character: Look, paragraph: Look) -> bool:
        """A toggle: what styles of different kinds say of it is added up (17.7.3)."""
        if own.hidden is not None:
            return own.hidden
        return bool(self.styles.defaults.hidden) or bool(character.hidden) != bool(paragraph.hidden)

    def _merges(self, colour: str, *fills: str | None) -> bool:
        fill = next((one for one in fills if one not in {None, "auto"}), WHITE)
        return alike(colour, hexadecimal(fill)) and not (fill == WHITE and self._coloured)
