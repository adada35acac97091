"""Silence: nothing that runs here reaches for a network, and whoever doubts it can prove it. See README.md."""
