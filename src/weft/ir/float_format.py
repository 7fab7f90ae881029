"""Float constants in LLVM text: decimal, or hexadecimal digits of the bit pattern.

LLVM writes ``float`` and ``double`` with the digits of a double (``0x3FB99999A0000000``), ``half`` as
``0xH3C00`` and ``bfloat`` as ``0xR3F80``. Widening and narrowing is done on bit patterns, since the hardware's
conversions turn signalling NaNs into quiet ones.
"""

from __future__ import annotations

import re

from weft.ir.constants import bits_to_float, float_to_bits

_DECIMAL = re.compile(r"[-+]?\d+\.\d*(?:[eE][-+]?\d+)?")
_HEX = re.compile(r"0x([HR]?)([0-9A-Fa-f]+)")
_PREFIX = {"half": "H", "bfloat": "R", "float": "", "double": ""}
_DIGITS = {"half": 4, "bfloat": 4, "float": 16, "double": 16}
_DOUBLE_EXPONENT = 0x7FF << 52
_FLOAT_EXPONENT = 0xFF << 23


def parse_float(kind: str, text: str) -> int | str:
    """The bit pattern of constant `text` in format `kind`, or in words why it has none."""
    if _DECIMAL.fullmatch(text):
        value = float(text)
        bits = float_to_bits(kind, value)
        if bits_to_float(kind, bits) != value:
            return f"{text} is not exactly a {kind}"
        return bits
    match = _HEX.fullmatch(text)
    if match is None:
        return f"{text} is no float constant"
    prefix, digits = match.groups()
    if prefix != _PREFIX[kind]:
        return f"{text} is no constant of type {kind}"
    bits = int(digits, 16)
    if len(digits) > _DIGITS[kind]:
        return f"{text} has more than {_DIGITS[kind]} digits"
    return _narrow(bits, text) if kind == "float" else bits


def format_float(kind: str, bits: int) -> str:
    """The constant as LLVM prints it (whose last digits differ where the value is subnormal)."""
    if kind in ("half", "bfloat"):
        return f"0x{_PREFIX[kind]}{bits:04X}"
    value = bits_to_float(kind, bits)
    # LLVM tries six digits, and writes seven.
    if value - value == 0.0 and float(f"{value:.5e}") == value:
        return f"{value:e}"
    return f"0x{bits if kind == 'double' else _widen(bits):016X}"


def _is_nan(bits: int) -> bool:
    return bits & _DOUBLE_EXPONENT == _DOUBLE_EXPONENT and bits & ((1 << 52) - 1) != 0


def _narrow(bits: int, text: str) -> int | str:
    """The float with the value of double `bits`."""
    if _is_nan(bits):
        if bits & ((1 << 29) - 1):
            return f"{text} is a NaN that no float can hold"
        return (bits >> 63) << 31 | _FLOAT_EXPONENT | (bits >> 29) & ((1 << 23) - 1)
    narrow = float_to_bits("float", bits_to_float("double", bits))
    if _widen(narrow) != bits:
        return f"{text} is not exactly a float"
    return narrow


def _widen(bits: int) -> int:
    """The double with the value of float `bits`."""
    if bits & _FLOAT_EXPONENT == _FLOAT_EXPONENT:
        return (bits >> 31) << 63 | _DOUBLE_EXPONENT | (bits & ((1 << 23) - 1)) << 29
    return float_to_bits("double", bits_to_float("float", bits))
