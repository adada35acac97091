"""Jobs of the task batch: a file of requests in, an output and an error file out, whatever was killed when."""

import hashlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from pipeline import Choice, Failure, RunPlan, Site
from pipeline.outbox.placement import staged_name
from pipeline.plan import Retention
from pipeline.tasks import BatchSettings, Writing
from tests.pipeline.conftest import Witness, make_plan, make_site

USED = Writing(context=1024, max_tokens=40, cache_mib=64)
CITY = {
    "type": "object",
    "properties": {"city": {"enum": ["Rome", "Ulm"]}},
    "required": ["city"],
    "additionalProperties": False,
}
FORM = {"type": "json_schema", "json_schema": {"name": "city", "strict": True, "schema": CITY}}

Row = dict[str, Any]


def line(name: str, text: str = "Which city?", **body: Any) -> str:
    said = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": text}], "response_format": FORM} | body
    return json.dumps({"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": said})


LINES = [
    line("first"),
    line("warm", temperature=1),
    "no JSON",
    "",
    line("short", response_format=None, max_tokens=2),
    line("first", "again"),
    line("last", "Which one?"),
]


def make_batch(site: Site, decoder: Path, **changes: Any) -> RunPlan:
    site.models.mkdir(exist_ok=True)
    path = site.models / "tiny.gguf"
    path.write_bytes(decoder.read_bytes())
    plan = make_plan(
        site, path, "batch", task=BatchSettings(("tiny", "gpt-4o-mini")), writing=USED, formats=("parquet",)
    )
    return replace(plan, input=replace(plan.input, duplicates="process"), **changes)


@pytest.fixture
def plan(site: Site, tiny_decoder: Path) -> RunPlan:
    return make_batch(site, tiny_decoder)


def drop(plan: RunPlan, lines: list[str] | bytes, name: str = "night.jsonl") -> None:
    body = lines if isinstance(lines, bytes) else "".join(f"{one}\n" for one in lines).encode()
    path = plan.input.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)


def go(plan: RunPlan, stop: Callable[[], bool] = lambda: False) -> pipeline.RunReport:
    return pipeline.run(plan, observer=Witness(), stop=stop)


def read(plan: RunPlan, kind: str, name: str = "night") -> list[Row]:
    file = plan.outbox / "_outputs" / f"{name}_{kind}.jsonl"
    return [json.loads(one) for one in file.read_text("ascii").splitlines()]


def rows(plan: RunPlan) -> dict[str, Row]:
    return {row["path"]: row for row in pipeline.results(plan.site, plan.job)}


def content(answer: Row) -> str:
    return str(answer["response"]["body"]["choices"][0]["message"]["content"])


def test_a_file_its_outputs_its_rows_and_its_entries(plan: RunPlan) -> None:
    drop(plan, LINES)
    report = go(plan)
    assert report.counts == {
        "done": 3, "abstained": 0, "review": 0, "failed": 4, "duplicate": 0, "ignored": 0, "pending": 0,
    }  # fmt: skip
    output, error = read(plan, "output"), read(plan, "error")
    assert [one["custom_id"] for one in output] == ["first", "short", "last"]
    assert [one["custom_id"] for one in error] == ["warm", None, "first"]
    assert len({one["id"] for one in [*output, *error]}) == 6
    assert json.loads(content(output[0]))["city"] in ("Rome", "Ulm")
    body = output[1]["response"]["body"]
    assert (body["object"], body["model"], body["choices"][0]["finish_reason"]) == ("chat.completion", "tiny", "length")
    assert body["usage"] == {"prompt_tokens": body["usage"]["prompt_tokens"], "completion_tokens": 2,
                             "total_tokens": body["usage"]["prompt_tokens"] + 2}  # fmt: skip
    refused = error[0]["response"]
    assert (refused["status_code"], refused["body"]["error"]["param"]) == (400, "temperature")
    assert refused["body"]["error"]["message"].startswith("line 2: body.temperature: found 1, expected 0")
    assert [one["error"]["code"] for one in error[1:]] == ["invalid_json_line", "duplicate_custom_id"]
    assert error[2]["error"]["message"] == "line 6: custom_id: it is that of line 1 already"
    found = rows(plan)
    assert {path: row["failure"] or row["state"] for path, row in found.items()} == {
        "night.jsonl": "done",
        "night.jsonl!/0000001.json": "done",
        "night.jsonl!/0000002.json": "invalid_request",
        "night.jsonl!/0000003.json": "invalid_request",
        "night.jsonl!/0000005.json": "unanswered",
        "night.jsonl!/0000006 repeats 0000001.json": "invalid_request",
        "night.jsonl!/0000007.json": "done",
    }
    short = found["night.jsonl!/0000005.json"]
    assert (short["custom_id"], short["line"], short["status_code"]) == ("short", 5, 200)
    assert json.loads(short["body"])["choices"][0]["message"]["content"] == content(output[1])
    assert short["reason"] == "line 5: the answer was not over after 2 tokens"
    entries = [e for _, e in audit.read_entries(plan.site.audit, plan.site.public_key) if e["type"] == "document"]
    assert [bool(entry["outputs"]) for entry in entries] == [False] * 6 + [True]
    check = pipeline.verify(plan.site)
    assert (check.ok, check.checked["outputs"]) == (True, 2)
    replayed = pipeline.replay(plan.site, Choice())
    assert {row.verdict.value for row in replayed.rows} == {"identical"}
    assert len(replayed.rows) == 7


def test_a_file_of_one_line_that_does_not_end(plan: RunPlan) -> None:
    """The request has the very bytes of its file."""
    drop(plan, line("only").encode(), "a/b c/only.jsonl")
    go(plan)
    assert [one["custom_id"] for one in read(plan, "output", "a/b c/only")] == ["only"]
    assert read(plan, "error", "a/b c/only") == []
    assert [row["state"] for row in rows(plan).values()] == ["done", "done"]
    assert pipeline.verify(plan.site).ok


def test_each_file_has_all_its_answers_and_a_later_one_of_its_name_replaces_them(plan: RunPlan) -> None:
    drop(plan, LINES[:2])
    drop(plan, [LINES[0], line("other")], "second.jsonl")
    go(plan)
    before = read(plan, "output")
    assert [one["custom_id"] for one in read(plan, "output", "second")] == ["first", "other"]
    assert len(read(plan, "error")) == 1
    drop(plan, [LINES[0]])
    go(plan)
    (after,) = read(plan, "output")
    assert content(after) == content(before[0])
    assert read(plan, "error") == []
    assert pipeline.verify(plan.site).ok


def test_a_file_that_is_none_has_no_outputs(plan: RunPlan) -> None:
    drop(plan, b"%PDF-1.7\n\xff")
    drop(plan, b"\n\n", "empty.jsonl")
    go(plan)
    assert {row["path"]: row["failure"] for row in rows(plan).values()} == {
        "night.jsonl": "corrupt", "empty.jsonl": "empty",
    }  # fmt: skip
    assert list((plan.outbox / "_outputs").glob("*.jsonl")) == []


def test_requests_that_are_answered_again_are_in_both_files_anew(plan: RunPlan) -> None:
    drop(plan, [line("long", response_format=None), *LINES])
    go(plan)
    before = {kind: read(plan, kind) for kind in ("output", "error")}
    assert before["output"][0]["response"]["body"]["choices"][0]["finish_reason"] == "length"
    assert before["output"][0]["response"]["body"]["usage"]["completion_tokens"] == 40
    more = replace(plan, writing=replace(USED, max_tokens=44), retry=frozenset({Failure.UNANSWERED}), part_documents=1)
    go(more)
    output = read(plan, "output")
    assert [one["custom_id"] for one in output] == ["long", "first", "short", "last"]
    assert output[0]["response"]["body"]["usage"]["completion_tokens"] == 44
    assert [content(one) for one in output[1:]] == [content(one) for one in before["output"][1:]]
    assert read(plan, "error") == before["error"]
    assert pipeline.verify(plan.site).ok


def test_outputs_are_not_made_of_rows_that_are_gone(plan: RunPlan) -> None:
    drop(plan, LINES)
    report = go(replace(plan, part_documents=4))
    before = read(plan, "output")
    part, body = report.parts[0], report.parts[0].read_bytes()
    retry = replace(plan, retry=frozenset({Failure.UNANSWERED}))
    for there in (None, b"PAR1", body[:-1]):
        part.unlink() if there is None else part.write_bytes(there)
        again = go(retry)
        assert (again.seen, [path for path, _ in again.lost]) == (0, ["night.jsonl"])
        assert f"of 4 of its 6 requests are not, or not as the log proves them, in outbox/batch/{part.name}" in str(
            again
        )
    assert go(replace(plan, retry=frozenset({Failure.EMPTY}))).lost == ()
    assert read(plan, "output") == before
    part.write_bytes(body)
    again = go(replace(retry, writing=replace(USED, max_tokens=44)))
    assert (again.seen, again.lost) == (1, ())
    assert timeless(read(plan, "output")) == timeless(before)
    assert pipeline.verify(plan.site).ok


def test_a_file_whose_rows_are_gone_may_come_again(plan: RunPlan) -> None:
    drop(plan, LINES)
    (part,) = go(plan).parts
    before = read(plan, "output")
    part.unlink()
    drop(plan, LINES)
    assert go(plan).counts["done"] == 3
    assert timeless(read(plan, "output")) == timeless(before)
    assert go(replace(plan, retry=frozenset({Failure.UNANSWERED}))).lost == ()


def test_outputs_are_not_made_of_rows_that_a_rule_took(plan: RunPlan) -> None:
    """What failed is answered, and has its row."""
    drop(plan, LINES)
    go(plan)
    go(replace(plan, retention=Retention(rows_days=0)))
    witness = Witness()
    report = pipeline.run(replace(plan, retry=frozenset({Failure.UNANSWERED})), observer=witness)
    assert (report.seen, report.lost, list((plan.outbox / "_outputs").glob("*.jsonl"))) == (1, (), [])
    why = "rows of its requests were deleted by a rule or an erasure"
    assert ("output files are not made anew", {"file": "night.jsonl", "reason": why}) in witness.notes
    assert pipeline.verify(plan.site).ok


def test_a_run_that_is_cut_off_goes_on(site: Site, plan: RunPlan) -> None:
    """Requests that were answered are not answered again, unless their rows are gone."""
    lines = [line(str(number), max_tokens=2 + 3 * number, response_format=None) for number in range(12)]
    plan = replace(plan, part_documents=2)
    drop(plan, lines)
    assert go(plan, lambda: len(list(plan.outbox.glob("part-*.parquet"))) > 2).interrupted
    parts = sorted(plan.outbox.glob("part-*.parquet"))
    assert not (plan.outbox / "_outputs" / "night_output.jsonl").exists()
    parts[0].unlink()
    witness = Witness()
    report = pipeline.run(plan, observer=witness)
    note = ("rows of requests are gone, which are answered again", {"file": "night.jsonl", "requests": 2})
    assert note in witness.notes
    assert report.known == 2 * (len(parts) - 1)
    assert [one["custom_id"] for one in read(plan, "output")] == [str(number) for number in range(12)]


def die_before(plan: RunPlan, event: str, name: str) -> None:
    """A run in a child that is killed before it opens, or renames into place, what is called so."""
    child = os.fork()
    if child == 0:
        try:

            def watch(happens: str, arguments: tuple[object, ...]) -> None:
                if happens == event and str(arguments[event == "os.rename"]).endswith(name):
                    os._exit(77)

            sys.addaudithook(watch)
            go(plan)
        finally:
            os._exit(70)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 77


def timeless(answers: list[Row]) -> list[Row]:
    for answer in answers:
        if answer["response"]:
            answer["response"]["body"].pop("created", None)
    return answers


def test_killed_between_the_files_of_a_batch(tmp_path: Path, tiny_decoder: Path) -> None:
    """The files of the last commit are what it said, and of one that did not happen there is nothing."""
    plan = make_batch(make_site(tmp_path / "killed"), tiny_decoder, part_documents=1)
    staged = staged_name("outbox/batch/_outputs/night_error.jsonl")
    for event, name in (("open", staged), ("os.rename", "_error.jsonl"), ("os.rename", "_output.jsonl")):
        drop(plan, LINES)
        die_before(plan, event, name)
        if event == "open":
            assert not list((plan.outbox / "_outputs").glob("*.jsonl"))
            assert go(plan).known == 6
        else:
            assert {path.suffix for path in (plan.outbox / ".staging").iterdir()} >= {".jsonl"}
            (plan.input.folder / "night.jsonl").unlink()
            go(plan)
        assert pipeline.verify(plan.site).ok
        assert [one["custom_id"] for one in read(plan, "output")] == ["first", "short", "last"]
        for kind in ("output", "error"):
            made = (plan.outbox / "_outputs" / f"night_{kind}.jsonl").read_bytes()
            assert hashlib.sha256(made).hexdigest() in last_outputs(plan)
            (plan.outbox / "_outputs" / f"night_{kind}.jsonl").unlink()
    whole = make_batch(make_site(tmp_path / "whole"), tiny_decoder)
    drop(whole, LINES)
    drop(plan, LINES)
    go(whole), go(plan)
    for kind in ("output", "error"):
        assert timeless(read(plan, kind)) == timeless(read(whole, kind))


def last_outputs(plan: RunPlan) -> list[str]:
    entries = audit.read_entries(plan.site.audit, plan.site.public_key)
    *_, last = (entry["outputs"] for _, entry in entries if entry.get("outputs"))
    return [made["sha256"] for made in last]


def test_what_an_erasure_or_a_rule_takes(plan: RunPlan) -> None:
    drop(plan, LINES)
    drop(plan, [line("other")], "other.jsonl")
    go(plan)
    pipeline.erase(plan.site, "night.jsonl!/0000001.json", "asked for", archive=True, rows=True)
    left = {path.name for path in (plan.outbox / "_outputs").glob("*.jsonl")}
    assert left == {"other_output.jsonl", "other_error.jsonl"}
    assert pipeline.verify(plan.site).ok
    go(replace(plan, retention=Retention(rows_days=0)))
    assert [path.name for path in plan.outbox.iterdir()] == []
    assert pipeline.verify(plan.site).ok


def test_a_private_job_names_no_output(site: Site, tiny_decoder: Path) -> None:
    plan = make_batch(site, tiny_decoder, private=True)
    drop(plan, LINES)
    go(plan)
    assert len(read(plan, "output")) == 3
    said = [str(entry) for _, entry in audit.read_entries(site.audit, site.public_key)]
    assert not [one for one in said if "night." in one or "night_" in one]
    assert pipeline.verify(site).ok


def test_changed_outputs_are_found(plan: RunPlan) -> None:
    drop(plan, LINES)
    go(plan)
    (plan.outbox / "_outputs" / "night_output.jsonl").write_text("{}\n")
    (plan.outbox / "_outputs" / "night_error.jsonl").unlink()
    (plan.outbox / "_outputs" / "other_output.jsonl").write_text("{}\n")
    check = pipeline.verify(plan.site)
    assert [one.where for one in check.altered] == ["outbox/batch/_outputs/night_output.jsonl"]
    assert [one.where for one in check.absent] == ["outbox/batch/_outputs/night_error.jsonl"]
    assert [one.where for one in check.added] == ["outbox/batch/_outputs/other_output.jsonl"]
