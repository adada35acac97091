"""What text is made of: sentences, chunks, languages, values."""
