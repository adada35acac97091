"""Text on pictures of pages, by Tesseract where it is installed: another program, in a process with limits of its own.

Pictures come from the parsers' children as PGM files, so that no file of a stranger reaches Tesseract's readers. It
runs with one thread, which makes its answer depend on the picture, its version and its language data alone.
"""

import contextlib
import hashlib
import json
import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.document import Parsed, Picture
from pipeline.parse.child.channel import ChannelClosedError, ChannelTimeoutError
from pipeline.parse.child.process import ServerProcess
from pipeline.parse.encoding.legible import share_of_odd_words
from pipeline.parse.limits import Limits
from pipeline.parse.options import NO_WORDS, Far, nowhere

_COLUMNS = 12  # of its table of words, which stands before the text
_WORD = "5"  # the level of a row that is a word
_NOTHING = 60.0  # of 100: below, a mean confidence says that nothing was read
_SURE = 80.0  # above, that something was; Hebrew taken for German may have 67, a bad fax 75
_ODD = 0.5  # of its characters, in words that nobody spells so
_ROTATE = re.compile(r"^Rotate: (\d+)$", re.MULTILINE)
_SCRIPT = re.compile(r"^Script: (\w+)$", re.MULTILINE)
_LANGUAGES: Mapping[str, str] = json.loads(Path(__file__).with_name("languages.json").read_text())
"""Scripts as `osd.traineddata` of Tesseract 4 and 5 names them -> languages by the codes of tessdata."""
_SHOWN = 3  # languages that are named


@dataclass(frozen=True)
class Recognised:
    """The text of a picture, and how sure Tesseract is of its letters: the mean of its words', 0 to 100."""

    text: str
    confidence: float

    @property
    def is_sure(self) -> bool:
        """Whether the text is that of the picture without doubt; an empty one is."""
        return not self.text or self.confidence >= _SURE

    @property
    def is_likely(self) -> bool:
        """Whether the text is that of the picture, if nothing speaks against it."""
        return self.is_sure or (self.confidence >= _NOTHING and share_of_odd_words(self.text) <= _ODD)


def parse_recognised(output: str) -> Recognised:
    """Read what Tesseract writes with tessedit_create_tsv and tessedit_create_txt: a table of words, then the text.

    No line of a text has a tab.
    """
    letters = total = 0.0
    text: list[str] = []
    for line in output.split("\n"):
        row = line.split("\t")
        if len(row) != _COLUMNS:
            text.append(line)
        elif row[0] == _WORD and (word := row[-1].strip()):
            letters += len(word)
            with contextlib.suppress(ValueError):
                total += len(word) * min(100.0, max(0.0, float(row[-2])))
    return Recognised("\n".join(text).replace("\f", "").strip(), total / letters if letters else 0.0)


def parse_detected(output: str) -> tuple[str, int]:
    """Read the script, as Tesseract calls it, and by how many degrees the picture must be turned, as it writes them
    with --psm 0; "" and 0 where there are too few letters."""
    script, rotate = _SCRIPT.search(output), _ROTATE.search(output)
    return script[1] if script else "", int(rotate[1]) % 360 if rotate else 0


def lacking(script: str, languages: Iterable[str]) -> str:
    """The languages to install to read a script, where none of `languages` writes it; "" where one does, or may."""
    needed = _LANGUAGES.get(script, "").split()
    here = set(languages)
    if not needed or not here.isdisjoint([*needed, *(f"{name}_vert" for name in needed), f"script/{script}"]):
        return ""
    shown = " or ".join(needed[:_SHOWN])
    return f"{shown}, say" if len(needed) > _SHOWN else shown


_MEMORY = 1 << 30  # bytes of address space that Tesseract needs beside the picture
_OSD = "osd"
_NOT_LANGUAGES = {_OSD, "equ", "snum"}
_LANGUAGE = re.compile(r"[A-Za-z][A-Za-z0-9_/-]{0,60}")
_MOST_TEXT = 4 << 20  # bytes of one page
_TABLE_AND_TEXT = ("-c", "tessedit_create_tsv=1", "-c", "tessedit_create_txt=1")
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
    osd: str = ""  # sha256 of the data that detects scripts; "" where it is not installed

    @property
    def name(self) -> str:
        """The name of this Tesseract as that of a parser, with its version and languages."""
        return f"tesseract {self.version} ({'+'.join(self.languages)})"

    def describe(self) -> dict[str, Any]:
        """The version of Tesseract, and its languages with their data, for the record of a run."""
        return {"tesseract": self.version, "languages": dict(self.languages), "osd": self.osd or None}


def find_tesseract(wanted: Sequence[str]) -> Tesseract | str:
    """The installed Tesseract with the languages wanted, or all that it has; else the reason why there is none."""
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
    digests = {name: _sha256(data / f"{name}.traineddata") for name in wanted or there}
    return Tesseract(program, version, data, digests, _sha256(data / "osd.traineddata") if _OSD in listed else "")


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
        self,
        unpacked: int,
        images: Sequence[Picture],
        stop: Callable[[], bool] = lambda: False,
        far: Far = nowhere,
    ) -> tuple[dict[str, str], dict[str, str]]:
        """The text of each picture in the file open at `unpacked`, by its name; for those not recognised, the reason.

        Each may take as long as a document; one that has several names is read once. StoppedError when `stop()`
        becomes true between two pictures; `far` hears how many are read.
        """
        read: dict[int, tuple[str, str]] = {}
        for number, image in enumerate(images):
            far(number, len(images))
            if image.offset not in read:
                if stop():
                    raise StoppedError
                read[image.offset] = self._text_or_reason(unpacked, image)
        texts = {image.name: read[image.offset][0] for image in images if not read[image.offset][1]}
        return texts, {image.name: read[image.offset][1] for image in images if image.name not in texts}

    def named(self, parsed: Parsed) -> Parsed:
        """A document of which pictures were read here: its parser's name says so."""
        return replace(parsed, parser=f"{parsed.parser}; {self._tesseract.name}")

    def _text_or_reason(self, unpacked: int, image: Picture) -> tuple[str, str]:
        """The text, or why there is none: what is in another language's letters comes out as nonsense."""
        source = os.memfd_create("page")  # sees this picture only, and has an offset of its own
        try:
            at, end = image.offset, image.offset + image.size
            while at < end and (done := os.sendfile(source, unpacked, at, end - at)):  # in the kernel: it may be large
                at += done
            found = self._recognised(source)
            if found.is_sure:
                return found.text, ""
            (script, rotate), used = self._detected(source), "+".join(self._tesseract.languages)
            if needed := lacking(script, self._tesseract.languages):
                told = f"its script looks like {script}, and it was read as {used}"
                return "", f"not read: {told}; install {needed}, and name it in the job's ocr languages if it names any"
            if not found.is_likely and rotate:
                found = self._recognised(source, "--psm", "1")
            return (
                (found.text, "") if found.is_likely else ("", f"{NO_WORDS} as {used}; another language needs its data")
            )
        except OcrError as error:
            return "", f"not recognised: {error}"
        finally:
            os.close(source)

    def _recognised(self, source: int, *options: str) -> Recognised:
        languages = "+".join(self._tesseract.languages)
        return parse_recognised(self._run(source, "-l", languages, *options, *_TABLE_AND_TEXT))

    def _detected(self, source: int) -> tuple[str, int]:
        """The script of a picture and which side is up, if its data is installed and there is enough to see."""
        try:
            return parse_detected(self._run(source, "-l", _OSD, "--psm", "0") if self._tesseract.osd else "")
        except OcrError:  # it ends with an error where it sees too few letters
            return "", 0

    def _run(self, source: int, *options: str) -> str:
        os.lseek(source, 0, os.SEEK_SET)
        data = "--tessdata-dir", str(self._tesseract.data)
        command = [self._tesseract.program, "stdin", "stdout", *data, "--dpi", "300", *options]
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
        return text.decode("utf-8", "replace")


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
