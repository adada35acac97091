"""Selectors (CSS Selectors Level 4): compiled once, matched against elements within a budget of steps.

States that only a reader brings about (`:hover`, `:target`) hold for no element. What cannot be decided here (`:has()`,
`:lang()`) is taken to hold, and the selector is `unsure`.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lxml import etree

from pipeline.parse.css.syntax import Token, every_nth, significant, split

STEPS = 2_000_000
"""Elements that all selectors of a page may look at, and declarations that may hold for all elements: seconds."""
_DEEPEST = 20  # selectors within selectors
_LONGEST = 64  # compounds of one selector
_ALIKE = {"is", "where", "matches", "any", "-webkit-any", "-moz-any"}
_NEVER = {
    "hover", "active", "focus", "focus-within", "focus-visible", "visited", "target", "target-within", "popover-open",
    "modal", "fullscreen", "indeterminate", "user-invalid", "user-valid", "autofill", "-webkit-autofill", "host",
    "playing", "picture-in-picture", "current", "past", "future",
}  # fmt: skip
_FORM = {"button", "input", "select", "textarea", "option", "optgroup", "fieldset"}
_FOLDED = {"type", "align", "valign", "dir", "lang", "media", "method", "rel", "shape", "bgcolor", "color"}
"""Attributes of HTML whose values are compared without regard to case."""
Specificity = tuple[int, int, int]
"""Numbers of ids; of classes, attributes and pseudo-classes; of types."""


class TooMuchError(Exception):
    """The budget of steps is spent."""


@dataclass
class Budget:
    """The steps that matching may still take; raises TooMuchError when none is left."""

    steps: int = STEPS
    _places: dict[tuple[etree._Element, bool, bool], dict[etree._Element, int]] = field(default_factory=dict)

    def spend(self, steps: int = 1) -> None:
        """Count steps before they are taken; raises TooMuchError."""
        self.steps -= steps
        if self.steps < 0:
            raise TooMuchError

    def place(self, element: etree._Element, *, last: bool, typed: bool) -> int:
        """The place of an element among its siblings, from 1, or among those of its type; `last`: from the end."""
        parent = element.getparent()
        if parent is None:
            return 1
        key = (parent, last, typed)
        if key not in self._places:
            self.spend(len(parent))
            places, counts = self._places.setdefault(key, {}), Counter[str]()
            for child in reversed(parent) if last else parent:
                kind = child.tag if typed else ""
                counts[kind] += 1
                places[child] = counts[kind]
        return self._places[key][element]


Test = Callable[[etree._Element, Budget], bool]


@dataclass
class Compound:
    """Conditions on one element. `relation` leads to the compound at its left: " ", ">", "+", "~", "" for the first."""

    relation: str = ""
    tag: str = ""
    names: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)  # that the element must have
    tests: list[Test] = field(default_factory=list)
    count: list[int] = field(default_factory=lambda: [0, 0, 0])
    drawn: str = ""  # a pseudo-element, such as "before"
    empty: bool = True

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

    def adds(self, specificity: Sequence[int]) -> None:
        """Count what is more specific about the compound."""
        self.count = [a + b for a, b in zip(self.count, specificity, strict=True)]


@dataclass(frozen=True)
class Selector:
    """Compounds from the right, where the element in question is, to the left. `unsure` is the first part of which it
    cannot be told whether it holds, "" for none."""

    compounds: tuple[Compound, ...]
    specificity: Specificity
    unsure: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether the compound looks at one tag, class or id and at nothing else."""
        last = self.compounds[0]
        conditions = bool(last.tag) + len(last.names) + len(last.classes)
        return len(self.compounds) == 1 and not last.tests and conditions <= 1 and not self.unsure

    def matches(self, element: etree._Element, budget: Budget) -> bool:
        """Whether the selector selects an element; raises TooMuchError."""
        return self.compounds[0].holds(element, budget) and self._leftwards(element, 0, budget)

    def _leftwards(self, element: etree._Element, place: int, budget: Budget) -> bool:
        if place + 1 == len(self.compounds):
            return True
        relation, wanted = self.compounds[place].relation, self.compounds[place + 1]
        other = _towards(relation, element)
        while other is not None:
            if wanted.holds(other, budget) and self._leftwards(other, place + 1, budget):
                return True
            other = None if relation in {">", "+"} else _towards(relation, other)
        return False


def _towards(relation: str, element: etree._Element) -> etree._Element | None:
    return element.getparent() if relation in {" ", ">"} else element.getprevious()


def compile_list(prelude: Sequence[Token], outer: tuple[Selector, ...] = (), depth: int = 0) -> tuple[Selector, ...]:
    """The selectors between commas; `outer` is what "&" stands for. One that is invalid makes all of them so."""
    found = tuple(_Reader(part, outer, depth).selector() for part in split(prelude))
    return tuple(one for one in found if one is not None) if None not in found else ()


class _Reader:
    """Reads one complex selector from left to right."""

    def __init__(self, tokens: Sequence[Token], outer: tuple[Selector, ...], depth: int) -> None:
        self._tokens = [token for token in tokens if token.type != "comment"]
        self._outer = outer
        self._depth = depth
        self._unsure = "selectors within selectors" if depth > _DEEPEST else ""
        self._valid = True
        self._nested = False  # whether "&" was seen
        self._done: list[Compound] = []

    def selector(self) -> Selector | None:
        """The selector; None where it is invalid."""
        parts, place = Compound(), 0
        while place < len(self._tokens) and self._valid and self._depth <= _DEEPEST:
            token = self._tokens[place]
            sign = token.value if token.type == "literal" else ""
            if token.type == "whitespace" or sign in {">", "+", "~"}:
                if not parts.empty:
                    self._done.append(parts)
                    parts = Compound(" ")
                if sign and parts.relation not in {"", " "}:
                    return None
                parts.relation = sign or parts.relation
            elif sign == ":":
                place = self._pseudo(place + 1, parts)
            else:
                place = self._simple(place, parts)
            place += 1
        if not parts.empty:
            self._done.append(parts)
        elif parts.relation in {">", "+", "~"}:
            return None
        return self._finished() if self._valid and (self._done or self._unsure) else None

    def _finished(self) -> Selector | None:
        if not self._done or len(self._done) > _LONGEST:
            return Selector((Compound(),), (0, 0, 0), self._unsure or "a selector of too many parts")
        if self._outer and not self._nested:
            self._done[0].relation = self._done[0].relation or " "
            self._done.insert(0, self._parent())
        elif self._done[0].relation not in {"", " "}:
            return None
        ids, classes, types = (sum(parts.count[rank] for parts in self._done) for rank in range(3))
        return Selector(tuple(reversed(self._done)), (ids, classes, types), self._unsure)

    def _parent(self) -> Compound:
        self._unsure = self._unsure or next(filter(None, (one.unsure for one in self._outer)), "")
        return Compound(
            tests=[any_of(self._outer)], count=list(max(one.specificity for one in self._outer)), empty=False
        )

    def _simple(self, place: int, parts: Compound) -> int:
        """A type, class, id, attribute or "&" at a place; the place of its last token."""
        token, following = self._tokens[place], self._tokens[place + 1 : place + 2]
        kind, value = token.type, getattr(token, "value", "")
        parts.empty = False
        if following and following[0].type == "literal" and following[0].value == "|":
            return place + 1  # a namespace: all of a page are one
        if kind == "ident":
            parts.tag = token.lower_value
            parts.count[2] += 1
        elif kind == "hash" and token.is_identifier:
            parts.names.append(value)
            parts.count[0] += 1
        elif kind == "literal" and value == "." and following and following[0].type == "ident":
            parts.classes.append(following[0].value)
            parts.count[1] += 1
            return place + 1
        elif kind == "[] block":
            self._attribute(significant(token.content), parts)
        elif kind == "literal" and value == "&":
            self._nested = True
            parent = self._parent() if self._outer else Compound(tests=[_is_root])
            parts.tests += parent.tests
            parts.adds(parent.count)
        elif not (kind == "literal" and value == "*"):
            self._valid = False
        return place

    def _attribute(self, inside: tuple[Token, ...], parts: Compound) -> None:
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
        sign = _SIGNS.get(getattr(inside[1], "value", ""))
        if sign is None or len(inside) not in {3, 4} or inside[2].type not in {"string", "ident"}:
            self._valid = False
            return
        fold = name in _FOLDED or (len(inside) == 4 and getattr(inside[3], "lower_value", "") == "i")
        parts.tests.append(_attribute_test(name, sign, inside[2].value, fold))

    def _pseudo(self, place: int, parts: Compound) -> int:
        """A pseudo-class or pseudo-element, whose name is at a place; the place of its last token."""
        parts.empty = False
        token = self._tokens[place] if place < len(self._tokens) else None
        if token is not None and token.type == "literal" and token.value == ":":
            following = self._tokens[place + 1 : place + 2]
            parts.drawn = (
                getattr(following[0], "lower_name" if following[0].type == "function" else "lower_value", "?")
                if following
                else "?"
            )
            return place + 1
        if token is None or token.type not in {"ident", "function"}:
            self._valid = False
            return place
        name = token.lower_value if token.type == "ident" else token.lower_name
        if name in {"before", "after", "first-line", "first-letter"}:
            parts.drawn = name
            return place
        parts.count[1] += 1
        if name in _NEVER:
            parts.tests.append(_never)
        elif name in _PSEUDO_CLASSES:
            parts.tests.append(_PSEUDO_CLASSES[name])
        elif token.type == "ident" or not self._function(name, token.arguments, parts):
            self._unsure = self._unsure or f":{name}"
        return place

    def _function(self, name: str, arguments: Sequence[Token], parts: Compound) -> bool:
        """Add the test of a pseudo-class with arguments; whether it is one that can be decided."""
        if name in _ALIKE or name == "not":
            read = [self._inner(part) for part in split(arguments)]
            inner = tuple(one for one in read if one is not None and not one.compounds[0].drawn)
            if any(one.unsure for one in inner):
                return False
            parts.count[1] -= 1
            if name != "where":
                parts.adds(max((one.specificity for one in inner), default=(0, 0, 0)))
            test = any_of(inner)
            parts.tests.append((lambda element, budget: not test(element, budget)) if name == "not" else test)
            return True
        numbers = every_nth(arguments) if name.startswith("nth-") else None
        if numbers is None or name.removeprefix("nth-").removeprefix("last-") not in {"child", "of-type"}:
            return False
        parts.tests.append(_nth_child(numbers, last="last" in name, typed="type" in name))
        return True

    def _inner(self, part: Sequence[Token]) -> Selector | None:
        """A selector in the brackets of another; one that is invalid there is passed over."""
        nested = any(token.type == "literal" and token.value == "&" for token in part)
        return _Reader(part, self._outer if nested else (), self._depth + 1).selector()


def any_of(selectors: tuple[Selector, ...]) -> Test:
    """Whether one of the selectors matches."""
    return lambda element, budget: any(one.matches(element, budget) for one in selectors)


def _never(element: etree._Element, budget: Budget) -> bool:
    return False


def _is_root(element: etree._Element, budget: Budget) -> bool:
    return element.getparent() is None


def _attribute_test(name: str, sign: Callable[[str, str], bool], wanted: str, fold: bool) -> Test:
    wanted = wanted.lower() if fold else wanted

    def test(element: etree._Element, budget: Budget) -> bool:
        value = element.get(name)
        if value is None:
            return False
        budget.spend(len(value) >> 8)
        return sign(value.lower() if fold else value, wanted)

    return test


def _nth_child(numbers: tuple[int, int], *, last: bool = False, typed: bool = False) -> Test:
    """The test for `:nth-child(an+b)` and its kin, of a and b."""
    step, first = numbers

    def test(element: etree._Element, budget: Budget) -> bool:
        away = budget.place(element, last=last, typed=typed) - first
        return away == 0 if step == 0 else away % step == 0 and away // step >= 0

    return test


def _only(typed: bool) -> Test:
    tests = [_nth_child((0, 1), last=last, typed=typed) for last in (False, True)]
    return lambda element, budget: all(test(element, budget) for test in tests)


_SIGNS: dict[str, Callable[[str, str], bool]] = {
    "=": lambda value, wanted: value == wanted,
    "~=": lambda value, wanted: bool(wanted) and wanted in value.split(),
    "|=": lambda value, wanted: value == wanted or value.startswith(f"{wanted}-"),
    "^=": lambda value, wanted: bool(wanted) and value.startswith(wanted),
    "$=": lambda value, wanted: bool(wanted) and value.endswith(wanted),
    "*=": lambda value, wanted: bool(wanted) and wanted in value,
}
_PSEUDO_CLASSES: dict[str, Test] = {
    "root": _is_root,
    "scope": _is_root,
    "empty": lambda element, budget: len(element) == 0 and not element.text,
    "first-child": _nth_child((0, 1)),
    "last-child": _nth_child((0, 1), last=True),
    "only-child": _only(typed=False),
    "first-of-type": _nth_child((0, 1), typed=True),
    "last-of-type": _nth_child((0, 1), last=True, typed=True),
    "only-of-type": _only(typed=True),
    "link": lambda element, budget: element.tag in {"a", "area"} and "href" in element.attrib,
    "any-link": lambda element, budget: element.tag in {"a", "area"} and "href" in element.attrib,
    "checked": lambda element, budget: "checked" in element.attrib or "selected" in element.attrib,
    "disabled": lambda element, budget: element.tag in _FORM and "disabled" in element.attrib,
    "enabled": lambda element, budget: element.tag in _FORM and "disabled" not in element.attrib,
}
