"""A page's objects in the order in which they are painted: which texts a person may not be able to see, and why.

This looks at every object of every page, so it asks only for numbers. What they leave open, a picture decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

from pipeline.parse.pdf import library as pdf
from pipeline.parse.pdf.geometry import Matrix, Rectangle, common, shrinking, times, transformed, within
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


def survey(page: int, box: Rectangle, layers: bool) -> Survey:
    """The suspects of the page at `page` whose visible part is `box`; `layers`: it may have content that is off."""
    found = Survey(box, Scenery(box))
    whole = _Group(0, None, False, False)
    found.groups.append(whole)
    _walk(found, list(map(pdf.get_object, repeat(page), range(pdf.count_objects(page)))), whole, _FORMS)
    _Judge(found, layers).judge()
    return found


def _walk(found: Survey, items: list[int], group: _Group, deeper: int) -> None:
    kinds = list(map(pdf.type_of, items))
    if kinds.count(pdf.TEXT) == len(items):
        found.texts += items
        return
    for item, kind in zip(items, kinds, strict=True):
        if kind == pdf.TEXT:
            found.texts.append(item)
        elif kind != pdf.FORM:
            found.scenery.add(item, kind, group.matrix, len(found.texts))
        elif deeper:
            inner = _group(found, item, group)
            found.groups.append(inner)
            _walk(found, list(map(pdf.get_inner, repeat(item), range(pdf.count_inner(item)))), inner, deeper - 1)
            found.groups.append(replace(group, start=len(found.texts)))


def _group(found: Survey, form: int, around: _Group) -> _Group:
    inside = around.inside or within(transformed(pdf.bounds_of(form), around.matrix), found.page)
    return _Group(len(found.texts), times(pdf.matrix_of(form), around.matrix), inside, True)


class _Judge:
    """Finds the suspects among the texts of one page."""

    def __init__(self, found: Survey, layers: bool) -> None:
        self._found = found
        self._layers = layers
        self._paint = pdf.Paint(found.texts)
        self._states = {state: pdf.colour_and_size(state) for state in set(self._paint.states)}
        self._unusual: dict[float, set[bytes]] = {}  # states that are unusual, by the least size

    def judge(self) -> None:
        """Each of them."""
        groups = self._found.groups
        ends = [*(group.start for group in groups[1:]), len(self._found.texts)]
        for group, end in zip(groups, ends, strict=True):
            places = self._places(group, end) if group.start < end else ()
            if not places:
                continue
            boxes = pdf.all_bounds([self._found.texts[place] for place in places])
            areas = boxes if group.matrix is None else [transformed(box, group.matrix) for box in boxes]
            self._judge_some(group, places, areas)

    def _places(self, group: _Group, end: int) -> Sequence[int]:
        """Those texts of a group that have to be looked at singly."""
        places = range(group.start, end)
        if not group.inside or not self._found.scenery.is_empty or self._layers:
            return places
        unusual = self._unusual_states(group)
        if (
            not unusual
            and not any(self._paint.cut[group.start : end])
            and not any(self._paint.modes[group.start : end])
        ):
            return ()
        return [place for place in places if self._paint.cut[place] or self._is_odd(group, place)]

    def _unusual_states(self, group: _Group) -> set[bytes]:
        shrunk = shrinking(group.matrix)
        smallest = (_SMALLEST / shrunk) ** 2 if shrunk else float("inf")
        if smallest not in self._unusual:
            self._unusual[smallest] = {state for state, of in self._states.items() if not _is_plain(*of, smallest)}
        return self._unusual[smallest]

    def _is_odd(self, group: _Group, place: int) -> bool:
        return self._paint.modes[place] != _FILLED or self._paint.states[place] in self._unusual_states(group)

    def _judge_some(self, group: _Group, places: Sequence[int], areas: Sequence[Rectangle]) -> None:
        scenery, cut, modes, states = self._found.scenery, self._paint.cut, self._paint.modes, self._paint.states
        unusual = self._unusual_states(group)
        doubtful = self._layers or not group.inside
        nothing = scenery.is_empty
        for place, area in zip(places, areas, strict=True):
            odd = modes[place] != _FILLED or states[place] in unusual
            if odd or doubtful or cut[place] or (not nothing and scenery.is_near(area)):
                self._judge(group, place, area)

    def _judge(self, group: _Group, place: int, area: Rectangle) -> None:
        found, item = self._found, self._found.texts[place]
        odd = self._is_odd(group, place)
        suspect = self._by_itself(group, place, area) if odd else None
        if not suspect and not group.inside and not within(area, found.page):
            suspect = Suspect("off_page", area, not common(area, found.page), found.page)
        if not suspect and self._paint.cut[place]:
            suspect = _by_border(item, area, group.matrix)
        if not suspect and self._layers and (group.form or is_in_layer(item)):
            suspect = Suspect("marked_hidden", area)
        if not suspect and (odd or found.scenery.is_near(area)):
            suspect = self._by_others(place, area)
        if suspect:
            found.suspects[item] = suspect

    def _by_itself(self, group: _Group, place: int, area: Rectangle) -> Suspect | None:
        """By how it is painted, and its size."""
        mode, (colour, size) = self._paint.modes[place], self._states[self._paint.states[place]]
        if mode in _UNPAINTED or (mode == _FILLED and colour and colour[3] < _OPAQUE):
            return Suspect("invisible", area, certain=True)
        shrunk = shrinking(group.matrix)
        return Suspect("tiny", area, certain=True) if size * shrunk * shrunk < _SMALLEST**2 else None

    def _by_others(self, place: int, area: Rectangle) -> Suspect | None:
        """By the colour of what is behind it, or by what is over it."""
        scenery, colour = self._found.scenery, self._states[self._paint.states[place]][0]
        if scenery.covers(area, place):
            return Suspect("covered", area)
        if colour is None or self._paint.modes[place] != _FILLED:
            return Suspect("same_colour", area)
        if scenery.resembles(area, place, colour[:3]):
            return Suspect("same_colour", area, min(colour[:3]) >= _WHITE and scenery.is_bare(area, place))
        return None


def _is_plain(colour: pdf.Colour | None, size: float, smallest: float) -> bool:
    """Opaque, not light, and not small."""
    return colour is not None and colour[3] >= _OPAQUE and min(colour[:3]) < _LIGHT and size >= smallest


def _by_border(item: int, area: Rectangle, matrix: Matrix) -> Suspect | None:
    """By a border outside of which nothing is painted."""
    path = pdf.clip_of(item)
    # Most borders are upright boxes, of which two corners tell all.
    for place in range(pdf.count_clips(path)):
        count = pdf.count_clip_segments(path, place)
        if count in (4, 5) and within(area, transformed(pdf.corners_of(path, place), matrix)):
            continue
        if 0 < count <= _SIMPLE and not within(area, limit := _box(path, place, count, matrix)):
            return Suspect("clipped", area, not common(area, limit), limit)
    return None


def _box(path: int, place: int, count: int, matrix: Matrix) -> Rectangle:
    points = [pdf.point_of(pdf.clip_segment(path, place, segment)) for segment in range(count)]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return transformed((min(xs), min(ys), max(xs), max(ys)), matrix)
