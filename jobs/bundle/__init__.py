"""Bundles: everything that a machine without a network needs, in one signed archive. See README.md."""
