"""report.html: one page without scripts, links to elsewhere or other files, which prints well. The only jinja2."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.export.summary import Summary


def write_report(path: Path, about: Mapping[str, Any], summary: Summary) -> None:
    """The page of an export: `about` it and the log, and what its records say."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # no other command has to load it

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.get_template("report.html").stream(about=about, summary=summary).dump(str(path), encoding="utf-8")
