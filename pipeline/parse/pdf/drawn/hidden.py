"""Find the characters of a page that nobody sees, and the annotations that draw nothing though they hold a text.

What the survey of its objects leaves open is looked at: the page is drawn with and without the texts in question, and a
character that changes nothing where it stands is hidden. Texts that are not painted at all but lie on a picture are the
text layer of a scan, if something is to be seen where they stand.
"""

import ctypes
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from pipeline.parse.pdf import objects as pdf
from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.drawn.drawing import CLEAR, SAME, Budget, Drawing, Picture, look
from pipeline.parse.pdf.drawn.survey import Survey, Suspect
from pipeline.parse.pdf.geometry import Rectangle, common
from pipeline.parse.pdf.opening import opened
from pipeline.parse.pdf.text.page import Page
from pipeline.parse.pdf.text.remarks import Annotations, Drawn
from pipeline.parse.pdf.text.said import folded

_ROUNDS = 24  # drawings in which texts that lie over one another are left out one after another
_RUN = 3  # characters in a row, of a text that is seen in part
_SCAN = 0.5  # of the page that pictures fill
_ON_IMAGE = 0.5  # of a text that lies on a picture
_BESIDE = 4.0  # points by which a scan's text layer may stand beside the picture of the text
_FAMILIAR = 0x250  # letters before this one are in the fonts that pdfium brings along
_MOST = 400  # annotations of a page that are looked at
_DIGITS = frozenset("0123456789")
_PARTS = re.compile(r"\d+")
_NAUGHTS = re.compile(r"[.,](?:([1-9])0|00?)(?!\d)")  # after a decimal sign
_LONG = 200  # letters and digits of a text that is no number
_ANNOTATION_ROUNDS = 8  # drawings in which annotations that lie over one another are left out one after another


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
                self._hide(
                    item, suspect.kind, [one for one in self._characters[item] if not common(one.area, suspect.limit)]
                )
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

    def _compare(self, picture: Picture, items: list[int]) -> list[int]:
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

    def _unseen(self, picture: Picture, without: Picture, item: int) -> list[_Character]:
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

    def _judge_scan(self, picture: Picture, items: list[int]) -> None:
        """Judge texts that are not painted but lie on a picture: they are hidden unless the picture shows something
        there.

        Letters of a text layer are seldom as wide as in the picture, so that the end of a line stands beside it: a
        line is judged as one.
        """
        for line in self._lines(items):
            blank = [item for item in line if not picture.has_ink(_around(self._suspects[item].area))]
            characters = [sum(len(self._characters[item]) for item in items) for items in (blank, line)]
            if 2 * characters[0] <= characters[1]:
                self.finding.scan, blank = True, []
            self.finding.scan |= len(blank) < len(line)
            for item in blank:
                self._hide(item, self._suspects[item].kind, self._characters[item])

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


def judge(page: Page, found: Annotations, drawing: Drawing) -> None:
    """Take those for hidden without which the page looks the same; none that a missing font may be to blame for."""
    asked = [one for one in found.drawn if all(ord(letter) < _FAMILIAR for letter in one.text)]
    drawable = [one for one in asked[:_MOST] if drawing.may_show(one.box)]
    sets = _apart(drawable)
    found.unsure |= sum(map(len, sets)) < len(asked)
    if not sets:
        return
    with drawing.of([one.box for one in drawable], 1 + len(sets)) as picture:
        if picture is None:
            found.unsure = True
            return
        for some in sets:
            for one in _unseen(page, picture, some):
                found.hide(one.text, "invisible")


def others(data: bytes, number: int, found: Annotations) -> list[tuple[str, str]]:
    """The texts of annotations of page `number` that are drawn otherwise than they say, each with what is drawn.

    That is read from a document of its own, in which what is drawn of annotations becomes part of the page.
    """
    asked = [one for one in found.drawn if folded(one.value) and one.text in found.shown][:_MOST]
    if not asked:
        return []
    with opened(data) as document:
        handle = raw.FPDF_LoadPage(document, number - 1)
        raw.FPDFPage_Flatten(handle, raw.FLAT_NORMALDISPLAY)
        raw.FPDF_ClosePage(handle)
        with Page(document, number - 1) as page:
            page.load_text()
            drawn = [(one.value, page.text_within(one.box)) for one in asked]
    return [(value, shown) for value, shown in drawn if folded(shown) and not _says(value, shown)]


def _says(value: str, shown: str) -> bool:
    """Whether a value is in what is shown, numbers and dates in any form of theirs."""
    if _stands_in(folded(value), shown):
        return True
    if not set(folded(value)) <= _DIGITS:
        return False
    parts = [sorted(part.lstrip("0") for part in _PARTS.findall(text)) for text in (value, shown)]
    joined = ["".join(filter(str.isdecimal, _NAUGHTS.sub(r"\1", text))).lstrip("0") for text in (value, shown)]
    if "%" in shown:
        joined = [text.rstrip("0") for text in joined]  # 0.2 is 20 %
    return parts[0] == parts[1] or joined[0] == joined[1]


def _stands_in(value: str, shown: str) -> bool:
    """Whether the letters and digits of a value follow one another in a text, and no number goes on beside them."""
    if len(value) > _LONG or value not in folded(shown):
        return value in folded(shown)
    pattern = r"[\W_]*".join(map(re.escape, value))
    pattern = (r"(?<!\d)(?<!\d[.,'])" if value[0].isdecimal() else "") + pattern
    pattern += r"(?![.,']?\d)" if value[-1].isdecimal() else ""
    return re.search(pattern, unicodedata.normalize("NFKD", shown).casefold()) is not None


def _unseen(page: Page, picture: Picture, drawn: Sequence[Drawn]) -> list[Drawn]:
    flags = {one.number: _set_flags(page, one.number, raw.FPDF_ANNOT_FLAG_HIDDEN) for one in drawn}
    without = look(picture.view)
    for number, before in flags.items():
        _set_flags(page, number, before)
    return [one for one in drawn if picture.difference(without, one.box) != CLEAR]


def _apart(drawn: Sequence[Drawn]) -> list[list[Drawn]]:
    """Divide annotations into sets within which none lies over another; those that fit into no set are left out."""
    sets: list[list[Drawn]] = []
    for one in drawn:
        free = (some for some in sets if not any(common(one.box, other.box) for other in some))
        if (place := next(free, None)) is not None:
            place.append(one)
        elif len(sets) < _ANNOTATION_ROUNDS:
            sets.append([one])
    return sets


def _set_flags(page: Page, number: int, flags: int) -> int:
    """The flags that the annotation had before."""
    annotation = raw.FPDFPage_GetAnnot(page.handle, number)
    before = int(raw.FPDFAnnot_GetFlags(annotation))
    raw.FPDFAnnot_SetFlags(annotation, flags)
    raw.FPDFPage_CloseAnnot(annotation)
    return before
