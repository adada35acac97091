"""Attention over whole sequences and over the pages of a KV cache."""
