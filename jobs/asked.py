"""What a job file may say of its task: one mapping for each."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from jobs.section import Items, RefusedValueError, Section, Text, check_unique


class TaskConfig(Section):
    """What is asked of each document."""

    max_tokens: int | None = Field(
        None, ge=16, le=65_536, description="of a model that writes: tokens of an answer, at most; 1024 if left out"
    )


class LabelConfig(Section):
    """A class of documents."""

    name: Text = Field(description="the label as it stands in the result")
    description: str = Field("", description="what such a document is, in a sentence; it is compared by meaning")
    examples: Annotated[tuple[Text, ...], Items] = Field((), description="texts of such documents, if there are any")


class ClassifyConfig(TaskConfig):
    """One label for each document."""

    type: Literal["classify"] = Field(description="the task: one label for each document")
    labels: Annotated[tuple[LabelConfig, ...], Items] = Field(min_length=2, description="the labels, at least 2")
    threshold: float | None = Field(
        None, ge=0, le=1, description="a best score below it makes the document abstained; a measured one if left out"
    )
    calibrate: bool = Field(
        False,
        description="divide a label's probability by its share for an empty document: for small models that write",
    )

    @model_validator(mode="after")
    def _labels_differ(self) -> "ClassifyConfig":
        check_unique(self.labels, lambda label: label.name, lambda index: ("labels", index, "name"), "label")
        return self


class FieldConfig(Section):
    """A value to be found in each document."""

    name: Text = Field(description="the field's name as it stands in the result")
    type: Literal["text", "date", "money", "number", "percent", "email", "phone", "iban", "reference", "regex"] = Field(
        "text", description="what kind of value it is"
    )
    description: str = Field("", description="what the value means, in a few words; it is compared by meaning")
    pattern: Text | None = Field(None, description="the regular expression of a field of type regex")

    @model_validator(mode="after")
    def _pattern_fits(self) -> "FieldConfig":
        if self.type == "regex" and self.pattern is None:
            raise RefusedValueError("a field of type regex without a pattern", "the key 'pattern'", at=("type",))
        if self.type != "regex" and self.pattern is not None:
            raise RefusedValueError(
                f"a pattern in a field of type {self.type}", "a pattern only with type: regex", at=("pattern",)
            )
        return self


class ExtractConfig(TaskConfig):
    """Named values from each document."""

    type: Literal["extract"] = Field(description="the task: named values from each document")
    fields: Annotated[tuple[FieldConfig, ...], Items] = Field(min_length=1, description="the fields, at least 1")

    @model_validator(mode="after")
    def _fields_differ(self) -> "ExtractConfig":
        check_unique(self.fields, lambda field: field.name, lambda index: ("fields", index, "name"), "field")
        return self


class SummarizeConfig(TaskConfig):
    """The sentences of each document that say most; either `sentences` or `words`."""

    type: Literal["summarize"] = Field(description="the task: the sentences that say most, in their order")
    sentences: int | None = Field(None, ge=1, le=1000, description="how many sentences, instead of words")
    words: int | None = Field(None, ge=1, le=100_000, description="at most so many words, instead of sentences")

    @model_validator(mode="after")
    def _one_budget(self) -> "SummarizeConfig":
        if (self.sentences is None) == (self.words is None):
            found = "neither 'sentences' nor 'words'" if self.words is None else "both 'sentences' and 'words'"
            raise RefusedValueError(
                found, "one of the two", "such as sentences: 5", ("words",) if self.words is not None else ()
            )
        return self


class AskConfig(TaskConfig):
    """An answer to a question of one's own about each document."""

    type: Literal["ask"] = Field(description="the task: an answer to a question about each document")
    question: Text = Field(description="the question, in the words in which one would ask a person")
    answer_schema: dict[str, Any] | None = Field(
        None,
        alias="schema",
        description="the JSON Schema of the answer; a text with `format: quote` is a passage of the document; a text "
        "and the quotes on which it rests if left out",
    )


class BatchConfig(TaskConfig):
    """An answer to each request of files in the OpenAI Batch format."""

    type: Literal["batch"] = Field(
        description="the task: an answer to each request of files in the OpenAI Batch format"
    )
    models: Annotated[tuple[Text, ...], Items] = Field(
        (),
        description="names by which requests may call the model, beside its own; answers bear its own",
    )
    max_tokens: int | None = Field(
        None, ge=16, le=65_536, description="tokens of an answer whose request sets no limit, at most; 1024 if left out"
    )


Asked = ClassifyConfig | ExtractConfig | SummarizeConfig | AskConfig | BatchConfig
