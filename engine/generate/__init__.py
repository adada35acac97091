"""Answers of language models: what they must be, and how many of them are made at once.

Its files, in order: tests/test_architecture.py.
"""
