"""Nights: when jobs start by themselves, and the service that starts them. See README.md."""
