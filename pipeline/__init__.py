"""Documents in, rows out."""
