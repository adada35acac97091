"""nomic-bert (Nussbaum et al. 2024): BERT with rotary instead of learned positions, and SwiGLU instead of GELU."""

from engine.gguf import GgufFile
from engine.kernels import rope
from engine.kernels.rows import swiglu
from engine.models.layers import Scratch, Tokens, Weights, attend_layer, gated_layer, look_up, norm_rows, start, stop
from engine.models.network import Network, Sizes, read_base
from engine.models.stored import Arrays
from engine.models.weights import KeepSmoothed, Several, Smoothing, read_norm, read_qkv, read_stack, read_tables
from engine.simd import F32
from engine.simd.compiled import entry, kernel

ROTARY = True


class NomicBert(Network):
    """A BERT whose matrices have mostly no biases."""

    NORMS = ("first", "middle", "last")
    GATED, COPIED = True, False

    def encode(self, tokens: Tokens, weights: Weights, scratch: Scratch) -> None:
        encode(tokens, weights, scratch)


def load(file: GgufFile, sizes: Sizes, keep: KeepSmoothed) -> NomicBert:
    """`keep` gives the arrays that a function makes, or has made before. Raises BadModelFile and UnsupportedModel."""
    base = read_base(file, "nomic-bert.rope.freq_base")
    return NomicBert(sizes, keep(lambda smoothing: _arrays(file, sizes, smoothing, base)))


def _arrays(file: GgufFile, sizes: Sizes, smoothing: Smoothing, base: float) -> Arrays:
    """All weights in their execution layout, by name."""
    d_model, d_ff, queries = sizes.d_model, sizes.d_ff, sizes.queries
    blocks = [f"blk.{i}" for i in range(sizes.layers)]
    qkv, out, up, down = (
        [[f"{block}.{part}" for part in parts] for block in blocks]
        for parts in (("attn_qkv",), ("attn_output",), ("ffn_gate", "ffn_up"), ("ffn_down",))
    )
    return {
        **read_tables(file, d_model, positions=0, kinds=True),
        **read_norm(file, "first", ["token_embd_norm"], d_model),
        **read_qkv(file, smoothing, qkv, Several(queries, 3), d_model, queries, biased=False),
        **read_stack(file, smoothing, "out", out, d_model, queries, biased=False),
        **read_norm(file, "middle", [f"{block}.attn_output_norm" for block in blocks], d_model),
        **read_stack(file, smoothing, "up", up, d_ff, d_model, biased=False),
        **read_stack(file, smoothing, "down", down, d_model, d_ff, biased=False),
        **read_norm(file, "last", [f"{block}.layer_output_norm" for block in blocks], d_model),
        "angles": rope.table(sizes.context, sizes.head_dim, base, queries.part),
    }


@kernel
def _glu(halves: F32, rows: int, n: int, out: F32, exact: bool) -> None:
    swiglu(halves, halves, n, 2 * n, 0, rows, n, out)


feed_forward = gated_layer(_glu)


@entry
def encode(tokens: Tokens, weights: Weights, scratch: Scratch) -> None:
    """The forward pass as one compiled function."""
    x, count = scratch.x, tokens.ids.size
    first, middle, last = weights.norms
    start()
    look_up(tokens, weights.tables, weights.sizes.d_model, x)
    norm_rows(x, count, first, 0, x)
    for layer in range(weights.sizes.layers):
        attend_layer(tokens, x, weights, layer, scratch)
        norm_rows(x, count, middle, layer, x)
        feed_forward(x, count, weights, layer, scratch)
        norm_rows(x, count, last, layer, x)
    stop()
