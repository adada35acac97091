"""What is deleted: said in the log first, then done, then said to be done. A run killed in between does it again.

A record of a deletion names, in `archive` and `markdown`, document entries whose archived bytes and text, or whose
Markdown file, go; in `parts`, files of rows.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.entries import entries_at
from pipeline.placement import archive_folder, remove_empty, sync
from pipeline.plan import Site

Entry = Mapping[str, Any]

DELETIONS = frozenset({"deleted.by_rule"})
"""The types of the records that announce a deletion; `deleted` says that the one of number `deletion` is done."""


def delete(site: Site, record: Entry) -> None:
    """Delete what a committed record names; may be repeated. OSError where that is not allowed."""
    for entry in entries_at(site, record["archive"]):
        folder = archive_folder(site.root, entry["job"], entry["document"])
        if folder.exists():
            shutil.rmtree(folder)
        remove_empty(folder.parent, folder.parent.parent)
    for entry in entries_at(site, record["markdown"]):
        file = site.root / entry["markdown"]["file"]
        file.unlink(missing_ok=True)
        remove_empty(file.parent, site.root / "outbox" / entry["job"])
    for file in record["parts"]:
        (site.root / file).unlink(missing_ok=True)
    sync(*site.root.glob("outbox/*"), *site.root.glob("archive/*"))


@dataclass
class Deletions:
    """What the log says was deleted: entry of a document, or file of a part -> the entry that says so."""

    archive: dict[int, int] = field(default_factory=dict)
    markdown: dict[int, int] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)
    pending: set[int] = field(default_factory=set)  # those that are not said to be done

    def take(self, entry: Entry) -> None:
        """The next entry of the log."""
        if entry["type"] in DELETIONS:
            self.archive |= dict.fromkeys(entry["archive"], entry["n"])
            self.markdown |= dict.fromkeys(entry["markdown"], entry["n"])
            self.parts |= dict.fromkeys(entry["parts"], entry["n"])
            self.pending.add(entry["n"])
        elif entry["type"] == "deleted":
            self.pending.discard(entry["deletion"])
