"""Pages of a workspace in which runs were: each shows what is there, and one part that fails leaves the rest."""

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.console.rights import Role
from tests.console.browsing import command
from tests.console.conftest import PASSPHRASE, Answer, Browser, Served, serving
from tests.jobs.conftest import INVOICE, LEASE, Cloister, Place, entries, held

ALL = ("/", "/queue", "/runs", "/jobs/sort", "/models", "/log", "/live.json")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Path:
    """A workspace after two runs: with a row that is done twice over, a copy, and a failure."""
    place = Place(tmp_path_factory.mktemp("pages") / "ws")
    command("init", place.root, "--origin", "test.example/log")
    shutil.copy(tiny_model, place.root / "models" / "tiny.gguf")
    job = place.job("sort")
    place.drop("sort", "lease.txt", LEASE)
    place.drop("sort", "copy.txt", LEASE)
    place.drop("sort", "broken.pdf", "%PDF-1.7\nbroken")
    command("run", "sort", "--workspace", place.root, code=1)
    job.write_text(job.read_text().replace("an invoice: total due", "a bill: total due"))
    place.drop("sort", "<b>invoice.txt", INVOICE)
    command("run", "sort", "--workspace", place.root)
    return place.root


@pytest.fixture
def ran(made: Path, place: Place) -> Place:
    """The same, where commands run."""
    for path in made.iterdir():
        if path.is_dir():
            shutil.rmtree(place.root / path.name, ignore_errors=True)
            shutil.copytree(path, place.root / path.name, symlinks=True)
        else:
            shutil.copy2(path, place.root / path.name)
    return place


@pytest.fixture
def served(ran: Place) -> Iterator[Served]:
    """Its console."""
    with serving(ran.root) as console:
        yield console


def words(answer: Answer) -> str:
    """The text of a page, without its tags."""
    text = re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", answer.text, flags=re.S)
    return " ".join(text.replace("&lt;", "<").replace("&gt;", ">").replace("&#39;", "'").split())


def after(browser: Browser, answer: Answer) -> str:
    """The page of a command that was started, when it has ended."""
    assert answer.status == 303, answer.text
    for _ in range(600):
        told = words(browser.get(answer.headers["Location"]))
        if "with exit code" in told:
            return told
        time.sleep(0.1)
    raise AssertionError(told)


def test_tonight_and_last_night(served: Served) -> None:
    told = words(served.everybody().get("/"))
    assert "Nothing runs now" in told
    assert "4 documents in 1 job" in told
    assert "2 done" in told
    assert "Counted when the runs ended." in told
    assert "1 failed" in told
    assert "1 came before" in told
    assert "corrupt 1" in told
    assert "sort idle" in told
    assert "last verified never" in told
    assert "4 rows in 24 hours" in told
    assert "GiB free of" in told


def test_a_run_says_what_changed_since_the_one_before(served: Served, ran: Place) -> None:
    browser = served.everybody()
    first, second = (entry["run"] for entry in entries(ran, "run.started"))
    assert "It is the job's first run." in words(browser.get(f"/runs/{first}"))
    told = words(browser.get(f"/runs/{second}")).replace("\u203a", "/")
    assert "task / labels / invoice / description an invoice: total due a bill: total due" in told
    assert "sort: a run began with 1 file and the model tiny." in told
    assert "1 done" in told
    listed = words(browser.get("/runs"))
    assert listed.index("1 done") < listed.index("1 failed")


def test_a_job(served: Served) -> None:
    told = words(served.everybody().get("/jobs/sort"))
    assert "done 2" in told
    assert "failed 1" in told
    assert "task classify" in told
    assert "Try these again" in told
    assert "corrupt 1" in told


def test_the_queue_is_filtered_sorted_and_paged(served: Served) -> None:
    browser = served.everybody()
    assert "4 documents" in words(browser.get("/queue"))
    assert "1 document ." in words(browser.get("/queue?state=failed")).replace("1 document.", "1 document .")
    assert "broken.pdf" in browser.get("/queue?state=failed").text
    assert "lease.txt" not in browser.get("/queue?failure=corrupt").text
    assert "copy.txt" in browser.get("/queue?text=COPY").text
    assert "No document is so" in browser.get("/queue?folder=nowhere").text
    uncertain = browser.get("/queue?state=done&state=review&sort=uncertain")
    assert "2 documents" in words(uncertain)
    assert "next best label is close behind" in words(uncertain)
    assert "close behind" not in words(browser.get("/queue"))
    assert len(re.findall('data-key="j" href="/documents/', uncertain.text)) == 1
    by_path = re.findall(r"/documents/\d+\?sort=path\">([^<]+)</a>", browser.get("/queue?sort=path").text)
    assert by_path == sorted(by_path, key=lambda each: each.replace("&lt;", "<").replace("&gt;", ">"))


def test_pages_of_the_queue_follow_one_another(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.console.pages.queue._LIMIT", 3)
    browser = served.everybody()
    first = browser.get("/queue?sort=path")
    link = re.search(r'rel="next" [^>]*href="([^"]+)"', first.text)
    assert link
    second = browser.get(link[1].replace("&amp;", "&"))
    seen = [re.findall(r"/documents/(\d+)", page.text) for page in (first, second)]
    assert [len(each) for each in seen] == [3, 1]
    assert not set(seen[0]) & set(seen[1])
    assert 'rel="next"' not in second.text


def test_names_are_text(served: Served) -> None:
    text = served.everybody().get("/queue").text
    assert "<b>invoice" not in text
    assert "&lt;b&gt;invoice.txt" in text


def test_a_model_and_what_it_touched(served: Served, ran: Place) -> None:
    browser = served.everybody()
    sha256 = entries(ran, "run.started")[0]["model_sha256"]
    assert f"tiny {sha256[:12]} none sort 4" in words(browser.get("/models"))
    told = words(browser.get(f"/models/{sha256}"))
    assert "What it touched: 4 rows" in told
    assert "nobody admitted or revoked it" in told
    listed = after(browser, browser.act(f"/models/{sha256}", f"/models/{sha256}/recall"))
    assert "lease.txt" in listed


def test_a_revoked_model_refuses_its_jobs(served: Served, cloister: Cloister) -> None:
    assert cloister("model", "revoke", "tiny", "--reason", "a wrong licence").code == 0
    browser = served.everybody()
    assert " revoked " in words(browser.get("/models"))
    told = words(browser.get("/"))
    assert "sort refused" in told
    assert "a wrong licence" in told


def test_the_days_of_the_log_in_words(served: Served, ran: Place) -> None:
    browser = served.everybody("Ada")
    day = entries(ran)[0]["time"][:10]
    assert f"{day}" in words(browser.get("/log"))
    told = words(browser.get(f"/log/days/{day}"))
    assert "4 documents got a row" in told
    assert "sort: a run began with 3 files and the model tiny." in told
    assert "Ada signed in to the console." in told
    assert "{" not in told
    every = words(browser.get("/log/entries?first=0"))
    assert "sort: copy.txt is done." in every
    assert "sort: broken.pdf is failed (corrupt)." in every


def test_the_log_is_verified_from_its_page(served: Served, ran: Place) -> None:
    browser = served.person("Ada", Role.AUDITOR)
    told = after(browser, browser.act("/log", "/log/verify"))
    assert "with exit code 0" in told
    assert "every one under the signed checkpoint" in told
    assert "whole" in words(browser.get("/log"))
    (started,) = entries(ran, "console.started")
    assert (started["person"], started["command"]) == ("Ada", "cloister audit verify")


def test_commands_run_no_code_of_the_workspace(served: Served, ran: Place) -> None:
    for name in ("rich.py", "pipeline.py", "jobs.py"):
        (ran.root / name).write_text("raise SystemExit(77)\n")
    browser = served.person("Ada", Role.AUDITOR)
    assert "every one under the signed checkpoint" in after(browser, browser.act("/log", "/log/verify"))


def test_the_log_is_exported_from_its_page(served: Served, ran: Place) -> None:
    browser = served.person("Ada", Role.AUDITOR)
    told = after(browser, browser.act("/log", "/log/export", {"from": "", "to": ""}))
    assert "with exit code 0" in told
    (folder,) = (ran.root / "exports").iterdir()
    assert (folder / "verify.py").is_file()
    assert (ran.root / "exports").stat().st_mode & 0o777 == 0o700
    for days in ({"from": "x", "to": ""}, {"from": "2026-02-02", "to": "2026-01-01"}, {"from": "--out", "to": ""}):
        assert browser.act("/log", "/log/export", days).status == 422
    assert len(entries(ran, "console.started")) == 1


def test_a_run_and_a_retry_from_the_page(served: Served, ran: Place) -> None:
    browser = served.person("Olaf", Role.OPERATOR)
    ran.drop("sort", "new.txt", LEASE + "A new one.\n")
    told = after(browser, browser.act("/jobs/sort", "/jobs/sort/run"))
    assert "sort: 1 document in" in told
    told = after(browser, browser.act("/jobs/sort", "/jobs/sort/retry", {"failure": "corrupt"}))
    assert "with exit code 1" in told
    assert browser.act("/jobs/sort", "/jobs/sort/retry", {"failure": "--help"}).status == 422
    assert browser.act("/jobs/sort", "/jobs/--help/run").status == 404
    started = [(entry["person"], entry["command"], entry["job"]) for entry in entries(ran, "console.started")]
    assert started == [
        ("Olaf", "cloister run sort", "sort"),
        ("Olaf", "cloister retry sort --class corrupt", "sort"),
    ]


def test_while_the_log_is_held_pages_are_shown_and_a_run_says_why_not(served: Served, ran: Place) -> None:
    browser = served.everybody()
    with held(ran):
        assert all(browser.get(path).status == 200 for path in ALL)
        told = after(browser, browser.act("/jobs/sort", "/jobs/sort/run"))
    assert "with exit code 5" in told
    assert "holds the audit log" in told or "held" in told


def test_a_run_on_its_way_is_followed(served: Served, ran: Place) -> None:
    browser = served.everybody()
    before = browser.get("/live.json").text
    with held(ran):
        told = {"pid": 0, "job": "sort", "run": "r", "since": "2026-01-01T00:00:00.000000Z", "total": 10,
                "counts": {"done": 3, "failed": 1}}  # fmt: skip
        (ran.root / "state" / "running.json").write_text(json.dumps({**told, "pid": os.getpid()}))
        live = json.loads(browser.get("/live.json").text)
        assert (live["far"], live["done"], live["run_failed"]) == ("4 of 10", 4, "1")
        assert live["turn"] != json.loads(before)["turn"]
        page = words(browser.get("/"))
        assert "Now: sort runs" in page
        assert "4 of 10" in page
        assert "sort running" in page
    assert browser.get("/live.json").text == before


@pytest.mark.parametrize("how", ["gone", "garbage", "folder", "others"])
def test_a_broken_index_is_made_again(ran: Place, how: str) -> None:
    with serving(ran.root) as console:
        browser = console.everybody()
        assert browser.get("/").status == 200
    path = ran.root / "state" / "index.sqlite"
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    if how == "garbage":
        path.write_bytes(b"garbage" * 1000)
    elif how == "others":
        path.chmod(0o666)
    else:
        path.unlink()
        if how == "folder":
            path.mkdir()
    with serving(ran.root) as console:
        browser = console.browser()
        browser.post("/sign-in", {"name": "Anna", "passphrase": PASSPHRASE})
        told = words(browser.get("/"))
        assert "4 documents in 1 job" in told or how == "folder"
        assert "Tonight and last night" in told
        assert browser.get("/runs").status == 200


def test_a_part_that_is_gone_leaves_the_lists(ran: Place) -> None:
    for part in ran.parts("sort"):
        part.unlink()
    with serving(ran.root) as console:
        browser = console.everybody()
        assert all(browser.get(path).status == 200 for path in ALL)
        assert "4 documents" in words(browser.get("/queue"))


def test_a_log_that_was_altered_is_a_sentence_on_each_page(ran: Place) -> None:
    with serving(ran.root) as console:
        browser = console.everybody()
        segment = next((ran.root / "audit" / "entries").iterdir())
        data = segment.read_bytes()
        segment.write_bytes(data.replace(b'"lease.txt"', b'"lEase.txt"'))
        checkpoint = ran.root / "audit" / "checkpoint"
        checkpoint.write_bytes(checkpoint.read_bytes().replace(b"test.example", b"tEst.example"))
        for path in ALL:
            answer = browser.get(path)
            assert answer.status in (200, 503), path
            assert "Traceback" not in answer.text
        assert "audit log" in words(browser.get("/")).lower()


def test_a_job_file_that_is_wrong_is_told_and_the_others_are_shown(served: Served, ran: Place) -> None:
    (ran.root / "jobs" / "bad.yaml").write_text("job: bad\nmodle: {name: x}\n")
    told = words(served.everybody().get("/"))
    assert "unknown key 'modle'" in told
    assert "sort idle" in told


def test_a_model_that_is_gone_is_told(served: Served, ran: Place) -> None:
    (ran.root / "models" / "tiny.gguf").unlink()
    assert "there is no models/tiny.gguf" in words(served.everybody().get("/"))


def test_private_documents_are_kept_from_those_who_may_not_open_them(ready: Place, cloister: Cloister) -> None:
    job = ready.job("secret")
    job.write_text(job.read_text() + "private: true\n")
    ready.drop("secret", "Anna Aalto dismissal.txt", LEASE)
    ready.drop("secret", "broken Aalto.pdf", "%PDF-1.7\nbroken")
    assert cloister("run", "secret").code == 1
    with serving(ready.root) as console:
        reader, operator = console.person("Rita", Role.READER), console.person("Olaf", Role.OPERATOR)
        auditor = console.person("Ada", Role.AUDITOR)
        assert "Aalto" in auditor.get("/queue").text
        for browser in (reader, operator):
            for path in ("/queue", "/queue?text=Aalto", "/queue?sort=path", "/jobs/secret", "/", "/runs", "/models"):
                answer = browser.get(path)
                assert answer.status == 200
                assert "Aalto" not in answer.text.replace('value="Aalto"', "")
            assert "a private document" in browser.get("/queue").text
            assert "No document is so" in browser.get("/queue?text=Aalto").text
            assert "No document is so" in browser.get("/queue?label=lease").text
            assert "lease (" not in browser.get("/queue").text
        assert "private documents" in after(operator, operator.act("/jobs/secret", "/jobs/secret/retry"))
    job.unlink()
    with serving(ready.root) as console:  # also when its file is gone
        reader = console.browser()
        reader.post("/sign-in", {"name": "Rita", "passphrase": PASSPHRASE})
        assert "Aalto" not in reader.get("/queue").text


def test_others_do_not_see_what_somebody_started(served: Served) -> None:
    auditor, reader = served.person("Ada", Role.AUDITOR), served.person("Rita", Role.READER)
    answer = auditor.act("/log", "/log/verify")
    after(auditor, answer)
    assert reader.get(answer.headers["Location"]).status == 403


def test_an_empty_workspace(place: Place) -> None:
    with serving(place.root) as console:
        browser = console.everybody()
        for path in ("/", "/queue", "/runs", "/models", "/log"):
            assert browser.get(path).status == 200, path
        assert "There is no job yet" in browser.get("/").text


def test_a_defect_is_a_sentence_and_its_traceback_is_kept(
    console: Served, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = console.everybody()

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("no part of the page")

    monkeypatch.setattr("jobs.console.pages.runs.render", broken)
    answer = browser.get("/runs")
    assert answer.status == 500
    assert "A defect of Cloister: ZeroDivisionError" in words(answer)
    assert "no part of the page" not in answer.text
    (crash,) = (place.root / "state" / "crashes").iterdir()
    assert "ZeroDivisionError: no part of the page" in crash.read_text()
    assert browser.get("/").status == 200
