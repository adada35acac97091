"""A gated feed-forward part: down(f(gate x) * (up x)), f SiLU or GELU; of a layer, or of one of its experts."""

from engine.kernels.compiled import kernel
from engine.kernels.matmul.linear import PLAIN
from engine.kernels.matmul.team import barrier, share
from engine.kernels.steps import gelu_gate, silu_gate
from engine.models.decoders.products import FIRST, SECOND, Model, Scratch, Team, bring, times
from engine.simd import F32


@kernel
def gated(
    team: Team, count: int, width: int, inner: int, gelu: bool, model: Model, gate: int, x: F32, gates: F32,
    ups: F32, mode: int, out: F32, scratch: Scratch,
) -> None:  # fmt: skip
    """out[count, width] is, or by `mode` gets in addition, what the part makes of x; each thread's share of it.
    Its matrices are gate, gate + 1 (up) and gate + 2 (down); `gates` and `ups` are what the first two make."""
    counters, thread, threads = team
    bring(team, x, count, model, gate, gate + 2, scratch)
    barrier(counters, threads)
    times(team, FIRST, count, model, gate, PLAIN, gates, inner, FIRST, scratch)
    times(team, SECOND, count, model, gate + 1, PLAIN, ups, inner, FIRST, scratch)
    barrier(counters, threads)
    first, end = share(thread, threads, count)
    if gelu:
        gelu_gate(gates, first, end, inner, ups)
    else:
        silu_gate(gates, first, end, inner, ups)
    bring(team, gates, count, model, gate + 2, gate + 3, scratch)
    barrier(counters, threads)
    times(team, FIRST, count, model, gate + 2, mode, out, width, FIRST, scratch)
    barrier(counters, threads)
