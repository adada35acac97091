"""The fills of shapes (ISO/IEC 29500-1, 20.1.8): one colour, nothing, or something that cannot be told from here."""

from lxml import etree

from pipeline.parse.look.colours import Colour, mixed
from pipeline.parse.markup.reading import local_name, whole_number
from pipeline.parse.office.drawing.theme import Paint, Theme

UNKNOWN = "unknown"
"""The colour behind a text where it cannot be told; no text has this colour."""
_FILLS = {"noFill", "solidFill", "gradFill", "blipFill", "pattFill", "grpFill"}
_BACKGROUNDS = 1001  # from which number on a fill of the theme is one for backgrounds

Fill = list[Paint]
"""The paints of a fill: none for no fill, one for each stop of a gradient, UNCLEAR for pictures and patterns."""
UNCLEAR = Paint(None, 0.0)
"""The paint whose colour is not known, nor how much shines through it."""


def own_fill(properties: etree._Element | None, theme: Theme) -> Fill | None:
    """The fill among the properties of a shape, of letters, of a cell; None where they say nothing of it."""
    holders = () if properties is None else properties
    fill = next((child for child in holders if local_name(child.tag) in _FILLS), None)
    return None if fill is None else _read(fill, theme, None)


def shape_fill(shape: etree._Element, theme: Theme) -> Fill | None:
    """The fill of a shape: its own, else that of its style; None where neither says one."""
    found = own_fill(next(shape.iterchildren("{*}spPr", "{*}grpSpPr"), None), theme)
    reference = shape.find("{*}style/{*}fillRef")
    return styled_fill(reference, theme) if found is None and reference is not None else found


def styled_fill(reference: etree._Element, theme: Theme) -> Fill:
    """The fill of the theme that an element refers to by number, in the colour that it says."""
    number = whole_number(reference.get("idx"), 0)
    if number in {0, _BACKGROUNDS - 1}:
        return []
    fills = theme.fills if number < _BACKGROUNDS else theme.backgrounds
    place = (number - 1) % (_BACKGROUNDS - 1)
    return _read(fills[place], theme, theme.paint(reference)) if place < len(fills) else [UNCLEAR]


def over(fill: Fill | None, behind: Colour) -> Colour:
    """The colour behind a text whose fill lies over another colour; UNKNOWN where it is not one known colour."""
    if not fill:
        return behind
    colours = {one.colour if one.opacity >= 1 else mixed(one.colour, behind, one.opacity) for one in fill}
    return (colours.pop() if len(colours) == 1 else None) or UNKNOWN


def is_opaque(fill: Fill | None) -> bool:
    """Whether a fill hides what it lies over."""
    return bool(fill) and all(one.opacity >= 1 for one in fill or ())


def _read(fill: etree._Element, theme: Theme, around: Paint | None) -> Fill:
    name = local_name(fill.tag)
    if name == "noFill":
        return []
    if name == "solidFill":
        return [theme.paint(fill, around)]
    stops = [theme.paint(stop, around) for stop in fill.iter("{*}gs")] if name == "gradFill" else []
    return stops or [UNCLEAR]
