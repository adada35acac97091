"""What the styles of a page say of whether a text can be seen: a small, bounded reading of CSS.

Read are `style` attributes and, of `style` elements for the screen, the rules whose selectors are a single tag, .class
or #id each. Not read: selectors that look at more than that, other files, scripts, conditions. Where such a rule may
set colours, the colours of an element with a class or an id are unknown, and what is unknown hides nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.parse.colours import Colour, alike, background_of, colour_of

_PROPERTIES = {
    "display", "visibility", "opacity", "font-size", "font", "color", "background", "background-color",
    "background-image", "left", "top", "right", "bottom", "position", "text-indent", "margin-left", "clip", "clip-path",
    "overflow", "width", "height", "max-width", "max-height",
}  # fmt: skip
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
_SIMPLE = re.compile(r"\*|[.#]?-?[a-zA-Z_][\w-]*")
_COLOURS = re.compile(r"(?<![\w-])(?:color|background(?:-color)?)\s*:", re.IGNORECASE)
_SCREEN = re.compile(r"@media\s*(?:only\s+)?(?:screen|all)?\s*$", re.IGNORECASE)
_NO_RULES = re.compile(r"@(?:font-face|page|charset|namespace|(?:-\w+-)?keyframes|media\s+print)\b", re.IGNORECASE)
_BRACE = re.compile("[{}]")
_LONGEST = 1 << 20  # characters of a style element that are read
_LENGTH = re.compile(r"(-?(?:\d+\.?\d*|\.\d+))([a-z%]*)")
_UNITS = {"": 1.0, "px": 1.0, "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 37.8, "mm": 3.78, "rem": 16.0, "vw": 10.0,
          "vh": 8.0}  # fmt: skip
_RELATIVE = {"em": 1.0, "ex": 0.5, "ch": 0.5, "%": 0.01}
_TINY, _FAR = 1.0, -999.0  # px
_NOTHING = re.compile(r"inset\(\s*(?:50|100)%|circle\(\s*0")
_RECTANGLE = re.compile(r"rect\(\s*([^)]*)\)")

Declared = dict[str, str]  # property -> value, in lower case
_Ranked = dict[str, tuple[bool, int, str]]  # property -> whether it is important, when it was said, value


class Sheet:
    """The rules of a page's style elements, in their order."""

    def __init__(self) -> None:
        self._rules: dict[str, _Ranked] = {}
        self._said = 0
        self.colours_unread = False

    def read(self, css: str) -> None:
        """Take up the rules of one style element."""
        self.colours_unread |= len(css) > _LONGEST or "@import" in css
        for selectors, body in self._blocks(_COMMENT.sub(" ", css[:_LONGEST])):
            declared = _declarations(body)
            for selector in selectors.split(","):
                if _SIMPLE.fullmatch(selector.strip()):
                    self._add(selector.strip(), declared)
                else:
                    self.colours_unread |= _COLOURS.search(body) is not None

    def declared(self, tag: str, name: str, classes: str, style: str) -> Declared:
        """What holds for an element of this tag, id, classes and `style` attribute, by the cascade of CSS."""
        matching = [("*", 0), (tag, 1), *((f".{one}", 2) for one in classes.split()), (f"#{name}", 3)]
        found = [(self._rules[selector], rank) for selector, rank in matching if selector in self._rules]
        if style:
            found.append((_declarations(style), 4))
        winners: dict[str, tuple[bool, int, int]] = {}
        values: Declared = {}
        for ranked, rank in found:
            for name, (important, when, value) in ranked.items():
                if name not in winners or (important, rank, when) >= winners[name]:
                    winners[name], values[name] = (important, rank, when), value
        return values

    def _add(self, selector: str, declared: _Ranked) -> None:
        self._said += 1
        key = selector if selector.startswith((".", "#")) else selector.lower()
        rules = self._rules.setdefault(key, {})
        for name, (important, _, value) in declared.items():
            if important or not rules.get(name, (False,))[0]:
                rules[name] = (important, self._said, value)

    def _blocks(self, css: str) -> Iterator[tuple[str, str]]:
        """The selectors and the body of each rule."""
        place = 0
        while (begin := css.find("{", place)) >= 0:
            before = css[place:begin].replace("}", ";").rpartition(";")[2].strip()
            if _SCREEN.match(before):
                place = begin + 1
                continue
            end = _closing(css, begin)
            if not before.startswith("@"):
                yield before, css[begin + 1 : end]
            elif not _NO_RULES.match(before):
                self.colours_unread |= _COLOURS.search(css, begin, end) is not None
            place = end + 1


def _closing(css: str, begin: int) -> int:
    """The brace that closes the one at `begin`, or the end."""
    depth = 0
    for brace in _BRACE.finditer(css, begin):
        depth += 1 if brace.group() == "{" else -1
        if not depth:
            return brace.start()
    return len(css)


def _declarations(body: str) -> _Ranked:
    found: _Ranked = {}
    for one in body.split(";"):
        name, _, value = one.partition(":")
        name = name.strip().lower()
        if name in _PROPERTIES:
            value, important, _ = value.lower().partition("!")
            if important or not found.get(name, (False,))[0]:
                found[name] = (bool(important), 0, value.strip())
    return found


@dataclass(frozen=True)
class Look:
    """How text is drawn at a place: px, colours where they are known. `counted`: it is part of what was counted."""

    shown: bool = True
    size: float = 16.0
    colour: Colour | None = None
    background: Colour | None = None
    counted: bool = False

    @property
    def hides(self) -> str | None:
        """The kind of hidden text that text of its own is here, None if it can be seen."""
        if self.counted:
            return None
        if not self.shown:
            return "marked_hidden"
        if self.size <= _TINY:
            return "tiny"
        if self.colour == "transparent":
            return "invisible"
        return "same_colour" if alike(self.colour, self.background) else None

    def inside(self, declared: Declared, *, unknown: bool) -> "Look":
        """That of an element; `unknown`: rules that were not read may set its colours."""
        if not declared and not unknown:
            return self
        colour = declared.get("color", "inherit")
        colours = (None, None) if unknown else (self.colour, self.background)
        visibility = declared.get("visibility", "inherit")
        return Look(
            visibility not in {"hidden", "collapse"} if visibility != "inherit" else self.shown,
            _size(declared, self.size),
            colours[0] if colour in {"inherit", "currentcolor"} else colour_of(colour),
            background_of(declared, colours[1]),
            self.counted,
        )


def hides_all(declared: Declared, size: float) -> str | None:
    """The kind of hidden text that an element is with everything in it."""
    if not declared:
        return None
    if declared.get("display") == "none":
        return "marked_hidden"
    if (opacity := _length(declared.get("opacity", ""), 0.0)) is not None and opacity <= 0.01:
        return "invisible"
    moved = (_length(declared.get(name, ""), size) for name in ("left", "top", "right", "bottom", "margin-left"))
    indented = _length(declared.get("text-indent", ""), size)
    if any(one is not None and one <= _FAR for one in (*moved, indented)):
        return "off_page"
    return "off_page" if _is_clipped(declared, size) else None


def _is_clipped(declared: Declared, size: float) -> bool:
    if _NOTHING.search(declared.get("clip-path", "")):
        return True
    rectangle = _RECTANGLE.search(declared.get("clip", ""))
    if rectangle and declared.get("position") in {"absolute", "fixed"}:
        sides = [_length(one, size) for one in re.split(r"[\s,]+", rectangle[1].strip())]
        return all(one is not None and 0 <= one <= 1 for one in sides)
    if declared.get("overflow") not in {"hidden", "clip"}:
        return False
    lengths = (declared.get(name, "") for name in ("width", "height", "max-width", "max-height"))
    return any((one := _length(each, size)) is not None and one <= _TINY for each in lengths if "%" not in each)


def _size(declared: Declared, outer: float) -> float:
    font = declared.get("font", "").split("/")[0].split()
    value = declared.get("font-size") or next((one for one in font if one[0].isdigit() and not one.isdigit()), "")
    value = value or ("0" if "0" in font else "inherit")
    if value == "inherit":
        return outer
    size = _length(value, outer)
    return 16.0 if size is None else size


def _length(value: str, size: float) -> float | None:
    """In px; None for what is no length."""
    match = _LENGTH.fullmatch(value.strip())
    if not match:
        return None
    unit = _UNITS.get(match[2]) or _RELATIVE.get(match[2], 0.0) * size
    return float(match[1]) * unit
