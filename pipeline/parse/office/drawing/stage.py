"""The parts of a drawing that a person sees: shapes by their places, their text by how its letters look."""

import math

from lxml import etree

from pipeline.parse.look.colours import Colour
from pipeline.parse.office.drawing.fills import UNKNOWN, over, own_fill
from pipeline.parse.office.drawing.letters import A, Letters, hides, inherited, read_letters, scale_of
from pipeline.parse.office.drawing.opacity import Pictures
from pipeline.parse.office.drawing.scene import Layer, Scene
from pipeline.parse.office.drawing.slide_styles import USUAL_NAMES, SlideStyles, level_of
from pipeline.parse.office.drawing.theme import Theme
from pipeline.parse.office.drawing.view import View
from pipeline.parse.office.package import Package

_WITHOUT_FILLS = {"{2D5ABB26-0587-4C30-8999-92F81FD0307C}", "{5940675A-B579-460E-94D1-54222C63F5DA}"}
"""The styles of tables that Office calls "No Style"."""


class Stage:
    """The shapes of one slide, in their scene and with the styles of the slide."""

    def __init__(self, scene: Scene, styles: SlideStyles) -> None:
        self._scene = scene
        self._styles = styles

    def hides(self, name: str, shape: etree._Element) -> str | None:
        """How a shape is hidden with all in it (a kind of hidden.KINDS), if it is."""
        return self._scene.hides(shape)

    def hides_run(self, paragraph: etree._Element, run: etree._Element) -> str | None:
        """How a run (a:r) of a paragraph is hidden by its size or its colours.

        PowerPoint does not read the defaults of a paragraph (a:defRPr), others do: text that either hides is hidden.
        """
        shape = next(paragraph.iterancestors("{*}sp", "{*}graphicFrame"), None)
        if shape is None:
            return None
        theme = self._styles.theme
        own, usual = (read_letters(one, theme) for one in (run.find(A + "rPr"), paragraph.find(f"{A}pPr/{A}defRPr")))
        said = list(self._styles.said(shape, level_of(paragraph)))
        kinds = [self._hides(paragraph, shape, inherited([own, *said]), own)]
        if usual != Letters():
            kinds.append(self._hides(paragraph, shape, inherited([own, usual, *said]), inherited([own, usual])))
        return next((kind for kind in kinds if kind), None)

    def _hides(self, paragraph: etree._Element, shape: etree._Element, letters: Letters, own: Letters) -> str | None:
        """How letters in a shape are hidden; `own` is what is said of them without any style."""
        behind = self._scene.behind(shape)
        cell = next(paragraph.iterancestors(A + "tc"), None)
        if cell is not None:
            letters = letters._replace(ink=own.ink)  # a table style may say it
            behind = self._behind_cell(cell, behind)
        body = next(paragraph.iterancestors("{*}txBody"), None)
        return hides(letters, over(letters.marker, behind), 1.0 if body is None else scale_of(body))

    def _behind_cell(self, cell: etree._Element, behind: Colour) -> Colour:
        """The colour behind the text of a cell; one without a fill of its own may have one of the table's style."""
        fill = own_fill(cell.find(A + "tcPr"), self._styles.theme)
        if fill is not None:
            return over(fill, behind)
        table = next(cell.iterancestors(A + "tbl"), None)
        style = None if table is None else table.findtext(f"{A}tblPr/{A}tableStyleId")
        return behind if style is None or style.upper() in _WITHOUT_FILLS else UNKNOWN


def sheet_stage(package: Package, part: str, tree: etree._Element, theme: Theme) -> Stage:
    """The shapes that lie on a sheet, which has no edges and whose cells may have any colour behind them."""
    view, theme = View(math.inf, math.inf), theme.renamed(USUAL_NAMES)
    styles = SlideStyles([tree], theme, tree, view)
    return Stage(Scene(Pictures(package), view, UNKNOWN, [Layer(part, tree, theme)], styles), styles)
