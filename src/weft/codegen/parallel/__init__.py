"""Parallel loops and nests: ranges of iterations in lanes, handed to all cores, and results combined."""
