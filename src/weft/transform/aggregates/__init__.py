"""Scalar replacement of vectors and aggregates."""
