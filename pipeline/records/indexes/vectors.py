"""state/vectors/, the kept vectors of examples (pipeline/answer/vectors.py): where they lie; how they are forgotten.

A vector tells much of its text, so whoever erases a document also has them forgotten.
"""

import shutil
from pathlib import Path

from pipeline.plan import Site


def vectors_of(site: Site) -> Path:
    """The folder of the kept vectors."""
    return site.state / "vectors"


def forget_vectors(site: Site) -> None:
    """Delete all kept vectors: those of a document that is erased are among them, perhaps."""
    shutil.rmtree(vectors_of(site), ignore_errors=True)
