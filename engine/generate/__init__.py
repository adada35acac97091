"""Answers of language models: what they must be, and how many of them are made at once.

The rooms, each of which imports only those before it: constraint, cache, answers; then the scheduler and the batches.
"""
