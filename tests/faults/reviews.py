"""Ten people decide on a thousand rows while a run commits and is killed at random: each decision is in the log once.

    python -m tests.faults.reviews                       10 people, 1,000 decisions
    python -m tests.faults.reviews --people 4 --rows 10  4 people with 10 rows each

A job answers a document for each decision. Then each person decides on rows of her own, from a thread as a page does,
and with all the others on a few shared rows, of which only the first decision may hold. Meanwhile runs of the same job
take new documents, and are killed (SIGKILL) at random moments and started again. In the end one run comes to its end,
and everything is counted: prints the figures, and a line for each thing that does not hold; exit 1 if there is one.
"""

import argparse
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pipeline
from pipeline import Review
from pipeline.records import requests
from pipeline.records.entries import read_entries
from pipeline.records.types import Document, ReviewRefused, RunFinished
from pipeline.tasks.correcting import ReviewRefusedError
from tests.faults.workplace import JOB, Workplace, environment, scratch

SEED = 20261124
SHARED = 5  # rows on which everybody decides
BATCH = 60  # new documents for a run
LABELS = ("lease", "invoice")


def paper(number: int) -> tuple[str, bytes]:
    """A small document."""
    text = f"The landlord leases flat {number}." if number % 2 else f"Invoice {number}, total due {number}.00 EUR."
    return f"{number:06}.txt", text.encode()


@dataclass
class Made:
    """A decision that was made without an error: `n` as `decide` told it, None where it waited."""

    review: Review
    n: int | None


@dataclass
class Load:
    """One trial."""

    place: Workplace
    people: int
    rows: int
    rng: random.Random
    made: list[Made] = field(default_factory=list)
    told: list[str] = field(default_factory=list)  # sentences of decisions that were refused at once
    wrong: list[str] = field(default_factory=list)
    kills: int = 0
    runs: int = 0
    slowest: float = 0.0
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def go(self) -> None:
        """Decide, run and kill at the same time, then let a run come to its end."""
        seen = sorted(int(row["audit_index"]) for row in pipeline.results(self.place.site))
        shared, own = seen[:SHARED], seen[SHARED:]
        killer = threading.Thread(target=self._runs)
        killer.start()
        with ThreadPoolExecutor(self.people) as threads:
            numbers = range(self.people)
            work = [threads.submit(self._person, i, own[i * self.rows : (i + 1) * self.rows], shared) for i in numbers]
            for each in work:
                each.result()
        self.over.set()
        killer.join()
        self._run(None)
        pipeline.review.take_up_reviews(self.place.site)

    def _person(self, number: int, own: list[int], shared: list[int]) -> None:
        rng = random.Random(f"{SEED}/{number}")
        rows = [*own, *shared]
        rng.shuffle(rows)
        for row in rows:
            action = rng.choice(("accepted", "corrected", "rejected"))
            self._decide(rng, Review(JOB, row, action, f"person {number}", f"look {row}"))
            time.sleep(rng.uniform(0, 0.05))

    def _decide(self, rng: random.Random, review: Review) -> None:
        began, label = time.monotonic(), rng.choice(LABELS)
        for right in (label, next(each for each in LABELS if each != label)):
            answer = {"label": right} if review.action == "corrected" else None
            made = Review(review.job, review.entry, review.action, review.by, review.reason, answer)
            try:
                outcome = pipeline.decide(self.place.site, made)
            except ReviewRefusedError as error:
                if "says that already" in str(error):  # the label that it has: the other one then
                    continue
                with self.lock:
                    self.told.append(str(error))
                return
            with self.lock:
                self.slowest = max(self.slowest, time.monotonic() - began)
                if outcome.n is None and not outcome.waits:
                    self.told.append(str(outcome.why))
                else:
                    self.made.append(Made(made, outcome.n))
            return

    def _runs(self) -> None:
        number = 1_000_000
        while not self.over.is_set():
            for name, body in map(paper, range(number, number + BATCH)):
                (self.place.inbox / name).write_bytes(body)
            number += BATCH
            while not self.over.is_set() and not self._run(self.rng.uniform(1.0, 12.0)):
                pass

    def _run(self, seconds: float | None) -> bool:
        """Run the job, and kill it then; whether it came to its end before."""
        command = self.place.run_command()
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen([*command, "--wait", "60"], env=environment(), **silent) as run:  # type: ignore[call-overload]
            try:
                code = run.wait(seconds)
            except subprocess.TimeoutExpired:
                run.send_signal(signal.SIGKILL)
                run.wait()
                self.kills += 1
                return False
        self.runs += 1
        if code not in (0, 1):
            self.wrong.append(f"a run ended with exit {code}")
        return True

    def judge(self) -> Counter[str]:
        """Hold what people did against the log; the figures."""
        entries = list(read_entries(self.place.site))
        decided = [entry for entry in entries if isinstance(entry, Document) and entry.review is not None]
        by_request = Counter(entry.review.id for entry in decided if entry.review)
        self.wrong += [
            f"the request {each} is in the log {times} times" for each, times in by_request.items() if times > 1
        ]
        there = {(e.review.of, e.review.by, e.review.action): e for e in decided if e.review}
        refused = Counter((entry.of, entry.by) for entry in entries if isinstance(entry, ReviewRefused))
        lost = [each for each in self.made if not self._is_there(each, there, refused)]
        self.wrong += [f"lost: {each.review.by} {each.review.action} entry {each.review.entry}" for each in lost]
        if foreign := len(decided) - sum(_key(each) in there for each in self.made):
            self.wrong.append(f"{foreign} rows in the log that nobody decided")
        twice = [of for of, times in Counter(e.review.of for e in decided if e.review).items() if times > 1]
        self.wrong += [f"entry {of} was decided on more than once" for of in twice]
        self._check_workspace(entries)
        waited = sum(each.n is None and _key(each) in there for each in self.made)
        return Counter({
            "decisions in the log": len(decided), "of them taken up by a run or later": waited,
            "refused, for another one was first": sum(refused.values()) + len(self.told),
            "kills of a run": self.kills, "runs that came to their end": self.runs,
        })  # fmt: skip

    @staticmethod
    def _is_there(made: Made, there: dict[tuple[int, str, str], Document], refused: Counter[tuple[int, str]]) -> bool:
        entry = there.get(_key(made))
        if entry is not None:
            return made.n in (None, entry.n)
        return made.n is None and refused[made.review.entry, made.review.by] == 1

    def _check_workspace(self, entries: list[pipeline.records.Record]) -> None:
        site = self.place.site
        found = pipeline.verify(site)
        for each in (*found.integrity, *found.altered, *found.added, *found.absent):
            self.wrong.append(f"verify: {each}")
        self.wrong += [f"it waits still: {name}" for name in requests.waiting(site)]
        twice = Counter(row["path"] for row in pipeline.results(site))
        self.wrong += [f"{path} has {times} rows that hold" for path, times in twice.items() if times > 1]
        for entry in entries:
            if isinstance(entry, RunFinished) and entry.seen != sum(entry.counts.values()):
                self.wrong.append(f"entry {entry.n}: the counts of a run do not add up")


def _key(made: Made) -> tuple[int, str, str]:
    return made.review.entry, made.review.by, made.review.action


def trial(people: int, rows: int, seed: int) -> tuple[Load, Counter[str]]:
    """One trial in a new workspace, which is removed if nothing is wrong."""
    folder = scratch("reviews")
    documents = people * rows + SHARED
    place = Workplace.make(folder / "place", map(paper, range(documents)), part_documents=50)
    place.run()
    load = Load(place, people, rows, random.Random(seed))
    load.go()
    figures = load.judge()
    if not load.wrong:
        shutil.rmtree(folder)
    return load, figures


def main() -> None:
    """Try and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--rows", type=int, default=100, help="rows of her own that each person decides on")
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args()
    began = time.monotonic()
    load, figures = trial(asked.people, asked.rows, asked.seed)
    print(f"{asked.people} people, {asked.people * asked.rows:,} rows of their own and {SHARED} that they share")
    for what, count in figures.items():
        print(f"{count:7,}  {what}")
    print(f"{load.slowest:7.2f}  seconds for the slowest decision")
    print(f"{time.monotonic() - began:7.0f}  seconds in all")
    for line in load.wrong[:20]:
        print(f"WRONG: {line}")
    print(f"{len(load.wrong):7,}  wrong")
    sys.exit(1 if load.wrong else 0)


if __name__ == "__main__":
    main()
