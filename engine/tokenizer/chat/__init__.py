"""Chat templates, rendered so that it is known which characters are content."""
