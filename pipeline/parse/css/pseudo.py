"""Conditions of selectors on one element: pseudo-classes, and what attributes are compared by (Selectors Level 4)."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from lxml import etree

STEPS = 2_000_000
"""Elements that all selectors of a page may look at, and declarations that may hold for all elements: seconds."""
NEVER = {
    "hover", "active", "focus", "focus-within", "focus-visible", "visited", "target", "target-within", "popover-open",
    "modal", "fullscreen", "indeterminate", "user-invalid", "user-valid", "autofill", "-webkit-autofill", "host",
    "playing", "picture-in-picture", "current", "past", "future",
}  # fmt: skip
_FORM = {"button", "input", "select", "textarea", "option", "optgroup", "fieldset"}


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
            self._places[key] = _numbered(parent, last, typed)
        return self._places[key][element]


def _numbered(parent: etree._Element, last: bool, typed: bool) -> dict[etree._Element, int]:
    places: dict[etree._Element, int] = {}
    counts: Counter[str] = Counter()
    for child in reversed(parent) if last else parent:
        kind = child.tag if typed else ""
        counts[kind] += 1
        places[child] = counts[kind]
    return places


Test = Callable[[etree._Element, Budget], bool]


def nth_child(numbers: tuple[int, int], *, last: bool, typed: bool) -> Test:
    """The test for `:nth-child(an+b)` and its kin, of a and b."""
    step, first = numbers

    def test(element: etree._Element, budget: Budget) -> bool:
        away = budget.place(element, last=last, typed=typed) - first
        return away == 0 if step == 0 else away % step == 0 and away // step >= 0

    return test


def is_root(element: etree._Element, budget: Budget) -> bool:
    """Whether an element is the outermost of the page."""
    return element.getparent() is None


def _is_empty(element: etree._Element, budget: Budget) -> bool:
    return len(element) == 0 and not element.text


def attribute_test(name: str, sign: str, wanted: str, fold: bool) -> Test | None:
    """The test that compares the value of an attribute as a sign says, None for no sign; `fold`: whatever the case."""
    test, fold = _SIGNS.get(sign), fold or name in _FOLDED
    wanted = wanted.lower() if fold else wanted
    if test is None:
        return None

    def holds(element: etree._Element, budget: Budget) -> bool:
        value = element.get(name)
        if value is None:
            return False
        budget.spend(len(value) >> 8)
        return test(value.lower() if fold else value, wanted)

    return holds


def _only(typed: bool) -> Test:
    tests = [nth_child((0, 1), last=last, typed=typed) for last in (False, True)]
    return lambda element, budget: all(test(element, budget) for test in tests)


_FOLDED = {"type", "align", "valign", "dir", "lang", "media", "method", "rel", "shape", "bgcolor", "color"}
"""Attributes of HTML whose values are compared without regard to case."""
_SIGNS: dict[str, Callable[[str, str], bool]] = {
    "=": lambda value, wanted: value == wanted,
    "~=": lambda value, wanted: bool(wanted) and wanted in value.split(),
    "|=": lambda value, wanted: value == wanted or value.startswith(f"{wanted}-"),
    "^=": lambda value, wanted: bool(wanted) and value.startswith(wanted),
    "$=": lambda value, wanted: bool(wanted) and value.endswith(wanted),
    "*=": lambda value, wanted: bool(wanted) and wanted in value,
}
PSEUDO_CLASSES: dict[str, Test] = {
    "root": is_root,
    "scope": is_root,
    "empty": _is_empty,
    "first-child": nth_child((0, 1), last=False, typed=False),
    "last-child": nth_child((0, 1), last=True, typed=False),
    "only-child": _only(typed=False),
    "first-of-type": nth_child((0, 1), last=False, typed=True),
    "last-of-type": nth_child((0, 1), last=True, typed=True),
    "only-of-type": _only(typed=True),
    "link": lambda element, budget: element.tag in {"a", "area"} and "href" in element.attrib,
    "any-link": lambda element, budget: element.tag in {"a", "area"} and "href" in element.attrib,
    "defined": lambda element, budget: True,
    "checked": lambda element, budget: "checked" in element.attrib or "selected" in element.attrib,
    "disabled": lambda element, budget: element.tag in _FORM and "disabled" in element.attrib,
    "enabled": lambda element, budget: element.tag in _FORM and "disabled" not in element.attrib,
    "required": lambda element, budget: element.tag in _FORM and "required" in element.attrib,
    "optional": lambda element, budget: element.tag in _FORM and "required" not in element.attrib,
    "read-only": lambda element, budget: element.tag not in {"input", "textarea"} or "readonly" in element.attrib,
    "read-write": lambda element, budget: element.tag in {"input", "textarea"} and "readonly" not in element.attrib,
}
