"""Word that something changed below a folder, as soon as it did: the only file that knows watchfiles.

Word only makes the next full look come early; what the look finds is the truth. So nothing is lost where no word comes:
on file systems that do not tell what other machines write, where the kernel's limits on watches are reached, or while
a watch is set up again. Such folders are looked at as often as if there were no words at all.
"""

import contextlib
import os
import queue
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import watchfiles

import pipeline

_STEP = 100  # milliseconds: how soon word comes, and how soon a watch ends; of many folders, later
_MANY = 5  # folders, from which on each wakes its thread less often, so that an idle service stays idle
_LONGEST_STEP = 2000
_PAUSE = 1.0  # seconds before a watch that broke is set up again
_GATHER = 500  # milliseconds: at most so long changes that follow each other are one word


class _Watch:
    """A thread that waits for changes below one folder. watchfiles cannot say names that are no UTF-8: then a watch
    breaks, which is word of a change too, and is set up again."""

    def __init__(self, folder: Path, wake: "Wake", step: int) -> None:
        self.folder, self.wake, self.step, self.works, self.trouble = folder, wake, step, False, ""
        self.identity = identity_of(folder)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._follow, name="wake", daemon=True)
        self.thread.start()

    def _follow(self) -> None:
        if kind := pipeline.paths.shared_with(self.folder):
            self.trouble = f"{kind} does not tell what other machines write"
            return
        while not self.ended.is_set():
            worked = self._until_broken()
            if self.ended.is_set():
                return
            self.wake.stir(self.folder)
            if not worked:
                return
            self.ended.wait(_PAUSE)

    def _until_broken(self) -> bool:
        """Whether the watch worked for a while."""
        worked = False
        try:
            for changes in watchfiles.watch(
                self.folder, watch_filter=None, stop_event=self.ended, step=self.step, rust_timeout=self.step,
                yield_on_timeout=True, debounce=_GATHER, force_polling=False, ignore_permission_denied=True,
            ):  # fmt: skip
                if changes or not worked:  # at first too: for what came before the watch was set
                    self.wake.stir(self.folder)
                self.works = worked = True
        except (OSError, RuntimeError, ValueError) as error:
            self.trouble = "" if worked else str(error)
        finally:
            self.works = False
        return worked


class Wake:
    """Watches folders; `fileno` can be waited for. Use it as a context manager."""

    def __init__(self) -> None:
        self._watches: dict[Path, _Watch] = {}
        self._stirred: queue.SimpleQueue[Path] = queue.SimpleQueue()
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def __enter__(self) -> "Wake":
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the threads."""
        watches = list(self._watches.values())
        self.follow(())
        for watch in watches:
            watch.thread.join(5)
        if not any(watch.thread.is_alive() for watch in watches):
            os.close(self._reader)
            os.close(self._writer)

    def fileno(self) -> int:
        """Readable when there is word."""
        return self._reader

    def follow(self, folders: Iterable[Path]) -> None:
        """Watch these folders and no others; one in whose place another folder lies is watched anew."""
        wanted = {folder: identity for folder in folders if (identity := identity_of(folder))}
        for folder, watch in list(self._watches.items()):
            if wanted.get(folder) != watch.identity:
                watch.ended.set()
                del self._watches[folder]
        for folder in wanted.keys() - self._watches.keys():
            step = min(_STEP * max(len(wanted) // _MANY, 1), _LONGEST_STEP)
            self._watches[folder] = _Watch(folder, self, step)

    def tells(self, folder: Path) -> bool:
        """Whether word comes of each change below the folder."""
        return folder in self._watches and self._watches[folder].works

    def stirred(self) -> set[Path]:
        """The folders below which something changed since the last call."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._reader, 4096):
                pass
        folders: set[Path] = set()
        while not self._stirred.empty():
            folders.add(self._stirred.get())
        return folders

    def silent(self) -> Iterator[tuple[Path, str]]:
        """The folders that cannot be watched, each once, with the reason."""
        for watch in self._watches.values():
            if watch.trouble:
                yield watch.folder, watch.trouble
                watch.trouble = ""

    def stir(self, folder: Path) -> None:
        """Word from a watch."""
        self._stirred.put(folder)
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b"!")


def identity_of(folder: Path) -> tuple[int, int] | None:
    """Device and inode of a folder; None where there is none."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
