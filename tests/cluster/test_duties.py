"""What a worker does for several runs at a time."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pipeline.cluster.duties
from pipeline import RunPlan
from pipeline.answer.models import Loaded
from pipeline.cluster.commission import Commission, commission
from pipeline.cluster.duties import Duties, ForgottenError
from pipeline.cluster.errors import WorkerRefusedError
from pipeline.cluster.place import Place
from pipeline.cluster.wire import NAMELESS, format_works, parse_works
from pipeline.document import Parsed
from pipeline.errors import ModelRefusedError
from pipeline.inbox.order import Work
from pipeline.parse import Options, StoppedError
from pipeline.paths.names import file_sha256

OPTIONS = Options().to_message()
WORKS = format_works([Work(NAMELESS, Parsed("An invoice.", "text/plain", "plain"), 0.0)])


@pytest.fixture
def duties(tmp_path: Path, tiny_model: Path) -> Iterator[Duties]:
    (tmp_path / "models").mkdir()
    shutil.copy(tiny_model, tmp_path / "models" / "tiny.gguf")
    made = Duties(Place(tmp_path / "models"))
    yield made
    made.close()


@pytest.fixture
def told(plan: RunPlan) -> list[Commission]:
    """What a worker is told of the runs of three jobs."""
    sha256 = file_sha256(plan.model.path)
    return [commission(replace(plan, job=f"job-{number}"), sha256, None) for number in range(3)]


def reads(duties: Duties, told: Commission) -> bool:
    return "parsed" in duties.read(told.digest, "a.txt", OPTIONS, b"An invoice: the total is due.")


def test_the_oldest_run_of_three_is_forgotten(duties: Duties, told: list[Commission]) -> None:
    for number in (0, 1, 0, 2):
        duties.accept(told[number])
    assert reads(duties, told[0])
    assert reads(duties, told[2])
    with pytest.raises(ForgottenError):
        reads(duties, told[1])


def test_no_run_takes_the_parsers_from_under_another_one(duties: Duties, told: list[Commission]) -> None:
    duties.accept(told[0])
    duties.accept(told[1])
    with duties._by(told[0].digest):
        with duties._by(told[1].digest), pytest.raises(WorkerRefusedError, match="works for 2 other runs"):
            duties.accept(told[2])
        assert reads(duties, told[0])
        assert reads(duties, told[1])
        duties.accept(told[2])
        assert reads(duties, told[0]), "it is older, but worked on"
    with pytest.raises(ForgottenError):
        reads(duties, told[1])


def test_what_is_held_for_others_makes_room_for_a_model(
    duties: Duties, told: list[Commission], monkeypatch: pytest.MonkeyPatch
) -> None:
    load = pipeline.cluster.duties.load_model

    def too_little(*arguments: Any) -> Loaded:
        if duties._accepted:
            raise ModelRefusedError("it needs more memory than is free")
        return load(*arguments)

    duties.accept(told[0])
    monkeypatch.setattr(pipeline.cluster.duties, "load_model", too_little)
    with duties._by(told[0].digest), pytest.raises(WorkerRefusedError, match="more memory than is free"):
        duties.accept(told[1])
    duties.accept(told[1])
    assert reads(duties, told[1])
    with pytest.raises(ForgottenError):
        reads(duties, told[0])


def test_a_run_that_is_refused_for_good_takes_nothing_from_others(duties: Duties, told: list[Commission]) -> None:
    duties.accept(told[0])
    with pytest.raises(WorkerRefusedError, match="does not read pictures of text as the head does"):
        duties.accept(Commission({**told[1].message, "ocr": {"version": "another", "wanted": ["eng"]}}))
    assert reads(duties, told[0])


def test_what_is_computed_ends_with_the_worker(duties: Duties, told: list[Commission]) -> None:
    duties.accept(told[0])
    assert duties.answer(told[0].digest, WORKS)
    with duties._by(told[0].digest) as ready:
        duties.close()
        with pytest.raises(StoppedError):
            list(ready.answers(parse_works(WORKS), duties._pulse))
    with pytest.raises(ForgottenError):
        duties.answer(told[0].digest, WORKS)
