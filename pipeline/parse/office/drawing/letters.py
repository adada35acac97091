"""How the letters of DrawingML look (ISO/IEC 29500-1, 21.1.2.3), as runs, lists of styles and placeholders say it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from lxml import etree

from pipeline.parse.look.appearance import Appearance
from pipeline.parse.look.colours import TRANSPARENT, Colour
from pipeline.parse.markup.reading import whole_number
from pipeline.parse.office.drawing.fills import Fill, own_fill
from pipeline.parse.office.drawing.theme import Paint, Theme

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_LETTER = 0.5  # the usual width of letters, in heights of their font
_USUAL = 18.0  # points
_RELIEF = {A + name for name in ("outerShdw", "innerShdw", "prstShdw", "glow", "fillOverlay")}


class Letters(NamedTuple):
    """The looks that a document states for letters; None where it states none. `size` and `spacing` (beside each
    letter) are in points.

    `line` is drawn around them, `marker` behind them; `relief`: their shadow or glow.
    """

    size: float | None = None
    spacing: float | None = None
    ink: Fill | None = None
    line: Fill | None = None
    marker: Fill | None = None
    relief: Fill | None = None


def read_letters(properties: etree._Element | None, theme: Theme) -> Letters:
    """The looks that properties of a run (a:rPr, a:defRPr) state; a link has the theme's colour for links."""
    if properties is None:
        return Letters()
    marker = properties.find(A + "highlight")
    ink = own_fill(properties, theme)
    link = theme.colour("hlink") if properties.find(A + "hlinkClick") is not None else None
    effects = properties.find(A + "effectLst")
    line = properties.find(A + "ln")
    return Letters(
        _hundredths(properties.get("sz")),
        _hundredths(properties.get("spc")),
        ink if link is None else [Paint(link)],
        None if line is None else own_fill(line, theme),
        None if marker is None else [theme.paint(marker)],
        None if effects is None else [theme.paint(one) for one in effects if one.tag in _RELIEF],
    )


def inherited(said: Iterable[Letters]) -> Letters:
    """The looks that hold where several, the nearest first, state some: each field from the first that states it."""
    found = Letters()
    for one in said:
        found = Letters._make(other if own is None else own for own, other in zip(found, one, strict=True))
    return found


def hides(letters: Letters, behind: Colour, scale: float) -> str | None:
    """How letters in front of a colour are hidden, if they are; they are drawn `scale` times as large as they say."""
    size = (_USUAL if letters.size is None else letters.size) * scale
    stretch = max(0.0, 1 + min(letters.spacing or 0.0, 0.0) / (size * _LETTER)) if size else None
    plain = Appearance(size=size, stretch=stretch, background=behind)
    if plain.hides or letters.ink is None:
        return plain.hides
    paints = [*letters.ink, *(letters.line or []), *(letters.relief or [])] or [Paint(TRANSPARENT)]
    kinds = [replace(plain, colour=paint.colour, opacity=paint.opacity).hides for paint in paints]
    return kinds[0] if all(kinds) else None


def scale_of(body: etree._Element) -> float:
    """How large the text of a body is drawn, where it was made smaller to fit (a:normAutofit)."""
    fitted = body.find(f"{A}bodyPr/{A}normAutofit")
    scale = "" if fitted is None else fitted.get("fontScale", "")
    percent = whole_number(scale.removesuffix("%").partition(".")[0], 100_000)
    return percent / (100 if scale.endswith("%") else 100_000)


def _hundredths(text: str | None) -> float | None:
    digits = (text or "").removeprefix("-")
    number = whole_number(digits, -1)
    return None if number < 0 else (-number if digits != text else number) / 100
