"""All keys are wrapped anew, by the key that site.yaml names today.

All new files are on the disk before the first one takes its place. Whatever is cut off leaves each key wrapped by the
one key or the other, both of which site.yaml names until this has ended, and may be repeated.
"""

from dataclasses import dataclass

import audit
from pipeline.atrest.files import AtRest


@dataclass(frozen=True)
class Rewrapped:
    """The name of today's key, how many files of keys there are, and how many of them were wrapped anew."""

    key: str
    keys: int
    rewrapped: int


def rewrap(at_rest: AtRest) -> Rewrapped:
    """Wrap all keys anew that another key than today's has wrapped. NoKeyError, DamagedError, OSError."""
    store = at_rest.store
    store.tidy()
    now, names = store.kek(), list(store.names())
    staged = {name: store.rewrapped(name) for name in names if store.wrapped_by(name) != {now.name}}
    if staged:
        for name, new in staged.items():
            new.rename(store.folder / name)
        audit.sync_filesystem(store.folder)
    return Rewrapped(now.name, len(names), len(staged))
