"""nomic-bert (Nussbaum et al. 2024): BERT with rotary instead of learned positions, and SwiGLU instead of GELU."""

from typing import Any

from engine.gguf import GgufFile
from engine.kernels import rope
from engine.kernels.compiled import entry
from engine.kernels.glu import swiglu
from engine.kernels.matmul.linear import ADD, PLAIN
from engine.models.layers import FIRST, Matrices, Norm, attend_all, norm_rows, project, project_qkv, start, stop
from engine.models.lookup import Tables, look_up, read_tables
from engine.models.network import FFN_ROWS, Network
from engine.models.sizes import Sizes, read_base
from engine.models.stored import Arrays, Keep
from engine.models.weights import Several, read_norm, read_qkv, read_stack
from engine.simd import F32, I32, I64, Float

ROTARY = True


class NomicBert(Network):
    """Its norms come after each part, its matrices have mostly no biases."""

    NORMS = ("first", "middle", "last")
    GATED, COPIED = True, False

    def states(self, ids: I32, kinds: I32, starts: I64, scratch: tuple[Any, ...]) -> F32:
        encode(
            ids, kinds, starts, self.shape, self.sizes.scale, self.sizes.epsilon, self.exact, self.arrays["inside"],
            self.tables, self.arrays["angles"], self.norms, self.stacks, scratch,
        )  # fmt: skip
        x: F32 = scratch[0]
        return x


def load(file: GgufFile, sizes: Sizes, keep: Keep) -> NomicBert:
    """`keep` gives the arrays that a function makes, or has made before. Raises BadModelFile and UnsupportedModel."""
    base = read_base(file, "nomic-bert.rope.freq_base")
    return NomicBert(sizes, keep(lambda: _arrays(file, sizes, base)))


def _arrays(file: GgufFile, sizes: Sizes, base: float) -> Arrays:
    """All weights in their execution layout, by name."""
    width, inner, queries = sizes.width, sizes.inner, sizes.queries
    blocks = [f"blk.{i}" for i in range(sizes.layers)]
    qkv, out, up, down = (
        [[f"{block}.{part}" for part in parts] for block in blocks]
        for parts in (("attn_qkv",), ("attn_output",), ("ffn_gate", "ffn_up"), ("ffn_down",))
    )
    return {
        **read_tables(file, width, positions=0, kinds=True),
        **read_norm(file, "first", ["token_embd_norm"], width),
        **read_qkv(file, qkv, Several(queries, 3), width, queries, biased=False),
        **read_stack(file, "out", out, width, queries, biased=False),
        **read_norm(file, "middle", [f"{block}.attn_output_norm" for block in blocks], width),
        **read_stack(file, "up", up, inner, width, biased=False),
        **read_stack(file, "down", down, width, inner, biased=False),
        **read_norm(file, "last", [f"{block}.layer_output_norm" for block in blocks], width),
        "angles": rope.table(sizes.context, sizes.depth, base, queries.part),
    }


@entry
def encode(
    ids: I32, kinds: I32, starts: I64, shape: tuple[int, ...], scale: Float, epsilon: Float, exact: bool, inside: F32,
    tables: Tables, angles: F32, norms: tuple[Norm, Norm, Norm], stacks: tuple[Matrices, ...], scratch: tuple[Any, ...],
) -> None:  # fmt: skip
    """The forward pass as one compiled function. Arguments as in `Network`."""
    size, width, inner, layers, heads, queries, depth = shape
    first_norm, middle_norm, last_norm = norms
    queries_keys, values, out_weights, up, down = stacks
    x, qkv, mixed, hidden, halves, _, products, attention = scratch
    count = ids.size
    start()
    look_up(ids, kinds, starts, tables, width, x)
    norm_rows(x, count, first_norm, 0, inside, size, width, epsilon, x)
    for layer in range(layers):
        project_qkv(x, count, width, queries_keys, values, layer, queries, qkv, products)
        rope.turn(qkv, starts, 3 * queries, 0, heads, depth // 2, angles)
        rope.turn(qkv, starts, 3 * queries, queries, heads, depth // 2, angles)
        attend_all(qkv, starts, queries, heads, depth, scale, 0, exact, attention, mixed)
        project(mixed, FIRST, count, queries, out_weights, layer, width, ADD, x, FIRST, products)
        norm_rows(x, count, middle_norm, layer, inside, size, width, epsilon, x)
        for t in range(0, count, FFN_ROWS):
            rows = min(FFN_ROWS, count - t)
            project(x, t, rows, width, up, layer, 2 * inner, PLAIN, halves, FIRST, products)
            swiglu(halves, rows, inner, hidden)
            project(hidden, FIRST, rows, inner, down, layer, width, ADD, x, t, products)
        norm_rows(x, count, last_norm, layer, inside, size, width, epsilon, x)
    stop()
