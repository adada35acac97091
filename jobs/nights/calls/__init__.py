"""Calling for help: who is told of what, what needs a person, and the figures for monitoring."""
