"""The functions of formulas that are computed (ISO/IEC 29500-1, 18.17.7): sums and the like, rounding, logic, texts."""

import datetime
import math
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, ROUND_UP, Context, Decimal

from pipeline.parse.office.sheets.number_formats import number_format
from pipeline.parse.office.sheets.values import (
    Area,
    FaultError,
    Node,
    Operand,
    Scope,
    UnknownError,
    Value,
    number_of,
    single,
    text_of,
)

Function = Callable[[Scope, Sequence[Node]], Operand]
_EXACT = Context(prec=400)
_NUMBERS: dict[str, Callable[[list[float]], float]] = {
    "SUM": math.fsum,
    "PRODUCT": lambda found: math.prod(found) if found else 0.0,
    "AVERAGE": lambda found: math.fsum(found) / len(found),
    "MIN": lambda found: min(found, default=0.0),
    "MAX": lambda found: max(found, default=0.0),
    "COUNT": lambda found: float(len(found)),
}
_SUBTOTALS = {1: "AVERAGE", 2: "COUNT", 3: "COUNTA", 4: "MAX", 5: "MIN", 6: "PRODUCT", 9: "SUM"}
_ROUNDED = {"ROUND": ROUND_HALF_UP, "ROUNDUP": ROUND_UP, "ROUNDDOWN": ROUND_DOWN, "TRUNC": ROUND_DOWN}
_ONE: dict[str, Callable[[float], float]] = {"ABS": abs, "SQRT": math.sqrt, "INT": math.floor, "EXP": math.exp,
        "SIGN": lambda one: math.copysign(1, one) if one else 0.0, "N": float}  # fmt: skip


def _values(scope: Scope, nodes: Sequence[Node]) -> Iterator[tuple[Value, bool]]:
    """The values of arguments, and whether each comes from a cell."""
    for node in nodes:
        found = node(scope)
        if isinstance(found, Area):
            yield from ((value, True) for value in scope.values(found))
        else:
            yield found, False


def _numbers(scope: Scope, nodes: Sequence[Node]) -> list[float]:
    """The numbers among arguments; texts and truth values of cells do not count."""
    return [
        number_of(value)
        for value, of_cell in _values(scope, nodes)
        if not of_cell or (isinstance(value, float) and value is not None)
    ]


def _of_numbers(name: str) -> Function:
    compute = _NUMBERS[name]

    def function(scope: Scope, nodes: Sequence[Node]) -> Operand:
        try:
            return float(compute(_numbers(scope, nodes)))
        except ZeroDivisionError as error:
            raise FaultError("#DIV/0!") from error

    return function


def _of_one(compute: Callable[[float], float]) -> Function:
    def function(scope: Scope, nodes: Sequence[Node]) -> Operand:
        (number,) = _arguments(scope, nodes, 1)
        try:
            return float(compute(number_of(number)))
        except (ValueError, OverflowError) as error:
            raise FaultError("#NUM!") from error

    return function


def _arguments(scope: Scope, nodes: Sequence[Node], least: int, most: int | None = None) -> list[Value]:
    """Single values as arguments, filled up with None; raises UnknownError for another number of them."""
    if not least <= len(nodes) <= (most or least):
        raise UnknownError
    return [*(single(scope, node) for node in nodes), *[None] * ((most or least) - len(nodes))]


def _round(rounding: str) -> Function:
    def function(scope: Scope, nodes: Sequence[Node]) -> Operand:
        value, places = map(number_of, _arguments(scope, nodes, 1, 2))
        if abs(places) > 300:
            raise UnknownError
        unit = Decimal(1).scaleb(-int(places))
        found = Decimal(f"{value:.15g}") / unit
        return float(found.quantize(Decimal(1), rounding=rounding, context=_EXACT) * unit)

    return function


def _to_multiple(rounding: str) -> Function:
    def function(scope: Scope, nodes: Sequence[Node]) -> Operand:
        value, unit = map(number_of, _arguments(scope, nodes, 2))
        if unit <= 0:
            raise UnknownError
        found = Decimal(f"{value:.15g}") / Decimal(repr(unit))
        return float(found.quantize(Decimal(1), rounding=rounding, context=_EXACT) * Decimal(repr(unit)))

    return function


def _mod(scope: Scope, nodes: Sequence[Node]) -> Operand:
    value, by = map(number_of, _arguments(scope, nodes, 2))
    if not by:
        raise FaultError("#DIV/0!")
    return value - by * math.floor(value / by)


def _counta(scope: Scope, nodes: Sequence[Node]) -> Operand:
    return float(sum(1 for _ in _values(scope, nodes)))


def _subtotal(scope: Scope, nodes: Sequence[Node]) -> Operand:
    """A sum and the like over the cells that are seen and no subtotals themselves: known where that is all of them."""
    name = _SUBTOTALS.get(int(number_of(single(scope, nodes[0])) % 100)) if len(nodes) > 1 else None
    areas = [node(scope) for node in nodes[1:]]
    if name is None or not all(isinstance(area, Area) and scope.shows_all(area) for area in areas):
        raise UnknownError
    return FUNCTIONS[name](scope, nodes[1:])


def _sumproduct(scope: Scope, nodes: Sequence[Node]) -> Operand:
    total = 0.0
    areas = [node(scope) for node in nodes]
    first = areas[0] if areas else None
    for area in areas:
        if not isinstance(area, Area) or not isinstance(first, Area):
            raise UnknownError
        if (area.bottom - area.top, area.right - area.left) != (first.bottom - first.top, first.right - first.left):
            raise FaultError("#VALUE!")
    if not isinstance(first, Area) or (first.bottom - first.top + 1) * (first.right - first.left + 1) > 10_000:
        raise UnknownError
    for row in range(first.bottom - first.top + 1):
        for column in range(first.right - first.left + 1):
            found = [
                scope.value(area.sheet, area.top + row, area.left + column) for area in areas if isinstance(area, Area)
            ]
            total += math.prod(one if isinstance(one, float) else 0.0 for one in found)
    return total


def _if(scope: Scope, nodes: Sequence[Node]) -> Operand:
    if not 2 <= len(nodes) <= 3:
        raise UnknownError
    if not _truth(single(scope, nodes[0])):
        return nodes[2](scope) if len(nodes) == 3 else False
    return nodes[1](scope)


def _truth(value: Value) -> bool:
    if isinstance(value, str):
        raise UnknownError
    return bool(value)


def _iferror(scope: Scope, nodes: Sequence[Node]) -> Operand:
    if len(nodes) != 2:
        raise UnknownError
    try:
        return single(scope, nodes[0])
    except FaultError:
        return single(scope, nodes[1])


def _logic(compute: Callable[[Iterator[bool]], bool]) -> Function:
    def function(scope: Scope, nodes: Sequence[Node]) -> Operand:
        found = [value for value, of_cell in _values(scope, nodes) if not (of_cell and isinstance(value, str))]
        if not found:
            raise UnknownError
        return compute(_truth(value) for value in found)

    return function


def _date(scope: Scope, nodes: Sequence[Node]) -> Operand:
    """The number of a day from 1901 on."""
    year, month, day = (int(number_of(one)) for one in _arguments(scope, nodes, 3))
    if not (1901 <= year <= 9998 and 1 <= month <= 12 and 1 <= day <= 31):
        raise UnknownError
    return float((datetime.date(year, month, 1) - datetime.date(1899, 12, 30)).days + day - 1 - scope.epoch)


def _time(scope: Scope, nodes: Sequence[Node]) -> Operand:
    hours, minutes, seconds = (number_of(one) for one in _arguments(scope, nodes, 3))
    return (hours * 3600 + minutes * 60 + seconds) / 86_400 % 1


def _not(scope: Scope, nodes: Sequence[Node]) -> Operand:
    return not _truth(_arguments(scope, nodes, 1)[0])


def _concatenate(scope: Scope, nodes: Sequence[Node]) -> Operand:
    return "".join(text_of(value) for value, _ in _values(scope, nodes))


def _text(scope: Scope, nodes: Sequence[Node]) -> Operand:
    """A number in a format; dates only where the language of the program does not matter, that is never."""
    value, code = _arguments(scope, nodes, 2)
    if isinstance(value, str | bool) or not isinstance(code, str):
        raise UnknownError
    found = number_format(code)
    if found.is_dated:
        raise UnknownError
    return found.show(float(value or 0), repr(float(value or 0)), 0).text


def _of_text(compute: Callable[[str], Value]) -> Function:
    return lambda scope, nodes: compute(text_of(_arguments(scope, nodes, 1)[0]))


def _link(scope: Scope, nodes: Sequence[Node]) -> Operand:
    """HYPERLINK shows its second argument, or the address."""
    return single(scope, nodes[min(1, len(nodes) - 1)])


def _end(of_left: bool) -> Function:
    def function(scope: Scope, nodes: Sequence[Node]) -> Operand:
        text, count = _arguments(scope, nodes, 1, 2)
        length = 1 if len(nodes) == 1 else max(0, int(number_of(count)))
        return text_of(text)[:length] if of_left else text_of(text)[-length:] if length else ""

    return function


FUNCTIONS: dict[str, Function] = {name: _of_numbers(name) for name in _NUMBERS}
FUNCTIONS |= {name: _round(rounding) for name, rounding in _ROUNDED.items()}
FUNCTIONS |= {name: _of_one(compute) for name, compute in _ONE.items()}
FUNCTIONS |= {
    "CEILING": _to_multiple(ROUND_CEILING), "FLOOR": _to_multiple(ROUND_FLOOR), "MROUND": _to_multiple(ROUND_HALF_UP),
    "MOD": _mod, 
    "PI": lambda scope, nodes: math.pi, "COUNTA": _counta, "SUBTOTAL": _subtotal, "SUMPRODUCT": _sumproduct,
    "IF": _if, "IFERROR": _iferror, "AND": _logic(all), "DATE": _date, "TIME": _time, "OR": _logic(any), "NOT": _not,
    "TRUE": lambda scope, nodes: True, "FALSE": lambda scope, nodes: False,
    "CONCATENATE": _concatenate, "CONCAT": _concatenate, "TEXT": _text, "HYPERLINK": _link,
    "VALUE": _of_text(lambda text: number_of(text)), "LEN": _of_text(lambda text: float(len(text))),
    "TRIM": _of_text(lambda text: " ".join(text.split(" ")) if "  " not in text else " ".join(text.split())),
    "UPPER": _of_text(str.upper), "LOWER": _of_text(str.lower), "T": _of_text(str),
    "LEFT": _end(True), "RIGHT": _end(False),
}  # fmt: skip
