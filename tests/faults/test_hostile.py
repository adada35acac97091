"""Nights over documents made to hurt, and over real ones: one state each, in time, with the right class."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.errors import DocumentError, Failure
from pipeline.parse import Limits, Options, ParserPool
from tests.faults.confine import run_confined
from tests.faults.expected import EXPECTED, GROUPS
from tests.faults.hostile import BOMBS, Hostile, hostile
from tests.faults.samples import SAMPLES
from tests.faults.stopwatch import OVERRUN, Stopwatch
from tests.thorough import ALL

ROOT = Path(__file__).parents[2]
SECONDS = 2.0
FILES = 10 * len(BOMBS)  # each bomb once


def night(*arguments: str | Path) -> str:
    """In a process of its own, whose memory is measured: what it prints. Everything must hold."""
    command = [sys.executable, "-m", "tests.faults.night", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_night_of_hostile_files() -> None:
    """A quarter of them here; each bomb is tried alone below, and `make torture` has all of them in one night."""
    assert "done" in night("--files", str(FILES if ALL else FILES // 4))


def test_a_night_of_real_documents(data_folder: Path) -> None:
    """Each in the class of expected.py; none of them crashed, in time. Here one in three; `make torture` has each
    twice, and holds the memory after the second against that after the first."""
    much = ("--copies", "2") if ALL else ("--copies", "1", "--every", "3")
    told = night("--folder", data_folder / "documents", *much)
    assert not {"crashed", "timeout", "out_of_memory"} & set(told.split())


def test_the_real_documents_that_fail_or_are_for_review_are_named_once() -> None:
    named = [path for _, paths in GROUPS for path in paths.split("\n") if path]
    assert sorted(named) == sorted(EXPECTED)
    assert set(EXPECTED.values()) <= {*Failure, "review"}


def test_a_confined_process_writes_nowhere_else(tmp_path: Path) -> None:
    """Nor does what it starts: here a file is made, changed, moved in, moved out and removed."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "old").write_text("old")
    tries = (
        "echo a > {}/new",
        "echo a >> {}/old",
        "mkdir {}/made",
        "ln -s / {}/link",
        "mv {}/old {}/moved; rm {}/moved",
    )
    works = "; ".join(f"({each}) && works=$((works + 1))" for each in tries)
    for folder, expected in ((outside, 0), (inside, len(tries))):
        ended = run_confined(["/bin/sh", "-c", f"works=0; {works.replace('{}', str(folder))}; exit $works"], [inside])
        if ended is None:
            pytest.skip("this kernel has no Landlock of ABI 3 or later")
        assert ended == expected, folder
    assert [path.name for path in outside.iterdir()] == ["old"]
    assert (outside / "old").read_text() == "old"


def test_a_stopwatch_tells_what_came_too_late(pool: ParserPool) -> None:
    stopwatch = Stopwatch()
    with tempfile.TemporaryFile() as file, stopwatch.running():
        file.write(b"a letter")
        file.flush()
        pool.parse(file.fileno(), "letter.txt", Options())
    assert stopwatch.slowest[1] == "letter.txt"
    assert stopwatch.late(SECONDS) == []
    assert "letter.txt: took" in stopwatch.late(-OVERRUN)[0]


def test_the_generator_makes_the_same_files_again() -> None:
    assert [one.data for one in hostile(30)] == [one.data for one in hostile(30)]


@pytest.mark.parametrize("suffix", SAMPLES)
def test_what_is_damaged_was_valid(pool: ParserPool, suffix: str) -> None:
    with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as out:
        file.write(SAMPLES[suffix])
        file.flush()
        if suffix in {"png", "tiff", "jpg"}:
            with pytest.raises(DocumentError, match="needs_ocr"):
                pool.parse(file.fileno(), f"sample.{suffix}", Options(), out.fileno())
        else:
            parsed = pool.parse(file.fileno(), f"sample.{suffix}", Options(), out.fileno())
            assert parsed.text or parsed.members


@pytest.fixture(scope="module")
def pool() -> Iterator[ParserPool]:
    with ParserPool(1, Limits(seconds=SECONDS, memory_bytes=1 << 30)) as pool:
        yield pool


@pytest.fixture(scope="module")
def bombs() -> dict[str, Hostile]:
    made = list(hostile(FILES))
    return {name: next(one for one in made if f"-{name}." in one.name) for name in BOMBS}


@pytest.mark.parametrize("name", BOMBS)
def test_no_bomb_outlives_its_limit(pool: ParserPool, bombs: dict[str, Hostile], name: str) -> None:
    bomb = bombs[name]
    with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as out:
        file.write(bomb.data)
        file.flush()
        begun, ended = time.monotonic(), "done"
        try:
            pool.parse(file.fileno(), bomb.name, Options(), out.fileno())
        except DocumentError as error:
            ended = error.failure
        assert time.monotonic() - begun < SECONDS + OVERRUN
    assert not bomb.ends or ended in bomb.ends
