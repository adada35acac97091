"""Settings of a task as a frozen dataclass: what a job file may say at each key, and their JSON in both directions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

Steps = tuple[str | int, ...]

FROM_MODEL: Final = "from_model"
"""The word of a key whose items a model's own head gives."""
NOT_BLANK: Final = "not blank"
Text = Annotated[str, NOT_BLANK]
"""The type of a key whose text must say something."""


class SettingsError(ValueError):
    """Settings are not as they must be. `found` is the message; `expected` and `remedy` go with it where there is one;
    `at`: the keys and indexes that lead from the settings to what is wrong."""

    def __init__(self, found: str, expected: str | None = None, remedy: str | None = None, at: Steps = ()) -> None:
        super().__init__(found)
        self.found, self.expected, self.remedy, self.at = found, expected, remedy, at


@dataclass(frozen=True)
class Key:
    """The description of a key of a job file, and the bounds of its value.

    `least` and `most` bound a number, or the items of a list; `choices` are the only texts. `silent`: left out, it is
    null in the job's JSON Schema, and the default is the dataclass's own business. `given`: the type in the file, where
    that is another one; `from_keys` then has to translate it. `word`: a text that may stand for the whole list, which
    is then empty, however many items it must have otherwise."""

    description: str
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()
    silent: bool = False
    given: Any = None
    word: str | None = None


@dataclass(frozen=True)
class Settings:
    """Keys of a job file as a frozen dataclass: each field is annotated with its `Key`; the first paragraph of the
    docstring describes them in the JSON Schema."""

    def __post_init__(self) -> None:
        """Raise SettingsError where a value is out of bounds, or `check` finds something."""
        for name, key in keys_of(type(self)).items():
            value = getattr(self, name)
            if key.word and value == ():
                continue
            size = len(value) if isinstance(value, tuple) else value
            if key.least is not None and size is not None and size < key.least:
                raise SettingsError(f"{name}: found {size}, expected at least {key.least}", at=(name,))
            if key.most is not None and size is not None and size > key.most:
                raise SettingsError(f"{name}: found {size}, expected at most {key.most}", at=(name,))
            if key.choices and value not in key.choices:
                raise SettingsError(f"{name}: found {value!r}, expected one of {', '.join(key.choices)}", at=(name,))
        self.check()

    def check(self) -> None:
        """Raise SettingsError for keys that do not go together.

        Here `self` may also be the keys as a job file has them, each of its type and within its bounds; one that was
        left out may be None."""


def keys_of(kind: type) -> Mapping[str, Key]:
    """The keys of a dataclass of settings, in order."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: extra
        for name, hint in hints.items()
        if get_origin(hint) is Annotated
        for extra in get_args(hint)[1:]
        if isinstance(extra, Key)
    }


def made(kind: type, values: Mapping[str, Any], at: Steps, wrong: list[SettingsError]) -> Any:
    """The dataclass of these JSON values, which stand at `at`; None if something in them is wrong, which is added to
    `wrong`. Keys of another version of this program are left out."""
    hints, before = get_type_hints(kind), len(wrong)
    words = {name: key.word for name, key in keys_of(kind).items() if key.word}
    given = {
        name: () if value == words.get(name, ...) else _value(hints[name], value, (*at, name), wrong)
        for name, value in values.items()
        if name in hints
    }
    if len(wrong) > before:
        return None
    try:
        return kind(**given)
    except SettingsError as error:
        wrong.append(SettingsError(error.found, error.expected, error.remedy, (*at, *error.at)))
        return None


def _value(hint: Any, value: Any, at: Steps, wrong: list[SettingsError]) -> Any:
    """A JSON value as the type that a field is annotated with: lists become tuples, mappings dataclasses."""
    if get_origin(hint) is tuple:
        return tuple(_value(get_args(hint)[0], item, (*at, index), wrong) for index, item in enumerate(value))
    kinds = [kind for kind in (hint, *get_args(hint)) if is_dataclass(kind) and isinstance(kind, type)]
    return made(kinds[0], value, at, wrong) if kinds and value is not None else value


def plain(value: Any) -> Any:
    """Tuples as lists: JSON knows no others."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def check_unique(names: Iterable[str], key: str, what: str) -> None:
    """Raise SettingsError if two of the items at `key`, each of which is called a `what`, have the same name."""
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in seen:
            found = f"{name!r}, which is already {what} {seen[name] + 1}"
            at = (key, index, "name")
            raise SettingsError(found, f"every {what} once", "rename or remove one of the two", at)
        seen[name] = index
