"""The log tells of files that were not read: how each lay, and its failure (inbox/unread.py)."""

from collections.abc import MutableMapping

from pipeline.records.types import Document

Unread = tuple[str, str]
"""The digest of how a file lay, and the failure."""


def remember(unread: MutableMapping[str, Unread], entry: Document) -> None:
    """Take in a document's entry, in the order of the log: what was read at a path since is no longer unread."""
    if entry.parent is not None:
        return
    if entry.document is None and entry.unread:
        unread[entry.path] = (entry.unread, entry.failure or "")
    else:
        unread.pop(entry.path, None)
