"""The log as the pipeline writes and reads it."""
