"""Loops: uniform exits, bodies as functions, invariants."""
