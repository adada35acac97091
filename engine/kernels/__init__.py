"""Kernels: compiled functions over arrays, in rooms by what they compute."""
