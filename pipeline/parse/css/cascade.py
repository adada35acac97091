"""The declarations that hold for an element (CSS Cascading and Inheritance Level 5), its variables put in place.

Custom properties, and `var()` in their place, are those of CSS Custom Properties for Cascading Variables Level 1.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from lxml import etree

from pipeline.parse.css.declarations import SHORTHANDS, Block, Declared, longhands, read_style
from pipeline.parse.css.selectors import Budget, Selector, Specificity, TooMuchError
from pipeline.parse.css.sheet import Layer, Rule, Sheets
from pipeline.parse.css.syntax import Token, Value, number, rebuilt, significant, word

_DEEPEST = 30  # variables within variables, and functions within functions
_LONGEST = 1000  # tokens that a value may become


class Variables:
    """The custom properties that hold at an element, with all their own variables in place."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = values

    def inside(self, declared: Mapping[str, Value], spent: Budget) -> "Variables":
        """The properties at an element in this one that declares some itself; raises TooMuchError."""
        spent.spend(2 * len(declared) + (len(self._values) >> 2))
        asked = {name: value for name, value in declared.items() if word(value) not in {"inherit", "unset"}}
        own = Variables({**self._values, **asked})
        settled = {name: own.put_in(value, spent, (name,)) for name, value in asked.items()}
        kept = {name: value for name, value in settled.items() if value is not None}
        return Variables({name: value for name, value in self._values.items() if name not in asked} | kept)

    def put_in(self, value: Value, spent: Budget, around: tuple[str, ...] = ()) -> Value | None:
        """A value with its variables in place; None where one of them has no value, which makes the whole invalid.

        What it costs is taken from the page's budget, `spent`; raises TooMuchError where nothing is left of that.
        `around` are the properties whose values are being put in place: one that leads to itself has no value.
        """
        own = Budget(_LONGEST)
        try:
            found = self._expanded(value, around, own, 0)
        except TooMuchError:
            found = None
        spent.spend(min(_LONGEST, _LONGEST - own.steps))
        return None if found is None else significant(found)

    def _expanded(
        self, value: Sequence[Token], around: tuple[str, ...], budget: Budget, depth: int
    ) -> list[Token] | None:
        found: list[Token] = []
        for token in value:
            budget.spend()
            more: list[Token] | None = [token]
            if token.type == "function" and token.lower_name == "var":
                more = self._value_of(token.arguments, around, budget, depth + 1)
            elif token.type == "function":
                inner = self._expanded(token.arguments, around, budget, depth + 1)
                more = None if inner is None else [rebuilt(token, inner)]
            if more is None or depth > _DEEPEST:
                return None
            found += more
        return found

    def _value_of(
        self, arguments: Sequence[Token], around: tuple[str, ...], budget: Budget, depth: int
    ) -> list[Token] | None:
        """What `var()` stands for: the value of its property, else what follows the comma."""
        comma = next((place for place, one in enumerate(arguments) if one == ","), None)
        name = next((one.value for one in significant(arguments[:comma]) if one.type == "ident"), "")
        value = None if name in around else self._values.get(name)
        if value is not None and (found := self._expanded(value, (*around, name), budget, depth)) is not None:
            return found
        return None if comma is None else self._expanded(arguments[comma + 1 :], around, budget, depth)


Values = dict[str, Value]
_ATTRIBUTE = (float("inf"),)
_NO_SPECIFICITY = (0, 0, 0)
_NO_RULES: Mapping[str, list[Rule]] = {}
T = TypeVar("T")
_FEW = 100  # declarations of a rule that holds, however much has been spent
_PARTS = re.compile(
    r"selection$|placeholder$|marker$|backdrop$|file-selector|scroll|resizer$|-webkit-|-moz-|-ms-|cue|target-|spelling-|grammar-"
)
"""Pseudo-elements that hold no text of the element."""


class _Rank(NamedTuple):
    """The order of the cascade, in which the greatest wins. `origin`: hints of markup, rules, `style`."""

    important: bool
    origin: int
    layer: Layer
    specificity: Specificity
    order: int


_Winners = dict[str, tuple[_Rank, Declared]]


class Holding(NamedTuple):
    """What holds for an element: the declared values by longhand, its variables, and what else may hold for it: the
    properties of which it cannot be told whether they are set, and the first condition that leaves it open."""

    values: Values
    variables: Variables
    open: frozenset[str] = frozenset()
    unsure: str = ""


class Cascade:
    """The rules of a page, found by the rarest thing that their selectors ask for."""

    def __init__(self, sheets: Sheets) -> None:
        self.exhausted = False
        self._budget = Budget()
        self._plain: dict[str, list[Rule]] = {}
        self._others: dict[str, list[Rule]] = {}
        self._parts: dict[str, dict[str, list[Rule]]] = {"before": {}, "after": {}, "": {}}
        self._asked: tuple[etree._Element | None, list[str]] = (None, [])
        for rule in sheets.rules:
            drawn = rule.selector.compounds[0].drawn
            if any(compound.drawn for compound in rule.selector.compounds[1:]) or _PARTS.match(drawn):
                continue
            index = self._plain if rule.selector.is_plain and not rule.unsure else self._others
            index = self._parts[drawn if drawn in self._parts else ""] if drawn else index
            index.setdefault(_key(rule.selector), []).append(rule)

    def declared(self, element: etree._Element, hints: Block | None, variables: Variables) -> Holding:
        """What is declared for an element. `hints` is what attributes of the markup say of looks; `variables` are those
        of the element around it."""
        style = element.get("style")
        rules = self._matching(element, self._others, self._plain) if self._plain or self._others else []
        parts = self._matching(element, self._parts[""])
        if not rules and not style and hints is None and not parts:
            return Holding({}, variables)
        try:
            self._budget.spend(sum(map(len, rules)))
        except TooMuchError:
            self.exhausted, rules = True, [rule for rule in rules if rule.selector.is_plain and len(rule) < _FEW]
        part = f"::{parts[0].selector.compounds[0].drawn}" if parts else ""
        return self._settled(rules, variables, part, hints, read_style(style) if style else None)

    def drawn(self, element: etree._Element, where: str, variables: Variables) -> Holding:
        """What is declared for what is drawn "before" or "after" the content of an element."""
        index = self._parts[where]
        if not index or not (element.attrib or element.tag in index or "*" in index):
            return Holding({}, variables)
        return self._settled(self._matching(element, index), variables)

    def _settled(
        self,
        rules: list[Rule],
        outer: Variables,
        part: str = "",
        hints: Block | None = None,
        style: Block | None = None,
    ) -> Holding:
        winners: _Winners = {}
        if hints is not None:
            _contend(winners, hints, 0)
        for rule in rules:
            if not rule.unsure:
                _contend(winners, rule.block, 1, rule.layer, rule.selector.specificity)
        if style is not None:
            _contend(winners, style, 2)
        own = {name: declared.value for name, (_, declared) in winners.items() if name.startswith("--")}
        variables = self._in_budget(lambda: outer.inside(own, self._budget), outer) if own else outer
        values: Values = {}
        for name, (_, declared) in sorted(winners.items(), key=lambda one: one[1][0]):
            if name.startswith("--"):
                continue
            value: Value | None = declared.value
            if declared.varies:
                value = self._in_budget(partial(variables.put_in, declared.value, self._budget), None)
            if name in SHORTHANDS or name == "all":
                values.update(longhands(name, value))
            elif value is not None:
                values[name] = value
            else:
                values.pop(name, None)
        unsure = [rule for rule in rules if rule.unsure]
        touched = frozenset(name for rule in unsure for holder in rule.block for name in holder)
        return Holding(values, variables, touched, part or next((rule.unsure for rule in unsure), ""))

    def _in_budget(self, work: Callable[[], T], otherwise: T) -> T:
        try:
            return work()
        except TooMuchError:
            self.exhausted = True
            return otherwise

    def _matching(
        self, element: etree._Element, index: dict[str, list[Rule]], plain: Mapping[str, list[Rule]] = _NO_RULES
    ) -> list[Rule]:
        """The rules of an index that select an element, and those of `plain`, which only a key tells."""
        if not index and not plain:
            return []
        if self._asked[0] is not element:  # the keys under which rules for it may lie
            keys = ["*", str(element.tag)]
            for name, value in element.attrib.items():
                keys.append(f"[{name}")
                if name == "id":
                    keys.append(f"#{value}")
                elif name == "class":
                    keys += [f".{one}" for one in dict.fromkeys(value.split())]
            self._asked = (element, keys)
        keys = self._asked[1]
        found = [rule for key in keys for rule in plain.get(key, ())]
        try:
            for key in keys if index and not self.exhausted else ():
                for rule in index.get(key, ()):
                    if rule.selector.matches(element, self._budget):
                        found.append(rule)
        except TooMuchError:
            self.exhausted = True
        return found


def _key(selector: Selector) -> str:
    last = selector.compounds[0]
    if last.names:
        return f"#{last.names[0]}"
    if last.classes:
        return f".{last.classes[0]}"
    if last.tag:
        return last.tag
    return f"[{last.attributes[0]}" if last.attributes else "*"


def _contend(
    winners: _Winners,
    block: Block,
    origin: int,
    layer: Layer = _ATTRIBUTE,
    specificity: Specificity = _NO_SPECIFICITY,
) -> None:
    for important, holder in enumerate(block):
        its = tuple(-place for place in layer) if important else layer
        for name, declared in holder.items():
            rank = _Rank(bool(important), origin, its, specificity, declared.order)
            if name not in winners or rank >= winners[name][0]:
                winners[name] = (rank, declared)


def number_of(values: Mapping[str, Value], name: str) -> float | None:
    """The number that a property is set to, 100 % as 1; None for none."""
    return number(values[name][0]) if values.get(name) else None


def keyword(values: Mapping[str, Value], name: str) -> str:
    """The keyword that a property is set to; "" for none."""
    return word(values.get(name, ()))
