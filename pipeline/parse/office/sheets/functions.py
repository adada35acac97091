"""The functions of formulas that are computed (ISO/IEC 29500-1, 18.17.7): sums and the like, rounding, logic, texts."""

import datetime
import math
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, ROUND_UP, Context, Decimal
from functools import partial

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
_ONE: dict[str, Callable[[float], float]] = {"ABS": abs, "SQRT": math.sqrt, "INT": math.floor, "EXP": math.exp,
        "SIGN": lambda one: math.copysign(1, one) if one else 0.0, "N": float}  # fmt: skip
_SUBTOTALS = {1: "AVERAGE", 2: "COUNT", 3: "COUNTA", 4: "MAX", 5: "MIN", 6: "PRODUCT", 9: "SUM"}
_MOST = 10_000  # cells of a range whose products are added


def _values(scope: Scope, nodes: Sequence[Node]) -> Iterator[tuple[Value, bool]]:
    """The values of arguments, and whether each comes from a cell."""
    for node in nodes:
        found = node(scope)
        if isinstance(found, Area):
            yield from ((value, True) for value in scope.cells.values(found))
        else:
            yield found, False


def _arguments(scope: Scope, nodes: Sequence[Node], least: int, most: int) -> list[Value]:
    """Single values as arguments, filled up with None; raises UnknownError for another number of them."""
    if not least <= len(nodes) <= most:
        raise UnknownError
    return [*map(scope.single, nodes), *[None] * (most - len(nodes))]


def _aggregate(compute: Callable[[list[float]], float]) -> Function:
    """A function of all numbers in its arguments; texts and truth values of cells do not count."""

    def function(scope: Scope, nodes: Sequence[Node]) -> Operand:
        found = _values(scope, nodes)
        numbers = [number_of(value) for value, of_cell in found if not of_cell or isinstance(value, float)]
        try:
            return float(compute(numbers))
        except ZeroDivisionError as error:
            raise FaultError("#DIV/0!") from error

    return function


def _numeric(compute: Callable[..., float], least: int, most: int, *faults: type[Exception]) -> Function:
    """A function of single numbers; of some exceptions the result is an error."""

    def function(scope: Scope, nodes: Sequence[Node]) -> Operand:
        arguments = _arguments(scope, nodes, least, most)
        try:
            return float(compute(*map(number_of, arguments)))
        except faults as error:
            raise FaultError("#NUM!") from error

    return function


def _rounded(rounding: str, value: float, places: float) -> float:
    if abs(places) > 300:
        raise UnknownError
    unit = Decimal(1).scaleb(-int(places))
    return _in_units(rounding, value, unit)


def _to_multiple(rounding: str, value: float, unit: float) -> float:
    if unit <= 0:
        raise UnknownError
    return _in_units(rounding, value, Decimal(repr(unit)))


def _in_units(rounding: str, value: float, unit: Decimal) -> float:
    found = Decimal(f"{value:.15g}") / unit
    return float(found.quantize(Decimal(1), rounding=rounding, context=_EXACT) * unit)


def _mod(value: float, by: float) -> float:
    if not by:
        raise FaultError("#DIV/0!")
    return value - by * math.floor(value / by)


def _subtotal(scope: Scope, nodes: Sequence[Node]) -> Operand:
    """A sum and the like over the cells that are seen and no subtotals themselves: known where that is all of them."""
    name = _SUBTOTALS.get(int(number_of(scope.single(nodes[0])) % 100)) if len(nodes) > 1 else None
    areas = [node(scope) for node in nodes[1:]]
    if name is None or not all(isinstance(area, Area) and scope.cells.shows_all(area) for area in areas):
        raise UnknownError
    return FUNCTIONS[name](scope, nodes[1:])


def _sumproduct(scope: Scope, nodes: Sequence[Node]) -> Operand:
    areas = list[Area]()
    for found in [node(scope) for node in nodes]:
        if not isinstance(found, Area):
            raise UnknownError
        areas.append(found)
        if len({(area.bottom - area.top, area.right - area.left) for area in areas}) > 1:
            raise FaultError("#VALUE!")
    if not areas:
        raise UnknownError
    height, width = areas[0].bottom - areas[0].top + 1, areas[0].right - areas[0].left + 1
    if height * width > _MOST:
        raise UnknownError
    total = 0.0
    for row in range(height):
        for column in range(width):
            places = [(area.sheet, area.top + row, area.left + column) for area in areas]
            values = [scope.cells.value(place) for place in places]
            total += math.prod(one if isinstance(one, float) else 0.0 for one in values)
    return total


def _if(scope: Scope, nodes: Sequence[Node]) -> Operand:
    if not 2 <= len(nodes) <= 3:
        raise UnknownError
    if not _truth(scope.single(nodes[0])):
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
        return scope.single(nodes[0])
    except FaultError:
        return scope.single(nodes[1])


def _logic(compute: Callable[[Iterator[bool]], bool]) -> Function:
    def function(scope: Scope, nodes: Sequence[Node]) -> Operand:
        found = [value for value, of_cell in _values(scope, nodes) if not (of_cell and isinstance(value, str))]
        if not found:
            raise UnknownError
        return compute(map(_truth, found))

    return function


def _date(scope: Scope, nodes: Sequence[Node]) -> Operand:
    """The number of a day from 1901 on."""
    year, month, day = (int(number_of(one)) for one in _arguments(scope, nodes, 3, 3))
    if not (1901 <= year <= 9998 and 1 <= month <= 12 and 1 <= day <= 31):
        raise UnknownError
    return float((datetime.date(year, month, 1) - datetime.date(1899, 12, 30)).days + day - 1 - scope.cells.epoch)


def _concatenate(scope: Scope, nodes: Sequence[Node]) -> Operand:
    return "".join(text_of(value) for value, _ in _values(scope, nodes))


def _text(scope: Scope, nodes: Sequence[Node]) -> Operand:
    """A number in a format; dates only where the language of the program does not matter, that is never."""
    value, code = _arguments(scope, nodes, 2, 2)
    if isinstance(value, str | bool) or not isinstance(code, str) or number_format(code).is_dated:
        raise UnknownError
    return number_format(code).show(float(value or 0), repr(float(value or 0)), 0).text


def _of_text(compute: Callable[[str], Value]) -> Function:
    return lambda scope, nodes: compute(text_of(_arguments(scope, nodes, 1, 1)[0]))


def _end(of_left: bool, scope: Scope, nodes: Sequence[Node]) -> Operand:
    text, count = _arguments(scope, nodes, 1, 2)
    length = 1 if len(nodes) == 1 else max(0, int(number_of(count)))
    return text_of(text)[:length] if of_left else text_of(text)[-length:] if length else ""


FUNCTIONS: dict[str, Function] = {
    **{name: _aggregate(compute) for name, compute in _NUMBERS.items()},
    **{name: _numeric(compute, 1, 1, ValueError, OverflowError) for name, compute in _ONE.items()},
    **{name: _numeric(partial(_rounded, rounding), 1, 2) for name, rounding in {
        "ROUND": ROUND_HALF_UP, "ROUNDUP": ROUND_UP, "ROUNDDOWN": ROUND_DOWN, "TRUNC": ROUND_DOWN}.items()},
    **{name: _numeric(partial(_to_multiple, rounding), 2, 2) for name, rounding in {
        "CEILING": ROUND_CEILING, "FLOOR": ROUND_FLOOR, "MROUND": ROUND_HALF_UP}.items()},
    "MOD": _numeric(_mod, 2, 2), "DATE": _date,
    "TIME": _numeric(lambda hours, minutes, seconds: (hours * 3600 + minutes * 60 + seconds) / 86_400 % 1, 3, 3),
    "PI": lambda scope, nodes: math.pi, "SUBTOTAL": _subtotal, "SUMPRODUCT": _sumproduct,
    "COUNTA": lambda scope, nodes: float(sum(1 for _ in _values(scope, nodes))),
    "IF": _if, "IFERROR": _iferror, "AND": _logic(all), "OR": _logic(any),
    "NOT": lambda scope, nodes: not _truth(_arguments(scope, nodes, 1, 1)[0]),
    "TRUE": lambda scope, nodes: True, "FALSE": lambda scope, nodes: False,
    "CONCATENATE": _concatenate, "CONCAT": _concatenate, "TEXT": _text,
    "HYPERLINK": lambda scope, nodes: scope.single(nodes[min(1, len(nodes) - 1)]),  # its name, or the address
    "VALUE": _of_text(number_of), "LEN": _of_text(lambda text: float(len(text))),
    "TRIM": _of_text(lambda text: " ".join(text.split(" ")) if "  " not in text else " ".join(text.split())),
    "UPPER": _of_text(str.upper), "LOWER": _of_text(str.lower), "T": _of_text(str),
    "LEFT": partial(_end, True), "RIGHT": partial(_end, False),
}  # fmt: skip
