"""Selectors (CSS Selectors Level 4): compiled once, matched against elements within a budget of steps.

States that only a reader brings about (`:hover`, `:target`) hold for no element. What cannot be decided here (`:has()`,
`:lang()`) is taken to hold, and the selector is `unsure`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from lxml import etree

from pipeline.parse.css.syntax import Token, every_nth, significant, split

STEPS = 2_000_000
"""Elements that all selectors of a page may look at, and declarations that may hold for all elements: seconds."""
_DEEPEST = 20  # selectors within selectors
_LONGEST = 64  # compounds of one selector
_ALIKE = {"is", "where", "matches", "any", "-webkit-any", "-moz-any"}
_STATES = {
    "hover", "active", "focus", "focus-within", "focus-visible", "visited", "target", "target-within", "popover-open",
    "modal", "fullscreen", "indeterminate", "user-invalid", "user-valid", "autofill", "-webkit-autofill", "host",
    "playing", "picture-in-picture", "current", "past", "future",
}  # fmt: skip
_DRAWN = {"before", "after", "first-line", "first-letter"}  # with one colon as well
_KIN = {"child", "of-type"}
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
_NEVER: Test = lambda element, budget: False  # noqa: E731


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

    def demand(self, test: Test, specificity: Sequence[int] = (0, 1, 0)) -> None:
        """Add a condition, and how much more specific it makes the compound."""
        self.tests.append(test)
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

    def matches(self, element: etree._Element, budget: Budget, place: int = 0) -> bool:
        """Whether the compounds from a place on select an element; raises TooMuchError."""
        if not self.compounds[place].holds(element, budget):
            return False
        if place + 1 == len(self.compounds):
            return True
        relation, other = self.compounds[place].relation, element
        while (other := other.getparent() if relation in {" ", ">"} else other.getprevious()) is not None:
            if self.matches(other, budget, place + 1):
                return True
            if relation in {">", "+"}:
                return False
        return False


def compile_list(prelude: Sequence[Token], outer: tuple[Selector, ...] = (), depth: int = 0) -> tuple[Selector, ...]:
    """The selectors between commas; `outer` is what "&" stands for. One that is invalid makes all of them so."""
    found = tuple(_Reader(outer, depth).selector(part) for part in split(prelude))
    return tuple(one for one in found if one is not None) if None not in found else ()


class _Reader:
    def __init__(self, outer: tuple[Selector, ...], depth: int) -> None:
        self._outer = outer
        self._depth = depth
        self._unsure = "selectors within selectors" if depth > _DEEPEST else ""

    def selector(self, tokens: Sequence[Token]) -> Selector | None:
        """The selector; None where it is invalid."""
        tokens = [token for token in tokens if token.type != "comment"] if self._depth <= _DEEPEST else []
        done, parts, place, nested = list[Compound](), Compound(), 0, False
        while place < len(tokens):
            token, following = tokens[place], tokens[place + 1] if place + 1 < len(tokens) else None
            sign, after = _sign(token), _sign(following)
            place += 1
            if token.type == "whitespace" or sign in {">", "+", "~"}:
                if not parts.empty:
                    done.append(parts)
                    parts = Compound(" ")
                if sign and parts.relation not in {"", " "}:
                    return None
                parts.relation = sign or parts.relation
                continue
            parts.empty = False
            if sign == ":" and after == ":":
                parts.drawn = _name(tokens[place + 1]) if place + 1 < len(tokens) else "?"
                place += 2
            elif sign == ":":
                place += 1
                if following is None or following.type not in {"ident", "function"}:
                    return None
                self._pseudo_class(following, parts)
            elif after == "|":
                place += 1  # a namespace: all of a page are one
            elif token.type == "ident":
                parts.tag = token.lower_value
                parts.count[2] += 1
            elif token.type == "hash" and token.is_identifier:
                parts.names.append(token.value)
                parts.count[0] += 1
            elif sign == "." and following is not None and following.type == "ident":
                parts.classes.append(following.value)
                parts.count[1] += 1
                place += 1
            elif token.type == "[] block":
                if not _attribute(significant(token.content), parts):
                    return None
            elif sign == "&":
                nested = True
                parts.demand(*self._parent())
            elif sign != "*":
                return None
        if not parts.empty:
            done.append(parts)
        elif parts.relation in {">", "+", "~"}:
            return None
        if not done and not self._unsure:
            return None
        if not done or len(done) > _LONGEST:
            return Selector((Compound(),), (0, 0, 0), self._unsure or "a selector of too many parts")
        if self._outer and not nested:
            done[0].relation = done[0].relation or " "
            done.insert(0, Compound(empty=False))
            done[0].demand(*self._parent())
        elif done[0].relation not in {"", " "}:
            return None
        ids, classes, types = (sum(parts.count[rank] for parts in done) for rank in range(3))
        return Selector(tuple(reversed(done)), (ids, classes, types), self._unsure)

    def _parent(self) -> tuple[Test, Specificity]:
        """The condition that "&" stands for."""
        if not self._outer:
            return _is_root, (0, 0, 0)
        self._unsure = self._unsure or next(filter(None, (one.unsure for one in self._outer)), "")
        return _any_of(self._outer), max(one.specificity for one in self._outer)

    def _pseudo_class(self, token: Token, parts: Compound) -> None:
        name, kin = _name(token), _name(token).removeprefix("nth-").removeprefix("last-")
        if name in _DRAWN:
            parts.drawn = name
        elif name in _PSEUDO_CLASSES:
            parts.demand(_PSEUDO_CLASSES[name])
        elif token.type == "function" and (name in _ALIKE or name == "not"):
            inner = tuple(self._inner(token.arguments))
            if any(one.unsure for one in inner):
                parts.count[1] += 1
                self._unsure = self._unsure or f":{name}"
                return
            test, most = _any_of(inner), max((one.specificity for one in inner), default=(0, 0, 0))
            negated: Test = lambda element, budget: not test(element, budget)  # noqa: E731
            parts.demand(negated if name == "not" else test, most if name != "where" else (0, 0, 0))
        elif token.type == "function" and name[:4] == "nth-" and kin in _KIN and (an := every_nth(token.arguments)):
            parts.demand(_nth_child(*an, last="last" in name, typed="type" in name))
        else:
            parts.count[1] += 1
            self._unsure = self._unsure or f":{name}"

    def _inner(self, arguments: Sequence[Token]) -> Iterator[Selector]:
        """The selectors in the brackets of another; one that is invalid there is passed over."""
        for part in split(arguments):
            outer = self._outer if any(_sign(token) == "&" for token in part) else ()
            selector = _Reader(outer, self._depth + 1).selector(part)
            if selector is not None and not selector.compounds[0].drawn:
                yield selector


def _sign(token: Token | None) -> str:
    return str(token.value) if token is not None and token.type == "literal" else ""


def _name(token: Token) -> str:
    return str(getattr(token, "lower_name" if token.type == "function" else "lower_value", "?"))


def _attribute(inside: tuple[Token, ...], parts: Compound) -> bool:
    """Add the test of [name], [name=value] and the like (Selectors Level 4, 6); whether it is valid."""
    inside = tuple(token for token in inside if _sign(token) not in {"*", "|"})
    if not inside or inside[0].type != "ident":
        return False
    name = inside[0].lower_value
    parts.attributes.append(name)
    if len(inside) == 1:
        parts.demand(lambda element, budget: name in element.attrib)
        return True
    compare = _SIGNS.get(getattr(inside[1], "value", ""))
    if compare is None or len(inside) not in {3, 4} or inside[2].type not in {"string", "ident"}:
        return False
    fold = name in _FOLDED or (len(inside) == 4 and getattr(inside[3], "lower_value", "") == "i")
    wanted = inside[2].value.lower() if fold else inside[2].value

    def test(element: etree._Element, budget: Budget) -> bool:
        value = element.get(name)
        if value is None:
            return False
        budget.spend(len(value) >> 8)
        return compare(value.lower() if fold else value, wanted)

    parts.demand(test)
    return True


def _any_of(selectors: tuple[Selector, ...]) -> Test:
    return lambda element, budget: any(one.matches(element, budget) for one in selectors)


def _is_root(element: etree._Element, budget: Budget) -> bool:
    return element.getparent() is None


def _is_link(element: etree._Element, budget: Budget) -> bool:
    return element.tag in {"a", "area"} and "href" in element.attrib


def _nth_child(step: int, first: int, *, last: bool = False, typed: bool = False) -> Test:
    def test(element: etree._Element, budget: Budget) -> bool:
        away = budget.place(element, last=last, typed=typed) - first
        return away == 0 if step == 0 else away % step == 0 and away // step >= 0

    return test


def _only(*tests: Test) -> Test:
    return lambda element, budget: all(test(element, budget) for test in tests)


_SIGNS: dict[str, Callable[[str, str], bool]] = {
    "=": lambda value, wanted: value == wanted,
    "~=": lambda value, wanted: bool(wanted) and wanted in value.split(),
    "|=": lambda value, wanted: value == wanted or value.startswith(f"{wanted}-"),
    "^=": lambda value, wanted: bool(wanted) and value.startswith(wanted),
    "$=": lambda value, wanted: bool(wanted) and value.endswith(wanted),
    "*=": lambda value, wanted: bool(wanted) and wanted in value,
}
_ENDS = {f"{end}-{kind}": _nth_child(0, 1, last=end == "last", typed=kind != "child")
         for end in ("first", "last") for kind in ("child", "of-type")}  # fmt: skip
_PSEUDO_CLASSES: dict[str, Test] = {
    **dict.fromkeys(_STATES, _NEVER),
    **_ENDS,
    **{f"only-{kind}": _only(_ENDS[f"first-{kind}"], _ENDS[f"last-{kind}"]) for kind in ("child", "of-type")},
    **dict.fromkeys(("root", "scope"), _is_root),
    **dict.fromkeys(("link", "any-link"), _is_link),
    "empty": lambda element, budget: len(element) == 0 and not element.text,
    "checked": lambda element, budget: "checked" in element.attrib or "selected" in element.attrib,
    "disabled": lambda element, budget: element.tag in _FORM and "disabled" in element.attrib,
    "enabled": lambda element, budget: element.tag in _FORM and "disabled" not in element.attrib,
}
