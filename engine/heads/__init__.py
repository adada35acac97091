"""Heads: small models that are learned from examples, on the vectors that a model gives. Same input, same bytes."""
