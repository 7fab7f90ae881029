"""Loops: counters, dependences, promises, reductions."""
