"""Documents through a model, many together."""
