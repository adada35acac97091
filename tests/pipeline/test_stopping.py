"""Being asked to stop: what is under way is for nobody any more, and is not waited for."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline import RunPlan, scan
from pipeline.answer.compute import _LEAST_TOKENS, _MOST_TOKENS, _next_size
from pipeline.inbox.decide import Decisions
from pipeline.inbox.feed import Feed
from pipeline.inbox.order import Ended
from pipeline.inbox.reader import Reader, ReadHere
from pipeline.parse import Limits, ParserPool
from pipeline.parse.child.process import end_kept
from pipeline.records.history import History
from tests.pipeline.parse.conftest import descendants

Drop = Callable[[str, bytes | str], Path]
LEASE = "The landlord leases the flat to the tenant.\n"


@pytest.fixture
def hanging(plan: RunPlan) -> Iterator[Reader]:
    """A reader whose one parser has stopped, so that every document takes the limit of a minute and fails then."""
    end_kept()
    before = descendants(os.getpid())
    with ParserPool(1, Limits(seconds=60)) as pool:
        (plan.archive / ".staging").mkdir(parents=True)
        _, child = (pid for pid in descendants(os.getpid()) if pid not in before)
        os.kill(child, signal.SIGSTOP)
        yield Reader(plan, ReadHere(pool))


def test_a_document_that_is_being_parsed_stays_pending(plan: RunPlan, drop: Drop, hanging: Reader) -> None:
    """Were it waited for, it would be given out as failed by its limit of time."""
    drop("a.txt", LEASE)
    drop("b.txt", LEASE)
    answers = iter([False])  # to the first look, before it is begun; then stopping is asked for
    feed = Feed(plan, Decisions(plan, History()), hanging, 1)
    assert list(feed(scan(plan.input).ready, lambda: next(answers, True))) == []


def test_what_is_parsed_ahead_is_not_waited_for_when_the_caller_ends(
    plan: RunPlan, drop: Drop, hanging: Reader
) -> None:
    """A file that is too large is given out at once, while the one behind it hangs."""
    drop("a.txt", LEASE * 3)
    drop("b.txt", LEASE)
    small = replace(plan, site=replace(plan.site, max_document_bytes=len(LEASE)))
    feed = Feed(small, Decisions(small, History()), hanging, 1)
    items = feed(scan(plan.input).ready, lambda: False)
    first = next(items)
    assert isinstance(first, Ended)
    assert first.arrival.path == "a.txt"
    items.close()
    assert not descendants_of(hanging)


def descendants_of(reader: Reader) -> list[int]:
    server = reader.reading.pool._server._process
    return [] if server.poll() is not None else descendants(server.pid)


def test_slices_take_as_long_on_a_slow_machine_as_on_a_fast_one() -> None:
    assert _next_size(4096, 0.25) == 4096
    assert _next_size(4096, 1.0) == _LEAST_TOKENS
    assert _next_size(4096, 60.0) == _LEAST_TOKENS
    assert _next_size(4096, 0.125) == 8192
    assert _next_size(4096, 0.0) == _MOST_TOKENS


COMPILING = """
import json, sys
from pathlib import Path
import pipeline
from tests.pipeline.conftest import Witness, make_plan, make_site
plan = make_plan(make_site(Path(sys.argv[1])), Path(sys.argv[2]))
path = plan.input.folder / "lease.txt"
path.write_text("The landlord leases the flat to the tenant.")
witness = Witness()
report = pipeline.run(plan, observer=witness, stop=lambda: True)
print(json.dumps([report.counts, report.interrupted, path.exists(), [name for name, _ in witness.notes]]))
"""


def test_kernels_are_not_compiled_for_a_run_that_is_to_stop(tmp_path: Path, tiny_model: Path) -> None:
    """Of which there are none in an empty cache."""
    command = [sys.executable, "-c", COMPILING, str(tmp_path / "workspace"), str(tiny_model)]
    environment = os.environ | {"CLOISTER_CACHE": str(tmp_path / "cache")}
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root, env=environment)
    counts, interrupted, there, told = json.loads(done.stdout.splitlines()[-1])
    assert (counts["pending"], interrupted, there) == (1, True, True)
    assert not any("compiling" in line for line in told)
