"""The declarations of a rule or a `style` attribute that may touch how text is seen; shorthands become longhands.

Two tables decide: the effect of COMPUTED is computed, HARMLESS cannot matter and is not read. Any other property
that is not set to nothing puts the text that it reaches in doubt.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from pipeline.parse.css.syntax import Token, Value, paint_of, read_block, read_value, significant, split, word, words

_SIDES = ("top", "right", "bottom", "left")
SHORTHANDS = {
    "background": ("background-color", "background-image", "background-clip"),
    "font": ("font-size", "line-height", "font-family"),
    "overflow": ("overflow-x", "overflow-y"),
    "inset": _SIDES,
    "margin": tuple(f"margin-{side}" for side in _SIDES),
    "padding": tuple(f"padding-{side}" for side in _SIDES),
    **{f"{name}-inline": (f"{name}-left", f"{name}-right") for name in ("margin", "padding")},
    **{f"{name}-block": (f"{name}-top", f"{name}-bottom") for name in ("margin", "padding")},
    "inset-inline": ("left", "right"),
    "inset-block": ("top", "bottom"),
}
"""Properties that stand for others."""
INHERITED = {
    "visibility", "color", "-webkit-text-fill-color", "font-size", "line-height", "letter-spacing", "word-spacing",
    "text-indent", "white-space", "text-wrap", "text-shadow", "font-family", "direction",
}  # fmt: skip
SIZES = {"width", "height", "max-width", "max-height", "min-width", "min-height"}
MARGINS = {*SHORTHANDS["margin"]}
PADDINGS = {*SHORTHANDS["padding"]}
PAINTED = {"border", "border-width", "outline", "outline-width", "box-shadow",
           *(f"border-{side}{width}" for side in _SIDES for width in ("", "-width"))}  # fmt: skip
"""What paints more than a line around a box if it is wide."""
PLACED = {"grid-area", "grid-row", "grid-column", "grid-row-start", "grid-column-start"}
"""What puts a box where another one may be."""
COMPUTED = {
    *INHERITED, *SIZES, *MARGINS, *PADDINGS, *PAINTED, *PLACED, *_SIDES, "display", "opacity", "position", "float",
    "z-index", "box-sizing", "background-color", "background-image", "background-clip", "overflow-x", "overflow-y",
    "vertical-align", "content", "content-visibility", "font-variant-position", "text-decoration-line", "unicode-bidi",
    "border-radius",
}  # fmt: skip
HARMLESS = re.compile(
    r"-ms-|-o-|_|mso-(?!hide$)|border(?!-image)(?!$)|list-style|page|(?:column-)?break-|widows$|orphans$|transition"
    r"|animation-(?!name$|timeline)|font-(?:style|weight|stretch|kerning|synthesis|optical-sizing|feature-settings|display)"
    r"|font-variant(?!-position)|(?:osx-)?font-smoothing|text-(?:align|justify|transform|rendering|size-adjust|overflow$)"
    r"|text-(?:underline|emphasis|autospace|spacing|decoration-(?:color|style|skip))|hyphen|word-(?:break|wrap)|overflow-wrap"
    r"|line-break$|tab-stops$|quotes$|panose-1$|layout-grid|punctuation|speak|cursor$|pointer-events$|user-select$"
    r"|touch-|tap-highlight|resize$|appearance$|caret|accent-color$|outline-(?:color|style)$|overflow-(?:scrolling|anchor)"
    r"|will-change$|table-layout$|empty-cells$|caption-side$|box-(?:decoration|flex|orient|align|pack|direction|ordinal|lines)|clear$|flex|order$|justify-|align-"
    r"|place-|grid$|gap$|row-gap$|grid-(?:gap|template|auto|row-gap|column-gap)|columns?(?!-break)|size$|(?:print-|forced-)?color-adjust"
    r"|image-|interpolation|object-(?:fit|position)|background-(?:position|size|repeat|attachment|origin)|scroll|overscroll"
    r"|backface-visibility$|perspective|transform-(?:origin|style|box)|fill|stop-|flood-|clip-rule$|vector-effect$|marker"
    r"|shape-rendering$|text-anchor$|dominant-baseline$|alignment-baseline$"
    r"|isolation$|counter-|ruby-|user-modify$|src$|unicode-range$"
)
"""Beginnings of the names of properties that cannot hide what is set in their box."""
WIDE = {"inherit", "initial", "unset", "revert", "revert-layer"}
_NOTHING = {*WIDE, "none", "normal", "auto", "visible", "light"}
_NEUTRAL = {
    "zoom": {"1", "100%"},
    "scale": {"1"},
    "tab-size": {"2", "3", "4", "8"},
    "-webkit-text-stroke": {"0"},
}
"""Values that set a property to nothing."""
TAKING = re.compile(r"clip|mask|mso-hide|contain|line-clamp|block-ellipsis|max-lines|text-security|overflow")
"""Beginnings of the names of properties that may take text away, but bring none back."""
_AXES = {"inline-start": "left", "inline-end": "right", "block-start": "top", "block-end": "bottom"}
_ALIASES = {
    **{f"{name}-{end}": f"{name}-{side}" for name in ("margin", "padding") for end, side in _AXES.items()},
    **{f"inset-{end}": side for end, side in _AXES.items()},
    **{f"{least}{size}": least + its for least in ("", "min-", "max-") for size, its in
       (("inline-size", "width"), ("block-size", "height"))},
    "overflow-inline": "overflow-x", "overflow-block": "overflow-y", "text-decoration": "text-decoration-line",
    "text-wrap-mode": "text-wrap",
    **{f"border-{corner}-radius": "border-radius" for corner in
       ("top-left", "top-right", "bottom-left", "bottom-right", "start-start", "start-end", "end-start", "end-end")},
}  # fmt: skip
_PREFIX = re.compile(r"-(?:webkit|moz|khtml)-(?!text-(?:fill-color|stroke))")
CUTTING = {"hidden", "clip", "scroll", "auto", "overlay"}
"""Values of `overflow` with which a box shows no more than it has room for."""
_KEYWORDS = {
    "visibility": {"visible", "hidden", "collapse"},
    "position": {"static", "relative", "absolute", "fixed", "sticky", "-webkit-sticky"},
    "content-visibility": {"visible", "hidden", "auto"},
    "float": {"left", "right", "none", "inline-start", "inline-end"},
    "direction": {"ltr", "rtl"},
    "unicode-bidi": {"normal", "embed", "isolate", "bidi-override", "isolate-override", "plaintext"},
    "display": {
        "none", "block", "inline", "inline-block", "flex", "inline-flex", "grid", "inline-grid", "table", "table-row",
        "table-cell", "table-caption", "table-column", "table-column-group", "table-row-group", "table-header-group",
        "table-footer-group", "inline-table", "list-item", "contents", "flow-root", "flow", "ruby", "ruby-base",
        "ruby-text", "run-in", "math", "-webkit-box", "-webkit-inline-box", "-webkit-flex", "-webkit-inline-flex",
    },
    **{name: {"visible", *CUTTING} for name in ("overflow", "overflow-x", "overflow-y")},
}  # fmt: skip
_COLOURS = {"color", "-webkit-text-fill-color", "background-color"}
_SYSTEM = {"canvas", "canvastext", "linktext", "visitedtext", "activetext", "buttonface", "buttontext", "field",
           "fieldtext", "highlight", "highlighttext", "graytext", "mark", "marktext", "window", "windowtext",
           "currentcolor"}  # fmt: skip
_LENGTHS = {*SIZES, *MARGINS, *PADDINGS, *_SIDES, "font-size", "letter-spacing", "text-indent"}
_POSITIVE = {*SIZES, *PADDINGS, "font-size"}
_SIZE_WORDS = {"auto", "none", "normal", "min-content", "max-content", "fit-content", "stretch", "smaller", "larger",
               "xx-small", "x-small", "small", "medium", "large", "x-large", "xx-large", "xxx-large",
               "-webkit-fill-available", "-moz-fit-content"}  # fmt: skip
_SIGNED = {"number", "percentage", "dimension"}
_SIMPLE = re.compile(r"[^\"'\\{}\[\]@/]*")
_NAME = re.compile(r"\s*(-?-?[a-zA-Z][\w-]*)\s*")
PICTURE = {"url", "function"}


class Declared(NamedTuple):
    """A declared value, with its place in the order of the page's styles, and whether it depends on variables."""

    order: int
    value: Value
    varies: bool


class Block(NamedTuple):
    """The declarations of a block by property, and those that are marked as important."""

    normal: dict[str, Declared]
    important: dict[str, Declared]


def read_declarations(nodes: Sequence[Token], order: int = 0) -> Block:
    """The declarations among what a block holds; the last of a property stands, invalid ones are passed over."""
    block = Block({}, {})
    for node in nodes:
        if node.type == "declaration":
            name = node.name if node.name.startswith("--") else node.lower_name
            declare(block, name, significant(node.value), important=node.important, order=order)
    return block


@lru_cache(4096)
def read_style(text: str) -> Block:
    """The declarations of a `style` attribute."""
    if not _SIMPLE.fullmatch(text) or "url(" in text.lower():
        return read_declarations(read_block(text))
    block = Block({}, {})
    for one in text.split(";"):
        name, _, value = one.partition(":")
        if match := _NAME.fullmatch(name):
            plain, mark, important = value.partition("!")
            if not mark or important.strip().lower() == "important":
                name = match[1] if match[1].startswith("--") else match[1].lower()
                if read_as(name):
                    declare(block, name, cached_value(plain), important=bool(mark))
    return block


@lru_cache(4096)
def cached_value(text: str) -> Value:
    """The tokens of a value that is likely to come again."""
    return read_value(text)


@lru_cache(4096)
def read_as(name: str) -> str:
    """The property that stands for one of whatever prefix or direction; "" for one that cannot matter."""
    if name.startswith("--"):
        return name
    name = _PREFIX.sub("", name)
    name = _ALIASES.get(name, name)
    return name if name in COMPUTED or name in SHORTHANDS or not HARMLESS.match(name) else ""


def declare(block: Block, name: str, value: Value, *, important: bool = False, order: int = 0) -> None:
    """Add a declaration to a block if browsers take it."""
    name = read_as(name)
    if not name:
        return
    varies = _varies(value, 0)
    if varies or name.startswith("--") or _is_valid(name, value):
        holder = block.important if important else block.normal
        for longhand in SHORTHANDS.get(name, ()):
            holder.pop(longhand, None)
        holder.pop(name, None)  # so that what is said later comes later
        holder[name] = Declared(order, value, varies)


def _varies(value: Sequence[Token], depth: int) -> bool:
    for token in value:
        if token.type == "function":
            if token.lower_name in {"var", "env"} or (depth < 20 and _varies(token.arguments, depth + 1)):
                return True
        elif token.type.endswith("block") and depth < 20 and _varies(token.content, depth + 1):
            return True
    return False


def _is_valid(name: str, value: Value) -> bool:
    """Whether browsers take a value; where they do not, the one said before it stands."""
    if not value:
        return False
    keyword = word(value)
    if keyword in WIDE:
        return True
    if name in _KEYWORDS:
        return all(token.type == "ident" and token.lower_value in _KEYWORDS[name] for token in value)
    if name in _COLOURS:
        return len(value) == 1 and (keyword in _SYSTEM or value[0].type == "function" or paint_of(value[0]) is not None)
    if name == "filter":  # of Internet Explorer
        return word(value[:1]) != "progid" and not any(getattr(token, "lower_name", "") == "alpha" for token in value)
    if name in {"opacity", "z-index"}:
        return len(value) == 1 and (value[0].type in {"number", "percentage", "function"} or keyword == "auto")
    if name in _LENGTHS:
        below = name in _POSITIVE and value[0].type in _SIGNED and value[0].value < 0
        known = value[0].type in _SIGNED or value[0].type == "function"
        return not below and (known or keyword in _SIZE_WORDS)
    return True


def odd(values: Mapping[str, Value]) -> list[str]:
    """The properties whose effect is not computed, and that are not set to nothing."""
    return [name for name, value in values.items() if name not in COMPUTED and not _is_nothing(name, value)]


def _is_nothing(name: str, value: Value) -> bool:
    if name in {"color-scheme", "supported-color-schemes"}:
        return "dark" not in words(value) or "light" in words(value)
    return all(token.serialize().lower() in _NOTHING | _NEUTRAL.get(name, set()) for token in value)


def longhands(name: str, value: Value | None) -> dict[str, Value]:
    """The longhands of a shorthand with their values, () for one that the value resets; all of them for None."""
    if name == "all":
        return dict.fromkeys(COMPUTED, value or ())
    names = SHORTHANDS[name]
    if value is None or word(value) in WIDE:
        return dict.fromkeys(names, value or ())
    if name in {"background", "font"}:
        return _background(value) if name == "background" else _font(value)
    parts = [(token,) for token in value[: len(names)]]
    if len(names) == 2:
        return dict(zip(names, [parts[0], parts[-1]], strict=True))
    top, right, bottom, left = (parts * 4)[:4] if len(parts) != 3 else (*parts, parts[1])
    return dict(zip(names, (top, right, bottom, left), strict=True))


def _background(value: Value) -> dict[str, Value]:
    layers = split(value)
    pictures = tuple(one for layer in layers for one in layer if one.type in PICTURE and not _is_colour(one))
    colour = tuple(one for one in layers[-1] if _is_colour(one))[:1]
    clip = tuple(one for one in layers[-1] if word((one,)) == "text")
    return {"background-color": colour, "background-image": pictures, "background-clip": clip}


def _is_colour(token: Token) -> bool:
    if token.type == "function" and "gradient" not in token.lower_name:
        return not re.match(r"(?:-webkit-)?(?:url|image|cross-fade|element|paint|src)", token.lower_name)
    return word((token,)) in _SYSTEM or paint_of(token) is not None


def _font(value: Value) -> dict[str, Value]:
    """The size is the first length, or a word for one; the height of lines follows a slash, then come the families."""
    for place, token in enumerate(value):
        zero = token.type == "number" and token.value == 0
        sized = word((token,)) in _SIZE_WORDS - {"normal", "auto", "none"}
        if zero or sized or token.type in {"dimension", "percentage", "function"}:
            after = value[place + 1 : place + 3]
            slashed = len(after) == 2 and after[0] == "/"
            families = value[place + 3 if slashed else place + 1 :]
            return {"font-size": (token,), "line-height": after[1:] if slashed else (), "font-family": families}
    return {}
