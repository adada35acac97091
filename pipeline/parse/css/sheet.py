"""The rules of all style sheets of a page in their order, with layers, conditions and nesting resolved.

Rules of which it cannot be told whether they hold, such as those of `@container`, are kept as `unsure`.
"""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote_to_bytes

from pipeline.parse.css.conditions import on_screen, supported
from pipeline.parse.css.declarations import Block, read_as, read_declarations
from pipeline.parse.css.selectors import Selector, compile_list
from pipeline.parse.css.syntax import Token, read_block, read_sheet, significant, split

LONGEST = 1 << 20
"""Characters of style sheets that are read of a page."""
_MOST = 20_000  # rules, those of one tag, class or id counted together
_DEEPEST = 30  # rules within rules
_UNLAYERED = float("inf")
_DATA = re.compile(r"data:[^,]*,", re.IGNORECASE)
_NO_RULES = {"page", "counter-style", "font-feature-values", "font-palette-values", "namespace", "charset",
             "view-transition", "position-try", "keyframes", "-webkit-keyframes", "-moz-keyframes",
             "-o-keyframes"}  # fmt: skip
"""At-rules that declare nothing of an element; what an animation does is not computed wherever it is used."""
Layer = tuple[float, ...]
"""Places of the layer and of those around it in the order of their names; infinity comes after all layers."""


@dataclass
class Rule:
    """The declarations of one selector; `layer` orders them before its specificity does. `unsure` is the condition of
    which it cannot be told whether it holds, "" for none."""

    selector: Selector
    layer: Layer
    block: Block
    unsure: str = ""

    def __len__(self) -> int:
        return len(self.block.normal) + len(self.block.important)

    def add(self, block: Block) -> None:
        """Take up what the same selector declares later."""
        for holder, more in zip(self.block, block, strict=True):
            for name, declared in more.items():
                holder.pop(name, None)
                holder[name] = declared


@dataclass(frozen=True)
class _Around:
    """The layers, selectors and unsure condition around a rule, and how deep it lies in others."""

    layers: tuple[str, ...] = ()
    selectors: tuple[Selector, ...] = ()
    unsure: str = ""
    depth: int = 0


@dataclass
class Sheets:
    """All style sheets. `unread`: one is in another file. `odd` is a rule for the whole page that is not computed."""

    rules: list[Rule] = field(default_factory=list)
    faces: set[str] = field(default_factory=set)  # families whose letters the page brings along
    unread: bool = False
    too_long: bool = False
    odd: str = ""
    _layers: dict[tuple[str, ...], int] = field(default_factory=dict)
    _known: dict[tuple[object, ...], Rule] = field(default_factory=dict)
    _read: int = 0
    _order: int = 0

    def read(self, css: str, unsure: str = "", layers: tuple[str, ...] = ()) -> None:
        """Take up one style sheet; beyond LONGEST of all nothing is read, and `too_long` says so."""
        left = LONGEST - self._read
        self.too_long |= len(css) > left
        self._read += min(len(css), left)
        self._rules(read_sheet(css[:left]), _Around(layers, unsure=unsure))

    def _rules(self, nodes: Sequence[Token], around: _Around) -> None:
        for node in nodes:
            if len(self.rules) >= _MOST or around.depth > _DEEPEST:
                self.too_long = True
                return
            if node.type == "qualified-rule":
                inside = read_block(node.content)
                if any(one.type != "declaration" or read_as(one.lower_name) for one in inside):
                    selectors = compile_list(node.prelude, around.selectors)
                    inner = replace(around, selectors=selectors, depth=around.depth + 1)
                    self._contents(inside if selectors else [], inner)
            elif node.type == "at-rule":
                self._at_rule(node, around)

    def _contents(self, inside: Sequence[Token], around: _Around) -> None:
        if around.selectors:
            self._add(inside, around)
        self._rules([one for one in inside if one.type != "declaration"], around)

    def _add(self, inside: Sequence[Token], around: _Around) -> None:
        self._order += 1
        block = read_declarations(inside, self._order)
        if not block.normal and not block.important:
            return
        layer = self._layer(around.layers)
        for selector in around.selectors:
            last, unsure = selector.compounds[0], around.unsure or selector.unsure
            plain = (last.tag, *last.names, "", *last.classes, layer, unsure)
            key = plain if selector.is_plain and not last.drawn else (id(selector), layer, unsure)
            if key in self._known:
                self._known[key].add(block)
            else:
                self._known[key] = Rule(selector, layer, Block(dict(block.normal), dict(block.important)), unsure)
                self.rules.append(self._known[key])

    def _at_rule(self, node: Token, around: _Around) -> None:
        name = node.lower_at_keyword
        inner = replace(around, depth=around.depth + 1)
        if name == "import":
            prelude = significant(node.prelude)
            css = sheet_in(address_of(prelude[0])) if len(prelude) == 1 else None
            if css is None:
                self.unread = True
            else:
                self.read(css, around.unsure, around.layers)
        elif name == "font-face":
            said = {
                one.lower_name: significant(one.value)
                for one in read_block(node.content or ())
                if one.type == "declaration"
            }
            if any(address_of(one).lower().startswith("data:") for one in said.get("src", ())):
                self.faces.add(" ".join(str(getattr(one, "value", "")) for one in said.get("font-family", ())).lower())
        elif name == "property":
            self.odd = "@property"
        elif name == "layer":
            self._layered(node, inner)
        elif name not in _NO_RULES and node.content is not None:
            judge = {"media": on_screen, "supports": supported}.get(name)
            holds = judge(node.prelude) if judge else None
            if holds is not False:
                unsure = around.unsure if holds else around.unsure or f"@{name}"
                self._contents(read_block(node.content), replace(inner, unsure=unsure))

    def _layered(self, node: Token, around: _Around) -> None:
        names = [tuple(one.value for one in significant(part) if one.type == "ident") for part in split(node.prelude)]
        if node.content is None:
            for name in names:
                self._layer(around.layers + name)
            return
        self._order += 1
        name = names[0] or (f"{self._order} without a name",)
        self._contents(read_block(node.content), replace(around, layers=around.layers + name))

    def _layer(self, path: tuple[str, ...]) -> Layer:
        places = [self._layers.setdefault(path[:end], len(self._layers)) for end in range(1, len(path) + 1)]
        return (*places, _UNLAYERED)


def address_of(token: Token) -> str:
    """The address that a string or `url()` names; "" for any other value."""
    if token.type == "function" and token.lower_name in {"url", "src"}:
        return next((str(one.value) for one in token.arguments if one.type == "string"), "")
    return str(token.value) if token.type in {"string", "url"} else ""


def sheet_in(address: str) -> str | None:
    """The text that an address of the scheme data holds (RFC 2397); None for other addresses."""
    match = _DATA.match(address.strip())
    if not match:
        return None
    data = unquote_to_bytes(address.strip()[match.end() :])
    if match.group().lower().endswith(";base64,"):
        try:
            data = base64.b64decode(data)
        except binascii.Error:
            return None
    return data.decode("utf-8", "replace")
