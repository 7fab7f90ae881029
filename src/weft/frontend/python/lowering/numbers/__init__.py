"""Arithmetic and mathematics."""
