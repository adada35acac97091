"""The starts of all jobs and the log: what is written in which order, and what a later service knows of it."""

import json
from datetime import UTC, datetime, timedelta

import pytest

import audit
import pipeline
from jobs.config.job import JobConfig, job_config, validate
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.nights.ledger import Ledger
from jobs.nights.starts import Outcome
from tests.jobs.conftest import Cloister, Place, entries, held
from tests.jobs.nights.clockwork import Clockwork

EVENING = datetime(2027, 1, 15, 22, tzinfo=UTC)
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


def config(cron: str = "0 22 * * *", **policy: str) -> JobConfig:
    schedule = {"cron": cron, "timezone": "UTC", **policy}
    task = {"type": "summarize", "sentences": 3}
    return validate(job_config(), {"job": "sort", "model": {"name": "tiny"}, "task": task, "schedule": schedule})


class Clocked:
    """A ledger with the seconds of its clock, and what it warned of."""

    def __init__(self, place: Place, began: datetime = EVENING - DAY) -> None:
        self.seconds, self.warned = 0.0, list[str]()
        site = make_site(open_workspace(place.root))
        self.now = EVENING - DAY
        clockwork = Clockwork(lambda: self.now.timestamp())
        self.ledger = Ledger(site, clockwork, lambda _: None, self.warned.append, lambda: self.seconds, began)
        self.ledger.look()


@pytest.fixture
def site(ready: Place) -> pipeline.Site:
    return make_site(open_workspace(ready.root))


def told(place: Place) -> list[tuple[str, str | None]]:
    return [(each["type"], each.get("outcome")) for each in entries(place, "start.set", "start.decided")]


def test_a_rule_stands_before_its_starts_and_behind_those_of_the_rule_before(ready: Place) -> None:
    clocked = Clocked(ready)
    ledger = clocked.ledger
    ledger.set(config(), EVENING - DAY + MINUTE)
    ledger.write()
    ledger.set(config("0 23 * * *"), EVENING + MINUTE)  # before the scheduler noticed the start of 22:00
    clocked.now = EVENING + 60 * MINUTE
    ledger.take()
    start = ledger.next("sort")
    assert start is not None
    start.decide(Outcome.RAN, "the run finished", "r1")
    ledger.write()
    assert told(ready) == [
        ("start.set", None), ("start.decided", "changed"), ("start.set", None), ("start.decided", "ran")
    ]  # fmt: skip


def test_what_a_service_left_undecided_is_missed_for_the_next_one(ready: Place) -> None:
    before = Clocked(ready)
    before.ledger.set(config(), EVENING - MINUTE)
    before.ledger.write()
    before.now = EVENING
    before.ledger.take()
    assert before.ledger.next("sort")  # and then it is killed
    after = Clocked(ready, began=EVENING + MINUTE).ledger
    after.set(config(missed="none"), EVENING + 2 * MINUTE)
    after.write()
    assert told(ready) == [("start.set", None), ("start.decided", "missed")]


def test_what_is_due_while_a_service_still_reads_the_log_is_not_missed(ready: Place) -> None:
    before = Clocked(ready).ledger
    before.set(config(missed="none"), EVENING - MINUTE)
    before.write()
    after = Clocked(ready, began=EVENING - MINUTE / 2).ledger
    after.set(config(missed="none"), EVENING + MINUTE)
    start = after.next("sort")
    assert start is not None
    assert not start.missed


def test_a_log_that_is_held_gets_each_outcome_later_and_once(ready: Place) -> None:
    clocked = Clocked(ready)
    clocked.ledger.set(config(), EVENING - MINUTE)
    with held(ready):
        clocked.ledger.write()
        clocked.ledger.write()
    assert len(clocked.warned) == 1  # not tried again before some seconds have passed
    clocked.seconds += 60
    clocked.ledger.write()
    clocked.ledger.write()
    assert told(ready) == [("start.set", None)]


def test_an_unreadable_log_is_told_once(ready: Place) -> None:
    clocked = Clocked(ready)
    (ready.root / "audit" / "checkpoint").write_text("")
    clocked.ledger.look()
    clocked.ledger.look()
    assert len(clocked.warned) == 1


def test_what_is_kept_is_known_to_the_next_service_without_reading_the_log(
    ready: Place, site: pipeline.Site, cloister: Cloister
) -> None:
    assert cloister("model", "admit", "tiny", "--licence", "MIT", "--origin", "here").code == 0
    ledger = Clocked(ready).ledger
    ledger.set(config(), EVENING - MINUTE)
    ledger.close()
    known = pipeline.proof.ServiceNow(site)
    assert known.size == audit.read_checkpoint(site.audit, site.public_key).size
    assert known.known("sort").rule == pipeline.proof.Rule("0 22 * * *", "UTC", None)
    assert [each.file for each in known.admissions.last.values()] == ["tiny.gguf"]


@pytest.mark.parametrize("wrong", ["changed", "of another log", "no JSON"])
def test_what_is_kept_and_does_not_fit_is_not_believed(ready: Place, site: pipeline.Site, wrong: str) -> None:
    ledger = Clocked(ready).ledger
    ledger.set(config(), EVENING - MINUTE)
    ledger.close()
    file = ready.root / "state" / "nights" / "starts.json"
    match wrong:
        case "changed":
            file.write_text(file.read_text().replace("0 22 * * *", "0 23 * * *"))
        case "of another log":
            kept = pipeline.proof.ServiceNow(site)
            kept.size -= 1  # whose root is another one
            file.write_text(json.dumps({**json.loads(file.read_text()), "size": kept.size}))
        case _:
            file.write_text("{")
    known = pipeline.proof.ServiceNow(site)
    assert (known.size, known.jobs) == (0, {})
    known.look()
    assert known.known("sort").rule.cron == "0 22 * * *"
    assert known.known("sort").since == EVENING - MINUTE


def test_reading_a_log_ends_when_it_is_to_stop_and_goes_on_later(ready: Place, site: pipeline.Site) -> None:
    ledger = Clocked(ready).ledger
    for cron in ("0 22 * * *", "0 23 * * *"):
        ledger.set(config(cron), EVENING - MINUTE)
        ledger.write()
    known = pipeline.proof.ServiceNow(site)
    known.look(lambda: True)
    assert (known.size, known.is_read) == (1, False)
    known.look()
    assert known.is_read
    assert known.known("sort").rule.cron == "0 23 * * *"
