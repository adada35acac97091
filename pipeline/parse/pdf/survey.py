"""A page's objects in the order in which they are painted: which texts a person may not be able to see, and why.

This looks at every object of every page, so it asks only for numbers. What they leave open, a picture decides.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress

from pipeline.parse.pdf import many
from pipeline.parse.pdf import objects as pdf
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
from pipeline.parse.pdf.scenery import Scenery

_FILLED = 0
_UNPAINTED = frozenset({3, 7})  # modes that paint nothing; the second one makes a border of the letters
_OPAQUE = 13  # of 255: an alpha below is 5 %
_LIGHT = 231  # of 255: a colour that is nowhere darker may be lost on white paper
_SMALLEST = 1.0  # points; smaller letters cannot be read
_WHITE = 250  # of 255: a colour that is nowhere darker is lost on white paper
_FORMS = 40  # forms in forms; pdfium goes no deeper
_SIMPLE = 16  # segments of a border that is looked at exactly
_BORDERS = 4  # of a text; one with more is looked at singly


@dataclass(slots=True)
class Suspect:
    """A text that may be hidden, in the way of `kind`: for certain, or beyond `limit`, or where a picture shows it.

    `area` is in points of the page.
    """

    kind: str
    area: Rectangle
    certain: bool = False
    limit: Rectangle | None = None


@dataclass(slots=True)
class _Group:
    """Texts from `start` on that stand in one form, or on the page itself."""

    start: int
    matrix: Matrix
    inside: bool  # no text of it can lie beyond the page
    form: bool


@dataclass(slots=True)
class Survey:
    """What a page holds: `texts` in the order in which they are painted, and those that may be hidden."""

    page: Rectangle
    scenery: Scenery
    texts: list[int] = field(default_factory=list)
    suspects: dict[int, Suspect] = field(default_factory=dict)
    groups: list[_Group] = field(default_factory=list)
    modes: list[int] = field(default_factory=list)  # the ways of painting them


def survey(page: int, box: Rectangle, layers: bool) -> Survey:
    """The suspects of the page at `page` whose visible part is `box`; `layers`: it may have content that is off."""
    found = Survey(box, Scenery(box))
    whole = _Group(0, None, False, False)
    found.groups.append(whole)
    _walk(found, many.objects_of(page), whole, _FORMS)
    if found.texts:
        _Judge(found, layers).judge()
    return found


def _walk(found: Survey, items: many.Items, group: _Group, deeper: int) -> None:
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
            _walk(found, many.inner_objects_of(item), inner, deeper - 1)
            found.groups.append(_Group(len(found.texts), group.matrix, group.inside, group.form))
    _add_texts(found, items, start, len(items.objects))


def _add_texts(found: Survey, items: many.Items, start: int, end: int) -> None:
    found.texts += items.objects[start:end]
    found.modes += items.modes[start:end]


def _group(found: Survey, form: int, around: _Group) -> _Group:
    inside = around.inside or within(transformed(pdf.bounds_of(form), around.matrix), found.page)
    return _Group(len(found.texts), times(pdf.matrix_of(form), around.matrix), inside, True)


class _Judge:
    """Finds the suspects among the texts of one page."""

    def __init__(self, found: Survey, layers: bool) -> None:
        self._found = found
        self._layers = layers
        self._states, self._borders = many.states_and_borders(found.texts)
        self._kinds = {state: many.colour_and_size(state) for state in set(self._states)}
        self._resembling = {
            state for state, (colour, _) in self._kinds.items() if colour and found.scenery.has_like(colour[:3])
        }
        self._unusual: dict[float, set[bytes]] = {}  # states that are unusual, by the least size

    def judge(self) -> None:
        """Each of them."""
        groups = self._found.groups
        ends = [*(group.start for group in groups[1:]), len(self._found.texts)]
        for group, end in zip(groups, ends, strict=True):
            if group.start < end:
                self._judge_group(group, range(group.start, end))

    def _judge_group(self, group: _Group, places: range) -> None:
        doubtful = self._doubtful(group, places)
        beyond, crossing = self._beyond(group, places), self._crossing(group, places)
        judged = sorted(beyond | crossing | doubtful)
        for place, box in zip(judged, many.all_bounds(self._texts(judged)), strict=True):
            area = transformed(box, group.matrix)
            suspect = self._suspect(group, place, area, place in beyond, place in crossing)
            if suspect:
                self._found.suspects[self._found.texts[place]] = suspect

    def _doubtful(self, group: _Group, places: range) -> set[int]:
        """Those about which something is special, or over which something was painted."""
        states, last = self._unusual_states(group) | self._resembling, self._found.scenery.last
        part = slice(places.start, places.stop)
        if self._layers:
            return set(places)
        if not states and places.start >= last and not any(self._found.modes[part]):
            return set()
        return {
            place
            for place, state, mode in zip(places, self._states[part], self._found.modes[part], strict=True)
            if place < last or mode != _FILLED or state in states
        }

    def _unusual_states(self, group: _Group) -> set[bytes]:
        shrunk = shrinking(group.matrix)
        smallest = (_SMALLEST / shrunk) ** 2 if shrunk else float("inf")
        if smallest not in self._unusual:
            self._unusual[smallest] = {state for state, of in self._kinds.items() if not _is_plain(*of, smallest)}
        return self._unusual[smallest]

    def _texts(self, places: Iterable[int]) -> list[int]:
        return list(map(self._found.texts.__getitem__, places))

    def _beyond(self, group: _Group, places: Sequence[int]) -> set[int]:
        """Those that may reach beyond the page."""
        if group.inside:
            return set()
        page = before(self._found.page, group.matrix)
        return set(compress(places, many.may_reach_beyond(self._texts(places), page)) if page else places)

    def _crossing(self, group: _Group, places: Sequence[int]) -> set[int]:
        """Those that may reach beyond their borders; most do not, so many are asked for at once."""
        margin, crossing, number = MARGIN / max(stretching(group.matrix), 1e-9), set[int](), 0
        while places := [place for place in places if self._borders[place] > number]:
            if number == _BORDERS:
                return crossing.union(places)
            crossing.update(compress(places, many.may_cross_border(self._texts(places), number, margin)))
            number += 1
        return crossing

    def _suspect(self, group: _Group, place: int, area: Rectangle, beyond: bool, crossing: bool) -> Suspect | None:
        found, item = self._found, self._found.texts[place]
        odd = found.modes[place] != _FILLED or self._states[place] in self._unusual_states(group)
        suspect = self._by_itself(group, place, area) if odd else None
        if not suspect and beyond and not within(area, found.page):
            suspect = Suspect("off_page", area, not common(area, found.page), found.page)
        if not suspect and crossing:
            suspect = _by_border(item, area, group.matrix)
        if not suspect and self._layers and (group.form or is_in_layer(item)):
            suspect = Suspect("marked_hidden", area)
        if not suspect and (odd or found.scenery.is_near(area)):
            suspect = self._by_others(place, area)
        return suspect

    def _by_itself(self, group: _Group, place: int, area: Rectangle) -> Suspect | None:
        """By how it is painted, and its size."""
        mode, (colour, size) = self._found.modes[place], self._kinds[self._states[place]]
        if mode in _UNPAINTED or (mode == _FILLED and colour and colour[3] < _OPAQUE):
            return Suspect("invisible", area, certain=True)
        shrunk = shrinking(group.matrix)
        return Suspect("tiny", area, certain=True) if size * shrunk * shrunk < _SMALLEST**2 else None

    def _by_others(self, place: int, area: Rectangle) -> Suspect | None:
        """By the colour of what is behind it, or by what is over it."""
        scenery, colour = self._found.scenery, self._kinds[self._states[place]][0]
        if scenery.covers(area, place):
            return Suspect("covered", area)
        if colour is None or self._found.modes[place] != _FILLED:
            return Suspect("same_colour", area)
        if scenery.resembles(area, place, colour[:3]):
            return Suspect("same_colour", area, min(colour[:3]) >= _WHITE and scenery.is_bare(area, place))
        return None


def _is_plain(colour: pdf.Colour | None, size: float, smallest: float) -> bool:
    """Opaque, not light, and not small."""
    return colour is not None and colour[3] >= _OPAQUE and min(colour[:3]) < _LIGHT and size >= smallest


def _by_border(item: int, area: Rectangle, matrix: Matrix) -> Suspect | None:
    """By a border outside of which nothing is painted."""
    for points in pdf.borders_of(item, _SIMPLE):
        if points and not within(area, limit := _box(points, matrix)):
            return Suspect("clipped", area, not common(area, limit), limit)
    return None


def _box(points: list[tuple[float, float]], matrix: Matrix) -> Rectangle:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return transformed((min(xs), min(ys), max(xs), max(ys)), matrix)
