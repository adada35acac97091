"""Custom properties, and `var()` in their place (CSS Custom Properties for Cascading Variables Level 1)."""

from collections.abc import Mapping, Sequence

from pipeline.parse.css.pseudo import Budget, TooMuchError
from pipeline.parse.css.syntax import Token, Value, rebuilt, significant, word

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
