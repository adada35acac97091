"""Here stands what happened, by days, runs and models: an index of the log, and the words for what changed between two
runs."""
