"""Nests of loops: which loops run in parallel, in which order, in which tiles, and what is copied for them."""
