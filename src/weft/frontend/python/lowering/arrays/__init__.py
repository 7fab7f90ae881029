"""Arrays, records, and NumPy's functions on them."""
