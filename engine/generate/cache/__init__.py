"""The paged KV cache: sequences, their pages, and the prefixes that they share."""
