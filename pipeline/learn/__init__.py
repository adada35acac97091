"""Heads are learned from examples, and what they promise is measured on examples that they did not see."""
