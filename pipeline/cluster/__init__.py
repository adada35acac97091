"""Many machines work on one run: the head decides and commits, workers read documents and answer them.

Nothing here is imported where a run names no cluster: Dask is loaded with it.
"""
