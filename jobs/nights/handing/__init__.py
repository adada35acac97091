"""Runs are handed over: `cloister run` asks the service of its workspace for a run, and follows it to its end."""
