"""Find the characters of a page that nobody sees.

What the survey of its objects leaves open is looked at: the page is drawn with and without the texts in question, and a
character that changes nothing where it stands is hidden. Texts that are not painted at all but lie on a picture are the
text layer of a scan, if something is to be seen where they stand.
"""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from pipeline.parse.pdf import objects as pdf
from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.drawn.drawing import Budget, Drawing
from pipeline.parse.pdf.drawn.picture import CLEAR, SAME, Look, look
from pipeline.parse.pdf.drawn.survey import Survey, Suspect
from pipeline.parse.pdf.geometry import Rectangle, common
from pipeline.parse.pdf.text.page import Page

_ROUNDS = 24  # drawings in which texts that lie over one another are left out one after another
_RUN = 3  # characters in a row, of a text that is seen in part
_SCAN = 0.5  # of the page that pictures fill
_ON_IMAGE = 0.5  # of a text that lies on a picture
_BESIDE = 4.0  # points by which a scan's text layer may stand beside the picture of the text
_FAMILIAR = 0x250  # letters before this one are in the fonts that pdfium brings along


@dataclass
class Finding:
    """The hidden `texts` of a page by kind, the objects hidden as a `whole`, and the `places` of all hidden characters.

    `parted`: of some object only a part is hidden. `scan`: some of its text is that of a picture. `unsure`: to be
    sure, more would have to be drawn than is allowed.
    """

    texts: dict[str, list[str]] = field(default_factory=dict)
    whole: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    parted: bool = False
    scan: bool = False
    unsure: bool = False


@dataclass(slots=True)
class _Character:
    place: int
    text: str
    area: Rectangle


def find(page: Page, survey: Survey, budget: Budget) -> Finding:
    """Find what is hidden on a page, whose text is loaded, among the suspects of its survey."""
    search = _Search(Drawing(page, survey, budget), survey, _characters(page, survey.suspects))
    search.judge()
    return search.finding


class _Search:
    """The search for hidden characters on one page; `characters` are those of each suspect that has any."""

    def __init__(self, drawing: Drawing, survey: Survey, characters: dict[int, list[_Character]]) -> None:
        self.finding = Finding()
        self._drawing = drawing
        self._scenery = survey.scenery
        self._suspects = {item: survey.suspects[item] for item in characters}
        self._characters = characters

    def judge(self) -> None:
        """Judge every suspect, without drawing the page where that is possible."""
        of_scan, unclear = [], []
        for item, suspect in self._suspects.items():
            if suspect.outlined or (suspect.kind == "invisible" and self._is_on_image(suspect.area)):
                of_scan.append(item)
            elif suspect.certain:
                self._hide(item, suspect.kind, self._characters[item])
            elif suspect.limit:
                self._hide(item, suspect.kind, [one for one in self._characters[item] if _beyond(one, suspect.limit)])
            else:
                unclear.append(item)
        of_scan, unclear = self._drawable(of_scan), self._drawable(unclear)
        rounds = self._rounds(unclear)
        if of_scan or rounds:
            self._look(of_scan, rounds)

    def _drawable(self, items: list[int]) -> list[int]:
        """The texts whose surroundings can be drawn; of others nothing can be told."""
        drawable = [item for item in items if self._drawing.may_show(_around(self._suspects[item].area))]
        self.finding.unsure |= len(drawable) < len(items)
        return drawable

    def _look(self, of_scan: list[int], rounds: list[list[int]]) -> None:
        areas = self._areas([*of_scan, *chain.from_iterable(rounds)])
        with self._drawing.of(areas, 1 + len(rounds)) as picture:
            if picture is None:
                self.finding.unsure = True
                return
            for items in rounds:
                of_scan += self._compare(picture, items)
            self._judge_scan(picture, of_scan)

    def _areas(self, items: list[int]) -> Iterator[Rectangle]:
        """The areas that are looked at for these texts."""
        for item in items:
            yield _around(self._suspects[item].area)
            yield from (one.area for one in self._characters[item])

    def _is_on_image(self, area: Rectangle) -> bool:
        return sum(common(area, box) for _, box in self._scenery.images) >= _ON_IMAGE

    def _rounds(self, items: list[int]) -> list[list[int]]:
        """Divide texts into sets in which none lies over another; of those that are left nothing can be told."""
        rounds: list[tuple[int, list[int]]] = []
        for item in items:
            cells = self._scenery.cells(_core(self._suspects[item].area))
            place = next((place for place, (taken, _) in enumerate(rounds) if not taken & cells), len(rounds))
            if place == _ROUNDS:
                self.finding.unsure = True
                continue
            if place == len(rounds):
                rounds.append((0, []))
            taken, members = rounds[place]
            members.append(item)
            rounds[place] = (taken | cells, members)
        return [members for _, members in rounds]

    def _compare(self, picture: Look, items: list[int]) -> list[int]:
        """Hide what the page looks the same without; those under the picture of a scan are given back."""
        for item in items:
            pdf.set_active(item, 0)
        without = look(picture.view)
        of_scan = []
        for item in items:
            pdf.set_active(item, 1)
            suspect = self._suspects[item]
            unseen = self._unseen(picture, without, item)
            if suspect.kind == "covered" and len(unseen) == len(self._characters[item]) and self._is_scan(suspect):
                of_scan.append(item)
            elif unseen and not _unknown(item, unseen):
                self._hide(item, suspect.kind, unseen)
        return of_scan

    def _unseen(self, picture: Look, without: Look, item: int) -> list[_Character]:
        """The characters of a text that the page shows to nobody.

        Of a text whose colour is certain those that change nothing, or stand on the same colour; of any other all, if
        none of them is clear: at their edges letters are paler than they are.
        """
        colour, characters = self._suspects[item].colour, self._characters[item]
        changes = [picture.difference(without, one.area) for one in characters]
        if colour is None and CLEAR not in changes:
            return characters
        return [
            one
            for one, change in zip(characters, changes, strict=True)
            if change == SAME or (colour is not None and not without.lacks(colour, one.area))
        ]

    def _is_scan(self, suspect: Suspect) -> bool:
        return self._scenery.share_of_images() >= _SCAN and self._is_on_image(suspect.area)

    def _judge_scan(self, picture: Look, items: list[int]) -> None:
        """Judge texts that are not painted but lie on a picture: they are hidden unless the picture shows something
        there.

        Letters of a text layer are seldom as wide as in the picture, so that the end of a line stands beside it: a
        line is judged as one.
        """
        for line in self._lines(items):
            blank = [item for item in line if not picture.has_ink(_around(self._suspects[item].area))]
            if 2 * self._count(blank) <= self._count(line):
                self.finding.scan, blank = True, []
            self.finding.scan |= len(blank) < len(line)
            for item in blank:
                self._hide(item, self._suspects[item].kind, self._characters[item])

    def _count(self, items: list[int]) -> int:
        return sum(len(self._characters[item]) for item in items)

    def _lines(self, items: list[int]) -> list[list[int]]:
        """Texts whose middles are at one height."""
        lines: list[list[int]] = []
        last = float("-inf")
        for item in sorted(items, key=lambda item: _middle(self._suspects[item].area)):
            area = self._suspects[item].area
            if not _middle(area) - last < (area[3] - area[1]) / 2:
                lines.append([])
            lines[-1].append(item)
            last = _middle(area)
        return lines

    def _hide(self, item: int, kind: str, characters: list[_Character]) -> None:
        if len(characters) == len(self._characters[item]):
            self.finding.whole.append(item)
        else:
            characters = list(_in_runs(characters))
            self.finding.parted |= bool(characters)
        if characters:
            self.finding.places += [one.place for one in characters]
            self.finding.texts.setdefault(kind, []).append("".join(one.text for one in characters))


def _characters(page: Page, suspects: dict[int, Suspect]) -> dict[int, list[_Character]]:
    """The characters of each suspect that are not white space."""
    found: dict[int, list[_Character]] = {}
    items = page.text_objects()
    for place in [place for place, item in enumerate(items) if item in suspects]:
        text = page.character(place)
        if not text.isspace() and text != "\0":
            found.setdefault(items[place], []).append(_Character(place, text, page.box_of_character(place)))
    return found


def _in_runs(characters: list[_Character]) -> Iterator[_Character]:
    """The characters that stand together: of a single one it cannot be told whether it is hidden or only faint."""
    run: list[_Character] = []
    for one in characters:
        if run and one.place > run[-1].place + 2:  # a space may lie between
            yield from run if len(run) >= _RUN else ()
            run = []
        run.append(one)
    yield from run if len(run) >= _RUN else ()


def _beyond(one: _Character, limit: Rectangle) -> bool:
    return not common(one.area, limit)


def _middle(area: Rectangle) -> float:
    return (area[1] + area[3]) / 2


def _core(area: Rectangle) -> Rectangle:
    """The area without the quarter above and below, where lines of a paragraph overlap."""
    quarter = (area[3] - area[1]) / 4
    return area[0], area[1] + quarter, area[2], area[3] - quarter


def _around(area: Rectangle) -> Rectangle:
    """The area with a margin of its height: the words of a scan's text layer stand but near their pictures."""
    margin = min(area[3] - area[1], area[2] - area[0]) + _BESIDE
    return area[0] - margin, area[1] - margin, area[2] + margin, area[3] + margin


def _unknown(item: int, characters: list[_Character]) -> bool:
    """Whether texts may be unseen only because a font is missing here that the document does not bring along."""
    font = raw.FPDFTextObj_GetFont(ctypes.cast(item, raw.FPDF_PAGEOBJECT))
    return not raw.FPDFFont_GetIsEmbedded(font) and any(ord(one.text) >= _FAMILIAR for one in characters)
