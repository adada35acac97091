"""Tools that the block layouts of several quantization types share."""
