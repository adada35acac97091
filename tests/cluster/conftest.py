"""Workspaces of the pipeline's tests, and a cluster of two workers for all tests of a file."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline import RunPlan, Site
from pipeline.cluster.crew import Crew
from tests.cluster.processes import PATIENCE, Machines, machines
from tests.jobs.conftest import cloister, place, ready  # noqa: F401
from tests.pipeline.conftest import make_plan, make_site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path / "workspace")


@pytest.fixture
def plan(site: Site, tiny_model: Path) -> RunPlan:
    site.models.mkdir()
    return make_plan(site, Path(shutil.copy(tiny_model, site.models / "tiny.gguf")))


@pytest.fixture
def ready_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs begin when all workers that are listed are ready: in a fresh checkout each compiles its kernels first, and
    the head would be done by then."""
    begin = Crew.__enter__

    def begin_with_all(crew: Crew) -> Crew:
        begin(crew)
        with crew.changed:
            members = crew.roster.members
            assert members
            assert crew.changed.wait_for(lambda: len(crew.roster.working()) == len(members), PATIENCE)
        return crew

    monkeypatch.setattr(Crew, "__enter__", begin_with_all)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with machines(tmp_path_factory.mktemp("cluster"), ("one", "two")) as found:
        yield found
