"""The parts of a job file that say what is asked for: its task, by a mapping for each, made of the keys that the task
declares; and how good the answers must be."""

import types
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import reduce
from inspect import getdoc
from operator import or_
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, Field, ValidatorFunctionWrapHandler, WrapValidator, create_model, model_validator

import pipeline
from jobs.config.section import Items, RefusedValueError, Section, Text, inside
from jobs.errors import Steps

S = TypeVar("S", bound=Section)


class TaskConfig(Section):
    """The keys that every task has; `section_of_task` makes the sections of tasks from it."""

    max_tokens: int | None = Field(None, ge=16, le=65_536)
    type: str = ""

    def said(self) -> dict[str, Any]:
        """The keys of the task that have a value, as JSON values."""
        keys = _json_of(self)
        return {name: value for name, value in keys.items() if value is not None and name not in _OF_ALL}

    def head_only(self) -> "tuple[Steps, ...]":
        """Where keys of the task stand that only a learned head can obey."""
        return pipeline.TASKS[self.type].head_only(self)  # type: ignore[arg-type]


_OF_ALL = ("max_tokens", "type")


def section_of_task(name: str, kind: "type[pipeline.tasks.Task]") -> type[TaskConfig]:
    """The mapping of a task that is called `name` in job files."""
    inherited = TaskConfig.model_fields["max_tokens"]
    limit = Field(None, ge=16, le=65_536, description=kind.max_tokens)
    tag = Field(description=f"the task: {kind.purpose}")
    return _section(kind, TaskConfig, {"max_tokens": (inherited.annotation, limit), "type": (Literal[name], tag)})


def task_names() -> list[str]:
    """The names of the tasks that there are."""
    return list(pipeline.TASKS)


def _section(kind: type, base: type[S], more: Mapping[str, Any]) -> type[S]:
    """The mapping of a dataclass of settings, with these fields before its own."""
    hints, keys = get_type_hints(kind, include_extras=True), pipeline.tasks.keys_of(kind)
    own = dict(_field(name, hints[name], key, getattr(kind, name, ...)) for name, key in keys.items())

    def check(section: S) -> S:
        kind.check(section)  # type: ignore[attr-defined]
        return section

    validators: dict[str, Any] = {"check": model_validator(mode="after")(check)}
    made: type[S] = create_model(
        f"{kind.__name__.removesuffix('Settings')}Config",
        __base__=base,
        __doc__=" ".join((getdoc(kind) or "").partition("\n\n")[0].split()),
        __validators__=validators,
        **{**more, **own},
    )
    return made


def _field(name: str, hint: Any, key: "pipeline.tasks.Key", default: Any) -> tuple[str, tuple[Any, Any]]:
    """A key as a field, under another name where pydantic has that for itself."""
    annotation = key.given or (Literal[key.choices] if key.choices else _annotation(hint))
    if key.word:
        return name, (_or_word(annotation, key.word, key.least or 0), Field(default, description=key.description))
    if key.silent:
        annotation, default = annotation | None, None
    listed = get_origin(annotation) is Annotated and Items in get_args(annotation)
    least, most = ("min_length", "max_length") if listed else ("ge", "le")
    more: dict[str, Any] = {least: key.least, most: key.most, "alias": name if hasattr(Section, name) else None}
    said = {option: value for option, value in more.items() if value is not None}
    return f"{name}_" if "alias" in said else name, (annotation, Field(default, description=key.description, **said))


def _or_word(items: Any, word: str, least: int) -> Any:
    """A list of at least so many items; or the word that stands for them, and is read as an empty list."""
    several: Any = Annotated[items, Field(min_length=least)]

    def read(value: Any, items: ValidatorFunctionWrapHandler) -> Any:
        if isinstance(value, str) and value != word:
            raise RefusedValueError(repr(value), f"{word}, or a list of at least {least}")
        return () if value == word else items(value)

    return Annotated[several, WrapValidator(read, json_schema_input_type=Literal[word] | several)]


def _annotation(hint: Any) -> Any:
    """The type of a key as pydantic reads it: texts that say something, lists, mappings."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Text if pipeline.tasks.NOT_BLANK in parts else _annotation(parts[0])
    if origin in (Union, types.UnionType):
        return reduce(or_, map(_annotation, parts))
    if origin is tuple:
        item: Any = _annotation(parts[0])
        return Annotated[tuple[item, ...], Items]
    return _section(hint, Section, {}) if is_dataclass(hint) and isinstance(hint, type) else hint


def _json_of(value: Any) -> Any:
    if isinstance(value, Section):
        fields = type(value).model_fields.items()
        return {field.alias or name: _json_of(getattr(value, name)) for name, field in fields}
    return [_json_of(item) for item in value] if isinstance(value, tuple) else value


class FloorConfig(Section):
    """The least that figures must reach; those of another task than the job's are refused."""

    accuracy: float | None = Field(None, ge=0, le=1, description="of classify: the share of documents with their label")
    macro_f1: float | None = Field(None, ge=0, le=1, description="of classify: the mean F1 of the labels")
    answered: float | None = Field(None, ge=0, le=1, description="of classify: the share of documents that got a label")
    token_f1: float | None = Field(
        None, ge=0, le=1, description="of extract: the F1 of the words of values, mean of the fields"
    )
    exact: float | None = Field(
        None, ge=0, le=1, description="of extract: the share of values that are exactly right, mean of the fields"
    )
    normalised: float | None = Field(
        None, ge=0, le=1, description="of extract: that, but for case, punctuation and form of the values"
    )
    absent_empty: float | None = Field(
        None, ge=0, le=1, description="of extract: the share of absent fields that got no value"
    )
    rouge_1: float | None = Field(None, ge=0, le=1, description="of summarize: ROUGE-1")
    rouge_2: float | None = Field(None, ge=0, le=1, description="of summarize: ROUGE-2")
    rouge_l: float | None = Field(None, ge=0, le=1, description="of summarize: ROUGE-L")
    over_lead: float | None = Field(
        None, ge=-1, le=1, description="of summarize: ROUGE-L above that of the first sentences of the documents"
    )

    def said(self) -> dict[str, float]:
        """The figures that have a floor."""
        return {name: value for name, value in self.model_dump().items() if value is not None}


class QualityConfig(Section):
    """The quality that must have been measured of the answers before the job may run."""

    eval: Annotated[Text, AfterValidator(inside)] = Field(
        description="documents whose answers are known, absolute or below the workspace: a folder with a folder for "
        "each label, or a CSV or JSONL file, as `cloister qualify` reads them"
    )
    floor: FloorConfig = Field(FloorConfig(), description="the least that figures must reach")  # type: ignore[call-arg]
    require: bool = Field(
        True,
        description="whether runs are refused until `cloister qualify` has found these settings to reach the floor",
    )

    def check_task(self, task: str) -> None:
        """RefusedValueError, from the whole job, where nothing is measured of the task, or not what has a floor."""
        measures = pipeline.tasks.MEASURES.get(task, ())
        if not measures:
            found = f"quality with the task {task}"
            raise RefusedValueError(found, f"one of the tasks {', '.join(pipeline.tasks.MEASURES)}", at=("quality",))
        for name in self.floor.said():
            if name not in measures:
                found = f"a floor for {name} with the task {task}"
                raise RefusedValueError(found, f"one of {', '.join(measures)}", at=("quality", "floor", name))
