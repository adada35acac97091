"""Sentences, chunks, languages and values of a text."""
