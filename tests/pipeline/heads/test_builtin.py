"""`builtin`: a head of the workspace comes before that of the package, which is small, named and whole."""

from pathlib import Path

import pytest

from pipeline.heads import BUILTIN, head_files, head_path, read_head
from pipeline.paths.names import file_sha256
from pipeline.tasks.extract.head import FieldsHead

HEADS = sorted(BUILTIN.glob("*.head"))


def test_a_head_of_the_workspace_comes_first(tmp_path: Path) -> None:
    packaged = BUILTIN / "contracts.head"
    assert head_path(tmp_path, "contracts") == packaged
    assert head_path(tmp_path, "other") == tmp_path / "other.head"
    (tmp_path / "contracts.head").write_bytes(b"")
    assert head_path(tmp_path, "contracts") == tmp_path / "contracts.head"
    assert list(head_files(tmp_path)) == [tmp_path / "contracts.head", *HEADS]


@pytest.mark.parametrize("path", HEADS, ids=lambda path: path.name)
def test_a_head_of_the_package_is_small_and_says_where_it_comes_from(path: Path) -> None:
    assert path.stat().st_size < 1_000_000
    head = read_head(path)
    assert {"attribution", "licence", "model_sha256", "numerics", "examples_sha256"} <= head.facts.keys()
    assert FieldsHead.from_file(head).fields


def test_the_example_job_pins_the_head_that_is_there() -> None:
    job = (BUILTIN.parents[2] / "configs" / "contract-fields.yaml").read_text()
    assert f"sha256: {file_sha256(BUILTIN / 'contracts.head')}" in job
