"""Integers, floats, conversions and arithmetic intrinsics."""
