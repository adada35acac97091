"""The child of `bench.py`: measures with the number of threads that its environment says, one JSON line each step.

A request (JSON, the only argument) has the model's path, the lengths in tokens, the seconds of each measurement, and
when, on the monotonic clock, the process was started. Without lengths only the start is measured.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import engine
from pipeline.bench.measure import PASS_TOKENS

BATCH_TOKENS, TOKENS_A_THREAD = 4096, 512
SLICE_SECONDS = 0.02
READ_BYTES, LEAST_READ_BYTES = 2**28, 2**25
WORDS = ("the", "of", "and", "to", "in", "is", "that", "for", "it", "as", "was", "with", "by", "on", "are", "this")
Clock = Callable[[], float]


def text_of(model: engine.Model, tokens: int) -> str:
    """A text of so many tokens, of words that are one token each."""
    edges = model.count_tokens([""])[0]
    words = [word for word in WORDS if model.count_tokens([f"1 {word}", "1"]) == [edges + 2, edges + 1]] or ["1"]
    return " ".join(words[i % len(words)] for i in range(tokens - edges))


def texts_per_second(model: engine.Model, tokens: int, seconds: float, clock: Clock = time.perf_counter) -> float:
    """The median over batches, for so many seconds; at least one batch."""
    texts = [text_of(model, tokens)] * max(1, max(BATCH_TOKENS, TOKENS_A_THREAD * engine.threads()) // tokens)
    model.embed(texts)
    rates: list[float] = []
    end = clock() + seconds
    while not rates or clock() < end:
        start = clock()
        model.embed(texts)
        rates.append(len(texts) / (clock() - start))
    return statistics.median(rates)


def times_per_second(
    works: Sequence[Sequence[engine.bench.Work]], seconds: float, clock: Clock = time.perf_counter
) -> list[float]:
    """How often a second each work is done by all threads; `works` has the same list for each thread.

    Works take turns in short slices, so that another load on the machine falls on all of them; medians over rounds.
    """

    def rate(work: engine.bench.Work, times: int) -> float:
        start = clock()
        work.run(times)
        return times / max(clock() - start, 1e-9)

    with ThreadPoolExecutor(len(works)) as pool:
        for each in works:
            list(pool.map(lambda work: work.run(1), each))  # compiled, and in memory
        counts = [max(1, int(SLICE_SECONDS * rate(work, 1))) for work in works[0]]
        rounds = [
            [
                sum(pool.map(rate, turn, [count] * len(works)))
                for turn, count in zip(zip(*works, strict=True), counts, strict=True)
            ]
            for _ in range(max(1, int(seconds / SLICE_SECONDS)))
        ]
    return [statistics.median(each) for each in zip(*rounds, strict=True)]


def own_bytes() -> int:
    """Memory of this process that is no file's: its proportional share of anonymous pages."""
    rollup = Path("/proc/self/smaps_rollup").read_text()
    line = next(line for line in rollup.splitlines() if line.startswith(("Pss_Anon:", "Anonymous:")))
    return 1024 * int(line.split()[1])


def roofline(model: engine.Model, tokens: int, seconds: float) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """`Ceiling` and each `Operation`."""
    threads = engine.threads()
    size = max(READ_BYTES // threads, LEAST_READ_BYTES)
    works = [
        [engine.bench.peak(), engine.bench.reading(size), *engine.bench.passes(model, tokens)] for _ in range(threads)
    ]
    rates = times_per_second(works, seconds)
    peak, bandwidth = rates[0] * works[0][0].executed, rates[1] * works[0][1].read_bytes
    ceiling = {"threads": threads, "multiply_adds_per_second": peak, "read_bytes_per_second": bandwidth}
    operations = [
        {
            "threads": threads, "tokens": tokens, "name": work.name, "seconds": threads / rate,
            "multiply_adds": work.multiply_adds, "executed": work.executed, "read_bytes": work.read_bytes,
            "share_of_peak": work.executed * rate / peak if work.executed else None,
            "useful_share_of_peak": work.multiply_adds * rate / peak if work.executed else None,
            "share_of_bandwidth": work.read_bytes * rate / bandwidth,
        }
        for work, rate in zip(works[0][2:], rates[2:], strict=True)
    ]  # fmt: skip
    return ceiling, operations


def measure(request: dict[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    """Everything that was asked for. Raises EngineError."""
    before = time.monotonic()
    model = engine.load(request["model"], progress=tell)
    loaded = time.monotonic()
    model.embed(["the"])
    start = {
        "threads": engine.threads(),
        "seconds": time.monotonic() - request["began"],
        "load_seconds": loaded - before,
    }
    found = {"engine": model.facts, "numerics": engine.NUMERICS}
    if not request["tokens"]:
        return found
    seconds, speeds = request["seconds"], []
    usual = min(PASS_TOKENS, model.context)
    model.embed([text_of(model, usual)] * 32)
    start["own_bytes"] = own_bytes()
    tell("started")
    for tokens in request["tokens"]:
        rate = texts_per_second(model, tokens, seconds)
        speeds.append(
            {
                "threads": engine.threads(),
                "tokens": tokens,
                "texts_per_second": rate,
                "tokens_per_second": tokens * rate,
            }
        )
        tell(f"{tokens} tokens")
    ceiling, operations = roofline(model, usual, seconds)
    tell("operations")
    return found | {"start": start, "speeds": speeds, "ceiling": ceiling, "operations": operations}


def main() -> None:
    """Answers on stdout."""

    def write(line: dict[str, Any]) -> None:
        print(json.dumps(line), flush=True)

    try:
        write({"measured": measure(json.loads(sys.argv[1]), lambda at: write({"at": at}))})
    except engine.UnsupportedCpu as error:
        write({"machine": str(error)})
    except engine.EngineError as error:
        write({"refused": str(error)})


if __name__ == "__main__":
    main()
