"""BERT (Devlin et al. 2018): learned positions, post-norm, exact GELU. The forward pass of one block of sequences."""

from typing import Any

from engine.gguf import GgufFile
from engine.kernels.compiled import entry
from engine.kernels.matmul.linear import ADD
from engine.models.layers import (
    FIRST,
    Matrices,
    Norm,
    attend_all,
    contract,
    expand,
    norm_rows,
    project,
    project_qkv,
    start,
    stop,
)
from engine.models.lookup import Tables, look_up, read_tables
from engine.models.network import FFN_ROWS, Network
from engine.models.sizes import Sizes
from engine.models.stored import Arrays, Keep
from engine.models.weights import read_norm, read_qkv, read_stack
from engine.simd import F32, I32, I64, Float

ROTARY = False


class Bert(Network):
    """BERT, RoBERTa and XLM-RoBERTa."""

    NORMS = ("first", "middle", "last")
    GATED, COPIED = False, False

    def states(self, ids: I32, kinds: I32, starts: I64, scratch: tuple[Any, ...]) -> F32:
        encode(
            ids, kinds, starts, self.shape, self.sizes.scale, self.sizes.epsilon, self.exact, self.arrays["inside"],
            self.tables, self.norms, self.stacks, scratch,
        )  # fmt: skip
        x: F32 = scratch[0]
        return x


def load(file: GgufFile, sizes: Sizes, keep: Keep) -> Bert:
    """`keep` gives the arrays that a function makes, or has made before. Raises BadModelFile and UnsupportedModel."""
    return Bert(sizes, keep(lambda: _arrays(file, sizes)))


def _arrays(file: GgufFile, sizes: Sizes) -> Arrays:
    """All weights in their execution layout, by name."""
    width, inner, queries = sizes.width, sizes.inner, sizes.queries
    blocks = [f"blk.{i}" for i in range(sizes.layers)]
    qkv, out, up, down = (
        [[f"{block}.{part}" for part in parts] for block in blocks]
        for parts in (("attn_q", "attn_k", "attn_v"), ("attn_output",), ("ffn_up",), ("ffn_down",))
    )
    return {
        **read_tables(file, width, positions=sizes.context, kinds=True),
        **read_norm(file, "first", ["token_embd_norm"], width),
        **read_qkv(file, qkv, queries, width, queries),
        **read_stack(file, "out", out, width, queries),
        **read_norm(file, "middle", [f"{block}.attn_output_norm" for block in blocks], width),
        **read_stack(file, "up", up, inner, width),
        **read_stack(file, "down", down, width, inner),
        **read_norm(file, "last", [f"{block}.layer_output_norm" for block in blocks], width),
    }


@entry
def encode(
    ids: I32, kinds: I32, starts: I64, shape: tuple[int, ...], scale: Float, epsilon: Float, exact: bool, inside: F32,
    tables: Tables, norms: tuple[Norm, Norm, Norm], stacks: tuple[Matrices, ...], scratch: tuple[Any, ...],
) -> None:  # fmt: skip
    """The forward pass as one compiled function. Arguments as in `Network`."""
    size, width, inner, layers, heads, queries, depth = shape
    first_norm, middle_norm, last_norm = norms
    queries_keys, values, out_weights, up, down = stacks
    x, qkv, mixed, hidden, _, _, products, attention = scratch
    count = ids.size
    start()
    look_up(ids, kinds, starts, tables, width, x)
    norm_rows(x, count, first_norm, 0, inside, size, width, epsilon, x)
    for layer in range(layers):
        project_qkv(x, count, width, queries_keys, values, layer, queries, qkv, products)
        attend_all(qkv, starts, queries, heads, depth, scale, 0, exact, attention, mixed)
        project(mixed, FIRST, count, queries, out_weights, layer, width, ADD, x, FIRST, products)
        norm_rows(x, count, middle_norm, layer, inside, size, width, epsilon, x)
        for t in range(0, count, FFN_ROWS):
            rows = min(FFN_ROWS, count - t)
            expand(x, t, rows, width, up, down, layer, inner, hidden, products)
            contract(hidden, rows, inner, up, down, layer, width, x, t, products)
        norm_rows(x, count, last_norm, layer, inside, size, width, epsilon, x)
    stop()
