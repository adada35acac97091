"""A gated feed-forward layer: down(f(gate x) * (up x)), f SiLU or GELU; of a layer, or of one of its experts."""

from engine.kernels.compiled import kernel
from engine.kernels.glu import geglu_tanh, swiglu
from engine.kernels.matmul.arguments import Target, Team
from engine.kernels.matmul.decoder import product
from engine.kernels.matmul.linear import PLAIN
from engine.kernels.matmul.team import barrier, share
from engine.models.decoders.forward_arguments import Memory, Model
from engine.models.decoders.products import FIRST, SECOND, quantize
from engine.simd import F32


@kernel
def gated(team: Team, model: Model, gate: int, count: int, x: F32, memory: Memory, target: Target) -> None:
    """The target's first `count` rows = what the feed-forward layer makes of x [count, d_model]; each thread's share of
    them. Its matrices are gate, gate + 1 (up) and gate + 2 (down)."""
    d_ff, scratch, gates, ups = model.sizes.d_ff, memory.products, memory.gates, memory.ups
    quantize(team, x, count, model.matrices, gate, gate + 2, scratch)
    barrier(team.counters, team.threads)
    product(team, FIRST, count, model.matrices, gate, Target(gates, d_ff, FIRST, PLAIN), scratch)
    product(team, SECOND, count, model.matrices, gate + 1, Target(ups, d_ff, FIRST, PLAIN), scratch)
    barrier(team.counters, team.threads)
    first, end = share(team.thread, team.threads, count)
    if model.rules.gelu:
        geglu_tanh(gates, ups, FIRST, d_ff, first, end, d_ff, gates)
    else:
        swiglu(gates, ups, FIRST, d_ff, first, end, d_ff, gates)
    quantize(team, gates, count, model.matrices, gate + 2, gate + 3, scratch)
    barrier(team.counters, team.threads)
    product(team, FIRST, count, model.matrices, gate + 2, target, scratch)
    barrier(team.counters, team.threads)
