"""What is seen of a run: a line for each step, for each failed document, and now and then the state of things."""

import io
import json

import pytest

from jobs.progress import EVERY_SECONDS, BarWatcher, LineWatcher, counting, saying, start_logging, watcher_for
from pipeline.report import COMPUTING, READING


def test_lines() -> None:
    out, now = io.StringIO(), [0.0]
    with LineWatcher(start_logging(out), "night", clock=lambda: now[0]) as watcher:
        watcher.note("part committed", rows=3)
        watcher.found(4)
        watcher.finished("a.txt", "done", None)
        watcher.finished("ä.pdf", "failed", "no text")
        now[0] = EVERY_SECONDS
        watcher.finished("c.txt", "done", None)
        watcher.finished("d.txt", "done", None)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(line.pop("timestamp")[-1], line.pop("job")) for line in lines] == [("Z", "night")] * 4
    assert lines == [
        {"event": "part committed", "level": "info", "rows": 3},
        {"event": "documents found", "level": "info", "total": 4},
        {"event": "document failed", "level": "warning", "path": "ä.pdf", "reason": "no text"},
        {"event": "progress", "level": "info", "finished": 3, "total": 4, "done": 2, "failed": 1},
    ]


def test_how_far_a_run_elsewhere_is(capsys: pytest.CaptureFixture[str]) -> None:
    out, now = io.StringIO(), [0.0]
    with LineWatcher(start_logging(out), "night", clock=lambda: now[0]) as watcher:
        watcher.found(4)
        now[0] = EVERY_SECONDS
        watcher.reached({"done": 1, "failed": 1})
        now[0] *= 2
        watcher.reached({"done": 1, "failed": 1})  # nothing new, and no line
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["documents found", "progress"]
    assert (lines[1]["finished"], lines[1]["total"], lines[1]["failed"]) == (2, 4, 1)
    with BarWatcher("night") as bar:
        bar.found(4)
        bar.reached({"done": 1, "failed": 2})
        assert (bar._bar.tasks[0].completed, bar._bar.tasks[0].total) == (3, 4)
    assert capsys.readouterr().out == ""


def test_only_a_terminal_gets_bars(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with counting("entries") as count, saying() as say:
        assert count is None
        say("nobody sees it")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert isinstance(watcher_for("night"), BarWatcher)
    with counting("entries") as count:
        assert count is not None
        count(5, 10)
    with saying() as say:
        say("tensor 1 of 2")
    assert "entries" in capsys.readouterr().err


def test_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with BarWatcher("night") as watcher:
        watcher.note("part committed", rows=3, gone=None)
        watcher.found(2)
        watcher.finished("[a].txt", "failed", "no text")
    told = capsys.readouterr()
    assert told.out == ""
    assert "part committed: rows 3" in told.err
    assert "failed: [a].txt: no text" in told.err


def test_how_far_a_long_document_is(capsys: pytest.CaptureFixture[str]) -> None:
    out = io.StringIO()
    reading = {"document": "a\nb.pdf", "pages": 12, "of": 300}
    with LineWatcher(start_logging(out), "night") as watcher:
        watcher.note(READING, **reading)
    line = json.loads(out.getvalue())
    assert (line["event"], line["pages"], line["of"]) == (READING, 12, 300)
    with BarWatcher("night") as bar:
        bar.note(READING, **reading)
        assert bar._bar.tasks[0].fields["inside"] == "page 12 of 300 of a b.pdf"
        bar.note(COMPUTING, tokens=3000, of=None)
        assert bar._bar.tasks[0].fields["inside"] == "3,000 tokens of a document"
        bar.finished("a.pdf", "done", None)
        assert bar._bar.tasks[0].fields["inside"] == ""
    assert READING not in capsys.readouterr().err
