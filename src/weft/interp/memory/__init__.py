"""Memory, and the instructions on it."""
