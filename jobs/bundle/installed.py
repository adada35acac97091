"""The installed version that this process runs from, if it was installed from a bundle, and what that brought."""

import sys
from pathlib import Path

from jobs.bundle.versions import COMPLETE


def installed_version(prefix: str = sys.prefix) -> Path | None:
    """The folder of the version to which the environment `prefix` belongs; None if that is another environment."""
    folder = Path(prefix).parent
    return folder if (folder / COMPLETE).is_file() and (folder / "manifest.json").is_file() else None


def example_documents(version: Path, job: str) -> list[Path]:
    """The documents that came with an example job."""
    return sorted(path for path in (version / "jobs" / "documents" / job).glob("*") if path.is_file())
