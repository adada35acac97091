"""Backups of a workspace, and a workspace made of one again. README.md says what is in them and what they are for."""
