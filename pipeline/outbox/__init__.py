"""Rows to Parquet and Markdown: the commit, redo and undo."""
