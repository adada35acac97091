"""Attention of one sequence, every head by itself, by integers; over the pages of a KV cache it is in `paged.py`.

Queries and keys have 8 bits, weights up to 14, values 8 to 10. Each query has a scale, keys and values have one for a
text and head. Sums are exact. Queries go in blocks, so that scores stay in the cache and grow only with the length.

The instruction set decides how: `amx.py` has tiles, `vectors.py` vector registers.
"""

from engine.kernels.attention.heads import Heads, Work
from engine.kernels.matmul import ISA

if ISA == "amx":
    from engine.kernels.attention.amx import attend, head_products, new_work
else:
    from engine.kernels.attention.vectors import attend, head_products, new_work

__all__ = ["Heads", "Work", "attend", "head_products", "new_work"]
