"""Types of PTX: kinds and sizes."""

from __future__ import annotations

FUNDAMENTAL: dict[str, tuple[str, int]] = {
    **{f"{kind}{bits}": (kind, bits) for kind in "bus" for bits in (8, 16, 32, 64)},
    "b128": ("b", 128),
    "f16": ("f", 16),
    "f16x2": ("packed", 32),
    "bf16": ("f", 16),
    "bf16x2": ("packed", 32),
    "f32": ("f", 32),
    "f64": ("f", 64),
    "pred": ("pred", 1),
}
"""Types that variables and registers can have: kind and size in bits.

Kinds are ``b`` (bits without a meaning), ``u`` and ``s`` (integers), ``f`` (floats), ``packed`` (several numbers) and
``pred``.
"""

VALUE_TYPES: dict[str, tuple[str, int]] = {
    **FUNDAMENTAL,
    "u16x2": ("packed", 32),
    "s16x2": ("packed", 32),
    "u8x4": ("packed", 32),
    "s8x4": ("packed", 32),
    "f32x2": ("packed", 64),
    "tf32": ("packed", 32),
    "e4m3": ("packed", 8),
    "e5m2": ("packed", 8),
    "e4m3x2": ("packed", 16),
    "e5m2x2": ("packed", 16),
    "e4m3x4": ("packed", 32),
    "e5m2x4": ("packed", 32),
    "e2m3x2": ("packed", 16),
    "e3m2x2": ("packed", 16),
    "e2m3x4": ("packed", 32),
    "e3m2x4": ("packed", 32),
    "e2m1x2": ("packed", 8),
    "e2m1x4": ("packed", 16),
    "ue5m3x2": ("packed", 16),
    "ue8m0x2": ("packed", 16),
    "s2f6x2": ("packed", 16),
}
"""Types that instructions name: packed and narrow ones are held in registers of bits."""

OPAQUE_TYPES = frozenset(("texref", "samplerref", "surfref"))
"""Handles of textures, samplers and surfaces."""


def bits_of(type: str) -> int:
    """The size of a value of this type in bits; handles have 64."""
    known = VALUE_TYPES.get(type)
    return 64 if known is None else known[1]
