"""How fast a model is on this machine."""
