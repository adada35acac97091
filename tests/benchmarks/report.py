"""Results as Markdown: the musts with their verdicts, then every table."""

import statistics
from collections.abc import Iterator

from tests.benchmarks.contenders import HELD, OURS, PEERS
from tests.benchmarks.musts import AVX2, MUSTS, best_peer, peers_of
from tests.benchmarks.results import Point, Results, percentile, rate, ratio
from tests.benchmarks.verdict import table, to_table, verdicts


def to_markdown(results: Results) -> str:
    """The whole report."""
    threads = sorted({point.threads for point in results.speeds})
    parts = [
        "# Benchmark", results.machine,
        *(part for heading, text in results.documents for part in (f"## {heading}", text)),
        "## What must hold", to_table(verdicts(MUSTS, results, results.isa), _number),
        *(part for count in threads for part in _speeds(results, count)),
        "## Two threads to one", _scaling(results),
        "## Cosine to torch float32", f"Over {results.compared}.", _cosines(results),
        "## Of the peak", "One thread, 128 tokens; tera-operations a second, two for a multiply-add.", _shares(results),
        "## Memory and start", _memory(results), _starts(results),
        *(["## Whole jobs", _jobs(results)] if results.jobs else []),
        *(["Left out: " + "; ".join(results.absent) + "."] if results.absent else []),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _number(value: float, unit: str) -> str:
    digits = {"x": 2, "": 5, "%": 1, "s": 2, "MiB": 0, "points": 2}[unit]
    return f"{value:.{digits}f}" + (unit if unit in ("x", "") else f" {unit}")


def _speeds(results: Results, threads: int) -> Iterator[str]:
    points = [point for point in results.speeds if point.threads == threads]
    yield f"## Texts a second, threads: {threads}"
    yield (
        "Medians; in brackets how many times as fast the first line is. `mixed` is a set of texts as they come, for "
        f"peers in batches of 32, padded; `sorted` the same by length. The set: {results.mixture}."
    )
    names = [name for name in (*OURS, *PEERS, *HELD) if any(name in results.speeds[point] for point in points)]
    rows = [[name, *(_speed(results, point, names[0], name) for point in points)] for name in names]
    yield table(["", *(f"{point.what}" for point in points)], rows)
    ours = [name for name in OURS if name in names]
    against = [_against(results, points, name) for name in dict.fromkeys([*ours[:1], AVX2]) if name in ours]
    yield table(["to the best peer", *(point.what for point in points)], against)


def _against(results: Results, points: list[Point], ours: str) -> list[str]:
    """How many times as fast ours is as the best peer that uses no more than the CPU has, or than AVX2 for AVX2."""
    cells = []
    for point in points:
        peer = best_peer(results, point, peers_of(ours, results))
        found = ratio(results.speeds[point], ours, peer) if peer else None
        cells.append(f"{found:.2f}x ({peer})" if found else "-")
    return [ours, *cells]


def _speed(results: Results, point: Point, first: str, name: str) -> str:
    seconds = results.speeds[point]
    found, times = rate(point, seconds, name), ratio(seconds, first, name)
    if found is None:
        return "crashed" if name in seconds else "-"
    return f"{found:,.1f}" + (f" ({times:.2f})" if times and name != first else "")


def _scaling(results: Results) -> str:
    found = {what: ratio(seconds, "2", "1") for what, seconds in results.scaling.items()}
    if not found:
        return "Not measured."
    return table(
        ["tokens", *found], [["two threads to one", *(f"{each:.2f}x" if each else "-" for each in found.values())]]
    )


def _cosines(results: Results) -> str:
    rows = [
        [name, f"{statistics.fmean(c):.5f}", f"{percentile(c, 0.01):.5f}", f"{min(c):.5f}"]
        for name, c in results.cosines.items()
    ]
    return table(["", "mean", "1st percentile", "least"], rows) if rows else "Not measured: torch is not there."


def _shares(results: Results) -> str:
    rows = [
        [
            name, *(f"{2 * each[key] / 1e12:.3f}" for key in ("peak", "executed", "needed")),
            f"{each['executed'] / each['peak']:.1%}", f"{each['needed'] / each['peak']:.1%}",
        ]
        for name, each in results.shares.items()
    ]  # fmt: skip
    head = ["", "peak", "executed in products", "useful", "executed of peak", "useful of peak"]
    return table(head, rows) if rows else "Not measured."


def _memory(results: Results) -> str:
    rows = [[name, f"{found / 2**20:,.0f}"] for name, found in results.own_bytes.items()]
    return table(["after 32 texts of 128 tokens, one thread", "MiB, without mapped files"], rows)


def _starts(results: Results) -> str:
    if results.cold_seconds is None:
        return "Starts were not measured."
    warm = ", ".join(f"{each:.2f}" for each in results.start_seconds)
    cold = f"with nothing compiled {results.cold_seconds:.1f} s"
    return f"From the start of the process to the first vector: {warm} s; {cold}."


def _jobs(results: Results) -> str:
    rows = [
        [
            what, f"{count:,}", f"{tokens:,.0f}", f"{seconds:.1f}", f"{count / seconds:.1f}",
            f"{3600 * count / seconds:,.0f}", f"{peak / 2**20:.0f}",
        ]
        for what, count, tokens, seconds, peak in results.jobs
    ]  # fmt: skip
    head = ["", "documents", "tokens each", "seconds", "documents/s", "an hour", "peak MiB (PSS, tree)"]
    return table(head, rows)
