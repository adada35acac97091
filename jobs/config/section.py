"""The parts of which every mapping of a job file and a site file is made.

Values are strict (YAML's `3` is no text, `"3"` no number), mappings are frozen, and unknown keys are errors.
"""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, GetJsonSchemaHandler, Strict, model_validator

from jobs.errors import Steps
from jobs.visible import quoted

Items = Strict(False)  # YAML has lists where frozen values are tuples; what is in them stays strict


class RefusedValueError(ValueError):
    """A validator refuses a value; `at` leads from the validated value to the one that is wrong."""

    def __init__(self, found: str, expected: str, remedy: str | None = None, at: Steps = ()) -> None:
        super().__init__(found)
        self.found, self.expected, self.remedy, self.at = found, expected, remedy, at


class Section(BaseModel):
    """A mapping of the file. Where it must have its `name` and nothing else, the name alone stands for it: `model: m`
    is `model: {name: m}`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _of_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) and is_named(cls) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core)
        if not is_named(cls):
            return schema
        patterns = {key: value for key, value in schema["properties"]["name"].items() if key == "pattern"}
        return {**schema, "type": ["object", "string"], **patterns}  # what it says of keys holds for objects alone


def is_named(section: type[Section]) -> bool:
    """Whether the name alone may stand for the mapping."""
    return [name for name, field in section.model_fields.items() if field.is_required()] == ["name"]


def keys_of(section: type[Section]) -> list[str]:
    """The keys that the mapping may have, as files write them."""
    return [field.alias or name for name, field in section.model_fields.items()]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise RefusedValueError("a text without anything in it", "a text that says something")
    return text


def inside(path: str) -> str:
    """A path below the workspace, or an absolute one. RefusedValueError."""
    if path.startswith("~"):
        raise RefusedValueError(f"the folder {quoted(path)}", "a path without '~'", "write the whole path")
    if not path.startswith("/") and ".." in path.split("/"):
        expected = "a path below the workspace, or an absolute one"
        raise RefusedValueError(f"the folder {quoted(path)}", expected, "remove '..'")
    return path


def check_unique(items: tuple[Any, ...], key: Callable[[Any], str], at: Callable[[int], Steps], what: str) -> None:
    """RefusedValueError unless each item has a key of its own; `at` says where that of an item stands."""
    seen: dict[str, int] = {}
    for index, item in enumerate(items):
        name = key(item)
        if name in seen:
            found = f"{name!r}, which is already {what} {seen[name] + 1}"
            raise RefusedValueError(found, f"every {what} once", "rename or remove one of the two", at(index))
        seen[name] = index


Text = Annotated[str, AfterValidator(_not_blank)]
