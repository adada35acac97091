"""What commands record of themselves, and the commands that look things up in the log."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import audit
from jobs.config.load import load_site
from tests.jobs.conftest import INVOICE, LEASE, Cloister, Place, entries, finished, held
from tests.models import write_bert_folder

COMMAND = [sys.executable, "-P", "-c", "from jobs.cli import main; main()"]


@finished
def done(ready: Place, cloister: Cloister) -> Place:
    """A workspace after a run: two documents done, a copy, one failed, one ignored."""
    ready.drop("sort", "lease.txt", LEASE)
    ready.drop("sort", "lease-copy.txt", LEASE)
    ready.drop("sort", "invoice.md", INVOICE)
    ready.drop("sort", "empty.txt", "")
    ready.drop("sort", "~$lease.txt", "x")
    assert cloister("run", "sort").code == 1
    return ready


def test_reads_of_content_are_recorded(done: Place, cloister: Cloister) -> None:
    cloister("results", "sort", "--failed", "--limit", "3")
    sha256 = cloister("audit", "show", "lease.txt", "--json").json["document"]
    cloister("audit", "search", "--name", "lease", "--from", "2026-01-01")
    model = cloister("audit", "recall", "--model", entries(done, "document")[0]["model_sha256"][:8], "--json").json
    cloister("audit", "prove", "0")
    cloister("audit", "witness")
    cloister("audit", "verify")
    reads = [e for e in entries(done) if e["type"].startswith(("read.", "verified"))]
    own = {"v", "n", "time", "boot", "uptime_us", "host", "user", "run"}
    told = [{k: v for k, v in e.items() if k not in own} for e in reads]
    size = reads[-1]["n"]
    assert told[:-1] == [
        {"type": "read.results", "job": "sort", "failed": True, "limit": 3},
        {"type": "read.story", "document": sha256},
        {"type": "read.search", "query": {"name": "lease", "since": "2026-01-01T00:00:00.000000Z"}},
        {"type": "read.recall", "model_sha256": model["model_sha256"]},
        {"type": "read.proof", "entry": 0},
        {"type": "read.checkpoint", "size": size - 1},
    ]
    assert (told[-1]["size"], told[-1]["integrity"], told[-1]["altered"], told[-1]["absent"]) == (size, 0, 0, 0)


def test_reading_while_a_run_holds_the_log_neither_fails_nor_waits_and_is_handed_over(
    done: Place, cloister: Cloister
) -> None:
    size, commands = len(entries(done)), ("results", "audit show lease.txt", "audit search", "audit verify")
    with held(done):
        for command in commands:
            told = cloister(*command.split())
            assert (told.code, told.err) == (0, "")
    assert len(list((done.root / "state" / "handover").iterdir())) == len(commands)
    cloister("run", "sort")
    handed = [entry for entry in entries(done) if "handed" in entry]
    assert [entry["type"] for entry in handed] == ["read.results", "read.story", "read.search", "verified"]
    assert handed[0]["n"] >= size
    assert list((done.root / "state" / "handover").iterdir()) == []


def test_what_can_neither_be_committed_nor_handed_over_is_said_in_a_line(done: Place, cloister: Cloister) -> None:
    (done.root / "state" / "handover").write_text("no folder")
    with held(done):
        told = cloister("results", "--json")
    assert (told.code, len(told.json)) == (0, 4)
    (line,) = told.err.splitlines()
    assert line.startswith("not recorded: ")
    assert "held by process" in line
    assert line.endswith(f"nor can it be handed over: {done.root}/state/handover: File exists")


def test_verifying_a_log_that_was_changed_appends_nothing(done: Place, cloister: Cloister) -> None:
    (segment,) = (done.root / "audit" / "entries").iterdir()
    data = segment.read_bytes().replace(b"lease.txt", b"leash.txt", 1)
    segment.write_bytes(data)
    told = cloister("audit", "verify")
    assert told.code == 4
    assert "not recorded: the log cannot be trusted" in told.err
    assert segment.read_bytes() == data


def test_show_tells_of_all_kinds(done: Place, cloister: Cloister) -> None:
    cloister("audit", "hold", "lease.txt", "--reason", "a lawsuit")
    cloister("audit", "release", "lease.txt", "--reason", "settled")
    with held(done):
        cloister("audit", "show", "lease.txt")
    cloister("audit", "show", "invoice.md")
    told = cloister("audit", "show", "lease.txt").out
    for words in (
        "state     done",
        "state     duplicate",
        "hold: documents may not be deleted",
        "a lawsuit",
        "released: a hold has ended",
        "read.story: a document's story was shown",
        "; handed over",
    ):
        assert words in told, words
    assert "invoice" not in told
    ignored = cloister("audit", "show", "~$lease.txt")
    assert ignored.code == 0
    assert "~$lease.txt, which got no row yet" in ignored.out
    assert "a name that only systems and programs give (~$*)" in ignored.out
    assert cloister("audit", "show", "lease").code == 2


def test_show_tells_of_a_type_that_it_does_not_know(done: Place, cloister: Cloister) -> None:
    sha256 = entries(done, "document")[0]["document"]
    log = load_site(done.root / "site.yaml").log
    with audit.Log.open(done.root / "audit", key_path=done.root / log.key, public_key=log.public_key) as writer:
        writer.commit([{"type": "blessed\x1b[2J", "run": "", "document": sha256, "by": ["a", "b"], "how": None}])
    told = cloister("audit", "show", sha256[:8]).out
    assert "blessed\\x1b[2J, which this version does not know" in told
    assert "by        a, b" in told


def test_search(done: Place, cloister: Cloister) -> None:
    cases: list[tuple[tuple[str, ...], set[str]]] = [
        ((), {"lease.txt", "lease-copy.txt", "invoice.md", "empty.txt", "~$lease.txt"}),
        (("--name", "LEASE"), {"lease.txt", "lease-copy.txt", "~$lease.txt"}),
        (("--name", "*.md"), {"invoice.md"}),
        (("--outcome", "failed"), {"empty.txt"}),
        (("--outcome", "empty"), {"empty.txt"}),
        (("--outcome", "ignored"), {"~$lease.txt"}),
        (("--job", "sort", "--outcome", "duplicate"), {"lease.txt"}),
        (("--model", "tiny"), {"lease.txt", "lease-copy.txt", "invoice.md", "empty.txt"}),
        (("--model", "0" * 64), set()),
        (("--from", "2026-01-01", "--to", "2026-01-02"), set()),
        (("--from", "2026-01-01T00:00:00+02:00", "--outcome", "failed"), {"empty.txt"}),
        (("--to", "2099-12-31", "--outcome", "failed"), {"empty.txt"}),
    ]
    for options, expected in cases:
        found = cloister("audit", "search", *options, "--json").json
        assert {row["path"] for row in found} == expected, options
    told = cloister("audit", "search", "--name", "lease").out
    assert all(path in told for path in ("lease.txt", "~$lease.txt", "duplicate", "ignored a name that only"))
    assert "no entry of the log fits" in cloister("audit", "search", "--name", "other").out
    entry = entries(done, "document")[0]
    found = cloister("audit", "search", "--document", entry["document"][:7], "--run", entry["run"], "--json").json
    assert {row["document"] for row in found} == {entry["document"]}
    assert found[0]["entry"] == entry["n"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--outcome", "faild"), "did you mean 'failed'?"),
        (("--from", "yesterday"), "a day such as 2026-11-20"),
        (("--to", "2026-13-01"), "a day such as 2026-11-20"),
        (("--document", "abc"), "at least 6 digits"),
        (("--from", "2026-02-02", "--to", "2026-02-01"), "lies before 2026-02-02"),
        (("--from", "2026-02-02", "--to", "2026-02-02T00:00:00Z"), "lies before 2026-02-02"),
    ],
)
def test_search_for_what_cannot_be(place: Place, cloister: Cloister, options: tuple[str, ...], words: str) -> None:
    told = cloister("audit", "search", *options)
    assert told.code == 2
    assert words in told.err
    assert entries(place) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--job", "srt"), ("no job 'srt'", "did you mean 'sort'?")),
        (("--run", "nope"), ("no run 'nope'", "of which the last are 20")),
    ],
)
def test_search_for_a_job_or_run_that_nobody_knows(
    done: Place, cloister: Cloister, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    told = cloister("audit", "search", *options)
    assert (told.code, told.out) == (2, "")
    assert all(word in told.err for word in words), told.err
    done.job("idle")
    assert cloister("audit", "search", "--job", "idle").out == "no entry of the log fits\n"


def test_a_damaged_log_is_told_once_by_search(done: Place, cloister: Cloister) -> None:
    (segment,) = (done.root / "audit" / "entries").iterdir()
    segment.write_bytes(segment.read_bytes().replace(b"lease.txt", b"leash.txt", 1))
    told = cloister("audit", "search")
    assert (told.code, told.err.count("not the entry that was signed"), "processed" in told.err) == (4, 1, False)


def test_recall(done: Place, cloister: Cloister, tmp_path: Path) -> None:
    first = entries(done, "document")[0]["model_sha256"]
    folder = write_bert_folder(tmp_path / "hf", seed=3)
    assert cloister("model", "import", folder, "--name", "tiny", "--type", "q8_0").code == 0
    done.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    (changed,) = entries(done, "model.changed")
    assert (changed["before"], changed["by"]) == (first, "import")
    recalled = cloister("audit", "recall", "--model", first[:10], "--json").json
    assert recalled["model_sha256"] == first
    replaced = {row["path"]: row["superseded_by"] for row in recalled["results"] if row["state"] != "duplicate"}
    (new,) = [entry["n"] for entry in entries(done, "document") if entry["model_sha256"] != first]
    assert sorted(map(str, replaced.values())) == sorted(["None", "None", str(new)])
    told = cloister("audit", "recall", "--model", first[:10]).out
    assert "4 results, 2 of which hold" in told  # nor does the row of the copy that came before the new answer
    assert f"entry {new}" in told
    copy, *_ = [row for row in recalled["results"] if row["state"] == "duplicate"]
    assert cloister("audit", "erase", copy["document"], "--rows", "--reason", "asked for").code == 0
    (erased,) = entries(done, "erased")
    gone = cloister("audit", "recall", "--model", first[:10], "--json").json["results"]
    deleted = {row["entry"]: row["deleted_by"] for row in gone if row["deleted_by"] is not None}
    assert deleted == {row["entry"]: erased["n"] for row in gone if row["document"] == copy["document"]}
    told = cloister("audit", "recall", "--model", first[:10]).out
    assert f"4 results, {3 - len(deleted) + 1} of which hold, {len(deleted)} of which are deleted" in told, told
    unknown = cloister("audit", "recall", "--model", "0" * 64)
    assert (unknown.code, "made no result" in unknown.err) == (2, True)


def test_a_run_waits_for_the_workspace_as_long_as_it_is_told(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    with held(ready):
        begun = time.monotonic()
        told = cloister("run", "sort", "--wait", "0.6")
        assert told.code == 5
        assert 0.6 <= time.monotonic() - begun < 10
        assert "waiting for the workspace" in told.err
    lock = held(ready)
    lock.__enter__()
    timer = threading.Timer(0.5, lock.__exit__, (None, None, None))
    timer.start()
    told = cloister("run", "sort", "--wait", "60")
    timer.join()
    assert told.code == 0, told.err
    assert len(ready.parts("sort")) == 1


SLOW = """
import sys, time
from types import SimpleNamespace
from jobs.cli import main, run

class Slow:
    late = 0
    def find_spec(self, name, path=None, target=None):
        self.late += 3600 * (name == "pipeline.run")

slow = Slow()
sys.meta_path.insert(0, slow)
run.time = SimpleNamespace(monotonic=lambda: time.monotonic() + slow.late)
main()
"""


def test_loading_the_code_of_a_run_is_no_waiting(ready: Place) -> None:
    """On a busy machine that takes seconds, and a run that may wait so long would not wait at all."""
    command = [sys.executable, "-P", "-c", SLOW, "run", "sort", "--wait", "60"]
    with held(ready), subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        while "waiting for the workspace" not in (line := run.stderr.readline()):
            assert line, "it ended before it waited"
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=600)
    assert run.returncode == 130


def test_a_run_that_waits_can_be_stopped(ready: Place) -> None:
    with held(ready):
        with subprocess.Popen([*COMMAND, "run", "sort", "--wait", "60"], stderr=subprocess.PIPE, text=True) as run:
            assert run.stderr is not None
            while "waiting for the workspace" not in (line := run.stderr.readline()):
                assert line, "it ended before it waited"
            run.send_signal(signal.SIGTERM)
            run.communicate(timeout=600)
        assert run.returncode == 130


def test_a_service_says_when_it_begins_and_ends(ready: Place) -> None:
    with subprocess.Popen(
        [*COMMAND, "serve", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as it:
        assert it.stderr is not None
        while "job read" not in (line := it.stderr.readline()):
            assert line, "it ended before it served"
        it.send_signal(signal.SIGTERM)
        out, _ = it.communicate(timeout=600)
    assert json.loads(out)["stopped_by"] == "SIGTERM"
    started, ended = entries(ready, "service.started", "service.ended")
    assert (started["type"], started["pid"]) == ("service.started", it.pid)
    assert (ended["type"], ended["pid"], ended["why"]) == ("service.ended", it.pid, "SIGTERM")
    assert it.pid != os.getpid()


def test_a_model_brought_in_is_said_once(ready: Place, cloister: Cloister) -> None:
    folder = write_bert_folder(ready.root / "hf")
    for _ in range(2):
        assert cloister("model", "import", folder, "--name", "fresh", "--type", "f16").code == 0
    (admitted,) = [entry for entry in entries(ready, "model.admitted") if entry["model"] == "fresh"]
    assert (admitted["before"], admitted["by"]) == (None, "import")
