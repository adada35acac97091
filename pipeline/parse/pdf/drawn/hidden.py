"""Find the characters of a page that nobody sees, and the annotations that draw nothing though they hold a text.

What the survey of its objects leaves open is looked at: the page is drawn with and without the texts in question, and a
character that changes nothing where it stands is hidden. Texts that are not painted at all but lie on a picture are the
text layer of a scan, if something is to be seen where they stand.
"""

import ctypes
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from pipeline.parse.pdf import objects as pdf
from pipeline.parse.pdf.binding import opened, raw
from pipeline.parse.pdf.drawn.drawing import CLEAR, SAME, Budget, Drawing, Picture, look
from pipeline.parse.pdf.drawn.survey import Survey
from pipeline.parse.pdf.geometry import Rectangle, common, wider
from pipeline.parse.pdf.runs import runs
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
    search = _Search(Drawing(page, survey, budget), survey, page)
    search.judge()
    return search.finding


class _Search:
    """The search for hidden characters on one page, those of each suspect that has any."""

    def __init__(self, drawing: Drawing, survey: Survey, page: Page) -> None:
        self.finding = Finding()
        self._drawing = drawing
        self._scenery = survey.scenery
        self._characters: dict[int, list[_Character]] = {}
        items = page.text_objects()
        for place in [place for place, item in enumerate(items) if item in survey.suspects]:
            text = page.character(place)
            if not text.isspace() and text != "\0":
                one = _Character(place, text, page.box_of_character(place))
                self._characters.setdefault(items[place], []).append(one)
        self._suspects = {item: survey.suspects[item] for item in self._characters}

    def judge(self) -> None:
        """Judge every suspect, without drawing the page where that is possible."""
        of_scan, unclear = list[int](), list[int]()
        for item, suspect in self._suspects.items():
            characters = self._characters[item]
            if suspect.outlined or (suspect.kind == "invisible" and self._is_on_image(item)):
                of_scan.append(item)
            elif suspect.certain:
                self._hide(item, characters)
            elif suspect.limit:
                self._hide(item, [one for one in characters if not common(one.area, suspect.limit)])
            else:
                unclear.append(item)
        of_scan, unclear = self._drawable(of_scan), self._drawable(unclear)
        rounds = self._rounds(unclear)
        items = [*of_scan, *chain.from_iterable(rounds)]
        if not items:
            return
        areas = [*map(self._around, items), *(one.area for item in items for one in self._characters[item])]
        with self._drawing.of(areas, 1 + len(rounds)) as picture:
            if picture is None:
                self.finding.unsure = True
                return
            for some in rounds:
                of_scan += self._compare(picture, some)
            self._judge_scan(picture, of_scan)

    def _around(self, item: int) -> Rectangle:
        """A text's area with a margin of its height: the words of a scan's text layer stand but near their pictures."""
        left, bottom, right, top = self._suspects[item].area
        return wider(self._suspects[item].area, min(top - bottom, right - left) + _BESIDE)

    def _is_on_image(self, item: int) -> bool:
        return sum(common(self._suspects[item].area, box) for _, box in self._scenery.images) >= _ON_IMAGE

    def _drawable(self, items: Sequence[int]) -> list[int]:
        """The texts whose surroundings can be drawn; of others nothing can be told."""
        drawable = [item for item in items if self._drawing.may_show(self._around(item))]
        self.finding.unsure |= len(drawable) < len(items)
        return drawable

    def _rounds(self, items: Sequence[int]) -> list[list[int]]:
        """Divide texts into sets in which none lies over another; of those that are left nothing can be told."""
        taken, rounds = list[int](), list[list[int]]()
        for item in items:
            left, bottom, right, top = self._suspects[item].area
            quarter = (top - bottom) / 4  # above and below, where lines of a paragraph overlap
            cells = self._scenery.cells((left, bottom + quarter, right, top - quarter))
            place = next((place for place, others in enumerate(taken) if not others & cells), len(taken))
            if place == _ROUNDS:
                self.finding.unsure = True
                continue
            if place == len(taken):
                taken.append(0)
                rounds.append([])
            taken[place] |= cells
            rounds[place].append(item)
        return rounds

    def _compare(self, picture: Picture, items: Sequence[int]) -> list[int]:
        """Hide what the page looks the same without; those under the picture of a scan are given back."""
        for item in items:
            pdf.set_active(item, 0)
        without = look(picture.view)
        of_scan = []
        is_scan = self._scenery.share_of_images() >= _SCAN
        for item in items:
            pdf.set_active(item, 1)
            suspect, characters = self._suspects[item], self._characters[item]
            # Of a text whose colour is certain those are unseen that change nothing, or stand on the same colour; of
            # any other all, if none of them is clear: at their edges letters are paler than they are.
            colour, changes = suspect.colour, [picture.difference(without, one.area) for one in characters]
            unseen = characters
            if colour is not None or CLEAR in changes:
                unseen = [
                    one
                    for one, change in zip(characters, changes, strict=True)
                    if change == SAME or (colour is not None and not without.lacks(colour, one.area))
                ]
            if suspect.kind == "covered" and len(unseen) == len(characters) and is_scan and self._is_on_image(item):
                of_scan.append(item)
            elif unseen and not _unknown(item, unseen):
                self._hide(item, unseen)
        return of_scan

    def _judge_scan(self, picture: Picture, items: Sequence[int]) -> None:
        """Judge texts that are not painted but lie on a picture: they are hidden unless the picture shows something
        there.

        Letters of a text layer are seldom as wide as in the picture, so that the end of a line stands beside it: a
        line, of texts whose middles are at one height, is judged as one.
        """
        areas = {item: self._suspects[item].area for item in items}
        middles = {item: (bottom + top) / 2 for item, (_, bottom, _, top) in areas.items()}
        for line in runs(
            sorted(items, key=middles.__getitem__),
            lambda line, item: middles[item] - middles[line[-1]] < (areas[item][3] - areas[item][1]) / 2,
        ):
            blank = [item for item in line if not picture.has_ink(self._around(item))]
            count, of = (sum(len(self._characters[item]) for item in items) for items in (blank, line))
            self.finding.scan |= 2 * count <= of or len(blank) < len(line)
            for item in blank if 2 * count > of else ():
                self._hide(item, self._characters[item])

    def _hide(self, item: int, characters: list[_Character]) -> None:
        """Note hidden characters of a text; of a few that stand alone it cannot be told whether they are only faint."""
        if len(characters) == len(self._characters[item]):
            self.finding.whole.append(item)
        else:  # a space may lie between
            parts = runs(characters, lambda run, one: one.place <= run[-1].place + 2)
            characters = [one for run in parts if len(run) >= _RUN for one in run]
            self.finding.parted |= bool(characters)
        if characters:
            self.finding.places += [one.place for one in characters]
            text = "".join(one.text for one in characters)
            self.finding.texts.setdefault(self._suspects[item].kind, []).append(text)


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
            flags = {one.number: _set_flags(page, one.number, raw.FPDF_ANNOT_FLAG_HIDDEN) for one in some}
            without = look(picture.view)
            for number, before in flags.items():
                _set_flags(page, number, before)
            for one in some:
                if picture.difference(without, one.box) != CLEAR:
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
    """Whether the letters and digits of a value follow one another in what is shown, and no number goes on beside them;
    numbers and dates stand there in any form of theirs."""
    letters = folded(value)
    stands = letters in folded(shown)
    if stands and len(letters) <= _LONG:
        pattern = r"[\W_]*".join(map(re.escape, letters))
        pattern = (r"(?<!\d)(?<!\d[.,'])" if letters[0].isdecimal() else "") + pattern
        pattern += r"(?![.,']?\d)" if letters[-1].isdecimal() else ""
        stands = re.search(pattern, unicodedata.normalize("NFKD", shown).casefold()) is not None
    if stands or not set(letters) <= _DIGITS:
        return stands
    parts = [sorted(part.lstrip("0") for part in _PARTS.findall(text)) for text in (value, shown)]
    joined = ["".join(filter(str.isdecimal, _NAUGHTS.sub(r"\1", text))).lstrip("0") for text in (value, shown)]
    if "%" in shown:
        joined = [text.rstrip("0") for text in joined]  # 0.2 is 20 %
    return parts[0] == parts[1] or joined[0] == joined[1]


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
