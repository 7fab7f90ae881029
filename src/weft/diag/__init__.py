"""Errors, source spans and remarks: what every room raises or notes."""
