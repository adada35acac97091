"""What a worker is told of a run before its first document: the task, the model, and how documents are read."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.atrest.files import CLEAR
from pipeline.cluster.place import HEAD, MODEL, Place
from pipeline.parse import Limits
from pipeline.plan import HeadRef, Input, ModelRef, RunPlan, Site
from pipeline.tasks import Writing, from_json, to_json


@dataclass(frozen=True)
class Commission:
    """The message as a JSON object, and its sha256, by which calls refer to it."""

    message: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """The sha256 of the message."""
        return hashlib.sha256(json.dumps(self.message, sort_keys=True).encode()).hexdigest()

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """The sha256 and the ending of each file that is needed: the model, and a learned head if there is one."""
        head = self.message["head"]
        return ((self.message["model"]["sha256"], MODEL), *([(head["sha256"], HEAD)] if head else ()))

    @property
    def limits(self) -> Limits:
        """The limits on the reading of a document."""
        return Limits(**self.message["limits"])


def commission(plan: RunPlan, model_sha256: str, ocr: Mapping[str, Any] | None) -> Commission:
    """What workers of a run are told. `ocr`: the program that reads pictures of text, as it describes itself."""
    head = plan.model.head
    return Commission(
        {
            "job": plan.job,
            "task": to_json(plan.task),
            "model": {"name": plan.model.name, "sha256": model_sha256, "widen": plan.model.widen},
            "head": None if head is None else {"name": head.name, "sha256": head.sha256},
            "writing": None if plan.writing is None else asdict(plan.writing),
            "review_hidden": plan.input.hidden == "review",
            "limits": dict(vars(plan.site.limits)),
            "isolation": plan.site.isolation,
            "ocr": None if ocr is None else {**ocr, "wanted": list(plan.input.ocr.languages)},
        }
    )


def plan_of(told: Commission, place: Place) -> RunPlan:
    """The plan by which a worker answers: that of the head, without its folders."""
    message = told.message
    model, head, writing = message["model"], message["head"], message["writing"]
    folder = place.folder
    site = Site(folder, "", folder / "no-key", "", told.limits, 0, isolation=message["isolation"], at_rest=CLEAR)
    learned = None if head is None else HeadRef(head["name"], place.path(head["sha256"], HEAD), head["sha256"])
    return RunPlan(
        site=site,
        job=message["job"],
        job_file_sha256="",
        input=Input(folder, (), 0.0, "keep"),
        model=ModelRef(model["name"], place.path(model["sha256"], MODEL), model["sha256"], model["widen"], learned),
        task=from_json(message["task"]),
        formats=("parquet",),
        writing=None if writing is None else Writing(**writing),
    )
