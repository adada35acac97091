"""Many machines work on one run: the head decides and commits, workers read documents and answer them."""
