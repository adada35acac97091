"""Indexes of the log in state/ for lists and counts: SQLite files that may be deleted at any time."""
