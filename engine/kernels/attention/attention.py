"""Attention of one sequence, every head by itself, by integers.

Queries and keys have 8 bits, weights up to 14, values 8 to 10. Each query has a scale, keys and values have one for a
text and head. Sums are exact. Queries go in blocks, so that scores stay in the cache and grow only with the length.

The instruction set decides how: `attention_amx.py` has tiles, `attention_vectors.py` vector registers.
"""

from engine.kernels.attention.heads import Heads, Work
from engine.kernels.matmul.linear import ISA

if ISA == "amx":
    from engine.kernels.attention.attention_amx import attend, head_products, work_sizes
else:
    from engine.kernels.attention.attention_vectors import attend, head_products, work_sizes

__all__ = ["Heads", "Work", "attend", "head_products", "work_sizes"]
