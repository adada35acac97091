"""The log held against what lies there, and rows made again."""
