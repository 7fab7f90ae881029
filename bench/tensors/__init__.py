"""Brushes, projections and layouts beside vectorizing the innermost loop (Moll, §13.4)."""
