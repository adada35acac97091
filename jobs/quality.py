"""The quality that a job demands of its answers: the evaluation file, and the least that figures must reach."""

from typing import Annotated

from pydantic import AfterValidator, Field

import pipeline
from jobs.section import RefusedValueError, Section, Text, inside


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
    """What must have been measured of the answers before the job may run."""

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
        measures = pipeline.MEASURES.get(task, ())
        if not measures:
            found = f"quality with the task {task}"
            raise RefusedValueError(found, f"one of the tasks {', '.join(pipeline.MEASURES)}", at=("quality",))
        for name in self.floor.said():
            if name not in measures:
                found = f"a floor for {name} with the task {task}"
                raise RefusedValueError(found, f"one of {', '.join(measures)}", at=("quality", "floor", name))
