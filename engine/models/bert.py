"""BERT (Devlin et al. 2018): learned positions, post-norm, exact GELU. The forward pass of one block of sequences."""

import numpy as np

from engine.gguf import GgufFile
from engine.kernels.matmul import ADD, FIRST, Rows, Target
from engine.models.layers import (
    FFN_ROWS,
    Scratch,
    Tokens,
    Weights,
    attend_layer,
    contract,
    expand,
    look_up,
    norm_rows,
    notice,
    start,
    stop,
)
from engine.models.network import Network, Sizes
from engine.models.stored import Arrays
from engine.models.weights import KeepSmoothed, Smoothing, read_norm, read_qkv, read_stack, read_tables
from engine.simd.compiled import entry

ROTARY = False


class Bert(Network):
    """BERT, RoBERTa and XLM-RoBERTa."""

    NORMS = ("first", "middle", "last")
    GATED, COPIED = False, False

    def encode(self, tokens: Tokens, weights: Weights, scratch: Scratch) -> None:
        encode(tokens, weights, scratch)


def load(file: GgufFile, sizes: Sizes, keep: KeepSmoothed) -> Bert:
    """`keep` gives the arrays that a function makes, or has made before. Raises BadModelFile and UnsupportedModel."""
    return Bert(sizes, keep(lambda smoothing: _arrays(file, sizes, smoothing)))


def _arrays(file: GgufFile, sizes: Sizes, smoothing: Smoothing) -> Arrays:
    """All weights in their execution layout, by name."""
    d_model, d_ff, queries = sizes.d_model, sizes.d_ff, sizes.queries
    blocks = [f"blk.{i}" for i in range(sizes.layers)]
    qkv, out, up, down = (
        [[f"{block}.{part}" for part in parts] for block in blocks]
        for parts in (("attn_q", "attn_k", "attn_v"), ("attn_output",), ("ffn_up",), ("ffn_down",))
    )
    return {
        **read_tables(file, d_model, positions=sizes.context, kinds=True),
        **read_norm(file, "first", ["token_embd_norm"], d_model),
        **read_qkv(file, smoothing, qkv, queries, d_model, queries),
        **read_stack(file, smoothing, "out", out, d_model, queries),
        **read_norm(file, "middle", [f"{block}.attn_output_norm" for block in blocks], d_model),
        **read_stack(file, smoothing, "up", up, d_ff, d_model),
        **read_stack(file, smoothing, "down", down, d_model, d_ff),
        **read_norm(file, "last", [f"{block}.layer_output_norm" for block in blocks], d_model),
        "angles": np.zeros(0, np.float32),
    }


@entry
def encode(tokens: Tokens, weights: Weights, scratch: Scratch) -> None:
    """The forward pass as one compiled function."""
    sizes, x, count = weights.sizes, scratch.x, tokens.ids.size
    first, middle, last = weights.norms
    start()
    look_up(tokens, weights.tables, sizes.d_model, x)
    norm_rows(x, count, first, 0, x)
    for layer in range(sizes.layers):
        attend_layer(tokens, x, weights, layer, scratch)
        norm_rows(x, count, middle, layer, x)
        hidden = Rows(scratch.hidden, FIRST, sizes.d_ff)
        notice(x, count, sizes.d_model, layer, scratch.seen.feed_forward)
        for t in range(0, count, FFN_ROWS):
            rows, to = min(FFN_ROWS, count - t), Target(x, sizes.d_model, t, FIRST, ADD)
            expand(Rows(x, t, sizes.d_model), hidden, rows, weights.stacks, layer, scratch.products)
            contract(hidden, to, rows, weights.stacks, layer, scratch.products)
        norm_rows(x, count, last, layer, x)
    stop()
