"""A page's objects in the order in which they are painted: which texts a person may not be able to see, and why.

This looks at every object of every page, so it asks only for numbers. What they leave open, a picture decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

from pipeline.parse.pdf import objects as pdf
from pipeline.parse.pdf.drawn.painting import (
    Painting,
    State,
    boxes_of,
    may_cross_border,
    painting,
    reach_beyond,
    states_of,
)
from pipeline.parse.pdf.drawn.scenery import PAPER, Scenery, near
from pipeline.parse.pdf.geometry import (
    MARGIN,
    Matrix,
    Rectangle,
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
from pipeline.parse.pdf.text.fonts import may_be_blank
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
_BORDERS = 4  # of a text; one with more is looked at singly


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
class _Group:
    """Texts from `start` on that stand in one form, or on the page itself."""

    start: int
    matrix: Matrix
    inside: bool  # no text of it can lie beyond the page
    form: bool
    mixed: bool = False  # with what is behind it, by opacity, a mask or a blend mode


@dataclass(slots=True)
class Survey:
    """The objects of a page: `texts` in the order in which they are painted, and `suspects`, which may be hidden."""

    page: Rectangle
    scenery: Scenery
    texts: list[int] = field(default_factory=list)
    suspects: dict[int, Suspect] = field(default_factory=dict)
    groups: list[_Group] = field(default_factory=list)
    modes: list[int] = field(default_factory=list)  # the ways of painting them
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
    whole = _Group(0, None, False, False)
    found.groups.append(whole)
    _walk(found, pdf.objects_of(page), whole, _FORMS)
    for cover in covers:
        found.scenery.cover(cover, len(found.texts))
    if found.texts:
        _Judge(found, layers).judge()
    return found


def _walk(found: Survey, items: pdf.Items, group: _Group, deeper: int) -> None:
    start = 0
    for place in [place for place, mode in enumerate(items.modes) if mode < 0]:
        kind = items.kinds[place]
        if kind == pdf.TEXT:
            continue
        if start < place:
            _add_texts(found, items, start, place)
        start, item = place + 1, items.objects[place]
        if kind != pdf.FORM:
            found.scenery.add(item, kind, group.matrix, len(found.texts))
        elif deeper:
            inner = _group(found, item, group)
            found.groups.append(inner)
            _walk(found, pdf.inner_objects_of(item), inner, deeper - 1)
            found.groups.append(replace(group, start=len(found.texts)))
    _add_texts(found, items, start, len(items.objects))


def _add_texts(found: Survey, items: pdf.Items, start: int, end: int) -> None:
    found.texts += items.objects[start:end]
    found.modes += items.modes[start:end]


def _group(found: Survey, form: int, around: _Group) -> _Group:
    inside = around.inside or within(transformed(pdf.bounds_of(form), around.matrix), found.page)
    mixed = around.mixed or pdf.is_mixed(form)
    return _Group(len(found.texts), times(pdf.matrix_of(form), around.matrix), inside, True, mixed)


class _Judge:
    """Finds the suspects among the texts of one page."""

    def __init__(self, found: Survey, layers: bool) -> None:
        self._found = found
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
        self._outlined = next((place for place, mode in enumerate(found.modes) if mode >= _CLIPPING), len(found.modes))
        self._unusual: dict[float, set[State]] = {}  # states that are unusual, by the least size

    def judge(self) -> None:
        """Judge each text of the page."""
        groups = self._found.groups
        ends = [*(group.start for group in groups[1:]), len(self._found.texts)]
        parts = [(group, range(group.start, end)) for group, end in zip(groups, ends, strict=True) if group.start < end]
        for group, places in parts:
            self._add_large(group, places)
        self._found.scenery.sort()
        for group, places in parts:
            self._judge_group(group, places)
            if group.matrix is not None:
                self._move(group.matrix, places)

    def _move(self, matrix: tuple[float, float, float, float, float, float], places: range) -> None:
        """Move what is told of the texts in a form to where they stand on the page."""
        found, part = self._found, slice(places.start, places.stop)
        a, b, c, d, e, f = matrix
        if b == 0.0 == c and a > 0.0 < d:
            found.lines[part] = [(a * x + e, d * y + f, d * height) for x, y, height in found.lines[part]]
            found.boxes[part] = [
                (a * x0 + e, d * y0 + f, a * x1 + e, d * y1 + f) for x0, y0, x1, y1 in found.boxes[part]
            ]
        else:
            found.lines[part] = [(x, y, 0.0) for x, y, _ in found.lines[part]]
            found.boxes[part] = [transformed(box, matrix) for box in found.boxes[part]]

    def _add_large(self, group: _Group, places: range) -> None:
        """Add letters that may hide those below them, as areas."""
        stretched = stretching(group.matrix)
        least = (_LARGE / stretched) ** 2 if stretched else float("inf")
        large = {state for state, of in self._kinds.items() if of.most >= least}
        if large:
            some = [place for place in places if self._states[place] in large]
            for place in some:
                self._found.scenery.add_large(transformed(self._found.boxes[place], group.matrix), place)

    def _judge_group(self, group: _Group, places: range) -> None:
        doubtful = self._doubtful(group, places)
        beyond, crossing = self._beyond(group, places), self._crossing(group, places)
        judged = sorted(beyond | crossing | doubtful)
        for place in judged:
            area = transformed(self._found.boxes[place], group.matrix)
            suspect = self._suspect(group, place, area, place in beyond, place in crossing)
            if suspect:
                self._found.suspects[self._found.texts[place]] = suspect

    def _doubtful(self, group: _Group, places: range) -> set[int]:
        """The texts about which something is special, or over which something was painted."""
        states, last = self._unusual_states(group) | self._resembling, self._found.scenery.last
        part = slice(places.start, places.stop)
        if self._layers or group.mixed or places.stop > self._outlined:
            return set(places)
        if not states and places.start >= last and not any(self._found.modes[part]):
            return set()
        return {
            place
            for place, state, mode in zip(places, self._states[part], self._found.modes[part], strict=True)
            if place < last or mode != _FILLED or state in states
        }

    def _unusual_states(self, group: _Group) -> set[State]:
        shrunk = shrinking(group.matrix)
        smallest = (SMALLEST / shrunk) ** 2 if shrunk else float("inf")
        if smallest not in self._unusual:
            self._unusual[smallest] = {state for state, of in self._kinds.items() if not self._is_plain(of, smallest)}
        return self._unusual[smallest]

    def _is_plain(self, of: Painting, smallest: float) -> bool:
        """Whether a text is opaque, with contrast to the paper, not small, and of letters that have outlines."""
        return (
            of.colour is not None
            and not of.mixed
            and of.least > smallest
            and of.font not in self._blank
            and of.colour[:3] not in _PATTERNS
            and not near(of.colour[:3], PAPER)
        )

    def _beyond(self, group: _Group, places: range) -> set[int]:
        """The texts that may reach beyond the page."""
        page = _ANYWHERE if group.inside else before(self._found.page, group.matrix)
        return set(
            compress(places, reach_beyond(self._found.boxes[places[0] : places[-1] + 1], page)) if page else places
        )

    def _crossing(self, group: _Group, places: Sequence[int]) -> set[int]:
        """The texts that may reach beyond their borders; most do not."""
        margin, crossing, number = MARGIN / max(stretching(group.matrix), 1e-9), set[int](), 0
        texts, boxes = self._found.texts, self._found.boxes
        while places := [place for place in places if self._borders[place] > number]:
            if number == _BORDERS:
                return crossing.union(places)
            crossing |= {place for place in places if may_cross_border(texts[place], boxes[place], number, margin)}
            number += 1
        return crossing

    def _suspect(self, group: _Group, place: int, area: Rectangle, beyond: bool, crossing: bool) -> Suspect | None:
        found, item = self._found, self._found.texts[place]
        odd = found.modes[place] != _FILLED or self._states[place] in self._unusual_states(group) or group.mixed
        suspect = self._by_itself(group, place, area) if odd else None
        if not suspect and beyond and not within(area, found.page):
            suspect = Suspect("off_page", area, not common(area, found.page), found.page)
        elif not suspect and beyond and _is_flat(area):
            suspect = Suspect("invisible", area)
        if not suspect and crossing:
            suspect = _by_border(item, area, group.matrix)
        if not suspect and self._layers and (group.form or is_in_layer(item)):
            suspect = Suspect("marked_hidden", area)
        if not suspect and place > self._outlined:
            suspect = Suspect("clipped", area)
        if not suspect and (odd or found.scenery.is_near(area)):
            suspect = self._by_others(place, area, group.mixed)
        return suspect

    def _by_itself(self, group: _Group, place: int, area: Rectangle) -> Suspect | None:
        """The suspicion that a text raises by how it is painted, and by its size."""
        mode, of = self._found.modes[place], self._kinds[self._states[place]]
        if mode in _UNPAINTED or (mode == _FILLED and of.colour and of.colour[3] < _OPAQUE):
            outlined = mode >= _CLIPPING and self._found.scenery.covers(area, place)
            return Suspect("invisible", area, certain=not outlined, outlined=outlined)
        shrunk = shrinking(group.matrix)
        return Suspect("tiny", area, certain=True) if of.least * shrunk * shrunk <= SMALLEST**2 else None

    def _by_others(self, place: int, area: Rectangle, mixed: bool) -> Suspect | None:
        """The suspicion that a text raises by what is behind or over it, or by how it is mixed with both."""
        scenery, of = self._found.scenery, self._kinds[self._states[place]]
        mixed = mixed or of.mixed or of.font in self._blank
        colour = None if of.colour is None or mixed or self._found.modes[place] != _FILLED else of.colour[:3]
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


def _is_flat(area: Rectangle) -> bool:
    return (area[0] < area[2]) != (area[1] < area[3])


def _by_border(item: int, area: Rectangle, matrix: Matrix) -> Suspect | None:
    """The suspicion by a border outside of which nothing is painted; one that is no upright box must be drawn."""
    drawn = None
    for points in pdf.borders_of(item, _SIMPLE):
        limit = _box(points, matrix) if points else None
        if limit and not common(area, limit):
            return Suspect("clipped", area, certain=True)
        if not limit or not _is_box(points):
            drawn = Suspect("clipped", area)
        elif not within(area, limit):
            return Suspect("clipped", area, limit=limit)
    return drawn


def _is_box(points: list[tuple[float, float]]) -> bool:
    """Whether a border has no corners but the four of an upright box."""
    return len(points) <= _CORNERS and len({x for x, _ in points}) <= 2 and len({y for _, y in points}) <= 2


def _box(points: list[tuple[float, float]], matrix: Matrix) -> Rectangle:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return transformed((min(xs), min(ys), max(xs), max(ys)), matrix)
