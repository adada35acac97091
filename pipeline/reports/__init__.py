"""Reports of a night for people: what came, what became of it, and whether the night was like the ones before."""
