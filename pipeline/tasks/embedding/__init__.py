"""Passages of a document, meanings as vectors, and the words beside a value: shared by tasks on a model that embeds."""
