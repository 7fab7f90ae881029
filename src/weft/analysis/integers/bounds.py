"""Integers of n bits as Python integers: the helpers that intervals and shapes share."""

from __future__ import annotations

INFINITE_ZEROS = 1 << 16
"""What `trailing_zeros` says of zero: more than any type has bits."""


def to_unsigned(value: int, bits: int) -> int:
    """The representative of `value` modulo 2^bits in [0, 2^bits)."""
    return value & ((1 << bits) - 1)


def to_signed(value: int, bits: int) -> int:
    """The representative of `value` modulo 2^bits in [-2^(bits-1), 2^(bits-1))."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def trailing_zeros(value: int) -> int:
    """The exponent of the largest power of two that divides `value`."""
    return (value & -value).bit_length() - 1 if value else INFINITE_ZEROS
