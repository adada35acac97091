"""Nights in which clocks are set, machines sleep and die, disks fill and files break: each start has one outcome.

`python -m tests.nights.test_simulated --nights 1000` simulates as many as are wanted, and tells what became of them.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from jobs.nights.ledger import now_of
from tests.jobs.conftest import Place, entries
from tests.models import write_bert_folder
from tests.nights.truth import moment, spans, wrongs
from tests.nights.world import JOBS, Machine, live, settle, world_of


def simulate(place: Place, nights: int, seed: int) -> tuple[list[str], Counter[str]]:
    """Simulate nights; what is wrong afterwards, and how many starts had which outcome."""
    with world_of(place, seed) as world:
        machine = Machine(world)
        machine.start()
        machine.turn()
        live(machine, nights)
        settle(machine)
        now = now_of(world.now)
    log = entries(place)
    wrong = [each for job, text in JOBS.items() if "cron" in text for each in wrongs(log, job, now)]
    outcomes: Counter[str] = Counter()
    for each in log:
        if each["type"] == "start.decided":
            outcomes[each["outcome"]] += each["count"]
    return [*wrong, *of_follower(log)], outcomes


def of_follower(log: list[dict[str, object]]) -> list[str]:
    """What is wrong with the job that starts after another one: it starts once for an end, and for the last one."""
    ends = {moment(str(each["time"])) for each in log
            if each["type"] == "run.finished" and each["job"] == "nightly"
            and not (each["interrupted"] or each["window_closed"])}  # fmt: skip
    due = [moment(each["due"]) for span in spans(log, "follows") for each in span.decided]  # type: ignore[arg-type]
    wrong = [f"follows: started for {each}, at which nothing ended" for each in due if each not in ends]
    return wrong + ["follows: started twice for one end"] * (len(due) > len(set(due)))


@pytest.mark.parametrize("seed", range(2))
def test_each_start_has_one_outcome_whatever_happens(ready: Place, seed: int) -> None:
    wrong, outcomes = simulate(ready, 8, seed)
    assert wrong == []
    assert outcomes["ran"] > 0


def main() -> None:
    """Simulate many nights, in a workspace of their own for every hundred."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked, total, wrong = parser.parse_args(), Counter[str](), 0
    with tempfile.TemporaryDirectory() as folder:
        for part in range(0, asked.nights, 100):
            place = _workspace(Path(folder) / str(part))
            found, outcomes = simulate(place, min(100, asked.nights - part), asked.seed + part)
            total += outcomes
            wrong += len(found)
            for each in found:
                print(f"seed {asked.seed + part}: {each}")
            shutil.rmtree(place.root)
    print(f"{asked.nights} nights, {total.total():,} starts, {wrong} wrong")
    print(", ".join(f"{count:,} {outcome}" for outcome, count in total.most_common()))
    sys.exit(1 if wrong else 0)


def _workspace(root: Path) -> Place:
    import engine

    command = [sys.executable, "-P", "-c", "from jobs.cli import main; main()", "init", str(root)]
    subprocess.run([*command, "--origin", "test.example/log"], check=True, stdout=subprocess.DEVNULL)
    folder = write_bert_folder(root.parent / f"{root.name}.hf")
    engine.import_model(folder, root / "models" / "tiny.gguf", file_type="q8_0", name="tiny")
    return Place(root)


if __name__ == "__main__":
    main()
