"""Prompts, windows of a document, requests for JSON and its reading: shared by tasks on a model that writes."""
