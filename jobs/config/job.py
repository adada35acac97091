"""The keys of a job file. Each has a description; the JSON Schema in configs/ comes from here."""

import re
from collections.abc import Iterator
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationError,
    create_model,
    model_validator,
)

import pipeline
from jobs.config.asked import QualityConfig, TaskConfig, section_of_task
from jobs.config.section import Items, RefusedValueError, Section, Text, check_unique, inside
from jobs.config.when import NotifyConfig, ScheduleConfig, WindowConfig
from jobs.errors import Steps
from jobs.visible import quoted

T = TypeVar("T", bound="Section")


def _below(pattern: str) -> str:
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
        expected = "a folder below the input folder, such as urgent or */urgent"
        remedy = "write it without '..', and as it lies there"
        raise RefusedValueError(f"the pattern {quoted(pattern)}", expected, remedy)
    return pattern


def _language(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z]\w{1,31}(/[A-Za-z]\w{1,31})?", name, re.ASCII):
        raise RefusedValueError(f"the language {name!r}", "a name as `tesseract --list-langs` shows it, such as eng")
    return name


JobName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
MODEL_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
MODEL_NAME_MEANS = "letters, digits, '.', '_' and '-', at most 128, first a letter or digit"
ModelName = Annotated[str, StringConstraints(pattern=MODEL_NAME)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class OcrConfig(Section):
    """Reading pictures of text."""

    languages: Annotated[tuple[Annotated[str, AfterValidator(_language)], ...], Items] = Field(
        min_length=1, description="the languages that are looked for, as Tesseract calls them, such as eng or deu"
    )


NO_OCR = OcrConfig.model_construct(languages=())


def _off(value: Any) -> Any:
    """The word `off` for a mapping."""
    if isinstance(value, str | bool) and value != "off":
        remedy = "write ocr: off" if value in (False, "no", "No", "NO", "Off", "OFF", "none") else None
        said = str(value).lower() if isinstance(value, bool) else value
        raise RefusedValueError(f"ocr: {said}", "off, or languages", remedy or "such as ocr: {languages: [eng]}")
    return NO_OCR if value == "off" else value


class InputConfig(Section):
    """Where documents come from."""

    folder: Annotated[Text, AfterValidator(inside)] | None = Field(
        None, description="the folder of the documents, absolute or below the workspace; inbox/<job> if left out"
    )
    mounted: bool = Field(
        False,
        description="whether a run is refused unless the folder lies on a disk or share of its own, which is neither "
        "that of the workspace nor that of the system",
    )
    include: Annotated[tuple[Text, ...], Items] = Field(
        ("*",), min_length=1, description="patterns of file names, in any sub-folder and without regard to case"
    )
    settle_seconds: float = Field(
        5.0, ge=0, le=86400, description="a file counts as complete when it was unchanged for so many seconds"
    )
    afterwards: Literal["archive", "keep"] = Field(
        "archive",
        description="archive: finished documents are moved to archive/ or failed/; keep: they stay where they are",
    )
    duplicates: Literal["skip", "process", "warn"] = Field(
        "skip",
        description="a document with the same bytes as one that is done: skip: a row that names the first one; "
        "process: it is answered again; warn: it is answered again, with a note that names the first one",
    )
    hidden: Literal["keep", "drop", "review"] = Field(
        "drop",
        description="what the model reads when a document holds text that no person can see: drop it, keep it, "
        "or drop it and send the document to review; where it cannot be told, drop sends it to review, too",
    )
    ocr: Annotated[OcrConfig, BeforeValidator(_off, json_schema_input_type=OcrConfig | Literal["off"])] | None = Field(
        None,
        description="reading pictures of text: the languages to look for, or off; if left out, all languages that are "
        "installed with Tesseract",
    )
    priority: Annotated[tuple[Annotated[Text, AfterValidator(_below)], ...], Items] = Field(
        (),
        description="patterns of sub-folders whose documents are taken first, in this order and without regard to "
        "case; urgent is the folder of that name with everything below it",
    )


class HeadConfig(Section):
    """The head that was learned from examples and answers."""

    name: ModelName = Field(
        description="the file models/NAME.head, which `cloister learn` makes, or a head of the package: contracts"
    )
    sha256: Sha256 | None = Field(
        None, description="64 hexadecimal digits in lower case: the head file's sha256; any file will do if left out"
    )


class ModelConfig(Section):
    """The model that answers."""

    name: ModelName = Field(description=f"{MODEL_NAME_MEANS}: the file models/NAME.gguf of the workspace")
    sha256: Sha256 | None = Field(
        None, description="64 hexadecimal digits in lower case: the model file's sha256; any file will do if left out"
    )
    precision: Literal["file"] | None = Field(
        None,
        description="file: weights that the model file has in 16-bit floats (F16, BF16) are computed as they are, in "
        "float32, which takes two to six times as long; left out, they are computed as integers of 8 bits",
    )
    head: HeadConfig | None = Field(
        None,
        description="of a model that gives embeddings: what was learned from examples on its vectors, which then "
        "answers",
    )
    context: int | None = Field(
        None,
        ge=256,
        le=1_048_576,
        description="of a model that writes: tokens of a prompt with its answer, at most, and no more than the model "
        "was made for; longer documents are read in parts; 8192 if left out",
    )
    kv: Literal["float16", "int8"] | None = Field(
        None,
        description="of a model that writes: how keys and values are kept; int8 takes half the memory; float16 if left "
        "out",
    )
    cache_mib: int | None = Field(
        None,
        ge=16,
        le=4_194_304,
        description="of a model that writes: memory for keys and values, in MiB; what is free and useful if left out",
    )


class OutputConfig(Section):
    """The results that are written to outbox/<job>/."""

    formats: Annotated[tuple[Literal["parquet", "markdown"], ...], Items] = Field(
        ("parquet",), description="parquet always, and markdown for a file a person can read for each document"
    )
    part_documents: int = Field(
        500, ge=1, le=100_000, description="results are committed after so many documents, or after part_minutes"
    )
    part_minutes: float = Field(5.0, gt=0, le=1440, description="results are committed at least this often")

    @model_validator(mode="after")
    def _parquet_once(self) -> "OutputConfig":
        check_unique(self.formats, str, lambda index: ("formats", index), "format")
        if "parquet" not in self.formats:
            raise RefusedValueError(
                "formats without parquet", "parquet among them: it is always written", at=("formats",)
            )
        return self


class RetentionConfig(Section):
    """Rules by which a run deletes at its start; legal holds go before them."""

    archive_days: int | None = Field(None, ge=1, le=36500, description="archived documents and text: for so many days")
    rows_days: int | None = Field(None, ge=1, le=36500, description="parts and Markdown files: for so many days")

    @model_validator(mode="after")
    def _says_something(self) -> "RetentionConfig":
        if self.archive_days is None and self.rows_days is None:
            raise RefusedValueError("a retention without a rule", "archive_days, rows_days, or both")
        return self


def by_type(schema: dict[str, Any]) -> None:
    """Write a union as conditions on `type`, so that an editor tells what is wrong with the task that was chosen: of a
    value that fits none of several schemas it can only tell that."""
    members = schema.pop("discriminator")["mapping"]
    del schema["oneOf"]
    schema |= {"type": "object", "required": ["type"], "properties": {"type": {"enum": list(members)}}}
    schema["allOf"] = [
        {"if": {"properties": {"type": {"const": name}}, "required": ["type"]}, "then": {"$ref": reference}}
        for name, reference in members.items()
    ]


class JobConfig(Section):
    """A job of Cloister: which documents, which model, which question, which results."""

    job: JobName = Field(description="a-z, 0-9, '.', '_' and '-', at most 64, first a letter or digit: the job's name")
    input: InputConfig = Field(InputConfig(), description="where documents come from")  # type: ignore[call-arg]
    schedule: ScheduleConfig | None = Field(
        None, description="when to start; without it, as soon as a complete file lies in the input folder"
    )
    after: JobName | None = Field(
        None, description="a job of the workspace: start whenever a run of it has finished, instead of by a schedule"
    )
    priority: int = Field(
        0,
        ge=-9,
        le=9,
        description="of the jobs that wait, the one with the highest number runs first, and of equal ones the one that "
        "was due first; each hour of waiting counts as one more, so that none waits for ever",
    )
    window: WindowConfig | None = Field(None, description="until when a run may compute; until it is done if left out")
    model: ModelConfig = Field(description="the model that answers")
    task: TaskConfig = Field(description="what is asked of each document")
    private: bool = Field(
        False,
        description="the log has salted commitments for whatever names or confirms a document; private/ opens them",
    )
    versions: Literal["all", "newest"] = Field(
        "all",
        description="which documents of one path results show: all, or only the newest file; those before it stay in "
        "the outbox, and --all-versions shows them",
    )
    quality: QualityConfig | None = Field(
        None, description="what must have been measured of the answers before the job may run; nothing if left out"
    )
    retention: RetentionConfig | None = Field(
        None, description="for how many days archived documents and results are kept; without end if left out"
    )
    output: OutputConfig = Field(OutputConfig(), description="what is written to outbox/<job>/")  # type: ignore[call-arg]
    notify: NotifyConfig | None = Field(
        None, description="a command that is called when a run of the job has ended, beside that of site.yaml"
    )

    @model_validator(mode="after")
    def _batch_fits(self) -> "JobConfig":
        if self.task.type != "batch":
            return self
        if "duplicates" in self.input.model_fields_set and self.input.duplicates != "process":
            found = f"duplicates: {self.input.duplicates} with the task batch"
            expected = "process, or nothing: each file gets its answers, whatever was answered before"
            raise RefusedValueError(found, expected, at=("input", "duplicates"))
        if "markdown" in self.output.formats:
            expected = "parquet alone: answers are in the output and the error file"
            raise RefusedValueError("the format markdown with the task batch", expected, at=("output", "formats"))
        return self

    @model_validator(mode="after")
    def _floor_fits(self) -> "JobConfig":
        if self.quality:
            self.quality.check_task(self.task.type)
        return self

    @model_validator(mode="after")
    def _starts_in_one_way(self) -> "JobConfig":
        if self.after and self.schedule:
            found = f"after: {self.after} beside a schedule"
            raise RefusedValueError(found, "a schedule, or the job after which it starts", "remove one", ("after",))
        if self.after == self.job:
            raise RefusedValueError(f"after: {self.after} in that very job", "another job", at=("after",))
        return self

    @model_validator(mode="after")
    def _window_fits(self) -> "JobConfig":
        if self.window and self.schedule:
            self.window.check_schedule(self.schedule)
        return self

    @model_validator(mode="after")
    def _accepts_by_a_head(self) -> "JobConfig":
        for at in self.task.head_only() if self.model.head is None else ():
            found = f"{'.'.join(map(str, ('task', *at)))} without model.head"
            expected = "a head that was learned from examples: what it said of them bears the promise"
            raise RefusedValueError(found, expected, "cloister learn JOB --examples FILE", ("task", *at))
        return self


def job_config() -> type[JobConfig]:
    """JobConfig with the section of each task that there is."""
    return _with_tasks(tuple(pipeline.TASKS.items()))


@cache
def _with_tasks(tasks: "tuple[tuple[str, type[pipeline.tasks.Task]], ...]") -> type[JobConfig]:
    asked: Any = reduce(or_, (section_of_task(*task) for task in tasks))
    described = JobConfig.model_fields["task"].description
    task = Field(discriminator="type", description=described, json_schema_extra=by_type)
    return create_model("JobConfig", __base__=JobConfig, __doc__=JobConfig.__doc__, task=(asked, task))


class InvalidError(Exception):
    """A value that is refused: one mapping for each error, as pydantic's `errors()` gives them."""

    def __init__(self, errors: list[dict[str, Any]]) -> None:
        super().__init__(f"{len(errors)} errors")
        self.errors = errors


def validate(model: type[T], value: dict[str, Any]) -> T:
    """The value as `model`. InvalidError."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise InvalidError([dict(item) for item in error.errors(include_url=False)]) from None


def is_form(step: str | int) -> bool:
    """Whether a step of pydantic's location is the tag of a form that a value may have, such as `<mapping>`."""
    return isinstance(step, str) and step.startswith("<")


def section_at(model: type[Section], location: Steps) -> type[Section] | None:
    """The model of the mapping at pydantic's `location`, in which a union's member follows its tag; None if none is."""
    choices: tuple[type[Section], ...] = (model,)
    for step in location:
        if isinstance(step, int) or is_form(step):
            continue
        tagged = tuple(choice for choice in choices if len(choices) > 1 and step in _literals(choice, "type"))
        choices = tagged or _sections(choices[0], step)
        if not choices:
            return None
    return choices[0]


def sections_below(
    model: type[Section], task: Any, path: tuple[str, ...] = ()
) -> "Iterator[tuple[tuple[str, ...], type[Section]]]":
    """Each mapping of a file, with the keys that lead to it; of tasks the one that is asked for, or all."""
    yield path, model
    for name, field in model.model_fields.items():
        members = _sections_in(field.annotation)
        chosen = [member for member in members if len(members) > 1 and task in _literals(member, "type")]
        for member in chosen or members:
            yield from sections_below(member, task, (*path, field.alias or name))


def _sections(model: type[Section], key: str) -> tuple[type[Section], ...]:
    field = model.model_fields.get(key)
    return tuple(_sections_in(field.annotation)) if field else ()


def _sections_in(annotation: Any) -> list[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [section for part in get_args(annotation) for section in _sections_in(part)]


def _literals(model: type[Section], key: str) -> tuple[Any, ...]:
    field = model.model_fields.get(key)
    return get_args(field.annotation) if field else ()
