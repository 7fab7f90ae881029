"""Fits of the cost model's constants: kernels of our own, measured in all ways that they may be compiled."""
