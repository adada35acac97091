"""Encryption at rest: what is kept of documents is written and read through this room, encrypted or in the clear."""
