"""Paths: opened without leaving their folder, named, matched, shown."""
