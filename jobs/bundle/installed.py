"""The installed version that this process runs from, if it was installed from a bundle, and what that brought."""

import sys
from pathlib import Path

from jobs.bundle.versions import COMPLETE


def installed_version() -> Path | None:
    """The folder of the version whose environment this process has; None if it has another one."""
    folder = Path(sys.prefix).parent
    return folder if (folder / COMPLETE).is_file() and (folder / "manifest.json").is_file() else None


def example_documents(version: Path, job: str) -> list[Path]:
    """The documents that came with an example job."""
    return sorted(path for path in (version / "jobs" / "documents" / job).glob("*") if path.is_file())
