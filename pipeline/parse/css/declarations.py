"""The declarations of a rule or a `style` attribute that decide whether text is seen; shorthands become longhands."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from pipeline.parse.css.syntax import Token, Value, colour_and_alpha, read_block, read_value, significant, split, word

SHORTHANDS = {
    "background": ("background-color", "background-image", "background-clip"),
    "font": ("font-size", "line-height", "font-family"),
    "overflow": ("overflow-x", "overflow-y"),
    "inset": ("top", "right", "bottom", "left"),
    "margin": ("margin-top", "margin-right", "margin-bottom", "margin-left"),
    "padding": ("padding-top", "padding-right", "padding-bottom", "padding-left"),
    "animation": ("animation-name", "animation-fill-mode", "animation-iteration-count"),
    "mask": ("mask-image",),
    "text-decoration": ("text-decoration-line",),
}
"""Properties that stand for others."""
INHERITED = {"visibility", "color", "-webkit-text-fill-color", "font-size", "line-height", "letter-spacing",
             "text-indent", "white-space", "text-shadow", "fill", "fill-opacity", "-webkit-text-stroke",
             "-webkit-text-stroke-width", "font-family", "direction"}  # fmt: skip
PROPERTIES = {
    *SHORTHANDS, *(one for each in SHORTHANDS.values() for one in each), *INHERITED,
    "display", "opacity", "position", "clip", "clip-path", "width", "height", "max-width", "max-height", "min-width",
    "min-height", "transform", "scale", "translate", "rotate", "zoom", "filter", "content-visibility", "z-index",
    "mix-blend-mode", "isolation", "float", "color-scheme", "all", "vertical-align", "font-variant-position",
    "unicode-bidi", "content",
}  # fmt: skip
_PREFIXED = ("transform", "filter", "clip-path", "mask", "mask-image", "animation", "animation-name", "opacity",
             "animation-fill-mode", "animation-iteration-count", "background-clip")  # fmt: skip
_ALIASES = {f"-webkit-{name}": name for name in _PREFIXED}
WIDE = {"inherit", "initial", "unset", "revert", "revert-layer"}
_KEYWORDS = {
    "visibility": {"visible", "hidden", "collapse"},
    "position": {"static", "relative", "absolute", "fixed", "sticky", "-webkit-sticky"},
    "content-visibility": {"visible", "hidden", "auto"},
    "float": {"left", "right", "none", "inline-start", "inline-end"},
    "isolation": {"auto", "isolate"},
    "direction": {"ltr", "rtl"},
    "unicode-bidi": {"normal", "embed", "isolate", "bidi-override", "isolate-override", "plaintext"},
    "display": {
        "none", "block", "inline", "inline-block", "flex", "inline-flex", "grid", "inline-grid", "table", "table-row",
        "table-cell", "table-caption", "table-column", "table-column-group", "table-row-group", "table-header-group",
        "table-footer-group", "inline-table", "list-item", "contents", "flow-root", "flow", "ruby", "ruby-base",
        "ruby-text", "run-in", "math", "-webkit-box", "-webkit-inline-box", "-webkit-flex", "-webkit-inline-flex",
    },
    "overflow-x": {"visible", "hidden", "clip", "scroll", "auto", "overlay"},
    "overflow-y": {"visible", "hidden", "clip", "scroll", "auto", "overlay"},
    "overflow": {"visible", "hidden", "clip", "scroll", "auto", "overlay"},
}  # fmt: skip
_COLOURS = {"color", "-webkit-text-fill-color", "background-color"}
_SIZES = {"width", "height", "max-width", "max-height", "min-width", "min-height", "top", "right", "bottom", "left",
          "font-size", "letter-spacing", "text-indent", "margin-top", "margin-right", "margin-bottom", "margin-left",
          "padding-top", "padding-right", "padding-bottom", "padding-left"}  # fmt: skip
_SYSTEM = {"canvas", "canvastext", "linktext", "visitedtext", "activetext", "buttonface", "buttontext", "field",
           "fieldtext", "highlight", "highlighttext", "graytext",
           "mark", "marktext", "window", "windowtext"}  # fmt: skip
_SIZE_WORDS = {"auto", "none", "normal", "min-content", "max-content", "fit-content", "stretch", "smaller", "larger",
               "xx-small", "x-small", "small", "medium", "large", "x-large", "xx-large", "xxx-large",
               "-webkit-fill-available", "-moz-fit-content"}  # fmt: skip
_POSITIVE = {one for one in _SIZES if one.startswith(("width", "height", "max-", "min-", "font-size", "padding"))}
_SIGNED = {"number", "percentage", "dimension"}
_NUMERIC = {*_SIGNED, "function", "ident"}
_RELEVANT = re.compile("|".join(sorted({*(one.split("-")[0] for one in PROPERTIES), "webkit", "--", r"\\"})), re.I)
_SIMPLE = re.compile(r"[^\"'\\{}\[\]@/]*")
_NAME = re.compile(r"\s*(-?-?[a-zA-Z][\w-]*)\s*")


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
            _declare(block, name, significant(node.value), node.important, order)
    return block


@lru_cache(4096)
def read_style(text: str) -> Block:
    """The declarations of a `style` attribute."""
    if not _RELEVANT.search(text):
        return Block({}, {})
    if not _SIMPLE.fullmatch(text) or "url(" in text.lower():
        return read_declarations(read_block(text))
    block = Block({}, {})
    for one in text.split(";"):
        name, _, value = one.partition(":")
        if match := _NAME.fullmatch(name):
            plain, mark, important = value.partition("!")
            if not mark or important.strip().lower() == "important":
                name = match[1] if match[1].startswith("--") else match[1].lower()
                if is_read(name):
                    _declare(block, name, _cached_value(plain), bool(mark), 0)
    return block


@lru_cache(4096)
def _cached_value(text: str) -> Value:
    return read_value(text)


def declare(block: Block, name: str, text: str) -> None:
    """Add what an attribute of markup says as a declaration."""
    _declare(block, name, _cached_value(text), False, 0)


def is_read(name: str) -> bool:
    """Whether a property decides on what is seen, or is a variable."""
    return name in PROPERTIES or name.startswith("--") or name in _ALIASES


def _declare(block: Block, name: str, value: Value, important: bool, order: int) -> None:
    name = _ALIASES.get(name, name)
    if not is_read(name):
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
        known = keyword == "currentcolor" or value[0].type == "function" or colour_and_alpha(value[0]) is not None
        return len(value) == 1 and (known or bool(keyword and keyword in _SYSTEM))
    if name in {"opacity", "fill-opacity", "zoom", "z-index"}:
        return len(value) == 1 and (
            value[0].type in {"number", "percentage", "function"} or keyword in {"auto", "normal"}
        )
    if name in _SIZES:
        below = name in _POSITIVE and value[0].type in _SIGNED and value[0].value < 0
        return value[0].type in _NUMERIC and not below and (keyword == "" or keyword in _SIZE_WORDS)
    return True


_PLAY = {"running", "paused", "none", "forwards", "backwards", "both", "normal", "reverse", "alternate", "infinite",
         "alternate-reverse", "ease", "ease-in", "ease-out", "ease-in-out", "linear", "step-start",
         "step-end"}  # fmt: skip
_PICTURE = {"url", "function"}


def longhands(name: str, value: Value | None) -> dict[str, Value]:
    """The longhands of a shorthand with their values, () for one that the value resets; all of them for None."""
    if name == "all":
        return dict.fromkeys(PROPERTIES - set(SHORTHANDS) - {"all"}, value or ())
    names = SHORTHANDS[name]
    if value is None or word(value) in {"inherit", "initial", "unset", "revert", "revert-layer"}:
        return dict.fromkeys(names, value or ())
    if name in {"margin", "padding", "inset"}:
        return dict(zip(names, _four(value), strict=True))
    if name == "overflow":
        return {"overflow-x": value[:1], "overflow-y": value[1:2] or value[:1]}
    if name == "mask":
        return {"mask-image": tuple(token for token in value if token.type in _PICTURE)}
    if name == "text-decoration":
        return {"text-decoration-line": value}
    return {"background": _background, "font": _font, "animation": _animation}[name](value)


def _four(value: Value) -> list[Value]:
    """Top, right, bottom and left of one to four values."""
    parts = [(token,) for token in value[:4]]
    top, right, bottom, left = (parts * 4)[:4] if len(parts) == 1 else (*parts, *parts)[:4]
    if len(parts) == 2:
        bottom, left = top, right
    elif len(parts) == 3:
        left = right
    return [top, right, bottom, left]


def _background(value: Value) -> dict[str, Value]:
    layers = split(value)
    pictures = tuple(one for layer in layers for one in layer if one.type in _PICTURE and not _is_colour(one))
    colour = tuple(one for one in layers[-1] if _is_colour(one))[:1]
    clip = tuple(one for one in layers[-1] if one.type == "ident" and one.lower_value == "text")
    return {"background-color": colour, "background-image": pictures, "background-clip": clip}


def _is_colour(token: Token) -> bool:
    return (
        word((token,)) in {"currentcolor", "canvas"}
        or colour_and_alpha(token) is not None
        or (token.type == "function" and token.lower_name in {"light-dark", "color-mix", "color-contrast"})
    )


def _font(value: Value) -> dict[str, Value]:
    """The size is the first length, or a word for one; the height of lines follows a slash, then come the families."""
    words = {"xx-small", "x-small", "small", "medium", "large", "x-large", "xx-large", "smaller", "larger"}
    for place, token in enumerate(value):
        zero = token.type == "number" and token.value == 0
        if zero or token.type in {"dimension", "percentage", "function"} or word((token,)) in words:
            after = value[place + 1 : place + 3]
            slashed = len(after) == 2 and after[0].type == "literal" and after[0].value == "/"
            families = value[place + 3 if slashed else place + 1 :]
            return {"font-size": (token,), "line-height": after[1:] if slashed else (), "font-family": families}
    return {}


def _animation(value: Value) -> dict[str, Value]:
    idents = [token for token in value if token.type in {"ident", "string"}]
    names = tuple(token for token in idents if token.value.lower() not in _PLAY)
    return {"animation-name": names, "animation-fill-mode": tuple(idents), "animation-iteration-count": tuple(idents)}
