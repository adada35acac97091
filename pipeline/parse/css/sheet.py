"""The rules of all style sheets of a page in their order, with layers, conditions, nesting and keyframes resolved."""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from pipeline.parse.css.conditions import on_screen, supported
from pipeline.parse.css.declarations import Block, is_read, read_declarations
from pipeline.parse.css.selectors import Selector, UndecidedError, compile_list
from pipeline.parse.css.syntax import Token, Value, read_block, read_sheet, significant, split

LONGEST = 1 << 20
"""Characters of style sheets that are read of a page."""
_MOST = 20_000  # rules, those of one tag, class or id counted together
_DEEPEST = 30  # rules within rules
_UNLAYERED = float("inf")
_DATA = re.compile(r"data:[^,]*,", re.IGNORECASE)
_OF_COLOUR = re.compile(r"^(?:--|color$|background|-webkit-text|filter$)")
Layer = tuple[float, ...]
"""Places of the layer and of those around it in the order of their names; infinity comes after all layers."""


@dataclass
class Rule:
    """The declarations of one selector; `layer` orders them before its specificity does."""

    selector: Selector
    layer: Layer
    block: Block

    def __len__(self) -> int:
        return len(self.block.normal) + len(self.block.important)

    def add(self, block: Block) -> None:
        """Take up what the same selector declares later."""
        for holder, more in zip(self.block, block, strict=True):
            for name, declared in more.items():
                holder.pop(name, None)
                holder[name] = declared


@dataclass
class Sheets:
    """All style sheets. `unread` is true where a rule that may set colours was not read or not decided."""

    rules: list[Rule] = field(default_factory=list)
    frames: dict[str, list[tuple[float, Block]]] = field(default_factory=dict)
    initial: dict[str, Value] = field(default_factory=dict)
    unread: bool = False
    too_long: bool = False
    _layers: dict[tuple[str, ...], int] = field(default_factory=dict)
    _known: dict[tuple[object, ...], Rule] = field(default_factory=dict)
    _read: int = 0
    _order: int = 0

    def read(self, css: str, path: tuple[str, ...] = ()) -> None:
        """Take up one style sheet; beyond LONGEST of all nothing is read, and `too_long` says so."""
        left = LONGEST - self._read
        self.too_long |= len(css) > left
        self._read += min(len(css), left)
        self._rules(read_sheet(css[:left]), path, (), 0)

    def _rules(self, nodes: Sequence[Token], path: tuple[str, ...], outer: tuple[Selector, ...], depth: int) -> None:
        for node in nodes:
            if len(self.rules) >= _MOST or depth > _DEEPEST:
                self.too_long = True
                return
            if node.type == "qualified-rule":
                self._rule(node, path, outer, depth)
            elif node.type == "at-rule":
                self._at_rule(node, path, outer, depth)

    def _rule(self, node: Token, path: tuple[str, ...], outer: tuple[Selector, ...], depth: int) -> None:
        inside = read_block(node.content)
        if not _matters(inside):
            return
        try:
            selectors = compile_list(node.prelude, outer)
        except UndecidedError:
            self._pass_over(inside)
            return
        self._add(selectors, inside, path)
        if selectors:
            self._rules(inside, path, selectors, depth + 1)

    def _add(self, selectors: tuple[Selector, ...], inside: Sequence[Token], path: tuple[str, ...]) -> None:
        self._order += 1
        block = read_declarations(inside, self._order)
        if not block.normal and not block.important:
            return
        layer = self._layer(path)
        for selector in selectors:
            last = selector.compounds[0]
            key = (last.tag, last.names, last.classes, layer) if selector.is_plain else (id(selector),)
            if key in self._known:
                self._known[key].add(block)
            else:
                self._known[key] = Rule(selector, layer, Block(dict(block.normal), dict(block.important)))
                self.rules.append(self._known[key])

    def _at_rule(self, node: Token, path: tuple[str, ...], outer: tuple[Selector, ...], depth: int) -> None:
        name = node.lower_at_keyword
        if name == "import":
            self._import(significant(node.prelude), path)
        elif name == "layer":
            self._layered(node, path, outer, depth)
        elif name.endswith("keyframes"):
            self._keyframes(node)
        elif name == "property":
            self._property(node)
        elif node.content is not None:
            self._conditional(name, node, path, outer, depth)

    def _conditional(
        self, name: str, node: Token, path: tuple[str, ...], outer: tuple[Selector, ...], depth: int
    ) -> None:
        holds: bool | None = None
        if name == "media":
            holds = on_screen(node.prelude)
        elif name == "supports":
            holds = supported(node.prelude)
        elif name == "scope":
            self._scope(node, path, depth)
            return
        elif name in {"font-face", "page", "counter-style", "font-feature-values", "font-palette-values"}:
            return
        if holds:
            self._contents(node, path, outer, depth)
        elif holds is None:
            self._pass_over(read_block(node.content))

    def _contents(self, node: Token, path: tuple[str, ...], outer: tuple[Selector, ...], depth: int) -> None:
        inside = read_block(node.content)
        if outer:
            self._add(outer, inside, path)
        self._rules(inside, path, outer, depth + 1)

    def _scope(self, node: Token, path: tuple[str, ...], depth: int) -> None:
        """`@scope (a) { b {} }` holds for what is in an a, as nesting does; with an end to it it is not decided."""
        prelude = significant(node.prelude)
        inside = read_block(node.content)
        try:
            if len(prelude) != 1 or prelude[0].type != "() block":
                raise UndecidedError
            self._rules(inside, path, compile_list(prelude[0].content), depth + 1)
        except UndecidedError:
            self._pass_over(inside)

    def _layered(self, node: Token, path: tuple[str, ...], outer: tuple[Selector, ...], depth: int) -> None:
        names = [tuple(one.value for one in significant(part) if one.type == "ident") for part in split(node.prelude)]
        if node.content is None:
            for name in names:
                self._layer(path + name)
            return
        self._order += 1
        self._contents(node, path + (names[0] or (f"{self._order} without a name",)), outer, depth)

    def _layer(self, path: tuple[str, ...]) -> Layer:
        places = [self._layers.setdefault(path[:end], len(self._layers)) for end in range(1, len(path) + 1)]
        return (*places, _UNLAYERED)

    def _keyframes(self, node: Token) -> None:
        name = next((one.value for one in significant(node.prelude) if one.type in {"ident", "string"}), "")
        frames = []
        for frame in read_block(node.content or ()):
            if frame.type == "qualified-rule":
                block = read_declarations(read_block(frame.content))
                frames += [(place, block) for place in _places(significant(frame.prelude))]
        self.frames[name] = sorted(frames, key=lambda one: one[0])

    def _property(self, node: Token) -> None:
        name = next((one.value for one in significant(node.prelude) if one.type == "ident"), "")
        for one in read_block(node.content or ()):
            if one.type == "declaration" and one.lower_name == "initial-value":
                self.initial[name] = significant(one.value)

    def _import(self, prelude: Value, path: tuple[str, ...]) -> None:
        """A sheet in another file is not read; one in its own address is."""
        address = prelude[0] if prelude else None
        text = getattr(address, "value", "")
        if address is not None and address.type == "function":
            text = next((one.value for one in address.arguments if one.type == "string"), "")
        css = sheet_in(text) if isinstance(text, str) else None
        if css is None or len(prelude) > 1:
            self.unread = True
        else:
            self.read(css, path)

    def _pass_over(self, inside: Sequence[Token], depth: int = 0) -> None:
        """Pass over rules of which it is not known whether they hold; what they colour is not known."""
        for node in inside:
            if node.type == "declaration":
                self.unread |= _OF_COLOUR.match(node.lower_name) is not None
            elif getattr(node, "content", None) is not None and depth < _DEEPEST and not self.unread:
                self._pass_over(read_block(node.content), depth + 1)


def _matters(inside: Sequence[Token]) -> bool:
    """Whether a block holds rules, or declares something that is read."""
    return any(node.type != "declaration" or is_read(node.lower_name) for node in inside)


def sheet_in(address: str) -> str | None:
    """The style sheet that an address of the scheme data holds (RFC 2397); None for other addresses."""
    match = _DATA.match(address.strip())
    if not match:
        return None
    data = unquote_to_bytes(address.strip()[match.end() :])
    if match.group().lower().endswith(";base64,"):
        try:
            data = base64.b64decode(data)
        except ValueError:
            return None
    return data.decode("utf-8", "replace")


def _places(prelude: Value) -> list[float]:
    found = []
    for one in prelude:
        if one.type == "percentage":
            found.append(float(one.value))
        elif one.type == "ident" and one.lower_value in {"from", "to"}:
            found.append(0.0 if one.lower_value == "from" else 100.0)
    return found
