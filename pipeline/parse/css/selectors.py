"""Selectors (CSS Selectors Level 4): compiled once, matched against elements within a budget of steps.

Pseudo-elements match no element, states that only a reader brings about (`:hover`, `:target`) hold for none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lxml import etree

from pipeline.parse.css.pseudo import NEVER, PSEUDO_CLASSES, Budget, Test, attribute_test, is_root, nth_child
from pipeline.parse.css.syntax import Token, every_nth, significant, split

_DEEPEST = 20  # selectors within selectors
_LONGEST = 64  # compounds of one selector
_ALIKE = {"is", "where", "matches", "any", "-webkit-any", "-moz-any"}
Specificity = tuple[int, int, int]
"""Numbers of ids; of classes, attributes and pseudo-classes; of types."""


class UndecidedError(Exception):
    """A selector that is valid, perhaps, and cannot be decided here."""


@dataclass(frozen=True)
class Compound:
    """Conditions on one element. `relation` leads to the compound at its left: " ", ">", "+", "~", "" for the first."""

    relation: str = ""
    tag: str = ""
    names: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()  # that the element must have
    tests: tuple[Test, ...] = ()
    drawn: str = ""  # a pseudo-element, such as "before": what is drawn there is no element, so `beside` is a test

    def holds(self, element: etree._Element, budget: Budget) -> bool:
        """Whether an element meets all conditions of the compound."""
        budget.spend()
        if self.tag and element.tag != self.tag:
            return False
        # No generators before most elements are out: this is asked of all that stand around each element.
        if self.classes:
            own = element.get("class")
            if own is None or self.classes[0] not in own or not set(self.classes).issubset(own.split()):
                return False
        if self.names and any(element.get("id") != name for name in self.names):
            return False
        return not self.tests or all(test(element, budget) for test in self.tests)


@dataclass(frozen=True)
class Selector:
    """Compounds from the right, where the element in question is, to the left."""

    compounds: tuple[Compound, ...]
    specificity: Specificity

    @property
    def is_plain(self) -> bool:
        """Whether the compound looks at one tag, class or id and at nothing else."""
        last = self.compounds[0]
        conditions = bool(last.tag) + len(last.names) + len(last.classes)
        return len(self.compounds) == 1 and not last.tests and conditions <= 1

    def matches(self, element: etree._Element, budget: Budget) -> bool:
        """Whether the selector selects an element; raises TooMuchError."""
        return self.compounds[0].holds(element, budget) and self._leftwards(element, 0, budget)

    def _leftwards(self, element: etree._Element, place: int, budget: Budget) -> bool:
        if place + 1 == len(self.compounds):
            return True
        relation, wanted = self.compounds[place].relation, self.compounds[place + 1]
        once = relation in {">", "+"}
        other = _towards(relation, element)
        while other is not None:
            if wanted.holds(other, budget) and self._leftwards(other, place + 1, budget):
                return True
            other = None if once else _towards(relation, other)
        return False


def _towards(relation: str, element: etree._Element) -> etree._Element | None:
    return element.getparent() if relation in {" ", ">"} else element.getprevious()


@dataclass
class _Parts:
    """A compound as it is read."""

    tag: str = ""
    names: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)
    count: list[int] = field(default_factory=lambda: [0, 0, 0])
    drawn: str = ""
    empty: bool = True


def compile_list(prelude: Sequence[Token], outer: tuple[Selector, ...] = (), depth: int = 0) -> tuple[Selector, ...]:
    """The selectors between commas; `outer` is what "&" stands for. One that is invalid makes all of them so.

    Raises UndecidedError.
    """
    found = tuple(_compile(part, outer, depth) for part in split(prelude))
    return tuple(one for one in found if one is not None) if None not in found else ()


def _compile(tokens: Sequence[Token], outer: tuple[Selector, ...], depth: int) -> Selector | None:
    """One selector; None where it is invalid or selects no element."""
    if depth > _DEEPEST:
        raise UndecidedError
    return _Reader(tokens, outer, depth).selector()


class _Reader:
    """Reads one complex selector from left to right."""

    def __init__(self, tokens: Sequence[Token], outer: tuple[Selector, ...], depth: int) -> None:
        self._tokens = [token for token in tokens if token.type != "comment"]
        self._outer = outer
        self._depth = depth
        self._valid = True
        self._nested = False  # whether "&" was seen
        self._done: list[tuple[str, _Parts]] = []  # the relation to the compound before, and the compound

    def selector(self) -> Selector | None:
        relation, parts, place = "", _Parts(), 0
        while place < len(self._tokens) and self._valid:
            token = self._tokens[place]
            kind, value = token.type, getattr(token, "value", "")
            if kind == "whitespace":
                if not parts.empty:
                    self._done.append((relation, parts))
                    relation, parts = " ", _Parts()
            elif kind == "literal" and value in {">", "+", "~"}:
                if not parts.empty:
                    self._done.append((relation, parts))
                    parts = _Parts()
                elif relation not in {"", " "}:
                    return None
                relation = value
            elif kind == "literal" and value == ":":
                place = self._pseudo(place + 1, parts)
            else:
                place = self._simple(place, parts)
            place += 1
        if not parts.empty:
            self._done.append((relation, parts))
        elif relation in {">", "+", "~"}:
            return None
        return self._finished() if self._valid and self._done else None

    def _finished(self) -> Selector | None:
        if len(self._done) > _LONGEST:
            raise UndecidedError
        if self._outer and not self._nested:
            self._done[0] = (self._done[0][0] or " ", self._done[0][1])
            self._done.insert(0, ("", self._parent()))
        elif self._done[0][0] not in {"", " "}:
            return None
        compounds = [
            Compound(relation.strip(" ") or (" " if place else ""), parts.tag, tuple(parts.names), tuple(parts.classes),
                     tuple(parts.attributes), tuple(parts.tests), parts.drawn)
            for place, (relation, parts) in enumerate(self._done)
        ]  # fmt: skip
        ids, classes, types = (sum(parts.count[rank] for _, parts in self._done) for rank in range(3))
        return Selector(tuple(reversed(compounds)), (ids, classes, types))

    def _parent(self) -> _Parts:
        parts = _Parts(empty=False)
        parts.tests.append(any_of(self._outer))
        parts.count = list(max(one.specificity for one in self._outer))
        return parts

    def _simple(self, place: int, parts: _Parts) -> int:
        """A type, class, id, attribute or "&" at a place; the place of its last token."""
        token = self._tokens[place]
        kind, value = token.type, getattr(token, "value", "")
        following = self._tokens[place + 1] if place + 1 < len(self._tokens) else None
        parts.empty = False
        if following is not None and following.type == "literal" and following.value == "|":
            return place + 1  # a namespace: all of a page are one
        if kind == "ident":
            parts.tag = token.lower_value
            parts.count[2] += 1
        elif kind == "hash" and token.is_identifier:
            parts.names.append(value)
            parts.count[0] += 1
        elif kind == "literal" and value == "." and following is not None and following.type == "ident":
            parts.classes.append(following.value)
            parts.count[1] += 1
            return place + 1
        elif kind == "[] block":
            self._attribute(significant(token.content), parts)
        elif kind == "literal" and value == "&":
            self._nested = True
            if self._outer:
                parent = self._parent()
                parts.tests += parent.tests
                parts.count = [a + b for a, b in zip(parts.count, parent.count, strict=True)]
            else:
                parts.tests.append(is_root)
        elif not (kind == "literal" and value == "*"):
            self._valid = False
        return place

    def _attribute(self, inside: tuple[Token, ...], parts: _Parts) -> None:
        """[name], [name=value] and the like (Selectors Level 4, 6)."""
        inside = tuple(token for token in inside if not (token.type == "literal" and token.value in {"*", "|"}))
        parts.count[1] += 1
        if not inside or inside[0].type != "ident":
            self._valid = False
            return
        name = inside[0].lower_value
        parts.attributes.append(name)
        if len(inside) == 1:
            parts.tests.append(lambda element, budget: name in element.attrib)
            return
        test = None
        if len(inside) in {3, 4} and inside[2].type in {"string", "ident"}:
            fold = len(inside) == 4 and getattr(inside[3], "lower_value", "") == "i"
            test = attribute_test(name, getattr(inside[1], "value", ""), inside[2].value, fold)
        self._valid = test is not None
        parts.tests += [test] if test else []

    def _pseudo(self, place: int, parts: _Parts) -> int:
        """A pseudo-class or pseudo-element, whose name is at a place; the place of its last token."""
        token = self._tokens[place] if place < len(self._tokens) else None
        if token is not None and token.type == "literal" and token.value == ":":  # is drawn beside the element's text
            name = getattr(self._tokens[place + 1], "lower_value", "") if place + 1 < len(self._tokens) else ""
            self._drawn(name, parts)
            return place + 1
        if token is None or token.type not in {"ident", "function"}:
            self._valid = False
            return place
        parts.empty = False
        parts.count[1] += 1
        if token.type == "ident":
            name = token.lower_value
            if name in {"before", "after", "first-line", "first-letter"}:
                self._drawn(name, parts)
            elif name in NEVER:
                parts.tests.append(_never)
            elif name in PSEUDO_CLASSES:
                parts.tests.append(PSEUDO_CLASSES[name])
            else:
                raise UndecidedError
        else:
            self._function(token.lower_name, token.arguments, parts)
        return place

    def _drawn(self, name: str, parts: _Parts) -> None:
        parts.empty = False
        parts.drawn = name
        parts.tests.append(beside)

    def _function(self, name: str, arguments: Sequence[Token], parts: _Parts) -> None:
        if name in _ALIKE or name == "not":
            inner = [one for part in split(arguments) if (one := self._inner(part)) is not None]
            if name != "where":
                most = max((one.specificity for one in inner), default=(0, 0, 0))
                parts.count = [a + b for a, b in zip(parts.count, most, strict=True)]
            parts.count[1] -= 1
            test = any_of(tuple(inner))
            parts.tests.append((lambda element, budget: not test(element, budget)) if name == "not" else test)
        elif name in {"nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type"}:
            of = [place for place, token in enumerate(arguments) if token.type == "ident" and token.value == "of"]
            numbers = every_nth(arguments[: of[0]] if of else arguments)
            if numbers is None or of:
                raise UndecidedError
            parts.tests.append(nth_child(numbers, last="last" in name, typed="type" in name))
        elif name == "has":
            parts.tests.append(_has(tuple(compile_relative(arguments, self._depth + 1))))
        else:
            raise UndecidedError

    def _inner(self, part: Sequence[Token]) -> Selector | None:
        """A selector in the brackets of another; one that is invalid there is passed over."""
        nested = any(token.type == "literal" and token.value == "&" for token in part)
        return _compile(part, self._outer if nested else (), self._depth + 1)


def beside(element: etree._Element, budget: Budget) -> bool:
    """The test of pseudo-elements, which no element passes."""
    return False


def _never(element: etree._Element, budget: Budget) -> bool:
    return False


def compile_relative(arguments: Sequence[Token], depth: int) -> list[tuple[str, Selector]]:
    """The relations and selectors that `:has()` asks for, "" for any element inside; raises UndecidedError."""
    found = []
    for part in split(arguments):
        tokens = list(significant(part[:1])) + list(part[1:])
        while tokens and tokens[0].type == "whitespace":
            tokens.pop(0)
        relation = ""
        if tokens and tokens[0].type == "literal" and tokens[0].value in {">", "+", "~"}:
            relation = tokens.pop(0).value
        inner = _compile(tokens, (), depth)
        if inner is None or (relation and len(inner.compounds) > 1):
            raise UndecidedError
        found.append((relation, inner))
    return found


def any_of(selectors: tuple[Selector, ...]) -> Test:
    """Whether one of the selectors matches."""
    return lambda element, budget: any(one.matches(element, budget) for one in selectors)


def _has(wanted: tuple[tuple[str, Selector], ...]) -> Test:
    def test(element: etree._Element, budget: Budget) -> bool:
        return any(
            selector.matches(other, budget) for relation, selector in wanted for other in _from(element, relation)
        )

    return test


def _from(element: etree._Element, relation: str) -> list[etree._Element]:
    if relation == ">":
        return list(element)
    if relation == "+":
        return [one] if (one := element.getnext()) is not None else []
    return list(element.itersiblings() if relation == "~" else element.iterdescendants())
