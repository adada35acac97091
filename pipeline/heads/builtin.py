"""The heads that travel with the package, and where the file of a head is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

BUILTIN: Final = Path(__file__).parent / "builtin"


def head_path(models: Path, name: str) -> Path:
    """The file of a head: that in models/, or, where there is none, that of the package."""
    own, packaged = models / f"{name}.head", BUILTIN / f"{name}.head"
    return packaged if packaged.is_file() and not own.is_file() else own


def head_files(models: Path) -> Iterator[Path]:
    """All heads, those of the workspace first."""
    yield from sorted(models.glob("*.head"))
    yield from sorted(BUILTIN.glob("*.head"))
