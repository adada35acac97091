"""A loaded decoder: steps of any mix of prompts and single tokens, on all threads."""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.cpu import threads as cpu_threads
from engine.gguf import GgufFile
from engine.kernels.attention.paged import new_work, rows_together
from engine.kernels.attention.paged_operands import PAGE
from engine.kernels.matmul import aligned
from engine.kernels.matmul.arena import Arena, K
from engine.kernels.matmul.decoder import new_scratch
from engine.kernels.matmul.operands import Matrices
from engine.kernels.matmul.team import Team, new_team
from engine.models.decoders.arguments import (
    TILE_POSITION,
    Experts,
    Kind,
    Memory,
    Model,
    Pages,
    Rules,
    Sizes,
    Step,
)
from engine.models.decoders.forward import WANTED, forward
from engine.models.decoders.matrices import GATE, NORMS, padded
from engine.models.decoders.shape import Rotation, Shape
from engine.models.stored import Arrays
from engine.quant import TYPES
from engine.simd import F32, I32, I64, LANES

ROWS = 512
"""Rows that pass through all layers together; more of them pass in turns."""
_WIDE = 8192  # values of d_ff, beyond which half as many rows take no more time, but half the memory
_LOG2E = 1.4426950408889634
_LOOKED_UP = 256  # rows of the table, after which nothing of it stays mapped
_TOGETHER = 64  # rows that are dequantized together, a multiple of LANES
_ANGLES = 4096  # positions whose angles are made together


class Decoder:
    """The weights of a model and the memory of its threads. One step at a time."""

    def __init__(self, shape: Shape, arena: Arena, arrays: Arrays, file: GgufFile, threads: int = 0) -> None:
        self.shape, self.threads = shape, threads or cpu_threads()
        for array in arrays.values():
            array.flags.writeable = False  # kernels are compiled for arrays that are kept
        self._file, self._embeddings, self._looked_up = file, file.tensors["token_embd.weight"], 0
        self._arrays, self._table, self._rows = arrays, arena.table, 0
        self._most = ROWS if shape.d_ff <= _WIDE else ROWS // 2
        self._deepest = int(arena.table[:, K].max())
        self._pool = ThreadPoolExecutor(self.threads - 1, "decoder") if self.threads > 1 else None
        self._angles: list[F32] = [np.zeros(0, np.float32)] * 2
        self._known = 0  # positions that have angles
        self._team = new_team()
        self._windows: I64 = np.array(shape.windows, np.int64)
        self._sizes, self._rules = _sizes(shape), _rules(shape)
        self._work = new_work(shape.group, shape.head_stride, self.threads)

    def pages(self, count: int, kind: Kind = "float16") -> Pages:
        """Memory for keys and values of count * PAGE tokens."""
        return Pages(count, self.shape, kind)

    def step(self, ids: I32, positions: I32, sequences: I32, tables: I32, pages: Pages, wanted: I32) -> F32:
        """float32 [wanted, vocab]: logits after these rows.

        Row t is the token ids[t] at positions[t] of the sequence sequences[t]; rows of a sequence lie together, their
        positions one after another. Its key and value go to page tables[sequence, position // PAGE]. It attends to its
        own position and those before it, which must be in the pages already, or be rows of this step. Rows that are
        not wanted cost less. ValueError for rows, positions, pages or ids that cannot be.
        """
        self._check(ids, positions, sequences, tables, pages, wanted)
        out = np.zeros((wanted.size, self.shape.vocab), np.float32)
        if not ids.size:
            return out
        self._make_angles(int(positions.max()) + 1)
        passes = -(-ids.size // self._most)
        size = -(-ids.size // passes)
        for first in range(0, ids.size, size):
            rows = slice(first, min(first + size, ids.size))
            here = np.flatnonzero((wanted >= rows.start) & (wanted < rows.stop))
            logits = np.zeros((here.size, self.shape.vocab), np.float32) if here.size != wanted.size else out
            self._pass(ids[rows], positions[rows], sequences[rows], tables, pages, wanted[here] - first, logits)
            if logits is not out:
                out[here] = logits
        return out

    def _check(self, ids: I32, positions: I32, sequences: I32, tables: I32, pages: Pages, wanted: I32) -> None:
        shape = self.shape
        if not ids.size == positions.size == sequences.size:
            raise ValueError("ids, positions and sequences are not of the same length")
        for name, values, end in (
            ("ids", ids, shape.vocab), ("positions", positions, min(shape.context, PAGE * tables.shape[1])),
            ("sequences", sequences, tables.shape[0]), ("wanted rows", wanted, ids.size),
        ):  # fmt: skip
            if values.size and not 0 <= values.min() <= values.max() < end:
                raise ValueError(f"{name} from {values.min()} to {values.max()}, expected 0 to {end - 1}")
        if (np.diff(wanted) < 1).any():
            raise ValueError("wanted rows are not in order")
        firsts = np.flatnonzero(np.diff(sequences, prepend=-1) != 0)
        inside = np.delete(np.diff(positions), firsts[1:] - 1)
        if np.unique(sequences).size != firsts.size or (inside != 1).any():
            raise ValueError("rows of a sequence do not lie together with positions one after another")
        for first, end in zip(firsts, np.append(firsts, ids.size)[1:], strict=True):
            used = tables[sequences[first], : positions[end - 1] // PAGE + 1]
            if not 0 <= used.min() <= used.max() < pages.count:
                raise ValueError(f"a page of sequence {sequences[first]} is not one of {pages.count}")

    def _pass(self, ids: I32, positions: I32, sequences: I32, tables: I32, pages: Pages, wanted: I32, out: F32) -> None:
        """Compute rows that pass through all layers together, at most `_most`."""
        self._make_room(ids.size)
        self._look_up(ids)
        arrays, far, near = self._arrays, *self._angles
        step = self._step(positions, sequences, tables, pages, wanted)
        model = Model(
            Matrices(arrays["quants"], arrays["floats"], self._table), arrays["norms"], self._windows, far, near,
            self._sizes, self._rules,
        )  # fmt: skip
        flat = out.reshape(-1)

        def run(thread: int) -> None:
            forward(Team(self._team, thread, self.threads), model, step, self._memory, flat)

        others = [self._pool.submit(run, thread) for thread in range(1, self.threads)] if self._pool else []
        run(0)
        for other in others:
            other.result()

    def _step(self, positions: I32, sequences: I32, tables: I32, pages: Pages, wanted: I32) -> Step:
        """The rows of one pass, and what attention computes together."""
        shape, count = self.shape, positions.size
        singles = (np.diff(sequences) != 0).all()
        split = min(shape.group, -(-2 * self.threads // (count * shape.kv_heads))) if singles else 1
        together = rows_together(-(-shape.group // split))
        starts = sequences.astype(np.int32) * np.int32(tables.shape[1])
        tiles = self._tiles(np.arange(count), positions, starts, together)
        some = tiles if wanted.size == count else self._tiles(wanted, positions, starts, together)
        flat = np.ascontiguousarray(tables, np.int32).reshape(-1)
        return Step(
            positions=positions.astype(np.int32), table_starts=starts, tables=flat, wanted=wanted.astype(np.int32),
            tiles=tiles, wanted_tiles=some, split=split, cache=pages.cache, pages=pages.count,
        )  # fmt: skip

    def _tiles(self, at: NDArray[Any], positions: I32, starts_at: I32, most: int) -> I64:
        """int64 [n, 4], as `Step.tiles`: what attention computes at once of these rows, at most so many; that with the
        most keys first, so that no thread begins it last."""
        starts = np.flatnonzero((np.diff(at, prepend=-2) != 1) | (np.diff(starts_at[at], prepend=-1) != 0))
        found = [
            (at[first], min(most, end - first), positions[at[first]], starts_at[at[first]])
            for start, end in zip(starts, [*starts, at.size][1:], strict=True)
            for first in range(start, end, most)
        ]
        tiles = np.array(found, np.int64).reshape(-1, 4)
        return np.ascontiguousarray(tiles[np.argsort(-tiles[:, TILE_POSITION], kind="stable")])

    def _look_up(self, ids: I32) -> None:
        """The rows of the table for these tokens, from the mapped file, into the tiles of x."""
        shape, row = self.shape, padded(self.shape.d_model)
        table, kind = self._embeddings.data.reshape(shape.vocab, -1), TYPES[self._embeddings.type]
        for first in range(0, ids.size, _TOGETHER):
            some = ids[first : first + _TOGETHER]
            x = np.zeros((-(-some.size // LANES) * LANES, row), np.float32)
            x[: some.size, : shape.d_model] = kind.dequantize(table[some]).reshape(some.size, -1)
            x *= np.float32(shape.embedding_scale)
            tiles = x.reshape(-1, LANES, row // LANES, LANES).transpose(0, 2, 1, 3)
            self._memory.x[first * row :][: x.size] = tiles.reshape(-1)
        self._looked_up += ids.size
        if self._looked_up > _LOOKED_UP:  # a row may bring 2 MB of the file into memory
            self._file.release()
            self._looked_up = 0

    def _make_angles(self, positions: int) -> None:
        """Make the angles of so many positions."""
        if positions <= self._known:
            return
        known = min(self.shape.context, max(2 * self._known, -(-positions // _ANGLES) * _ANGLES))
        near = self.shape.near_rotation
        far = self._more(0, self.shape.rotation, known)
        same = near == self.shape.rotation
        self._angles = [far, far if same else self._more(1, near, known)]
        self._known = known

    def _more(self, which: int, rotation: Rotation, known: int) -> F32:
        new = rotation.angles(self._known, known - self._known, self.shape.head_stride // 2)
        return np.concatenate([self._angles[which], new.reshape(-1)])

    def _make_room(self, count: int) -> None:
        """Make memory for so many rows."""
        if count <= self._rows:
            return
        shape, row = self.shape, self._sizes.row
        rows = min(self._most, max(2 * LANES, 1 << math.ceil(math.log2(count))))
        more = [-(-shape.experts // 32) * 32, row, row] if shape.experts else [0, 0, 0]
        x, other, *own = (aligned((rows + LANES) * size, np.float32) for size in (row, row, *more))
        normed, qkv, mixed, gates, ups, logits = self._shared(rows + LANES)
        used = rows * max(1, shape.experts_used)
        experts = Experts(np.zeros(used, np.int32), np.zeros(used, np.float32), *own)
        narrow = np.zeros((self.threads, 64), np.int8)
        self._memory = Memory(
            x=x, normed=normed, qkv=qkv, mixed=mixed, other=other, gates=gates, ups=ups, logits=logits, experts=experts,
            attention=self._work, narrow=narrow, products=new_scratch(rows, self._deepest, self.threads),
        )  # fmt: skip
        self._rows = rows

    def _shared(self, rows: int) -> list[F32]:
        """Normed rows; queries, keys and values, and what attention makes of them; gates and what they are multiplied
        with; logits. Each group is not needed any more where the next one begins: they lie in the same memory."""
        sizes, shape = self._sizes, self.shape
        of_rows = [[sizes.row], [sizes.qkv, sizes.mixed], [sizes.d_ff, sizes.d_ff]]
        groups = [rows * np.array(each) for each in of_rows] + [np.array([WANTED * sizes.logits])]
        totals, own = [each.sum() for each in groups], len(groups)
        if (sizes.d_ff, sizes.mixed) == (
            shape.d_ff,
            shape.heads * shape.head_dim,
        ):  # all places are written before they are read
            own = 1 if shape.experts else 0  # experts read normed rows one after another
        memory = [aligned(total, np.float32) for total in totals[:own]]
        if totals[own:]:
            memory += [aligned(max(totals[own:]), np.float32)] * len(totals[own:])
        return [
            lies[end - size : end]
            for lies, each in zip(memory, groups, strict=True)
            for size, end in zip(each, np.cumsum(each), strict=True)
        ]


def _sizes(shape: Shape) -> Sizes:
    return Sizes(
        layers=shape.layers, matrices=GATE + 3 * max(1, shape.experts),
        norms=len(NORMS) * padded(shape.d_model) + 2 * shape.head_stride, d_model=shape.d_model,
        row=padded(shape.d_model), d_ff=padded(shape.d_ff), heads=shape.heads, kv_heads=shape.kv_heads,
        head_dim=shape.head_dim, stride=shape.head_stride, qkv=(shape.heads + 2 * shape.kv_heads) * shape.head_stride,
        mixed=padded(shape.heads * shape.head_dim), vocab=shape.vocab, logits=-(-shape.vocab // 32) * 32,
        experts=shape.experts, experts_used=shape.experts_used,
    )  # fmt: skip


def _rules(shape: Shape) -> Rules:
    f, cap = np.float32, shape.attention_cap
    return Rules(
        qk_norm=shape.qk_norm, post_norms=shape.post_norms, gelu=shape.gelu, epsilon=f(shape.epsilon),
        query_scale=f(shape.scale / cap if cap else shape.scale * _LOG2E), score_cap=f(cap * _LOG2E),
        residual_scale=f(shape.residual_scale), logit_divisor=f(shape.logit_scale), logit_cap=f(shape.final_cap),
    )  # fmt: skip
