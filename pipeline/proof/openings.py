"""The files in private/ are held against the log: do they open every entry that no erasure closed, and is nothing else
there?"""

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import audit
from pipeline.atrest.store import store_of
from pipeline.outbox.deletion import Deletions
from pipeline.proof.finding import Found
from pipeline.records.private import OPENINGS_NAME, format_openings, openings_bytes, openings_file, parse_openings
from pipeline.records.types import (
    Deleted,
    Document,
    Erased,
    Held,
    Inputs,
    Record,
    Released,
    Reported,
    RunStopped,
    members_of,
)

FOLDER = "private"
_MEMBERS = members_of(Document).keys() | members_of(Inputs).keys() | members_of(Reported).keys()
_COMMANDS = (Held, Released, Erased, Deleted, Document)
"""What commands write that, as each run does, first remove the openings of commits which did not happen."""


class Openings:
    """Made by taking every entry, in order. Memory grows with the number of private documents."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._size = 0
        self._tidied = -1  # the last entry of a writer that had removed what no entry names
        self._files: dict[Path, set[int]] = defaultdict(set)  # file of openings -> the entries that it opens
        self._closed: dict[int, tuple[str, Path]] = {}  # entry -> its job, and the file that should open it

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        self._size = entry.n + 1
        if (entry.run and not isinstance(entry, RunStopped)) or isinstance(entry, _COMMANDS):
            self._tidied = entry.n
        if entry.private is not None:
            file = openings_file(Path(), entry.job, entry.private)
            self._files[file].add(entry.n)
            if entry.closed:
                self._closed[entry.n] = entry.job, file

    def lacking(self, deletions: Deletions) -> dict[str, int]:
        """Jobs with entries that nothing opens, though nobody erased them -> the last of these entries."""
        return {job: number for number, (job, _) in sorted(self._closed.items()) if number not in deletions.erased}

    def told(self, deletions: Deletions) -> str | None:
        """One sentence about entries that cannot be opened; None if all can that were not erased."""
        count = len(self._closed.keys() - deletions.erased)
        if not count:
            return None
        entries = "1 entry of a private job" if count == 1 else f"{count:,} entries of private jobs"
        state = "is not whole"
        try:
            os.scandir(self._root / FOLDER).close()
        except FileNotFoundError:
            state = "is missing"
        except OSError as error:
            state = f"cannot be read ({error.strerror})"
        return f"{FOLDER}/ {state}: {entries} cannot be opened"

    def check(self, deletions: Deletions, found: Found) -> None:
        """Each file that an entry names, and everything else below private/."""
        folder = self._root / FOLDER
        is_searchable = not folder.exists() or os.access(folder, os.R_OK | os.X_OK)
        if not self._files and not is_searchable:  # as for an auditor, who is not the service's user
            found.notes.append(f"{FOLDER}: this user may not look into it, and no entry needs what is there")
            return
        for file in sorted(self._files):
            self._check_file(file, deletions, found)
        waiting, first, last = 0, self._tidied + 1, self._size + 1 + len(deletions.pending)
        for file, is_file in _walk(self._root, Path(FOLDER), found):
            if file in self._files and is_file:
                continue
            name = OPENINGS_NAME.fullmatch(file.name)
            anew = bool(name and name[2] and deletions.pending and file.with_suffix("") in self._files)
            if name and is_file and len(file.parts) == 3 and (first <= int(name[1]) <= last or anew):
                waiting += 1
            else:
                found.add_stray(
                    str(file), "no entry of the log made this file" if is_file else "no file: a link or such"
                )
        if waiting:
            found.notes.append(f"{FOLDER}: {waiting} files of a commit that is under way, or did not happen")

    def _check_file(self, file: Path, deletions: Deletions, found: Found) -> None:
        numbers = self._files[file]
        closed = sorted(number for number in numbers - deletions.erased if number in self._closed)
        try:
            data = openings_bytes(self._root / file)
        except (FileNotFoundError, NotADirectoryError):
            for number in closed:
                found.miss(str(file), number, "what opens it is gone, and no entry says that this was erased")
            return
        except OSError as error:
            fact = f"what opens {len(numbers)} entries cannot be read: {error.strerror}"
            found.unreadable.append(audit.Finding(str(file), fact, min(numbers)))
            return
        for number in closed:
            found.alter(str(file), number, "it does not open the entry, and no entry says that this was erased")
        openings = parse_openings(data)
        foreign = openings.keys() - numbers or any(opening.keys() - _MEMBERS for opening in openings.values())
        if foreign or data != format_openings(openings):
            found.alter(str(file), min(numbers), "it holds more than what opens the entries that name it")
        if back := sorted(openings.keys() & deletions.erased):
            found.notes.append(f"{file} opens entry {back[0]}, which was erased")


def _walk(root: Path, folder: Path, found: Found) -> Iterator[tuple[Path, bool]]:
    """Everything below a folder that is none, as a path relative to `root`, and whether it is a regular file."""
    try:
        with os.scandir(root / folder) as items:
            there = sorted(items, key=lambda item: item.name)
    except FileNotFoundError:
        return
    except OSError as error:
        found.unreadable.append(audit.Finding(str(folder), f"it cannot be looked into: {error.strerror}"))
        return
    for item in there:
        path = folder / item.name
        if path == store_of(Path()):  # keys of files, which open no entries
            continue
        if item.is_dir(follow_symlinks=False):
            yield from _walk(root, path, found)
        else:
            yield path, item.is_file(follow_symlinks=False)
