"""Kernels of tokenizers: where words end, merges of pairs, and a search for repeated tokens."""
