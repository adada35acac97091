"""What the block layouts of several quantization types have in common."""
