"""Patterns of names and folders as a job file has them: `*`, `?` and `[…]`, without regard to case; `*` crosses `/`."""

import fnmatch
import re
from collections.abc import Callable, Sequence


def matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Whether a text, in lower case, matches one of them."""
    whole = re.compile("|".join(fnmatch.translate(pattern.lower()) for pattern in patterns))
    return lambda text: whole.match(text) is not None


def ranker(patterns: Sequence[str]) -> Callable[[str], int]:
    """The place of the first pattern that the folder of a path, or one above it, matches; behind them all if none does.

    Paths in the input folder itself lie in no sub-folder and match nothing.
    """
    kinds = [matcher([pattern.strip("/")]) for pattern in patterns]
    known: dict[str, int] = {"": len(patterns)}

    def rank(path: str) -> int:
        folder = path.rpartition("/")[0].lower()
        if folder not in known:
            here = next((place for place, matches in enumerate(kinds) if matches(folder)), len(patterns))
            known[folder] = min(here, rank(folder))
        return known[folder]

    return rank
