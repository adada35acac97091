"""Heads that were learned from examples: their files, and what they say of a document."""
