"""Answers of language models: what they must be, and how many are made at once."""
