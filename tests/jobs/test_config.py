"""The JSON Schema in configs/ is that of JobConfig, and says something of every key.

python -m tests.jobs.test_config > configs/job.schema.json
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from jobs.config.job import NO_OCR, job_config, section_at, validate
from jobs.config.section import Section
from jobs.config.site import SiteConfig
from pipeline.text.values import VALUES

SCHEMA = Path(__file__).parent.parent.parent / "configs" / "job.schema.json"


def schema_text() -> str:
    """What configs/job.schema.json has to hold."""
    return json.dumps(job_config().model_json_schema(), indent=2, ensure_ascii=False) + "\n"


def test_the_schema_is_the_generated_one() -> None:
    made_by = "python -m tests.jobs.test_config > configs/job.schema.json"
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(), made_by


def sections(model: type[Section]) -> Iterator[type[Section]]:
    yield model
    todo: list[Any] = [field.annotation for field in model.model_fields.values()]
    while todo:
        annotation = todo.pop()
        if isinstance(annotation, type) and issubclass(annotation, Section):
            yield from sections(annotation)
        todo += get_args(annotation)


@pytest.mark.parametrize("model", [*sections(job_config()), *sections(SiteConfig)], ids=lambda model: model.__name__)
def test_every_key_is_described(model: type[Section]) -> None:
    for name, field in model.model_fields.items():
        assert field.description, f"{model.__name__}.{name}"


def test_field_types_are_those_of_the_pipeline() -> None:
    field = section_at(job_config(), ("task", "extract", "fields", 0))
    assert field is not None
    assert set(get_args(field.model_fields["type"].annotation)) == {*VALUES, "regex"}


def test_the_smallest_job_has_sensible_defaults() -> None:
    text = {"job": "a", "model": {"name": "m"}, "task": {"type": "summarize", "sentences": 3}}
    job = validate(job_config(), text)
    assert (job.input.folder, job.input.include, job.input.afterwards) == (None, ("*",), "archive")
    assert (job.schedule, job.output.formats) == (None, ("parquet",))
    assert validate(job_config(), json.loads(job.model_dump_json())) == job


def test_the_section_at_a_location() -> None:
    assert section_at(job_config(), ()) is job_config()
    label = section_at(job_config(), ("task", "classify", "labels", 3))
    assert label is not None
    assert label.__name__ == "LabelConfig"
    assert section_at(job_config(), ("task", "classify", "nothing")) is None


def test_ocr_is_automatic_or_off_or_has_languages() -> None:
    text = {"job": "a", "model": {"name": "m"}, "task": {"type": "summarize", "sentences": 3}}
    said = [validate(job_config(), text | {"input": given}).input.ocr for given in (
        {}, {"ocr": "off"}, {"ocr": {"languages": ["eng", "chi_sim", "script/Latin"]}}
    )]  # fmt: skip
    assert said[0] is None
    assert said[1] is NO_OCR
    assert said[2] is not None
    assert said[2].languages == ("eng", "chi_sim", "script/Latin")


if __name__ == "__main__":
    print(schema_text(), end="")
