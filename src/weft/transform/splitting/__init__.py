"""Kernels cut at their barriers, and what is kept across them."""
