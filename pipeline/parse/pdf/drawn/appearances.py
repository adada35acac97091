"""Find the annotations that draw nothing that is seen, though they hold a text and stand on the page."""

import re
import unicodedata
from collections.abc import Sequence

from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.drawn.drawing import Drawing
from pipeline.parse.pdf.drawn.picture import CLEAR, Look, look
from pipeline.parse.pdf.geometry import Rectangle, common
from pipeline.parse.pdf.opening import opened
from pipeline.parse.pdf.text.page import Page
from pipeline.parse.pdf.text.remarks import Annotations, Drawn
from pipeline.parse.pdf.text.said import folded

_FAMILIAR = 0x250  # letters before this one are in the fonts that pdfium brings along
_MOST = 400  # annotations of a page that are looked at
_DIGITS = frozenset("0123456789")
_PARTS = re.compile(r"\d+")
_NAUGHTS = re.compile(r"[.,](?:([1-9])0|00?)(?!\d)")  # after a decimal sign
_LONG = 200  # letters and digits of a text that is no number
_ROUNDS = 8  # drawings in which annotations that lie over one another are left out one after another


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


def _unseen(page: Page, picture: Look, drawn: Sequence[Drawn]) -> list[Drawn]:
    flags = {one.number: _set_flags(page, one.number, raw.FPDF_ANNOT_FLAG_HIDDEN) for one in drawn}
    without = look(picture.view)
    for number, before in flags.items():
        _set_flags(page, number, before)
    return [one for one in drawn if picture.difference(without, one.box) != CLEAR]


def _apart(drawn: Sequence[Drawn]) -> list[list[Drawn]]:
    """Divide annotations into sets within which none lies over another; those that fit into no set are left out."""
    sets: list[list[Drawn]] = []
    for one in drawn:
        free = (some for some in sets if not any(_lies_on(one.box, other.box) for other in some))
        if (place := next(free, None)) is not None:
            place.append(one)
        elif len(sets) < _ROUNDS:
            sets.append([one])
    return sets


def _lies_on(one: Rectangle, other: Rectangle) -> bool:
    return common(one, other) > 0.0


def _set_flags(page: Page, number: int, flags: int) -> int:
    """The flags that the annotation had before."""
    annotation = raw.FPDFPage_GetAnnot(page.handle, number)
    before = int(raw.FPDFAnnot_GetFlags(annotation))
    raw.FPDFAnnot_SetFlags(annotation, flags)
    raw.FPDFPage_CloseAnnot(annotation)
    return before
