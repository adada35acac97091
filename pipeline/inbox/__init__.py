"""From the input folder to documents in their order: found, taken in, known or new, read."""
