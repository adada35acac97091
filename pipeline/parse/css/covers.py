"""Elements that lie over all else in the box around them, and hide what they cover."""

from collections.abc import Callable
from dataclasses import replace

from lxml import etree

from pipeline.parse.css.cascade import Values, keyword
from pipeline.parse.css.look import Look
from pipeline.parse.css.paint import background
from pipeline.parse.css.syntax import word
from pipeline.parse.css.values import Measure, number

_MOST = 200  # elements in a box that are looked at
_COVERS = 100  # that are looked for on a page
_SCREEN = 2000  # characters of a page that fit into a window
_WIDE, _HIGH = 1280.0, 800.0  # px


class Covers:
    """The covers of a page: elements that are absolutely placed, as large as the box around them, and opaque."""

    def __init__(self, values_of: Callable[[etree._Element, Look], Values]) -> None:
        self._values_of = values_of
        self._found: dict[etree._Element, int] = {}  # a cover, and its z-index

    def applied(self, element: etree._Element, values: Values, look: Look) -> Look:
        """The look inside an element, covered where an element beside or in it lies over it."""
        if element in self._found:
            return replace(look, covered=False)
        layer = _layer(values) if keyword(values, "position") not in {"", "static"} else None
        if look.covered and layer is not None and self._is_above(element, layer):
            look = replace(look, covered=False)
        if keyword(values, "position") in {"relative", "absolute", "fixed"} or _is_short_page(element):
            for child in element[:_MOST]:
                if self._is_cover(child, look):
                    return replace(look, covered=True)
        return look

    def _is_above(self, element: etree._Element, layer: int) -> bool:
        """Whether a placed element lies over the cover that is beside it or one of those around it."""
        around = {element, *element.iterancestors()}
        for cover, its in self._found.items():
            beside = next((one for one in around if one.getparent() is cover.getparent()), None)
            if beside is not None and (layer < its or (layer == its and _is_before(beside, cover))):
                return False
        return True

    def _is_cover(self, element: etree._Element, outer: Look) -> bool:
        if element in self._found or len(self._found) >= _COVERS:
            return element in self._found
        if "style" not in element.attrib and "class" not in element.attrib and "id" not in element.attrib:
            return False
        values = self._values_of(element, outer)
        if keyword(values, "position") != "absolute" or not _is_full(values) or not _is_opaque(values, outer):
            return False
        layer = _layer(values)
        if layer >= 0:
            self._found[element] = layer
        return layer >= 0


def _is_before(one: etree._Element, other: etree._Element) -> bool:
    return any(sibling is other for sibling in one.itersiblings())


def _is_short_page(element: etree._Element) -> bool:
    return element.tag == "body" and len("".join(element.itertext())) <= _SCREEN


def _layer(values: Values) -> int:
    found = number(values["z-index"][0]) if "z-index" in values else None
    return 0 if found is None else int(found)


def _is_full(values: Values) -> bool:
    """Whether an element of these values reaches from one edge of the box around it to the other, both ways."""
    return all(
        _reaches(values, *names) for names in (("left", "right", "width", _WIDE), ("top", "bottom", "height", _HIGH))
    )


def _reaches(values: Values, begin: str, end: str, size: str, whole: float) -> bool:
    measure = Measure(16.0, whole)
    first, last, length = (measure.length(values.get(name, ())) for name in (begin, end, size))
    if first is None or first > 0:
        return False
    return (last is not None and last <= 0 and length is None) or (length is not None and length + first >= whole)


def _is_opaque(values: Values, outer: Look) -> bool:
    opacity = number(values["opacity"][0]) if "opacity" in values else 1.0
    hidden = word(values.get("display", ())) == "none" or keyword(values, "visibility") in {"hidden", "collapse"}
    odd = {"transform", "filter", "clip-path", "mask-image", "mix-blend-mode", "pointer-events"} & set(values)
    return opacity == 1 and not hidden and not odd and background(values, None, outer.colour)[1]
