"""What is asked of language models, each with what was measured: the worst case counts.

The bounds are to llama.cpp, with aims to OpenVINO besides; ik_llama.cpp stands in the tables only.
"""

import statistics
from collections.abc import Callable, Collection, Iterator

from tests.benchmarks.lm.contenders import BINDING, OPENVINO, PROGRAMS, SERVER
from tests.benchmarks.lm.results import OURS, Point, Results, best_peer, ratio, share
from tests.benchmarks.lm.shapes import LARGE, SMALL
from tests.benchmarks.verdict import Must, Worst

FIRST_TOKEN = ("llama-3.2-1b", "q4_k_m")
FOUR_K = "q4_k_m"
ONE_B = "llama-3.2-1b"
OPENVINO_MIXES = ("q8_0", FOUR_K)  # beside its INT8 and INT4
LLAMA = (PROGRAMS, BINDING, SERVER)
NO_AMX = ("avx512_vnni", "avx2", "portable")


def _ratios(results: Results, wanted: Callable[[Point], bool], among: Collection[str]) -> Worst | None:
    """The least ratio to the best of these peers over the wanted points."""
    found = []
    for point, rates in results.rates.items():
        peer = best_peer(rates, among)
        if wanted(point) and (times := ratio(rates, peer)) is not None:
            found.append(Worst(times, f"{point.what}, {point.shape} {point.mix}, {_threads(point)}, {peer}"))
    return min(found, default=None)


def _threads(point: Point) -> str:
    return f"{point.threads} thread{'s' * (point.threads > 1)}"


def _of(
    shapes: tuple[str, ...], what: tuple[str, ...], mixes: tuple[str, ...] = (), among: Collection[str] = LLAMA
) -> Callable[[Results], Worst | None]:
    def is_wanted(point: Point) -> bool:
        return point.shape in shapes and point.what in what and (not mixes or point.mix in mixes)

    return lambda results: _ratios(results, is_wanted, among)


def _bandwidth(results: Results) -> Worst | None:
    found = [
        Worst(100 * part, f"{point.shape} {point.mix}, {_threads(point)}")
        for point in results.rates
        if point.what == "decode" and (part := share(results, point)) is not None
    ]
    return min(found, default=None)


def _memory(results: Results) -> Worst | None:
    """Resident bytes without keys and values, in parts of the file."""
    found = results.memory.get((LARGE, FOUR_K), {}).get(OURS)
    if found is None:
        return None
    size = results.file_bytes[LARGE, FOUR_K]
    where = f"{found['weights'] / size:.2f}x of it matrices; KV {found['kv'] / 2**20:,.0f} MiB more"
    return Worst((found["resident"] - found["kv"]) / size, where)


def _errors(results: Results) -> Iterator[Worst]:
    for (shape, mix), errors in results.errors.items():
        peers = {name: found for name, found in errors.items() if name != OURS}
        if OURS in errors and peers:
            peer = min(peers, key=lambda name: peers[name].mean)
            yield Worst(errors[OURS].mean / peers[peer].mean, f"{shape} {mix}, {peer}")


def _start(results: Results) -> Worst | None:
    seconds = results.starts.get(FIRST_TOKEN, {}).get(OURS)
    return Worst(statistics.median(seconds), f"median of {len(seconds)}") if seconds else None


MUSTS: tuple[Must[Results], ...] = (
    Must("prompt tokens, AMX", 2.5, 4.0, "x", _of(SMALL, ("prompt",)), isas=("amx",)),
    Must("prompt tokens, without AMX", 1.2, 1.5, "x", _of(SMALL, ("prompt",)), isas=NO_AMX),
    Must("one sequence decoding, Q8_0 and Q4_0", 1.0, None, "x", _of(SMALL, ("decode",), ("q8_0", "q4_0"))),
    Must("one sequence decoding, Q4_K_M", 1.3, 2.0, "x", _of(SMALL, ("decode",), (FOUR_K,))),
    Must("one sequence decoding, of the memory's bandwidth", None, 75.0, "%", _bandwidth),
    Must("16 and 32 sequences decoding", 2.0, 4.0, "x", _of(SMALL, ("decode 16", "decode 32"))),
    Must("the night", 2.5, 4.0, "x", _of((*SMALL, LARGE), ("night",))),
    Must("the same with free text of 60 tokens", None, 2.5, "x", _of((*SMALL, LARGE), ("night, free",))),
    Must("1B, prompt tokens, to OpenVINO", None, 1.5, "x", _of((ONE_B,), ("prompt",), OPENVINO_MIXES, (OPENVINO,))),
    Must("1B, one sequence decoding, to OpenVINO", None, 1.1, "x",
         _of((ONE_B,), ("decode",), OPENVINO_MIXES, (OPENVINO,))),
    Must("1B, 16 sequences decoding, to OpenVINO", None, 2.0, "x",
         _of((ONE_B,), ("decode 16",), OPENVINO_MIXES, (OPENVINO,))),
    Must("7B Q4_K_M, prompt tokens", 2.0, 4.0, "x", _of((LARGE,), ("prompt",), (FOUR_K,))),
    Must("7B Q4_K_M, one sequence decoding", 1.3, 2.0, "x", _of((LARGE,), ("decode",), (FOUR_K,))),
    Must("7B Q4_K_M, resident memory without KV to the file", 1.15, None, "x", _memory, least=False),
    Must("mean error of logits to llama.cpp's", 1.0, 0.5, "x", lambda results: max(_errors(results), default=None),
         least=False),
    Must("start of the process to the first token, 1B Q4_K_M", 1.5, None, "s", _start, least=False),
)  # fmt: skip
