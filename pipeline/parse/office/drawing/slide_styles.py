"""How the letters of DrawingML look (ISO/IEC 29500-1, 21.1.2.3), as runs, lists of styles and placeholders say it.

A slide takes colours, places and looks of text from its layout, its master and the presentation (19.3.1): a placeholder
is the one of the layout with its number, else of its kind; that of the layout is the one of the master of its kind.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from lxml import etree

from pipeline.parse.markup.reading import local_name, whole_number
from pipeline.parse.office.drawing.theme import UNKNOWN, Fill, Theme, over, own_fill, read_theme
from pipeline.parse.office.drawing.view import View
from pipeline.parse.office.package import Package
from pipeline.parse.sight.colours import TRANSPARENT, Colour, Paint
from pipeline.parse.sight.look import Appearance, Box, squeezed

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_USUAL = 18.0  # points
_HARMLESS = re.compile(
    r"@(b|i|u|cap|kern|lang|altLang|dirty|err|smtClean|smtId|bmk|noProof|normalizeH|kumimoji|strike|sz|spc)=.*|"
    r"@baseline=-?[0-5]?\d{1,4}%?|(solidFill|gradFill|noFill|blipFill|pattFill|grpFill|highlight|latin|ea|cs|sym|hlinkClick|"
    r"hlinkMouseOver|rtl|uLn|uLnTx|uFill|uFillTx|extLst)"
)
"""Attributes (@) and children of run properties that are read, or keep nobody from seeing a text."""
_OF_PARAGRAPH = re.compile(
    r"@(lvl|algn|defTabSz|rtl|eaLnBrk|fontAlgn|latinLnBrk|hangingPunct)=.*|@mar[LR]=\d{1,7}|@indent=-?\d{1,6}|"
    r"(spcBef|spcAft|bu\w+|tabLst|defRPr|extLst)"
)
"""Attributes (@) and children of paragraph properties that keep nobody from seeing a text."""
_LEAST = 60  # percent of their usual height that lines need


class Letters(NamedTuple):
    """The looks that a document states for letters; None where it states none. `size` and `spacing` (beside each
    letter) are in points. `marker` is drawn behind them; `doubt` is a property whose effect is not computed.
    """

    size: float | None = None
    spacing: float | None = None
    ink: Fill | None = None
    marker: Fill | None = None
    doubt: str | None = None


def _read_letters(properties: etree._Element | None, theme: Theme) -> Letters:
    """The looks that properties of a run (a:rPr, a:defRPr) state; a link has the theme's colour for links."""
    if properties is None:
        return Letters()
    marker = properties.find(A + "highlight")
    link = theme.colour("hlink") if properties.find(A + "hlinkClick") is not None else None
    return Letters(
        _hundredths(properties.get("sz")),
        _hundredths(properties.get("spc")),
        own_fill(properties, theme) if link is None else [Paint(link)],
        None if marker is None else [theme.paint(marker)],
        _odd(properties, _HARMLESS),
    )


def _odd(properties: etree._Element, harmless: re.Pattern[str]) -> str | None:
    """The first attribute or child of properties whose effect is not computed; None for none."""
    for key, value in properties.attrib.items():
        if not harmless.fullmatch(f"@{key}={value}"):
            return str(key)
    for child in properties:
        name = local_name(str(child.tag))
        parts = [(local_name(str(one.tag)), one.get("val", "")) for one in child]
        if name == "lnSpc":
            neutral = all(
                not part.endswith("Pct")
                or whole_number(value.removesuffix("%"), 0) >= _LEAST * (1 if value.endswith("%") else 1000)
                for part, value in parts
            )
        else:  # an outline or effects that leave letters as they are
            neutral = name in {"ln", "effectLst"} and all(part == "noFill" for part, _ in parts)
        if not neutral and not harmless.fullmatch(name):
            return name
    return None


def _inherited(said: Iterable[Letters]) -> Letters:
    """The looks that hold where several, the nearest first, state some: each field from the first that states it."""
    found = Letters()
    for one in said:
        found = Letters._make(other if own is None else own for own, other in zip(found, one, strict=True))
    return found


def _hundredths(text: str | None) -> float | None:
    digits = (text or "").removeprefix("-")
    number = whole_number(digits, -1)
    return None if number < 0 else (-number if digits != text else number) / 100


P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_STYLES = {"title": "titleStyle", "dt": "otherStyle", "ftr": "otherStyle", "sldNum": "otherStyle"}
_NO_PLACEHOLDER = "none"
_WITHOUT_FILLS = {"{2D5ABB26-0587-4C30-8999-92F81FD0307C}", "{5940675A-B579-460E-94D1-54222C63F5DA}"}
"""The styles of tables that Office calls "No Style"."""
USUAL_NAMES = {"bg1": "lt1", "tx1": "dk1", "bg2": "lt2", "tx2": "dk2"}
"""The names of the colours of a theme in a document without a map of colours."""


class SlideStyles:
    """The styles of one slide: `trees` are those of the slide, its layout and its master, as far as there are any."""

    def __init__(self, trees: list[etree._Element], theme: Theme, presentation: etree._Element, view: View) -> None:
        self._theme = theme
        self._origins: dict[etree._Element, list[etree._Element]] = {}
        self._letters: dict[tuple[etree._Element, int], Letters] = {}
        self._view = view
        self._usual = presentation.find(P + "defaultTextStyle")
        self._texts = next((tree.find(P + "txStyles") for tree in reversed(trees)), None)
        self._placeholders = [list(_placeholders(tree)) for tree in trees[1:]]

    def place(self, shape: etree._Element) -> Box | None:
        """The box of the placeholder whose place a shape takes."""
        boxes = (self._view.box(one) for one in self.origins(shape))
        return next((box for box in boxes if box is not None), None)

    def _said(self, shape: etree._Element, level: int) -> Iterator[Letters]:
        """The looks stated for the letters of a shape's paragraphs at a level, from 1; the nearest comes first."""
        kind = _kind(shape)
        for holder in (shape, *self.origins(shape)):
            yield self._of_level(holder.find("{*}txBody/" + A + "lstStyle"), level)
        reference = shape.find(f"{{*}}style/{A}fontRef")
        if reference is not None and len(reference):
            yield Letters(ink=[self._theme.paint(reference)])
        if self._texts is not None and kind != _NO_PLACEHOLDER:
            yield self._of_level(self._texts.find(P + _STYLES.get(kind, "bodyStyle")), level)
        yield self._of_level(self._usual, level)
        if self._texts is not None and kind == _NO_PLACEHOLDER:
            yield self._of_level(self._texts.find(P + "otherStyle"), level)

    def look(
        self, shape: etree._Element, paragraph: etree._Element, run: etree._Element, behind: Colour, doubt: str
    ) -> Appearance:
        """The look of a run (a:r) of a paragraph of a shape, with a colour behind it and what may hide its text.

        PowerPoint does not read the defaults of a paragraph (a:defRPr), others do: text that either hides is hidden.
        """
        of_paragraph = paragraph.find(A + "pPr")
        if of_paragraph is not None:
            doubt = doubt or _odd(of_paragraph, _OF_PARAGRAPH) or ""
        properties = (run.find(A + "rPr"), paragraph.find(f"{A}pPr/{A}defRPr"))
        own, usual = (_read_letters(one, self._theme) for one in properties)
        key = shape, 1 + whole_number(None if of_paragraph is None else of_paragraph.get("lvl"), 0)
        if key not in self._letters:
            self._letters[key] = _inherited(self._said(*key))
        said = self._letters[key]
        look = self._seen(paragraph, _inherited([own, said]), own, behind, doubt)
        if usual == Letters() or look.hides:
            return look
        other = self._seen(paragraph, _inherited([own, usual, said]), _inherited([own, usual]), behind, doubt)
        return other if other.hides or other.doubts else look

    def _seen(
        self, paragraph: etree._Element, letters: Letters, own: Letters, behind: Colour, doubt: str
    ) -> Appearance:
        """The look of letters in a paragraph; `own` is what is said of them without any style.

        Of a gradient of known colours, what hides all of them hides the letters; one that hides some makes them
        doubtful.
        """
        cell = next(paragraph.iterancestors(A + "tc"), None)
        if cell is not None:
            letters = letters._replace(ink=own.ink)  # a table style may say it
            behind = self._behind_cell(cell, behind)
        behind = over(letters.marker, behind)
        body = next(paragraph.iterancestors("{*}txBody"), None)
        fitted = None if body is None else body.find(f"{A}bodyPr/{A}normAutofit")  # made smaller to fit
        scale = "" if fitted is None else fitted.get("fontScale", "")
        percent = whole_number(scale.removesuffix("%").partition(".")[0], 100_000)
        drawn = percent / (100 if scale.endswith("%") else 100_000)
        size = (_USUAL if letters.size is None else letters.size) * drawn
        exact = paragraph.find(f"{A}pPr/{A}lnSpc/{A}spcPts")
        line = None if exact is None else _hundredths(exact.get("val"))
        plain = Appearance(size=size, stretch=squeezed(letters.spacing or 0.0, size), background=behind, line=line)
        if letters.doubt:  # an outline or a shadow may be seen where letters are not
            return replace(plain, doubt=letters.doubt)
        paints = [Paint(TRANSPARENT)] if letters.ink == [] else letters.ink or []
        looks = [replace(plain, colour=one.colour, opacity=one.opacity) for one in paints]
        if any(one.colour is None for one in paints) or (paints and behind == UNKNOWN):
            doubt = doubt or "its colour, or the one behind it"
        seen = [one for one in looks if one.hides is None]
        if seen and len(seen) < len(looks):
            doubt = doubt or "a gradient"
        return replace((seen or looks or [plain])[0], doubt=doubt)

    def _behind_cell(self, cell: etree._Element, behind: Colour) -> Colour:
        """The colour behind the text of a cell; one without a fill of its own may have one of the table's style."""
        fill = own_fill(cell.find(A + "tcPr"), self._theme)
        if fill is not None:
            return over(fill, behind)
        table = next(cell.iterancestors(A + "tbl"), None)
        style = None if table is None else table.findtext(f"{A}tblPr/{A}tableStyleId")
        return behind if style is None or style.upper() in _WITHOUT_FILLS else UNKNOWN

    def _of_level(self, styles: etree._Element | None, level: int) -> Letters:
        paragraph = None if styles is None else styles.find(f"{A}lvl{level}pPr")
        if paragraph is None:
            return Letters()
        letters = _read_letters(paragraph.find(A + "defRPr"), self._theme)
        return letters if letters.doubt else letters._replace(doubt=_odd(paragraph, _OF_PARAGRAPH))

    def origins(self, shape: etree._Element) -> list[etree._Element]:
        """The placeholders of the layout and of the master that a shape is made from."""
        if shape not in self._origins:
            place, found = _placeholder(shape), list[etree._Element]()
            kind, number = _kind(shape), "" if place is None else place.get("idx", "0")
            for placeholders in self._placeholders if place is not None else ():
                by_number = [one for one, mark in placeholders if not found and mark.get("idx", "0") == number]
                by_kind = [one for one, _ in placeholders if _kind(one) == kind]
                found += (by_kind if kind == "title" or not by_number else by_number)[:1]
            self._origins[shape] = found
        return self._origins[shape]


def slide_theme(package: Package, parts: list[str], trees: list[etree._Element]) -> Theme:
    """The theme of a slide, by the names that its master's map of colours, or its layout's or its own, gives them."""
    names, origin = dict(USUAL_NAMES), parts[-1]
    for part, tree in reversed(list(zip(parts, trees, strict=True))):
        origin = part if package.related(part, "themeOverride") else origin
        maps = [tree.find(P + "clrMap"), tree.find(f"{P}clrMapOvr/{A}overrideClrMapping")]
        names |= {str(key): str(value) for one in maps if one is not None for key, value in one.attrib.items()}
    return read_theme(package, origin).renamed(names)


def _placeholder(shape: etree._Element) -> etree._Element | None:
    return shape.find(f"*/{P}nvPr/{P}ph")


def _kind(shape: etree._Element) -> str:
    place = _placeholder(shape)
    kind = _NO_PLACEHOLDER if place is None else place.get("type", "obj")
    return {"ctrTitle": "title", "subTitle": "body", "obj": "body"}.get(kind, kind)


def _placeholders(tree: etree._Element) -> Iterator[tuple[etree._Element, etree._Element]]:
    for mark in tree.iter(P + "ph"):
        shape = next(
            (one for one in mark.iterancestors() if local_name(one.tag) in {"sp", "pic", "graphicFrame"}), None
        )
        if shape is not None:
            yield shape, mark
