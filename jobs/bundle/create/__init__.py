"""A bundle is made on a connected machine, from a source checkout: one file for each kind of thing that it carries."""
