"""Bytes become characters: which encoding a text is in, and whether it reads like words."""
