"""What the log says of files that were not read: how each lay, and its failure (inbox/unread.py)."""

from collections.abc import Mapping, MutableMapping
from typing import Any

Unread = tuple[str, str]
"""The digest of how a file lay, and the failure."""


def remember(unread: MutableMapping[str, Unread], entry: Mapping[str, Any]) -> None:
    """Take in a document's entry, in the order of the log: what was read at a path since is no longer unread."""
    if entry["parent"] is not None:
        return
    if entry["document"] is None and entry.get("unread"):
        unread[entry["path"]] = (entry["unread"], entry["failure"])
    else:
        unread.pop(entry["path"], None)
