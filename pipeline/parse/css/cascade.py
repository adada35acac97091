"""The declarations that hold for an element (CSS Cascading and Inheritance Level 5), its variables put in place.

Custom properties, and `var()` in their place, are those of CSS Custom Properties for Cascading Variables Level 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from lxml import etree

from pipeline.parse.css.declarations import SHORTHANDS, Block, Declared, longhands, read_style
from pipeline.parse.css.pseudo import Budget, TooMuchError
from pipeline.parse.css.selectors import Selector, Specificity, beside
from pipeline.parse.css.sheet import Layer, Rule, Sheets
from pipeline.parse.css.syntax import Token, Value, number, rebuilt, significant, word, words

_DEEPEST = 30  # variables within variables, and functions within functions
_LONGEST = 1000  # tokens that a value may become


class Variables:
    """The custom properties that hold at an element, with all their own variables in place."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def get(self, name: str) -> Value | None:
        """The tokens of a property; None where there is none."""
        return self._values.get(name)

    def inside(self, declared: Mapping[str, Value], spent: Budget) -> "Variables":
        """The properties at an element in this one that declares some itself; raises TooMuchError."""
        asked = {name: value for name, value in declared.items() if word(value) not in {"inherit", "unset"}}
        own = Variables({**self._values, **asked})
        settled = {name: put_in(value, own, spent, (name,)) for name, value in asked.items()}
        kept = {name: value for name, value in settled.items() if value is not None}
        return Variables({name: value for name, value in self._values.items() if name not in asked} | kept)


def put_in(value: Sequence[Token], variables: Variables, spent: Budget, around: tuple[str, ...] = ()) -> Value | None:
    """A value with its variables in place; None where one of them has no value, which makes the whole invalid.

    What it costs is taken from the page's budget, `spent`; raises TooMuchError where nothing is left of that.

    `around` are the properties whose values are being put in place: one that leads to itself has no value.
    """
    own = Budget(_LONGEST)
    try:
        found = _expanded(value, variables, around, own, 0)
    except TooMuchError:
        found = None
    spent.spend(min(_LONGEST, _LONGEST - own.steps))
    return None if found is None else significant(found)


def _expanded(
    value: Sequence[Token], variables: Variables, around: tuple[str, ...], budget: Budget, depth: int
) -> list[Token] | None:
    if depth > _DEEPEST:
        return None
    found: list[Token] = []
    for token in value:
        budget.spend()
        if token.type == "function":
            more = _function(token, variables, around, budget, depth)
            if more is None:
                return None
            found += more
        else:
            found.append(token)
    return found


def _function(
    token: Token, variables: Variables, around: tuple[str, ...], budget: Budget, depth: int
) -> list[Token] | None:
    if token.lower_name != "var":
        inner = _expanded(token.arguments, variables, around, budget, depth + 1)
        return None if inner is None else [rebuilt(token, inner)]
    comma = next((place for place, one in enumerate(token.arguments) if one == ","), None)
    name = next((one.value for one in significant(token.arguments[:comma]) if one.type == "ident"), "")
    value = None if name in around else variables.get(name)
    if value is not None and (found := _expanded(value, variables, (*around, name), budget, depth + 1)) is not None:
        return found
    return None if comma is None else _expanded(token.arguments[comma + 1 :], variables, around, budget, depth + 1)


Values = dict[str, Value]
_ATTRIBUTE = (float("inf"),)
_NO_SPECIFICITY = (0, 0, 0)
_FEW = 100  # declarations of a rule that holds, however much has been spent


class _Rank(NamedTuple):
    """The order of the cascade, in which the greatest wins. `origin`: hints of markup, rules, `style`."""

    important: bool
    origin: int
    layer: Layer
    specificity: Specificity
    order: int


class Cascade:
    """The rules of a page, found by the rarest thing that their selectors ask for."""

    def __init__(self, sheets: Sheets) -> None:
        self.exhausted = False
        self._budget = Budget()
        self._sheets = sheets
        self._plain: dict[str, list[Rule]] = {}
        self._others: dict[str, list[Rule]] = {}
        self._asked: tuple[etree._Element | None, list[str]] = (None, [])
        self._drawn: dict[str, dict[str, list[Rule]]] = {"before": {}, "after": {}}
        for rule in sheets.rules:
            last, *more = rule.selector.compounds
            index = self._plain if rule.selector.is_plain else self._others
            if last.drawn in self._drawn:
                index = self._drawn[last.drawn]
                tests = tuple(test for test in last.tests if test is not beside)
                rule = replace(rule, selector=replace(rule.selector, compounds=(replace(last, tests=tests), *more)))
            index.setdefault(_key(rule.selector), []).append(rule)

    def declared(self, element: etree._Element, hints: Block | None, variables: Variables) -> tuple[Values, Variables]:
        """The values of the properties that are declared for an element, by longhands, and its variables.

        `hints` is what attributes of the markup say of looks; `variables` are those of the element around it.
        """
        style = element.get("style")
        rules = self._matching(element) if self._plain or self._others else []
        if not rules and not style and hints is None:
            return {}, variables
        winners: dict[str, tuple[_Rank, Declared]] = {}
        try:
            self._budget.spend(sum(map(len, rules)))
        except TooMuchError:
            self.exhausted, rules = True, [rule for rule in rules if rule.selector.is_plain and len(rule) < _FEW]
        if hints is not None:
            _contend(winners, hints, 0, _ATTRIBUTE, _NO_SPECIFICITY)
        for rule in rules:
            _contend(winners, rule.block, 1, rule.layer, rule.selector.specificity)
        if style:
            _contend(winners, read_style(style), 2, _ATTRIBUTE, _NO_SPECIFICITY)
        return self._settled(winners, variables)

    def drawn(self, element: etree._Element, where: str, variables: Variables) -> Values:
        """The values that are declared for what is drawn "before" or "after" the content of an element."""
        index = self._drawn[where]
        if not index or not (element.attrib or element.tag in index or "*" in index):
            return {}
        winners: dict[str, tuple[_Rank, Declared]] = {}
        for rule in self._selecting(element, self._keys(element), index):
            _contend(winners, rule.block, 1, rule.layer, rule.selector.specificity)
        return self._settled(winners, variables)[0] if winners else {}

    def _settled(self, winners: dict[str, tuple[_Rank, Declared]], outer: Variables) -> tuple[Values, Variables]:
        own = {name: declared.value for name, (_, declared) in winners.items() if name.startswith("--")}
        variables = self._variables(own, outer) if own else outer
        values: Values = {}
        for name, (_, declared) in sorted(winners.items(), key=lambda one: one[1][0]):
            if name.startswith("--"):
                continue
            value = self._put_in(declared.value, variables) if declared.varies else declared.value
            if name in SHORTHANDS or name == "all":
                values.update(longhands(name, value))
            elif value is not None:
                values[name] = value
            else:
                values.pop(name, None)
        if "animation-name" in values:
            self._animate(values, {name for name, (rank, _) in winners.items() if rank.important})
        return values, variables

    def _variables(self, own: Values, outer: Variables) -> Variables:
        try:
            self._budget.spend(2 * len(own) + (len(outer) >> 2))
            return outer.inside(own, self._budget)
        except TooMuchError:
            self.exhausted = True
            return outer

    def _put_in(self, value: Value, variables: Variables) -> Value | None:
        try:
            return put_in(value, variables, self._budget)
        except TooMuchError:
            self.exhausted = True
            return None

    def _animate(self, values: Values, important: set[str]) -> None:
        """Put in an animation's last frame if it is filled forwards; if it is endless, remove what it changes."""
        forwards = {"forwards", "both"} & set(words(values.get("animation-fill-mode", ())))
        endless = "infinite" in words(values.get("animation-iteration-count", ()))
        for name in words(values["animation-name"]):
            for place, block in self._sheets.frames.get(name, ()):
                for one, declared in block.normal.items():
                    if endless:
                        values.pop(one, None)
                    elif forwards and place == 100 and one not in important and not declared.varies:
                        values[one] = declared.value

    def _matching(self, element: etree._Element) -> list[Rule]:
        found: list[Rule] = []
        keys = self._keys(element)
        for key in keys:
            found += self._plain.get(key, ())
        return found + self._selecting(element, keys, self._others)

    def _keys(self, element: etree._Element) -> list[str]:
        """All keys under which rules for an element may lie; those of the last element that was asked for are kept."""
        if self._asked[0] is not element:
            self._asked = (element, _keys(element))
        return self._asked[1]

    def _selecting(self, element: etree._Element, keys: list[str], index: dict[str, list[Rule]]) -> list[Rule]:
        found: list[Rule] = []
        if self.exhausted or not index:
            return found
        try:
            for key in keys:
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


def _keys(element: etree._Element) -> list[str]:
    """All keys under which rules for an element may lie."""
    keys = ["*", str(element.tag)]
    for name, value in element.attrib.items():
        keys.append(f"[{name}")
        if name == "id":
            keys.append(f"#{value}")
        elif name == "class":
            keys += [f".{one}" for one in dict.fromkeys(value.split())]
    return keys


def _contend(
    winners: dict[str, tuple[_Rank, Declared]], block: Block, origin: int, layer: Layer, specificity: Specificity
) -> None:
    for important, holder in enumerate(block):
        its = tuple(-place for place in layer) if important else layer
        for name, declared in holder.items():
            rank = _Rank(bool(important), origin, its, specificity, declared.order)
            if name not in winners or rank >= winners[name][0]:
                winners[name] = (rank, declared)


def number_of(values: Mapping[str, Value], name: str) -> float | None:
    """The number that a property is set to, 100 % as 1; None for none."""
    return number(values[name][0]) if name in values else None


def layer_of(values: Mapping[str, Value]) -> int | None:
    """The z-index of an element; None where nothing is said."""
    found = number_of(values, "z-index")
    return None if found is None else int(found)


def keyword(values: Mapping[str, Value], name: str) -> str:
    """The keyword that a property is set to; "" for none."""
    return word(values.get(name, ()))
