"""Parts of foreign JSON: what is not of the expected kind is empty, and so unlike what is expected of it."""

from typing import Any


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
