"""Text on pictures of pages, by Tesseract where it is installed: another program, in a process with limits of its own.

Pictures come from the parsers' children as PGM files, so that no file of a stranger reaches Tesseract's readers. It
runs with one thread, which makes its answer depend on the picture, its version and its language data alone.
"""

import hashlib
import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.document import PageImage, Parsed
from pipeline.parse.channel import ChannelClosedError, ChannelTimeoutError
from pipeline.parse.limits import Limits
from pipeline.parse.process import ServerProcess

_MEMORY = 1 << 30  # bytes of address space that Tesseract needs beside the picture
_NOT_LANGUAGES = {"osd", "equ", "snum"}
_LANGUAGE = re.compile(r"[A-Za-z][A-Za-z0-9_/-]{0,60}")
_MOST_TEXT = 4 << 20  # bytes of one page
_PATIENCE = 2.0  # seconds from its last word to its end


class StoppedError(Exception):
    """The run is to stop, and a document has pages that are not read yet."""


class OcrError(Exception):
    """A page could not be read: timeout, crash, more text than any page has."""


@dataclass(frozen=True)
class Tesseract:
    """An installed Tesseract and the languages that are used of it, each with the sha256 of its data."""

    program: str
    version: str
    data: Path
    languages: Mapping[str, str]

    @property
    def name(self) -> str:
        """As a parser's name: with version and languages."""
        return f"tesseract {self.version} ({'+'.join(self.languages)})"

    def describe(self) -> dict[str, Any]:
        """For the record of a run."""
        return {"tesseract": self.version, "languages": dict(self.languages)}


def find_tesseract(wanted: Sequence[str]) -> Tesseract | str:
    """The one that is installed, with the languages wanted, or all that it has; else why there is none, in words."""
    program = shutil.which("tesseract")
    if program is None:
        return "Tesseract is not installed"
    version = _ask(program, "--version").split("\n")[0].removeprefix("tesseract ").removeprefix("v")
    head, *listed = _ask(program, "--list-langs").splitlines()
    found = re.search(r'"(.+)"', head)
    if not version or found is None:
        return f"{program} does not answer as Tesseract 4 or later does"
    data = Path(found[1])
    there = sorted(name for name in listed if _LANGUAGE.fullmatch(name) and name not in _NOT_LANGUAGES)
    if missing := [name for name in wanted if name not in there]:
        return f"Tesseract has no language {', '.join(missing)}; it has {', '.join(there) or 'none'}"
    if not there:
        return "Tesseract has no language"
    return Tesseract(program, version, data, {name: _sha256(data / f"{name}.traineddata") for name in wanted or there})


def _ask(program: str, option: str) -> str:
    try:
        done = subprocess.run([program, option], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "\n"
    return (done.stdout or done.stderr) or "\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class PageReader:
    """Reads pages of documents; may be used by any number of threads."""

    def __init__(self, server: ServerProcess, tesseract: Tesseract, limits: Limits) -> None:
        self._server = server
        self._tesseract = tesseract
        self._limits = replace(limits, memory_bytes=max(limits.memory_bytes, _MEMORY))

    def read(
        self, unpacked: int, images: Sequence[PageImage], stop: Callable[[], bool] = lambda: False
    ) -> tuple[dict[int, str], list[str]]:
        """The text of each page, its picture lying in the file open at `unpacked`; and what went wrong, as notes.

        A page that could not be read has the text "". Each may take as long as a document. StoppedError when `stop()`
        becomes true between two pages.
        """
        texts, notes = {}, []
        for image in images:
            if stop():
                raise StoppedError
            try:
                texts[image.page] = self._page(unpacked, image)
            except OcrError as error:
                texts[image.page] = ""
                notes.append(f"page {image.page} not recognised: {error}")
        return texts, notes

    def named(self, parsed: Parsed, notes: Sequence[str]) -> Parsed:
        """A document of which pages were read here: its parser's name says so, its notes what went wrong."""
        parser = f"{parsed.parser}; {self._tesseract.name}"
        return replace(parsed, parser=parser, notes=(*parsed.notes, *notes))

    def _page(self, unpacked: int, image: PageImage) -> str:
        source = os.memfd_create("page")  # sees this page only, and has an offset of its own
        try:
            _copy(unpacked, image.offset, image.size, source)
            os.lseek(source, 0, os.SEEK_SET)
            return self._recognise(source)
        finally:
            os.close(source)

    def _recognise(self, source: int) -> str:
        program, data = self._tesseract.program, str(self._tesseract.data)
        languages = "+".join(self._tesseract.languages)
        command = [program, "stdin", "stdout", "--tessdata-dir", data, "-l", languages, "--dpi", "300"]
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        try:
            try:
                child = self._server.execute(command, self._limits, source, theirs)
            except (ChannelClosedError, ChannelTimeoutError) as error:
                raise OcrError("Tesseract could not be started") from error
            finally:
                os.close(theirs)
            try:
                text = _read_until_end(ours, time.monotonic() + self._limits.seconds)
            except OcrError:
                self._server.end(child)
                raise
        finally:
            os.close(ours)
        ended = self._server.end(child, _PATIENCE)
        if ended is None or ended[0]:
            raise OcrError(f"Tesseract ended with {ended[0] if ended else 'its server'}")
        return text.decode("utf-8", "replace").replace("\f", "")


def _copy(source: int, offset: int, size: int, target: int) -> None:
    """By the kernel: pictures of pages are large, and are not needed here."""
    end = offset + size
    while offset < end and (done := os.sendfile(target, source, offset, end - offset)):
        offset += done


def _read_until_end(fd: int, deadline: float) -> bytes:
    text = bytearray()
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while len(text) <= _MOST_TEXT:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(1000 * left):
            raise OcrError("it took too long")
        chunk = os.read(fd, 1 << 16)
        if not chunk:
            return bytes(text)
        text += chunk
    raise OcrError("more text than any page has")
