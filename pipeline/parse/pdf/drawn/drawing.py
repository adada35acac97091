"""Drawing a part of a page to look at it: without the pictures that stand elsewhere, and only as far as is allowed.

A picture of the document may declare any number of pixels. What is far from the part in question is left out and costs
nothing; one that is too large to be drawn leaves open what it touches, and nothing else.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pipeline.parse.pdf import objects as pdf
from pipeline.parse.pdf.drawn.picture import Look, look, view_of
from pipeline.parse.pdf.drawn.survey import Survey
from pipeline.parse.pdf.geometry import Rectangle, common
from pipeline.parse.pdf.text.page import Page

_DRAWING = 300_000  # what a drawing costs, beyond the pixels of its pictures
_PER_TEXT = 500
_PER_AREA = 2000
HUGE = 400_000_000  # pixels of a picture that is never drawn


@dataclass
class Budget:
    """The pixels that may still be drawn for one document, so that a long one is read in time."""

    left: int = 3_000_000_000

    def allows(self, cost: int) -> bool:
        """Spend `cost` pixels if as many are left; returns whether they were."""
        if cost > self.left:
            return False
        self.left -= cost
        return True


class Drawing:
    """A page that can be drawn, as far as the document's budget allows, without the pictures that stand elsewhere."""

    def __init__(self, page: Page, survey: Survey, budget: Budget) -> None:
        self._page = page
        self._scenery = survey.scenery
        self._annotated = bool(survey.covers)
        self._budget = budget
        self._cost = _DRAWING + _PER_TEXT * len(survey.texts) + _PER_AREA * survey.scenery.areas
        self._huge = {item: box for item, box in survey.scenery.images if pdf.pixels_of(item) > HUGE}

    def may_show(self, area: Rectangle) -> bool:
        """Whether an area can be drawn as it is: no picture that is too large touches it."""
        return not any(common(area, box) or common(box, area) for box in self._huge.values())

    @contextmanager
    def of(self, areas: Iterable[Rectangle], times: int) -> Iterator[Look | None]:
        """The page around these areas, which all `may_show`; None where drawing it so often is not allowed.

        As long as it lasts, other drawings of the same view lack the same pictures.
        """
        areas = list(areas)
        cells = self._scenery.cells_of(areas)
        near = {item for item, box in self._scenery.images if self._scenery.cells(box) & cells}.difference(self._huge)
        if not self._budget.allows((self._cost + sum(map(pdf.pixels_of, near))) * times):
            yield None
            return
        elsewhere = [item for item, _ in self._scenery.images if item not in near]
        for item in elsewhere:
            pdf.set_active(item, 0)
        yield look(view_of(self._page, areas, annotations=self._annotated))
        for item in elsewhere:
            pdf.set_active(item, 1)
