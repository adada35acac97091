"""Loops that are written as LLVM code: products of register tiles and of AMX tiles, each one operation for a kernel."""
