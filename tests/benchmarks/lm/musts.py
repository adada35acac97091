"""What is asked of language models, each with what was measured: the worst case counts."""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tests.benchmarks.lm.results import OURS, Point, Results, best_peer, ratio, share
from tests.benchmarks.lm.shapes import LARGE, SMALL

FIRST_TOKEN = ("llama-3.2-1b", "q4_k_m")
FOUR_K = "q4_k_m"


class Worst(NamedTuple):
    """The value that counts, and where it was."""

    value: float
    where: str


@dataclass(frozen=True)
class Must:
    """A bound, what is aimed at (None: no more than that), and how to find what they bound; `least`: whether the value
    must not be less, or not more. Its bound holds for some instruction sets; empty: for all."""

    what: str
    bound: float | None
    aim: float | None
    unit: str
    find: Callable[[Results], Worst | None]
    least: bool = True
    isas: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """A must, and what was found; None if it was not measured."""

    must: Must
    found: Worst | None

    @property
    def word(self) -> str:
        """`aim`, `pass`, `miss`, `below the aim` where nothing must be, `not measured`."""
        if self.found is None:
            return "not measured"
        if self._reaches(self.must.aim):
            return "aim"
        if self.must.bound is None:
            return "below the aim"
        return "pass" if self._reaches(self.must.bound) else "miss"

    def _reaches(self, bound: float | None) -> bool:
        if bound is None or self.found is None:
            return False
        return self.found.value >= bound if self.must.least else self.found.value <= bound


def _ratios(results: Results, wanted: Callable[[Point], bool]) -> Worst | None:
    """The least ratio to the best peer over the wanted points."""
    found = []
    for point, rates in results.rates.items():
        peer = best_peer(rates)
        if wanted(point) and (times := ratio(rates, peer)) is not None:
            found.append(Worst(times, f"{point.what}, {point.shape} {point.mix}, {peer}"))
    return min(found, default=None)


def _of(
    shapes: tuple[str, ...], what: tuple[str, ...], mixes: tuple[str, ...] = ()
) -> Callable[[Results], Worst | None]:
    def is_wanted(point: Point) -> bool:
        return point.shape in shapes and point.what in what and (not mixes or point.mix in mixes)

    return lambda results: _ratios(results, is_wanted)


def _bandwidth(results: Results) -> Worst | None:
    found = [
        Worst(100 * part, f"{point.shape} {point.mix}")
        for point in results.rates
        if point.what == "decode" and (part := share(results, point)) is not None
    ]
    return min(found, default=None)


def _memory(results: Results) -> Worst | None:
    """Resident bytes without keys and values, in parts of the file."""
    found = results.memory.get((LARGE, FOUR_K), {}).get(OURS)
    if found is None:
        return None
    resident, kv = found
    return Worst((resident - kv) / results.file_bytes[LARGE, FOUR_K], f"{resident / 2**20:,.0f} MiB with KV")


def _errors(results: Results) -> Iterator[Worst]:
    for (shape, mix), errors in results.errors.items():
        peers = {name: found for name, found in errors.items() if name != OURS}
        if OURS in errors and peers:
            peer = min(peers, key=lambda name: peers[name].mean)
            yield Worst(errors[OURS].mean / peers[peer].mean, f"{shape} {mix}, {peer}")


def _start(results: Results) -> Worst | None:
    seconds = results.starts.get(FIRST_TOKEN, {}).get(OURS)
    return Worst(statistics.median(seconds), f"median of {len(seconds)}") if seconds else None


MUSTS = (
    Must("prompt tokens", 2.5, 4.0, "x", _of(SMALL, ("prompt",)), isas=("amx",)),
    Must("prompt tokens", 1.2, 1.5, "x", _of(SMALL, ("prompt",)), isas=("avx512_vnni", "avx2", "portable")),
    Must("one sequence decoding, Q8_0 and Q4_0", 1.0, None, "x", _of(SMALL, ("decode",), ("q8_0", "q4_0"))),
    Must("one sequence decoding, Q4_K_M", 1.3, 2.0, "x", _of(SMALL, ("decode",), (FOUR_K,))),
    Must("one sequence decoding, of the memory's bandwidth", None, 75.0, "%", _bandwidth),
    Must("16 and 32 sequences decoding", 2.0, 4.0, "x", _of(SMALL, ("decode 16", "decode 32"))),
    Must("the night", 2.5, 4.0, "x", _of((*SMALL, LARGE), ("night",))),
    Must("the same with free text of 60 tokens", None, 2.5, "x", _of((*SMALL, LARGE), ("night, free",))),
    Must("7B Q4_K_M, prompt tokens", 2.0, 4.0, "x", _of((LARGE,), ("prompt",), (FOUR_K,))),
    Must("7B Q4_K_M, one sequence decoding", 1.3, 2.0, "x", _of((LARGE,), ("decode",), (FOUR_K,))),
    Must("7B Q4_K_M, resident memory without KV to the file", 1.15, None, "x", _memory, least=False),
    Must("mean error of logits to llama.cpp's", 1.0, 0.5, "x", lambda results: max(_errors(results), default=None),
         least=False),
    Must("start of the process to the first token, 1B Q4_K_M", 1.5, None, "s", _start, least=False),
)  # fmt: skip


def verdicts(results: Results) -> list[Verdict]:
    """Every must of the instruction set, in order."""
    return [Verdict(must, must.find(results)) for must in MUSTS if not must.isas or results.isa in must.isas]
