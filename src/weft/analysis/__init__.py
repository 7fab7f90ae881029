"""Facts about a function, computed from it and never stored in it."""
