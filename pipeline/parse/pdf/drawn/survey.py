"""A page's objects in the order in which they are painted: which texts a person may not be able to see, and why.

This looks at every object of every page, so it asks only for numbers. What they leave open, a picture decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

from pipeline.parse.pdf import objects as pdf
from pipeline.parse.pdf.drawn.painting import (
    State,
    boxes_of,
    may_cross_borders,
    painting,
    reach_beyond,
    states_of,
)
from pipeline.parse.pdf.drawn.scenery import PAPER, Scenery, near
from pipeline.parse.pdf.geometry import (
    MARGIN,
    Matrix,
    Rectangle,
    around_points,
    before,
    common,
    shrinking,
    stretching,
    times,
    transformed,
    within,
)  # fmt: skip
from pipeline.parse.pdf.layers import is_in_layer
from pipeline.parse.pdf.text.arranged import Layout
from pipeline.parse.pdf.text.letters import may_be_blank
from pipeline.parse.sight.look import SMALLEST

_FILLED = 0
_UNPAINTED = frozenset({3, 7})  # modes that paint nothing; the second one makes a border of the letters
_OPAQUE = 13  # of 255: an alpha below is 5 %
_CLIPPING = 4  # modes from this one on make a border of the letters for all that follows
_PATTERNS = frozenset({(255, 255, 255), (191, 191, 191)})  # what pdfium says of shadings and of tiling patterns
_FORMS = 40  # forms in forms; pdfium goes no deeper
_SIMPLE = 16  # segments of a border that is looked at exactly
_ANYWHERE = (-1e9, -1e9, 1e9, 1e9)
_LARGE = 18.0  # points, from which on a letter may hide other ones
_CORNERS = 5  # of a box whose border ends where it began


@dataclass(slots=True)
class Suspect:
    """A text that may be hidden, in the way of `kind`: for certain, or beyond `limit`, or where a picture shows it.

    `area` is in points of the page. `colour` is what its letters have, if that is certain. `outlined`: something is
    painted later that only its letters may let through.
    """

    kind: str
    area: Rectangle
    certain: bool = False
    limit: Rectangle | None = None
    colour: tuple[int, int, int] | None = None
    outlined: bool = False


@dataclass(slots=True)
class Survey:
    """The objects of a page: `texts` in the order in which they are painted, and `suspects`, which may be hidden."""

    page: Rectangle
    scenery: Scenery
    texts: list[int] = field(default_factory=list)
    suspects: dict[int, Suspect] = field(default_factory=dict)
    fonts: set[int] = field(default_factory=set)  # of the texts
    lines: list[tuple[float, float, float]] = field(default_factory=list)  # where each begins, and its height
    boxes: list[Rectangle] = field(default_factory=list)  # of the texts
    strikes: Sequence[Rectangle] = ()  # parts of the page that annotations strike out
    covers: Sequence[Rectangle] = ()  # boxes of annotations, which are painted over all the rest

    @property
    def layout(self) -> Layout:
        """The texts and lines of the page as they are painted."""
        return Layout(self.texts, self.lines, self.boxes, self.scenery.rules, self.strikes)


def survey(page: int, box: Rectangle, layers: bool, covers: Sequence[Rectangle] = ()) -> Survey:
    """The suspects of the page at `page` whose visible part is `box`.

    `layers`: it may have content that is off. `covers`: the boxes of annotations.
    """
    found = Survey(box, Scenery(box), covers=covers)
    groups, modes = [_Group(0, None, False, False)], list[int]()
    _walk(found, pdf.objects_of(page), groups, modes, _FORMS)
    for cover in covers:
        found.scenery.cover(cover, len(found.texts))
    if found.texts:
        _Judge(found, modes, layers).judge(groups)
    return found


@dataclass(slots=True)
class _Group:
    """Texts from `start` on that stand in one form, or on the page itself."""

    start: int
    matrix: Matrix
    inside: bool  # no text of it can lie beyond the page
    form: bool
    mixed: bool = False  # with what is behind it, by opacity, a mask or a blend mode


def _walk(found: Survey, items: pdf.Items, groups: list[_Group], modes: list[int], deeper: int) -> None:
    """Add the objects of a page or a form, which is the last group by now, and how its texts are painted."""
    start, group = 0, groups[-1]
    for place in [*(place for place, mode in enumerate(items.modes) if mode < 0), len(items.objects)]:
        kind = items.kinds[place] if place < len(items.objects) else None
        if kind == pdf.TEXT:
            continue
        found.texts += items.objects[start:place]
        modes += items.modes[start:place]
        start = place + 1
        if kind is None or (kind == pdf.FORM and not deeper):
            continue
        item = items.objects[place]
        if kind != pdf.FORM:
            found.scenery.add(item, kind, group.matrix, len(found.texts))
            continue
        inside = group.inside or within(transformed(pdf.bounds_of(item), group.matrix), found.page)
        matrix, mixed = times(pdf.matrix_of(item), group.matrix), group.mixed or pdf.is_mixed(item)
        groups.append(_Group(len(found.texts), matrix, inside, True, mixed))
        _walk(found, pdf.inner_objects_of(item), groups, modes, deeper - 1)
        groups.append(replace(group, start=len(found.texts)))


class _Judge:
    """Finds the suspects among the texts of one page; `modes` are the ways of painting them."""

    def __init__(self, found: Survey, modes: list[int], layers: bool) -> None:
        self._found = found
        self._modes = modes
        self._layers = layers
        self._states, places = states_of(found.texts)
        self._borders = pdf.count_borders(found.texts)
        self._kinds = {state: painting(state) for state in set(self._states)}
        sizes = {state: of.upright for state, of in self._kinds.items()}
        found.lines = [(x, y, size) for (x, y), size in zip(places, map(sizes.__getitem__, self._states), strict=True)]
        found.boxes = boxes_of(found.texts)
        found.fonts.update(of.font for of in self._kinds.values())
        self._blank = set(filter(may_be_blank, found.fonts))
        self._resembling = {
            state for state, of in self._kinds.items() if of.colour and found.scenery.has_like(of.colour[:3])
        }
        self._outlined = next((place for place, mode in enumerate(modes) if mode >= _CLIPPING), len(modes))
        self._unusual: dict[float, set[State]] = {}  # states that are unusual, by the least size

    def judge(self, groups: Sequence[_Group]) -> None:
        """Judge each text of the page."""
        found = self._found
        ends = [*(group.start for group in groups[1:]), len(found.texts)]
        parts = [(group, range(group.start, end)) for group, end in zip(groups, ends, strict=True) if group.start < end]
        for group, places in parts:  # large letters may hide those below them, as areas do
            stretched = stretching(group.matrix)
            least = (_LARGE / stretched) ** 2 if stretched else float("inf")
            large = {state for state, of in self._kinds.items() if of.most >= least}
            for place in [place for place in places if self._states[place] in large] if large else ():
                found.scenery.add_large(transformed(found.boxes[place], group.matrix), place)
        found.scenery.sort()
        for group, places in parts:
            beyond, crossing = self._beyond(group, places), self._crossing(group, places)
            for place in sorted(beyond | crossing | self._doubtful(group, places)):
                area = transformed(found.boxes[place], group.matrix)
                if suspect := self._suspect(group, place, area, place in beyond, place in crossing):
                    found.suspects[found.texts[place]] = suspect
            if group.matrix is not None:
                self._move(group.matrix, slice(places.start, places.stop))

    def _move(self, matrix: tuple[float, float, float, float, float, float], part: slice) -> None:
        """Move what is told of the texts in a form to where they stand on the page."""
        found = self._found
        a, b, c, d, e, f = matrix
        upright = b == 0.0 == c and a > 0.0 < d
        found.lines[part] = [
            (a * x + e, d * y + f, d * height) if upright else (x, y, 0.0) for x, y, height in found.lines[part]
        ]
        found.boxes[part] = [transformed(box, matrix) for box in found.boxes[part]]

    def _doubtful(self, group: _Group, places: range) -> set[int]:
        """The texts about which something is special, or over which something was painted."""
        states, last = self._unusual_states(group) | self._resembling, self._found.scenery.last
        part = slice(places.start, places.stop)
        if self._layers or group.mixed or places.stop > self._outlined:
            return set(places)
        if not states and places.start >= last and not any(self._modes[part]):
            return set()
        return {
            place
            for place, state, mode in zip(places, self._states[part], self._modes[part], strict=True)
            if place < last or mode != _FILLED or state in states
        }

    def _unusual_states(self, group: _Group) -> set[State]:
        """How texts are painted that are not opaque, with contrast to the paper, not small, and of letters that have
        outlines."""
        shrunk = shrinking(group.matrix)
        smallest = (SMALLEST / shrunk) ** 2 if shrunk else float("inf")
        if smallest not in self._unusual:
            self._unusual[smallest] = {
                state
                for state, of in self._kinds.items()
                if of.colour is None
                or of.mixed
                or not of.least > smallest
                or of.font in self._blank
                or of.colour[:3] in _PATTERNS
                or near(of.colour[:3], PAPER)
            }
        return self._unusual[smallest]

    def _beyond(self, group: _Group, places: range) -> set[int]:
        page = _ANYWHERE if group.inside else before(self._found.page, group.matrix)
        return set(
            compress(places, reach_beyond(self._found.boxes[places[0] : places[-1] + 1], page)) if page else places
        )

    def _crossing(self, group: _Group, places: range) -> set[int]:
        """The texts that may reach beyond their borders; most do not."""
        margin, texts, boxes = MARGIN / max(stretching(group.matrix), 1e-9), self._found.texts, self._found.boxes
        bordered = [(place, count) for place in places if (count := self._borders[place]) > 0]
        return {place for place, count in bordered if may_cross_borders(texts[place], boxes[place], count, margin)}

    def _suspect(self, group: _Group, place: int, area: Rectangle, beyond: bool, crossing: bool) -> Suspect | None:
        found, item, mode = self._found, self._found.texts[place], self._modes[place]
        state, of = self._states[place], self._kinds[self._states[place]]
        odd = mode != _FILLED or state in self._unusual_states(group) or group.mixed
        if odd and (mode in _UNPAINTED or (mode == _FILLED and of.colour and of.colour[3] < _OPAQUE)):
            outlined = mode >= _CLIPPING and found.scenery.covers(area, place)
            return Suspect("invisible", area, certain=not outlined, outlined=outlined)
        shrunk = shrinking(group.matrix)
        if odd and of.least * shrunk * shrunk <= SMALLEST**2:
            return Suspect("tiny", area, certain=True)
        if beyond and not within(area, found.page):
            return Suspect("off_page", area, not common(area, found.page), found.page)
        if beyond and (area[0] < area[2]) != (area[1] < area[3]):
            return Suspect("invisible", area)
        if crossing and (suspect := _by_border(item, area, group.matrix)):
            return suspect
        if self._layers and (group.form or is_in_layer(item)):
            return Suspect("marked_hidden", area)
        if place > self._outlined:
            return Suspect("clipped", area)
        return self._by_others(place, area, group.mixed) if odd or found.scenery.is_near(area) else None

    def _by_others(self, place: int, area: Rectangle, mixed: bool) -> Suspect | None:
        """The suspicion that a text raises by what is behind or over it, or by how it is mixed with both."""
        scenery, of = self._found.scenery, self._kinds[self._states[place]]
        mixed = mixed or of.mixed or of.font in self._blank
        colour = None if of.colour is None or mixed or self._modes[place] != _FILLED else of.colour[:3]
        colour = None if colour in _PATTERNS else colour
        if scenery.covers(area, place):
            return Suspect("covered", area, colour=colour)
        if mixed:
            return Suspect("invisible", area)
        if colour is None:
            return Suspect("same_colour", area)
        if scenery.resembles(area, place, colour):
            return Suspect("same_colour", area, scenery.is_bare(area, place) and near(colour, PAPER), colour=colour)
        return None


def _by_border(item: int, area: Rectangle, matrix: Matrix) -> Suspect | None:
    """The suspicion by a border outside of which nothing is painted; one that is no upright box must be drawn."""
    drawn = None
    for points in pdf.borders_of(item, _SIMPLE):
        if not points:
            drawn = Suspect("clipped", area)
            continue
        limit = transformed(around_points(points), matrix)
        if not common(area, limit):
            return Suspect("clipped", area, certain=True)
        if len(points) > _CORNERS or any(len({*sides}) > 2 for sides in zip(*points, strict=True)):  # no upright box
            drawn = Suspect("clipped", area)
        elif not within(area, limit):
            return Suspect("clipped", area, limit=limit)
    return drawn
