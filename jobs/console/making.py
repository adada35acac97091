"""`python -m jobs.console.making FOLDER`: the indexes of a workspace are brought up to date by a child of the console.

So the console stays small and its pages are quick, also while the index of a million documents is made.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pipeline
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace


def make_indexes(root: Path) -> None:
    """Bring both indexes up to date. audit.AuditError, sqlite3.Error, OSError."""
    site = make_site(open_workspace(root))
    for opened in (pipeline.open_chronicle, pipeline.open_queue):
        with opened(site) as index:
            index.refresh()


if __name__ == "__main__":
    make_indexes(Path(sys.argv[1]))
