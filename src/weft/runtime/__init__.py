"""Launching: thread pool, arrays, compile cache."""
