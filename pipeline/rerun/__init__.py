"""Archived documents are answered again: which of them, why, and which are left."""
