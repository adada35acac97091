"""All records have in common: their JSON form in both directions, and the entry that a record was read from.

A type of record is a frozen dataclass, declared with `@kind`. Its fields are the members of the entry, under the same
names; the log adds `v`, `n`, `time`, `boot`, `uptime_us`, `host` and `user`, which are properties here. A field with a
default may be missing in an entry, because earlier versions did not write it; a member that is no field is left where
it is, in `said`.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeVar, dataclass_transform, get_args, get_origin

Json = dict[str, Any]
R = TypeVar("R", bound="Record")


@dataclass(frozen=True, slots=True)
class Handed:
    """When, where and as whom a record was made that was handed over; `id` names the file that it was taken from."""

    id: str
    time: str
    host: str
    user: str
    boot: str = ""
    uptime_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record of the log, to be written or as it was read.

    A run's record has `run` and `job`; of what a command makes, both are "". `said` is the entry as
    the log has it, opened where it is private; it is empty for a record that is not in the log yet, which has no number
    and no time.
    """

    TYPE: ClassVar[str] = ""
    MEANING: ClassVar[str] = ""
    SENTENCE: ClassVar[str] = ""
    COMMAND: ClassVar[bool] = False
    HANDED: ClassVar[bool] = False

    run: str = ""
    job: str = ""
    said: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def type(self) -> str:
        """The type, as people and other programs call it."""
        return self.TYPE

    @property
    def n(self) -> int:
        """The number of the entry."""
        return self.said["n"]  # type: ignore[no-any-return]

    @property
    def time(self) -> str:
        """When it was committed, in UTC, as audit/FORMAT.md writes times."""
        return self.said["time"]  # type: ignore[no-any-return]

    @property
    def boot(self) -> str:
        """The start of the machine by which it counted `uptime_us`; "" where an entry does not say it."""
        return self.said.get("boot", "")  # type: ignore[no-any-return]

    @property
    def uptime_us(self) -> int:
        """Microseconds since the start of the machine."""
        return self.said.get("uptime_us", 0)  # type: ignore[no-any-return]

    @property
    def user(self) -> str:
        """Who committed it."""
        return self.said["user"]  # type: ignore[no-any-return]

    @property
    def host(self) -> str:
        """The machine that committed it."""
        return self.said["host"]  # type: ignore[no-any-return]

    @property
    def handed(self) -> Handed | None:
        """Where it was made, if it was handed over."""
        return Handed(**_values(Handed, self.said["handed"])) if "handed" in self.said else None

    @property
    def private(self) -> int | None:
        """The number that names its file of openings, if members of it are hidden in the log."""
        return self.said.get("private")

    @property
    def closed(self) -> tuple[str, ...]:
        """The hidden members, if nothing opens them (any more): they are None here, but for the path."""
        return tuple(self.said.get("closed", ()))

    def says(self) -> str:
        """What happened, for people: one line that ends with a full stop."""
        return " ".join(self.sentence().split())

    def sentence(self) -> str:
        """The sentence, whose values may hold line ends; without one of its own the meaning of the type."""
        return self.SENTENCE.format(self) or capitalized(self.MEANING)

    def made_by(self, run: str, job: str) -> Self:
        """The record as one of this run, unless it says already whose it is."""
        return self if self.run else replace(self, run=run, job=job)

    def to_json(self) -> Json:
        """The members that are committed."""
        job = {"job": self.job} if self.job else {}
        return {"type": self.type, "run": self.run, **job, **self.members()}

    def members(self) -> Json:
        """The members of the record beside type, run and job."""
        members: Json = _plain(self)
        return members

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Self:
        """Read an entry, or a record that is none yet. ValueError where a member is missing.

        A log has millions of entries, of which most readers ask for a few members. So where none is missing, plain
        values are put where they belong without `__init__`, and the others are made when they are asked for.
        """
        plan, record = _plan(cls), object.__new__(cls)  # type: ignore[arg-type]
        try:
            for member, put in plan.plain:
                put(record, said[member])
            for member in plan.later:
                said[member]  # it is there
        except KeyError:
            return cls(**{"run": said["run"], "job": said.get("job") or "", "said": said, **_values(cls, said)})
        _RUN(record, said["run"])
        _JOB(record, said.get("job") or "")
        _SAID(record, said)
        return record

    if not TYPE_CHECKING:  # of any other name mypy says that there is none

        def __getattr__(self, name: str) -> Any:
            plan = _plan(type(self))
            if name not in plan.made:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            said = self.said.get(next(member for member, own in plan.members if own == name))
            value = None if said is None else plan.made[name](said)
            object.__setattr__(self, name, value)
            return value


_RUN, _JOB, _SAID = (getattr(Record, name).__set__ for name in ("run", "job", "said"))


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def kind(
    name: str, meaning: str, sentence: str = "", *, command: bool = False, handed: bool = False
) -> Callable[[type[R]], type[R]]:
    """Declares a type of record, its meaning in words, and the sentence that a record of it says, as a format of it.

    `command`: made outside of runs. `handed`: made outside of runs, and it proves nothing, so it may be handed to the
    one who holds the log.
    """

    def declared(cls: type[R]) -> type[R]:
        made = dataclass(frozen=True, slots=True, kw_only=True)(cls)
        made.TYPE, made.MEANING, made.SENTENCE = name, meaning, sentence
        made.COMMAND, made.HANDED = command or handed, handed
        return made

    return declared


def capitalized(meaning: str) -> str:
    """The meaning of a type as a sentence."""
    plain = meaning.replace("`", "")
    return f"{plain[:1].upper()}{plain[1:]}."


def counted(number: int, noun: str) -> str:
    """The number with its noun in the singular or plural."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def member(name: str) -> Any:
    """A field whose member has a name that Python keeps for itself."""
    return field(metadata={"member": name})


def members_of(cls: type) -> dict[str, Any]:
    """The members of a record beside type, run and job, or of an object in one, in their order: name -> type."""
    return {each.metadata.get("member", each.name): each.type for each in _own(cls)}


def _own(cls: type) -> list[Field[Any]]:
    return [each for each in fields(cls) if each.name not in _COMMON]


_COMMON = frozenset(each.name for each in fields(Record))


@dataclass(frozen=True, slots=True)
class _Plan:
    """How values of a class are read: member -> field, as far as these differ; the members that must be there; and of
    those that are no plain JSON value, how they are made of one. `plain`: member -> what puts its value into its slot;
    `later`: the other members, but for those that are None where they are missing."""

    members: tuple[tuple[str, str], ...]
    required: frozenset[str]
    made: dict[str, Callable[[Any], Any]]
    plain: tuple[tuple[str, Callable[[Any, Any], None]], ...]
    later: tuple[str, ...]


@cache
def _plan(cls: type) -> _Plan:
    own = [(each.metadata.get("member", each.name), each) for each in _own(cls)]
    required = (name for name, each in own if each.default is MISSING and each.default_factory is MISSING)
    made = {each.name: maker for _, each in own if (maker := _maker(each.type))}
    plain = tuple((name, getattr(cls, each.name).__set__) for name, each in own if each.name not in made)
    later = tuple(name for name, each in own if each.name in made and each.default is not None)
    return _Plan(tuple((name, each.name) for name, each in own), frozenset(required), made, plain, later)


def _values(cls: type, said: Mapping[str, Any]) -> Json:
    plan = _plan(cls)
    if missing := plan.required - said.keys():
        raise ValueError(f"it has no member {min(missing)!r}")
    values = {name: said[member] for member, name in plan.members if member in said}
    for name, made in plan.made.items():
        if values.get(name) is not None:
            values[name] = made(values[name])
    return values


def _maker(kind: Any) -> Callable[[Any], Any] | None:
    """The function that makes a value of this type of its JSON form; None if that is the value."""
    if get_origin(kind) is Annotated:
        return _maker(get_args(kind)[0])
    if NoneType in get_args(kind):
        return _maker(next(option for option in get_args(kind) if option is not NoneType))
    if get_origin(kind) is tuple:
        inner = _maker(get_args(kind)[0])
        return tuple if inner is None else lambda values: tuple(map(inner, values))
    if isinstance(kind, type) and is_dataclass(kind):
        return lambda value: kind(**_values(kind, value))
    return None


def _plain(value: Any) -> Any:
    """The JSON form of a field's value; of a record, the object of its members."""
    if is_dataclass(value) and not isinstance(value, type):
        members = _plan(type(value)).members
        return {name: _plain(getattr(value, field)) for name, field in members}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
