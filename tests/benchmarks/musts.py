"""What is asked of encoders, each with what was measured."""

import statistics
from collections.abc import Callable, Iterable, Iterator

from tests.benchmarks.contenders import HELD, OURS, PEERS
from tests.benchmarks.results import Point, Results, percentile, rate, ratio
from tests.benchmarks.verdict import Must, Worst

AMX, VNNI, AVX2 = "cloister amx", "cloister avx512_vnni", "cloister avx2"


def best_peer(results: Results, point: Point, among: Iterable[str] = PEERS) -> str | None:
    """The peer with the most texts a second at this point."""
    seconds = results.speeds[point]
    rates = {name: found for name in among if (found := rate(point, seconds, name)) is not None}
    return max(rates, key=lambda name: rates[name]) if rates else None


def peers_of(ours: str, results: Results) -> Iterable[str]:
    """Those that it is compared with: ours on AVX2 with peers that use no more, and the rest with all."""
    return HELD if ours == AVX2 and results.isa != "avx2" else PEERS


def best(found: Iterable[str]) -> str | None:
    """Ours on the best instruction set that is there."""
    names = set(found)
    return next((name for name in OURS if name in names), None)


def _least(found: Iterator[Worst]) -> Worst | None:
    return min(found, default=None)


def _ratios(results: Results, ours: str | None, wanted: Callable[[str], bool]) -> Iterator[Worst]:
    """Ours, or the best of ours, to the best of its peers at each wanted point."""
    for point, seconds in results.speeds.items():
        name = ours or best(seconds)
        peer = best_peer(results, point, peers_of(name, results)) if name else None
        if wanted(point.what) and name and peer and (found := ratio(seconds, name, peer)) is not None:
            length = f"{point.what} tokens" if point.what.isdigit() else point.what
            yield Worst(found, f"{length}, {point.threads} thread{'s' * (point.threads > 1)}, {peer}")


def _to_peers(ours: str) -> Callable[[Results], Worst | None]:
    return lambda results: _least(_ratios(results, ours, str.isdigit))


def _cosine(pick: Callable[[list[float]], float]) -> Callable[[Results], Worst | None]:
    def find(results: Results) -> Worst | None:
        name = best(results.cosines)
        return Worst(pick(results.cosines[name]), f"{len(results.cosines[name]):,} texts, {name}") if name else None

    return find


def _share(results: Results) -> Worst | None:
    if (name := best(results.shares)) is None:
        return None
    share = results.shares[name]
    executed = f"128 tokens, 1 thread, {name}; executed {share['executed'] / share['peak']:.1%}"
    return Worst(100 * share["needed"] / share["peak"], executed)


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
    name = best(results.own_bytes)
    return Worst(results.own_bytes[name] / 2**20, f"after 32 texts of 128 tokens, {name}") if name else None


def _banking(results: Results) -> Worst | None:
    if results.banking is None:
        return None
    ours, exact = results.banking
    return Worst(100 * (exact - ours), f"right {ours:.2%}, with float32 vectors {exact:.2%}")


MUSTS: tuple[Must[Results], ...] = (
    Must("AMX to the best peer", 2.0, 3.0, "x", _to_peers(AMX), isas=("amx",)),
    Must("AVX-512 VNNI to the best peer", 1.15, 1.5, "x", _to_peers(VNNI), isas=("avx512_vnni",)),
    Must("AVX2 to the best peer held to AVX2", 1.3, 1.6, "x", _to_peers(AVX2)),
    Must("the best instruction set to the best peer, mixed lengths as they come", 1.5, 3.0, "x",
         lambda results: _least(_ratios(results, None, lambda what: what == "mixed"))),
    Must("cosine to torch float32, mean", 0.9995, 0.9997, "", _cosine(statistics.fmean)),
    Must("cosine, 1st percentile", 0.9985, 0.999, "", _cosine(lambda values: percentile(values, 0.01))),
    Must("cosine, least", 0.997, 0.998, "", _cosine(min)),
    Must("points lost on Banking77, a learned head, to float32 vectors", 0.3, 0.1, "points", _banking, least=False),
    Must("useful matrix products, of the int8 peak", 40.0, 55.0, "%", _share),
    Must("two threads to one", 1.85, None, "x", lambda results: _least(_scaling(results))),
    Must("start of the process to the first vector", 1.0, None, "s", _start, least=False),
    Must("the same with nothing compiled", 60.0, None, "s", _cold, least=False),
    Must("memory beyond the mapped model", 150.0, None, "MiB", _memory, least=False),
)  # fmt: skip
