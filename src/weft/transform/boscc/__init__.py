"""Uniform branches around what divergent branches guard."""
