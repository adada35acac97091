"""What is asked of encoders, each with what was measured."""

import statistics
from collections.abc import Callable, Iterator

from tests.benchmarks.contenders import PEERS
from tests.benchmarks.results import Point, Results, percentile, rate, ratio
from tests.benchmarks.verdict import Must, Worst

AMX, VNNI, AVX2 = "cloister amx", "cloister avx512_vnni", "cloister avx2"


def best_peer(results: Results, point: Point) -> str | None:
    """The peer with the most texts a second at this point."""
    seconds = results.speeds[point]
    rates = {name: found for name in PEERS if (found := rate(point, seconds, name)) is not None}
    return max(rates, key=lambda name: rates[name]) if rates else None


def _least(found: Iterator[Worst]) -> Worst | None:
    return min(found, default=None)


def _ratios(results: Results, ours: str, peer: str | None, wanted: Callable[[str], bool]) -> Iterator[Worst]:
    """Ours to this peer, or to the best one, at each wanted point."""
    for point, seconds in results.speeds.items():
        other = peer or best_peer(results, point)
        if wanted(point.what) and other and (found := ratio(seconds, ours, other)) is not None:
            length = f"{point.what} tokens" if point.what.isdigit() else point.what
            yield Worst(found, f"{length}, {point.threads} thread{'s' * (point.threads > 1)}, {other}")


def _cosine(pick: Callable[[list[float]], float]) -> Callable[[Results], Worst | None]:
    def find(results: Results) -> Worst | None:
        return (
            Worst(pick(results.cosines[AMX]), f"{len(results.cosines[AMX])} texts") if AMX in results.cosines else None
        )

    return find


def _share(results: Results) -> Worst | None:
    if AMX not in results.shares:
        return None
    share = results.shares[AMX]
    useful = f"128 tokens, 1 thread; useful {share['needed'] / share['peak']:.1%}"
    return Worst(100 * share["executed"] / share["peak"], useful)


def _scaling(results: Results) -> Iterator[Worst]:
    for what, seconds in results.scaling.items():
        if (found := ratio(seconds, "2", "1")) is not None:
            yield Worst(found, f"{what} tokens" if what.isdigit() else what)


def _start(results: Results) -> Worst | None:
    seconds = results.start_seconds
    return Worst(statistics.median(seconds), f"median of {len(seconds)}") if seconds else None


def _cold(results: Results) -> Worst | None:
    return None if results.cold_seconds is None else Worst(results.cold_seconds, "to the first vector")


def _memory(results: Results) -> Worst | None:
    return Worst(results.own_bytes[AMX] / 2**20, "after 32 texts of 128 tokens") if AMX in results.own_bytes else None


MUSTS: tuple[Must[Results], ...] = (
    Must("AMX to the best peer", 2.0, None, "x", lambda r: _least(_ratios(r, AMX, None, str.isdigit))),
    Must("AMX to the best peer, mixed lengths as they come", 3.0, None, "x",
         lambda r: _least(_ratios(r, AMX, None, lambda what: what == "mixed"))),
    Must("AVX-512 VNNI to onnxruntime int8, from 128 tokens", 1.0, None, "x",
         lambda r: _least(_ratios(r, VNNI, "onnxruntime int8", lambda what: what.isdigit() and int(what) >= 128))),
    Must("AVX2 to torch float32", 1.5, None, "x", lambda r: _least(_ratios(r, AVX2, "torch float32", str.isdigit))),
    Must("cosine to torch float32, mean", 0.9995, None, "", _cosine(statistics.fmean)),
    Must("cosine, 1st percentile", 0.9985, None, "", _cosine(lambda values: percentile(values, 0.01))),
    Must("cosine, least", 0.997, None, "", _cosine(min)),
    Must("matrix products, executed, of the int8 peak", 30.0, None, "%", _share),
    Must("two threads to one", 1.85, None, "x", lambda r: _least(_scaling(r))),
    Must("start of the process to the first vector", 1.0, None, "s", _start, least=False),
    Must("the same with nothing compiled", 60.0, None, "s", _cold, least=False),
    Must("memory beyond the mapped model", 150.0, None, "MiB", _memory, least=False),
)  # fmt: skip
