"""Here stands what the page of a document shows and takes: its answer, a decision on it, its story, its place in a
queue."""
