"""Checks of a workspace, and of what it asks of the machine."""
