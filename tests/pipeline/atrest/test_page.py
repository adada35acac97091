"""The lines of README.md that read encrypted results, as they stand there."""

import re
from pathlib import Path
from typing import Any

import pytest

import pipeline
from pipeline import RunPlan
from tests.pages import text_of
from tests.pipeline.atrest.test_at_rest import Drop, go


def test_the_lines_that_read_results(
    plan: RunPlan, drop: Drop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.txt", "b.txt"):
        drop(name, f"The landlord leases the flat {name}.")
        go(plan)
    (code,) = re.findall(r"```python\n(.*?)```", text_of("pipeline/atrest/README.md"), re.DOTALL)
    (tmp_path / "office").symlink_to(plan.site.root)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code, names)
    read = {row["path"]: row["label"] for row in names["rows"].to_pylist()}
    assert read == {row["path"]: row["label"] for row in pipeline.results(plan.site)}
    assert len(read) == 2
