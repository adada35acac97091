"""`python -m jobs.console.making FOLDER`: the index of a workspace is brought up to date by a child of the console.

So the console stays small and its pages are quick, also while the index of a million documents is made.
"""

import sys
from pathlib import Path

import pipeline
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace


def make_index(root: Path) -> None:
    """Bring the index up to date. audit.AuditError, sqlite3.Error, OSError."""
    with pipeline.open_index(make_site(open_workspace(root))) as index:
        index.refresh()


if __name__ == "__main__":
    make_index(Path(sys.argv[1]))
