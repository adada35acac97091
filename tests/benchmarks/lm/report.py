"""Results as Markdown: what must hold, then every table."""

import statistics
from collections.abc import Sequence

from tests.benchmarks.lm.musts import MUSTS
from tests.benchmarks.lm.plan import BEFORE, PROMPT, TOKENS
from tests.benchmarks.lm.results import OURS, Point, Results, best_peer, rate, ratio, share
from tests.benchmarks.verdict import table, to_table, verdicts

_DONE = (
    f"Medians over rounds in which all had their turn. prompt: {PROMPT} tokens; decode: {TOKENS} tokens of one "
    f"sequence from its beginning; decode n: {TOKENS} tokens of each of n sequences, after {BEFORE}. The ratio is the "
    "median of those within a round, to the fastest of the others. OpenVINO has models of its own in the same shapes: "
    "INT8 beside Q8_0, INT4 in groups of 128 beside the others; it chooses a token of each sequence besides."
)
_LOGITS = (
    "To the exact ones of the same file (its weights as float32, computed in float64): mean, which must hold, and "
    "greatest difference. For information: the mean less the shift that all logits of a position have in common, which "
    "changes no probability; divergence of the next token; how often the likeliest one is another. Random weights "
    "spread an error more than trained ones do."
)
_NIGHT = (
    "Both programs get the same ids; loading is left out. prompt computed: tokens a document that were not found "
    "computed before; answer: its tokens. The ratio is the median of those within a part, which both get in turn. "
    "Random weights spell the keys of the JSON in any tokens that the grammar allows where it does not force them, and "
    "are rarely right before it is asked, both of which a trained model does less: free text of 60 tokens is the "
    "ratio without that, and without forced tokens."
)
_LOADING = (("seconds", 1), ("first_seconds", 1), ("first_most", 2**20))


BEGIN, END = "<!-- make bench-lm -->", "<!-- end of it -->"
"""Lines of a page between which the verdicts stand."""


def put_into(page: str, results: Results) -> str:
    """The text of a page with these verdicts instead of those that it had. ValueError if it has no place for them."""
    before, begin, rest = page.partition(f"{BEGIN}\n")
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"found no lines {BEGIN} and {END}")
    return f"{before}{begin}{_musts(results)}\n\n{results.machine}\n{end}{after}"


def _musts(results: Results) -> str:
    return to_table(verdicts(MUSTS, results, results.isa), _number)


def to_markdown(results: Results) -> str:
    """The whole report."""
    parts = [
        "# Benchmark of language models", results.machine, "## What must hold", _musts(results),
        "## Speed", _DONE, _speeds(results),
        *(["## The night", _NIGHT, _nights(results)] if results.nights else []),
        "## Logits", _LOGITS,
        _errors(results),
        "## Memory and start", _memory(results), _starts(results),
        *(["Skipped:", "\n".join(f"- {line}" for line in results.skipped)] if results.skipped else []),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return table(head, rows) if rows else "Not measured."


def _number(value: float, unit: str) -> str:
    return f"{value:.2f}x" if unit == "x" else f"{value:.{2 if unit == 's' else 0}f} {unit}"


def _speeds(results: Results) -> str:
    peers = _names([rates for point, rates in results.rates.items() if point not in results.nights])
    head = ["tokens a second", "model", "threads", OURS, *peers, "ratio", "of the bandwidth"]
    found = _table(head, [_speed(results, point, peers) for point in results.rates if point not in results.nights])
    read = [f"{threads} threads together read {rate / 1e9:.1f} GB/s of memory." for threads, rate in
            results.bandwidth.items()]  # fmt: skip
    return "\n\n".join([found, *read])


def _names(found: Sequence[dict[str, list[float | None]]]) -> list[str]:
    return list(dict.fromkeys(name for rates in found for name in rates if name != OURS))


def _speed(results: Results, point: Point, peers: Sequence[str]) -> list[str]:
    rates = results.rates[point]
    times, part = ratio(rates, best_peer(rates)), share(results, point) if point.what == "decode" else None
    return [
        point.what, f"{point.shape} {point.mix}", f"{point.threads}", *(_rate(rates, name) for name in (OURS, *peers)),
        f"{times:.2f}x" if times else "-", f"{part:.0%}" if part else "",
    ]  # fmt: skip


def _rate(rates: dict[str, list[float | None]], name: str) -> str:
    found = rate(rates, name)
    if found is None:
        return "crashed" if name in rates else "-"
    return f"{found:,.1f}"


def _nights(results: Results) -> str:
    rows = []
    for point, found in results.nights.items():
        times = ratio(results.rates[point], best_peer(results.rates[point]))
        for name, one in found.items():
            rows.append([
                point.what, f"{point.shape} {point.mix}", f"{point.threads}", name, f"{one.documents}",
                f"{one.seconds:,.1f}", f"{one.rate:,.0f}", f"{one.computed / one.documents:,.0f}",
                f"{one.tokens / one.documents:.1f}", f"{one.failed}",
                f"{times:.2f}x" if times and name == OURS else "",
            ])  # fmt: skip
    head = ("", "model", "threads", "", "documents", "seconds", "documents/hour", "prompt computed", "answer",
            "cut by length", "ratio")  # fmt: skip
    return _table(head, rows)


def _errors(results: Results) -> str:
    rows = [
        [
            f"{shape} {mix}", name, f"{one.mean:.5f}", f"{one.most:.4f}", f"{one.unshifted:.5f}",
            f"{one.divergence:.2e}", f"{one.others:.1%}",
        ]
        for (shape, mix), found in results.errors.items()
        for name, one in found.items()
    ]  # fmt: skip
    return _table(("model", "", "mean", "greatest", "less the shift", "divergence, nats", "other token"), rows)


def _memory(results: Results) -> str:
    rows = [
        [
            f"{shape} {mix}", f"{results.file_bytes[shape, mix] / 2**20:,.0f}", name,
            *(f"{one[part] / 2**20:,.0f}" if part in one else "" for part in ("resident", "kv", "weights")),
            f"{(one['resident'] - one.get('kv', 0)) / results.file_bytes[shape, mix]:.2f}x",
            *(f"{one[part] / unit:,.1f}" if part in one else "" for part, unit in _LOADING),
        ]
        for (shape, mix), found in results.memory.items()
        for name, one in found.items()
        if one
    ]  # fmt: skip
    head = ("model", "file, MiB", "", "resident, MiB", "KV of it", "matrices of it", "without KV, to the file",
            "load, s", "first load, s", "its most, MiB")  # fmt: skip
    return _table(head, rows)


def _starts(results: Results) -> str:
    lines = [
        f"{name}, {shape} {mix}, start of the process to the first token: {statistics.median(seconds):.2f} s "
        f"(median of {len(seconds)})."
        for (shape, mix), found in results.starts.items()
        for name, seconds in found.items()
        if seconds
    ]
    return "\n".join(lines)
