"""Numbers made narrower, or known."""
