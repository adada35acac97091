"""A disk with bundles, made once for all tests of a file: the tests that write to it take a copy of their own."""

from pathlib import Path

import pytest

from tests.bundle.disk import Disk, make_disk
from tests.jobs.conftest import cloister  # noqa: F401  a fixture


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Disk:
    """A disk with three small bundles."""
    return make_disk(tmp_path_factory.mktemp("carried") / "disk")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where an installation may come to lie."""
    return tmp_path / "opt"
