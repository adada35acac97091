"""A loaded decoder: steps of any mix of prompts and single tokens, on all threads."""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.cpu import threads as cpu_threads
from engine.gguf import GgufFile
from engine.kernels.attention.paged import rows_together, work_size
from engine.kernels.attention.paged_operands import PAGE
from engine.kernels.matmul.arena import Arena
from engine.kernels.matmul.decoder import coded_scratch
from engine.kernels.matmul.team import new_team
from engine.models.decoders.forward import WANTED, forward
from engine.models.decoders.matrices import GATE, padded
from engine.models.decoders.pages import Kind, Pages
from engine.models.decoders.rotation import Rotation
from engine.models.decoders.shape import Shape
from engine.models.layers import aligned
from engine.models.stored import Arrays
from engine.quant import TYPES
from engine.simd import F32, I32, I64, LANES

ROWS = 512
"""Rows that pass through all layers together; more of them pass one such part after another."""
_WIDE = 8192  # inner values, beyond which half as many rows take no more time, but half the memory
_LOG2E = 1.4426950408889634
_LOOKED_UP = 256  # rows of the table, after which nothing of it stays mapped
_TOGETHER = 64  # rows that become numbers together, a multiple of LANES
_ANGLES = 4096  # positions whose angles are made together


class Decoder:
    """The weights of a model and the memory of its threads. One step at a time."""

    def __init__(self, shape: Shape, arena: Arena, arrays: Arrays, file: GgufFile, threads: int = 0) -> None:
        self.shape, self.threads = shape, threads or cpu_threads()
        for array in arrays.values():
            array.flags.writeable = False  # kernels are compiled for arrays that are kept
        self._model = arrays["codes"], arrays["floats"], arena.table, arrays["gains"]
        self._file, self._embeddings, self._looked_up = file, file.tensors["token_embd.weight"], 0
        self._rows = 0
        self._most = ROWS if shape.inner <= _WIDE else ROWS // 2
        self._deepest = int(arena.table[:, 4].max())
        self._pool = ThreadPoolExecutor(self.threads - 1, "decoder") if self.threads > 1 else None
        self._angles: list[F32] = [np.zeros(0, np.float32)] * 2
        self._known = 0  # positions that have angles
        self._team = new_team()
        self._windows: I64 = np.array(shape.windows, np.int64)
        group = shape.group
        self._work: F32 = aligned(self.threads * work_size(group, shape.part), np.float32).reshape(self.threads, -1)
        self._narrow = np.zeros((self.threads, 64), np.int8)

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
        self._reach(int(positions.max()) + 1)
        parts = -(-ids.size // self._most)
        size = -(-ids.size // parts)
        for first in range(0, ids.size, size):
            part = slice(first, min(first + size, ids.size))
            here = np.flatnonzero((wanted >= part.start) & (wanted < part.stop))
            logits = np.zeros((here.size, self.shape.vocab), np.float32) if here.size != wanted.size else out
            self._part(ids[part], positions[part], sequences[part], tables, pages, wanted[here] - first, logits)
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

    def _part(self, ids: I32, positions: I32, sequences: I32, tables: I32, pages: Pages, wanted: I32, out: F32) -> None:
        """As many rows as pass together."""
        shape, count = self.shape, ids.size
        self._make_room(count)
        self._look_up(ids)
        singles = (np.diff(sequences) != 0).all()
        split = min(shape.group, -(-2 * self.threads // (count * shape.kv_heads))) if singles else 1
        together = rows_together(-(-shape.group // split))
        places = sequences.astype(np.int32) * np.int32(tables.shape[1])
        every = self._tiles(np.arange(count), positions, places, together)
        tiles = every, every if wanted.size == count else self._tiles(wanted, positions, places, together)
        rows = (positions.astype(np.int32), places, np.ascontiguousarray(tables, np.int32).reshape(-1))
        cap, flat = shape.attention_cap, out.reshape(-1)
        factors = (
            shape.epsilon, shape.scale / cap if cap else shape.scale * _LOG2E, cap * _LOG2E, shape.residual_scale,
            shape.logit_scale, shape.final_cap,
        )  # fmt: skip
        sizes = (
            shape.layers, GATE + 3 * max(1, shape.experts), shape.width, padded(shape.width), padded(shape.inner),
            shape.heads, shape.kv_heads, shape.part, shape.depth, shape.vocab, shape.experts, shape.experts_used,
        )  # fmt: skip

        def run(thread: int) -> None:
            forward(
                self._team, thread, self.threads, count, sizes, (shape.qk_norm, shape.post_norms, shape.gelu),
                tuple(map(np.float32, factors)), self._model, self._windows, tuple(self._angles), rows, tiles, split,
                pages.arrays, pages.count, wanted.astype(np.int32), self._buffers, self._chosen, self._work,
                self._narrow, self._scratch, flat,
            )  # fmt: skip

        others = [self._pool.submit(run, thread) for thread in range(1, self.threads)] if self._pool else []
        run(0)
        for other in others:
            other.result()

    def _tiles(self, at: NDArray[Any], positions: I32, places: I32, most: int) -> I64:
        """int64 [n, 4]: first row, rows, position and the place of the table, of what attention takes at once of these
        rows, at most so many; that with the most keys first, so that no thread begins it last."""
        starts = np.flatnonzero((np.diff(at, prepend=-2) != 1) | (np.diff(places[at], prepend=-1) != 0))
        found = [
            (at[first], min(most, end - first), positions[at[first]], places[at[first]])
            for start, end in zip(starts, [*starts, at.size][1:], strict=True)
            for first in range(start, end, most)
        ]
        tiles = np.array(found, np.int64).reshape(-1, 4)
        return np.ascontiguousarray(tiles[np.argsort(-tiles[:, 2], kind="stable")])

    def _look_up(self, ids: I32) -> None:
        """The rows of the table for these tokens, from the mapped file, into the tiles of x."""
        shape, width = self.shape, padded(self.shape.width)
        table, kind = self._embeddings.data.reshape(shape.vocab, -1), TYPES[self._embeddings.type]
        for first in range(0, ids.size, _TOGETHER):
            part = ids[first : first + _TOGETHER]
            x = np.zeros((-(-part.size // LANES) * LANES, width), np.float32)
            x[: part.size, : shape.width] = kind.dequantize(table[part]).reshape(part.size, -1)
            x *= np.float32(shape.embedding_scale)
            tiles = x.reshape(-1, LANES, width // LANES, LANES).transpose(0, 2, 1, 3)
            self._buffers[0][first * width :][: x.size] = tiles.reshape(-1)
        self._looked_up += ids.size
        if self._looked_up > _LOOKED_UP:  # a row may bring 2 MB of the file into memory
            self._file.release()
            self._looked_up = 0

    def _reach(self, positions: int) -> None:
        """Angles for so many positions."""
        if positions <= self._known:
            return
        known = min(self.shape.context, max(2 * self._known, -(-positions // _ANGLES) * _ANGLES))
        near = self.shape.near_rotation
        far = self._more(0, self.shape.rotation, known)
        same = near == self.shape.rotation
        self._angles = [far, far if same else self._more(1, near, known)]
        self._known = known

    def _more(self, which: int, rotation: Rotation, known: int) -> F32:
        new = rotation.angles(self._known, known - self._known, self.shape.part // 2)
        return np.concatenate([self._angles[which], new.reshape(-1)])

    def _make_room(self, count: int) -> None:
        """Buffers for so many rows."""
        if count <= self._rows:
            return
        shape = self.shape
        rows = min(self._most, max(2 * LANES, 1 << math.ceil(math.log2(count))))
        width = padded(shape.width)
        more = [-(-shape.experts // 32) * 32, width, width] if shape.experts else [0, 0, 0]
        x, other, *own = (aligned((rows + LANES) * size, np.float32) for size in (width, width, *more))
        normed, qkv, mixed, gates, ups, logits = self._shared(rows + LANES)
        self._buffers: Any = (x, normed, qkv, mixed, other, gates, ups, logits)
        used = rows * max(1, shape.experts_used)
        self._chosen = np.zeros(used, np.int32), np.zeros(used, np.float32), tuple(own)
        self._scratch = coded_scratch(rows, self._deepest, self.threads)
        self._rows = rows

    def _shared(self, rows: int) -> list[F32]:
        """Normed rows; queries, keys and values, and what attention makes of them; gates and what they are multiplied
        with; logits. Each group is not needed any more where the next one begins: they lie in the same memory."""
        shape = self.shape
        width, inner, mixed = padded(shape.width), padded(shape.inner), padded(shape.heads * shape.depth)
        of_rows = [[width], [(shape.heads + 2 * shape.kv_heads) * shape.part, mixed], [inner, inner]]
        groups = [rows * np.array(sizes) for sizes in of_rows] + [np.array([WANTED * -(-shape.vocab // 32) * 32])]
        totals, own = [sizes.sum() for sizes in groups], len(groups)
        if (inner, mixed) == (shape.inner, shape.heads * shape.depth):  # all places are written before they are read
            own = 1 if shape.experts else 0  # experts read normed rows one after another
        memory = [aligned(total, np.float32) for total in totals[:own]]
        if totals[own:]:
            memory += [aligned(max(totals[own:]), np.float32)] * len(totals[own:])
        return [
            lies[end - size : end]
            for lies, sizes in zip(memory, groups, strict=True)
            for size, end in zip(sizes, np.cumsum(sizes), strict=True)
        ]
