"""Entries with a value for every member of their type, for tests that mind only some of them."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from pipeline.records.types import KINDS, members_of


def sample(kind: Any) -> Any:
    """A JSON value of a field's type."""
    if get_origin(kind) is Annotated:
        return sample(get_args(kind)[0])
    if NoneType in get_args(kind):
        return sample(next(each for each in get_args(kind) if each is not NoneType))
    if get_origin(kind) is tuple:
        return [sample(get_args(kind)[0])] * 2
    if get_origin(kind) is Mapping:
        return {"name": "value", "list": [1]}
    if is_dataclass(kind):
        return {name: sample(each) for name, each in members_of(kind).items()}
    return {str: "ü\n", int: 3, float: 0.5, bool: True}[kind]


def completed(said: Mapping[str, Any]) -> dict[str, Any]:
    """The entry, with a value for each member that it lacks: None where that may be."""
    members = members_of(KINDS[said["type"]])
    lacking = {name: None if NoneType in get_args(kind) else sample(kind) for name, kind in members.items()}
    return {"run": ""} | lacking | dict(said)
