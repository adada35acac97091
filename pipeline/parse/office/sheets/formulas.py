"""Formulas of cells (ISO/IEC 29500-1, 18.17) as functions of the cells that they refer to.

What is not known here, such as a function or a range where one value is wanted, raises UnknownError: then the result is
not computed, and never guessed.
"""

import operator
import re
from collections.abc import Callable
from functools import lru_cache, partial

from pipeline.parse.office.cells import column_number
from pipeline.parse.office.sheets.functions import FUNCTIONS
from pipeline.parse.office.sheets.values import (
    Area,
    FaultError,
    Node,
    Operand,
    Scope,
    UnknownError,
    Value,
    number_of,
    text_of,
)

Reference = tuple[str, int, str, int]
"""A reference to a cell: whether ("$") its column does not move, the column, the same of the row."""

_DEEP = 40
_LONG = 8_192  # characters, as Excel allows
_REFERENCE = re.compile(
    r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'|\[(?:[^\[\]]|\[[^\[\]]*\])*\]|(?<![\w.$\\\]])(\$?)([A-Za-z]{1,3})(\$?)(\d{1,7})(?![\w.(!\[])"
)
_TOKEN = re.compile(
    r"""\s*(?:(?P<rows>\$?\d+:\$?\d+)|(?P<number>\d+\.?\d*(?:[Ee][+-]?\d+)?|\.\d+(?:[Ee][+-]?\d+)?)|"(?P<text>(?:[^"]|"")*)"
    |(?P<error>\#[A-Z]+(?:/[0A]!?)?[!?]?)|'(?P<quoted>(?:[^']|'')*)'!|(?P<sheet>[^\W\d][\w.]*)!
    |(?P<call>[^\W\d][\w.]*)\(|(?P<columns>\$?[A-Za-z]{1,3}:\$?[A-Za-z]{1,3}(?!\w))
    |(?P<table>(?:[^\W\d\0][\w.]*)?\[(?:[^\[\]]|\[[^\[\]]*\])*\])
    |(?P<name>[^\W\d\0][\w.]*)|(?P<sign><=|>=|<>|[-+*/^&=<>%(),;:\0]))""",
    re.VERBOSE,
)


def references(formula: str) -> tuple[str, list[Reference]]:
    """A formula with a NUL in place of each cell that it refers to, and these: formulas that are filled down differ in
    these alone."""
    found: list[Reference] = []

    def take(match: re.Match[str]) -> str:
        if match[2] is None:
            return match.group()
        found.append((match[1], column_number(match[2] + "1"), match[3], int(match[4])))
        return "\0"

    return _REFERENCE.sub(take, formula), found


@lru_cache(4096)
def compiled(pattern: str) -> Node:
    """The formula behind a pattern of `references`. One that is not understood raises UnknownError when asked."""
    try:
        return _Parser(pattern).whole() if len(pattern) <= _LONG else _unknown
    except UnknownError:
        return _unknown


def _unknown(scope: Scope) -> Operand:
    raise UnknownError


class _Parser:
    """Reads a formula; the order of its operators is that of 18.17.2.2, in which a sign binds more than a power."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0
        self._count = 0  # references read
        self._kind, self._text = "", ""
        self._next()

    def whole(self) -> Node:
        """The formula; raises UnknownError."""
        node = self._expression()
        if self._kind != "end":
            raise UnknownError
        return node

    def _next(self) -> None:
        if not self._pattern[self._at :].strip():
            self._kind, self._text = "end", ""
            return
        match = _TOKEN.match(self._pattern, self._at)
        if match is None:
            raise UnknownError
        self._at, self._kind = match.end(), str(match.lastgroup)
        self._text = match[self._kind]

    def _takes(self, *signs: str) -> str:
        """The next sign, taken, if it is one of these; else ""."""
        if self._kind != "sign" or self._text not in signs:
            return ""
        sign = self._text
        self._next()
        return sign

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > _DEEP:
            raise UnknownError
        node = self._binary(0)
        self._depth -= 1
        return node

    def _binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._signed()
        first, rest = self._binary(level + 1), list[tuple[_Operation, Node]]()
        while sign := self._takes(*_LEVELS[level]):
            rest.append((_OPERATIONS[sign], self._binary(level + 1)))
        return _chain(first, rest)

    def _signed(self) -> Node:
        minus = False
        while sign := self._takes("-", "+"):
            minus ^= sign == "-"
        node, rest = self._primary(), list[tuple[_Operation, Node]]()
        while self._takes("%"):
            rest.append((_OPERATIONS["/"], lambda scope: 100.0))
        if minus:
            rest.append((_OPERATIONS["*"], lambda scope: -1.0))
        return _chain(node, rest)

    def _primary(self) -> Node:
        kind, text = self._kind, self._text
        if kind == "sign" and text not in {"(", "\0"}:
            raise UnknownError
        self._next()
        if kind in {"number", "text"}:
            value = float(text) if kind == "number" else text.replace('""', '"')
            return lambda scope: value
        if kind == "error":
            return partial(_fault, text)
        if kind == "call":
            return self._call(text)
        if text == "(":
            node = self._expression()
            if not self._takes(")"):
                raise UnknownError
            return node
        if kind == "name":
            truth = {"TRUE": True, "FALSE": False}.get(text.upper())
            return lambda scope: scope.cells.named(text.lower(), scope.place[0]) if truth is None else truth
        if kind == "table":
            name, _, columns = text[:-1].partition("[")
            return lambda scope: scope.cells.table(name.lower(), columns, scope.place)
        return self._area(kind, text)

    def _call(self, name: str) -> Node:
        arguments = list[Node]()
        while not self._takes(")"):
            if arguments and not self._takes(",", ";"):
                raise UnknownError
            if (self._kind == "sign" and self._text in {",", ";"}) or (arguments and self._text == ")"):
                arguments.append(lambda scope: None)  # an argument that is left out
            else:
                arguments.append(self._expression())
        function = FUNCTIONS.get(name.upper().removeprefix("_XLFN."))
        return _unknown if function is None else lambda scope: function(scope, arguments)

    def _area(self, kind: str, text: str) -> Node:
        sheet = ""
        if kind in {"quoted", "sheet"}:
            sheet = text.replace("''", "'").lower()
            kind, text = self._kind, self._text
            self._next()
        if kind == "columns":
            left, right = (column_number(one + "1") for one in text.replace("$", "").split(":"))
            return lambda scope: Area(sheet or scope.place[0], 1, left, _ROWS, right)
        if kind == "rows":
            top, bottom = (int(one) for one in text.replace("$", "").split(":"))
            return lambda scope: Area(sheet or scope.place[0], top, 1, bottom, _COLUMNS)
        if text != "\0":
            raise UnknownError
        first = last = self._count
        self._count += 1
        if self._takes(":"):
            if self._text != "\0":
                raise UnknownError
            self._next()
            last = self._count
            self._count += 1

        def node(scope: Scope) -> Operand:
            (top, left), (bottom, right) = scope.refs[first], scope.refs[last]
            return Area(sheet or scope.place[0], min(top, bottom), min(left, right), max(top, bottom), max(left, right))

        return node


_LEVELS = (("=", "<>", "<=", ">=", "<", ">"), ("&",), ("+", "-"), ("*", "/"), ("^",))
_ROWS, _COLUMNS = 1_048_576, 16_384
_Operation = Callable[[Value, Value], Value]


def _fault(code: str, scope: Scope) -> Operand:
    raise FaultError(code)


def _chain(first: Node, rest: list[tuple[_Operation, Node]]) -> Node:
    """Operations from left to right."""

    def node(scope: Scope) -> Operand:
        value = scope.single(first)
        for compute, operand in rest:
            value = compute(value, scope.single(operand))
        return value

    return node if rest else first


def _arithmetic(compute: Callable[[float, float], float]) -> _Operation:
    def operation(left: Value, right: Value) -> Value:
        try:
            found = compute(number_of(left), number_of(right))
        except ZeroDivisionError as error:
            raise FaultError("#DIV/0!") from error
        except OverflowError as error:
            raise FaultError("#NUM!") from error
        if isinstance(found, complex):
            raise FaultError("#NUM!")
        return found

    return operation


_Key = tuple[int, float | str]


def _comparison(compare: Callable[[_Key, _Key], bool]) -> _Operation:
    return lambda left, right: compare(_key(left, right), _key(right, left))


def _key(value: Value, other: Value) -> _Key:
    """A value in the order of 18.17.2.2: numbers, texts without their case, truth values; an empty one as the other
    one's kind."""
    if value is None:
        return _key("" if isinstance(other, str) else False if isinstance(other, bool) else 0.0, None)
    if isinstance(value, bool):
        return 2, float(value)
    return (1, value.lower()) if isinstance(value, str) else (0, float(f"{value:.15g}"))


_OPERATIONS: dict[str, _Operation] = {
    "+": _arithmetic(operator.add), "-": _arithmetic(operator.sub), "*": _arithmetic(operator.mul),
    "/": _arithmetic(operator.truediv), "^": _arithmetic(operator.pow),
    "&": lambda left, right: text_of(left) + text_of(right),
    "=": _comparison(operator.eq), "<>": _comparison(operator.ne), "<": _comparison(operator.lt),
    ">": _comparison(operator.gt), "<=": _comparison(operator.le), ">=": _comparison(operator.ge),
}  # fmt: skip
