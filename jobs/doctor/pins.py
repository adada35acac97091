"""The packages that this version was tested with, as a lock pins them for this Python and platform."""

import ast
import operator
import os
import platform
import re
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import jobs

_CHECKOUT = Path(jobs.__file__).parent.parent / "requirements.lock"
_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;]+)(?:\s*;\s*(.+))?$")


def find_lock() -> Path | None:
    """The lock beside the code, or that of the bundle whose environment this is; None where there is neither."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    of_bundle = Path(sys.prefix).parent / "locks" / f"requirements-{python}.txt"
    return next((path for path in (_CHECKOUT, of_bundle) if path.is_file()), None)


def parse_lock(text: str) -> dict[str, str]:
    """The version of each package, by its normal name, of those that are for this environment. ValueError for a
    condition that is not understood."""
    found = (_PIN.match(line.partition(" --hash=")[0].rstrip("\\ ")) for line in text.splitlines())
    return {normal(each[1]): each[2] for each in found if each and (not each[3] or holds(each[3]))}


def optional_packages() -> frozenset[str]:
    """The packages that Cloister can be installed without: they belong to an extra, such as that for text
    recognition."""
    said = metadata.requires("cloister") or []
    extra = {_name(each) for each in said if "extra ==" in each}
    return frozenset(extra - {_name(each) for each in said if "extra ==" not in each})


def normal(name: str) -> str:
    """The normal form of a package's name (PyPA: name normalization)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def holds(marker: str) -> bool:
    """Whether a condition on the environment holds here (PyPA: dependency specifiers). ValueError."""
    try:
        return bool(_value(ast.parse(marker, mode="eval").body))
    except (SyntaxError, KeyError) as error:
        raise ValueError(f"the condition {marker!r} is not understood") from error


def _value(node: ast.expr) -> bool:
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            return all(map(_value, values))
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(_value, values))
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=str(wanted))]):
            return _compare(name, op, wanted)
    raise SyntaxError


def _compare(name: str, op: ast.cmpop, wanted: str) -> bool:
    if name.startswith("python_"):
        found = sys.version_info[: len(_numbers(wanted))]
        return _OPERATORS[type(op)](found, _numbers(wanted))
    return _OPERATORS[type(op)](_ENVIRONMENT[name], wanted)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


_ENVIRONMENT = {
    "sys_platform": sys.platform,
    "os_name": os.name,
    "platform_system": platform.system(),
    "platform_machine": platform.machine(),
    "platform_python_implementation": platform.python_implementation(),
    "implementation_name": sys.implementation.name,
}
_OPERATORS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _name(requirement: str) -> str:
    return normal(re.split(r"[^\w.-]", requirement, maxsplit=1)[0])
