"""Environment markers, by which a requirement says where it is needed: PEP 508, for Linux on x86-64 and CPython.

    python_full_version < '3.12' and sys_platform == 'linux'

`or` binds less than `and`; values are versions where both sides are such, else text.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

_TOKENS: Final = re.compile(
    r"\s*(?:(\(|\))|(<=|>=|===|==|!=|~=|<|>)|(not\s+in\b|in\b|and\b|or\b)|(\w+)|'([^']*)'|\"([^\"]*)\")"
)
_VERSION: Final = re.compile(r"\d+(\.\d+)*")
_LIKE: Final = re.compile(r"\d+(\.\d+)*\.\*")


def environment(python: str, extra: str = "") -> Mapping[str, str]:
    """What markers see on the machines that a bundle is for, with the Python of this version."""
    return {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_version": f"{python}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "os_name": "posix",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": "x86_64",
        "platform_release": "",
        "platform_version": "",
        "extra": extra,
    }


def holds(marker: str, variables: Mapping[str, str]) -> bool:
    """Whether a marker holds there; an empty one always does. ValueError for what is no marker."""
    if not marker.strip():
        return True
    tokens = list(_tokens(marker))
    found = _either(tokens, variables)
    if tokens:
        raise ValueError(f"no marker: {marker!r}")
    return found


def _tokens(marker: str) -> Iterator[tuple[str, str]]:
    at, end = 0, len(marker.rstrip())
    while at < end:
        if (found := _TOKENS.match(marker, at)) is None:
            raise ValueError(f"no marker: {marker!r}")
        at = found.end()
        bracket, operator, word, name, one, two = found.groups()
        if name is not None:
            yield "name", name
        elif one is not None or two is not None:
            yield "text", one if one is not None else two
        else:
            yield " ".join((bracket or operator or word).split()), ""


def _either(tokens: list[tuple[str, str]], variables: Mapping[str, str]) -> bool:
    found = _both(tokens, variables)
    while tokens and tokens[0][0] == "or":
        tokens.pop(0)
        found = _both(tokens, variables) or found
    return found


def _both(tokens: list[tuple[str, str]], variables: Mapping[str, str]) -> bool:
    found = _one(tokens, variables)
    while tokens and tokens[0][0] == "and":
        tokens.pop(0)
        found = _one(tokens, variables) and found
    return found


def _one(tokens: list[tuple[str, str]], variables: Mapping[str, str]) -> bool:
    if tokens and tokens[0][0] == "(":
        tokens.pop(0)
        found = _either(tokens, variables)
        if not tokens or tokens.pop(0)[0] != ")":
            raise ValueError("no marker: a bracket is not closed")
        return found
    if len(tokens) < 3:
        raise ValueError("no marker: it ends too early")
    (left, operator, right), tokens[:3] = tokens[:3], []
    return _compare(_value(left, variables), operator[0], _value(right, variables))


def _value(token: tuple[str, str], variables: Mapping[str, str]) -> str:
    kind, text = token
    if kind == "text":
        return text
    if kind != "name" or text not in variables:
        raise ValueError(f"no marker: {text or kind!r} is no variable of one")
    return variables[text]


def _compare(left: str, operator: str, right: str) -> bool:
    if operator in ("in", "not in"):
        return (left in right) == (operator == "in")
    if _VERSION.fullmatch(left) and _LIKE.fullmatch(right) and operator in ("==", "!="):
        prefix = right.removesuffix("*")
        return f"{left}.".startswith(prefix) == (operator == "==")
    if _VERSION.fullmatch(left) and _VERSION.fullmatch(right):
        if operator == "~=":
            prefix = right.rpartition(".")[0] + "."
            return _number(left) >= _number(right) and f"{left}.".startswith(prefix)
        return _ordered(_number(left), operator, _number(right))
    if operator not in ("==", "!=", "==="):
        raise ValueError(f"no marker: {left!r} {operator} {right!r} compares what has no order")
    return (left == right) == (operator != "!=")


def _ordered(left: tuple[int, ...], operator: str, right: tuple[int, ...]) -> bool:
    found = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
    found |= {"==": left == right, "===": left == right, "!=": left != right}
    if operator not in found:
        raise ValueError(f"no marker: {operator!r} compares nothing")
    return found[operator]


def _number(version: str) -> tuple[int, ...]:
    """The numbers of a version, without zeros at its end: 3.12.0 is 3.12."""
    numbers = [int(part) for part in version.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
