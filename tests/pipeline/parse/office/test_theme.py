"""Colours of Office documents, from what they are made of."""

import pytest
from lxml import etree

from pipeline.parse.office.drawing.theme import Theme, is_opaque, over, own_fill
from pipeline.parse.sight.colours import BLACK, RGB, WHITE, Paint

A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
W14 = 'xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"'
THEME = Theme({"lt1": WHITE, "dk1": BLACK, "accent1": (79, 129, 189)}).renamed({"bg1": "lt1", "tx1": "dk1"})


def paint(inner: str) -> Paint:
    return THEME.paint(etree.fromstring(f"<a:solidFill {A} {W14}>{inner}</a:solidFill>"))


@pytest.mark.parametrize(
    ("inner", "colour"),
    [
        ("<a:srgbClr val='4F81BD'/>", (79, 129, 189)),
        ("<a:schemeClr val='bg1'/>", WHITE),
        ("<a:schemeClr val='accent1'/>", (79, 129, 189)),
        ("<a:schemeClr val='accent9'/>", None),
        ("<a:schemeClr val='phClr'/>", None),
        ("<a:sysClr val='window'/>", WHITE),
        ("<a:sysClr val='window' lastClr='102030'/>", (16, 32, 48)),
        ("<a:prstClr val='white'/>", WHITE),
        ("<a:prstClr val='none such'/>", None),
        ("<a:scrgbClr r='100000' g='0' b='0'/>", (255, 0, 0)),
        ("<a:scrgbClr r='100%' g='0%' b='0%'/>", (255, 0, 0)),
        ("<a:hslClr hue='7200000' sat='100%' lum='50%'/>", (0, 255, 0)),
        ("<a:schemeClr val='bg1'><a:lumMod val='50000'/></a:schemeClr>", (128, 128, 128)),
        ("<a:schemeClr val='tx1'><a:lumMod val='50000'/><a:lumOff val='50000'/></a:schemeClr>", (128, 128, 128)),
        ("<a:schemeClr val='accent1'><a:satMod val='0'/></a:schemeClr>", (134, 134, 134)),
        ("<a:schemeClr val='accent1'><a:tint val='0'/></a:schemeClr>", WHITE),
        ("<a:schemeClr val='accent1'><a:shade val='0'/></a:schemeClr>", BLACK),
        ("<a:schemeClr val='accent1'><a:hueOff val='600000'/></a:schemeClr>", None),
        ("<a:srgbClr val='FFFFFF'><a:lumMod val='nan'/></a:srgbClr>", None),
        ("<a:srgbClr val='FFFFFF'><a:lumMod val='1e999'/></a:srgbClr>", None),
        ("<a:srgbClr val='FFFFF'/>", None),
        ("<a:srgbClr/>", None),
        ("", None),
    ],
)
def test_what_a_colour_is(inner: str, colour: RGB | None) -> None:
    assert paint(inner).colour == colour


@pytest.mark.parametrize(
    ("inner", "opacity"),
    [
        ("<a:srgbClr val='000000'/>", 1.0),
        ("<a:srgbClr val='000000'><a:alpha val='25000'/></a:srgbClr>", 0.25),
        ("<a:srgbClr val='000000'><a:alpha val='50%'/><a:alphaMod val='50000'/></a:srgbClr>", 0.25),
        ("<a:srgbClr val='000000'><a:alpha val='20000'/><a:alphaOff val='-50000'/></a:srgbClr>", 0.0),
        ("<w14:srgbClr w14:val='000000'><w14:alpha w14:val='75000'/></w14:srgbClr>", 0.25),  # Word counts the other way
    ],
)
def test_how_opaque_it_is(inner: str, opacity: float) -> None:
    assert paint(inner).opacity == pytest.approx(opacity)


def test_fills_lie_over_what_is_behind_them() -> None:
    def fill(inner: str) -> list[Paint] | None:
        return own_fill(etree.fromstring(f"<a:spPr {A}>{inner}</a:spPr>"), THEME)

    half = fill("<a:solidFill><a:srgbClr val='000000'><a:alpha val='50000'/></a:srgbClr></a:solidFill>")
    stops = "<a:gs><a:srgbClr val='{}'/></a:gs><a:gs><a:srgbClr val='000000'/></a:gs>"
    stops = f"<a:gradFill><a:gsLst>{stops}</a:gsLst></a:gradFill>"
    assert fill("") is None
    assert over(fill("<a:noFill/>"), WHITE) == WHITE
    assert over(half, WHITE) == (128, 128, 128)
    assert over(half, "unknown") == "unknown"
    assert over(fill(stops.format("000000")), WHITE) == BLACK
    assert over(fill(stops.format("FFFFFF")), WHITE) == "unknown"
    assert over(fill("<a:blipFill/>"), WHITE) == "unknown"
    assert [is_opaque(one) for one in (fill(""), fill("<a:noFill/>"), half, fill("<a:blipFill/>"))] == [False] * 4
    assert is_opaque(fill(stops.format("FFFFFF")))
