"""LLVM's integer opcodes lane by lane on NumPy arrays of unsigned values, with poison as a second array.

Written for the tests of shapes and intervals, apart from the code under test. Arrays of int64 do for up to 20
bits; wider integers go in as arrays of Python integers (dtype object).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

BINARY = [
    "add", "sub", "mul", "shl", "lshr", "ashr", "udiv", "sdiv", "urem", "srem",
    "and", "or", "xor", "umin", "umax", "smin", "smax",
]  # fmt: skip
UNARY = ["zext", "sext", "trunc", "ptrtoint", "abs", "bitcast"]
PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
FLAGS: dict[str, list[tuple[str, ...]]] = {
    **{op: [(), ("nsw",), ("nuw",), ("nuw", "nsw")] for op in ("add", "sub", "mul", "shl", "trunc")},
    **{op: [(), ("exact",)] for op in ("lshr", "ashr", "udiv", "sdiv")},
    "or": [(), ("disjoint",)],
    "zext": [(), ("nneg",)],
    "icmp": [(), ("samesign",)],
}

Lanes = np.ndarray


def signed(values: Lanes, bits: int) -> Lanes:
    half = 1 << (bits - 1)
    return ((values + half) & ((1 << bits) - 1)) - half


def evaluate(
    op: str,
    flags: Sequence[str],
    bits: int,
    operands: Sequence[Lanes],
    predicate: str | None = None,
    source_bits: int | None = None,
) -> tuple[Lanes, Lanes]:
    """Unsigned results, and where they are neither poison nor undefined."""
    if op == "icmp":
        return _compare(flags, bits, operands[0], operands[1], predicate or "eq")
    if op in UNARY:
        return _unary(op, flags, bits, operands[0], source_bits or bits)
    x, y = np.broadcast_arrays(*operands)
    mask = (1 << bits) - 1
    sx, sy = signed(x, bits), signed(y, bits)
    valid = np.ones(x.shape, dtype=bool)
    if op in ("shl", "lshr", "ashr"):
        valid &= y < bits
        y = np.where(y < bits, y, 0)
    if op in ("udiv", "sdiv", "urem", "srem"):
        valid &= y != 0
        if op[0] == "s":
            valid &= ~((sx == -(1 << (bits - 1))) & (sy == -1))
        y, sy = np.where(y == 0, 1, y), np.where(sy == 0, 1, sy)
    if op in ("add", "sub", "mul", "shl"):
        factor = 1 << y if op == "shl" else y
        step = {"add": np.add, "sub": np.subtract}.get(op, np.multiply)
        exact, positive = step(sx, factor if op == "shl" else sy), step(x, factor)
        result = positive & mask
        if "nsw" in flags:
            valid &= signed(result, bits) == exact
        if "nuw" in flags:
            valid &= result == positive
        return result, valid
    if op == "sdiv":
        result = _toward_zero(sx, sy)
        if "exact" in flags:
            valid &= result * sy == sx
        return result & mask, valid
    if op == "srem":
        return (sx - _toward_zero(sx, sy) * sy) & mask, valid
    if op == "udiv" and "exact" in flags:
        valid &= x % y == 0
    if op in ("lshr", "ashr") and "exact" in flags:
        valid &= (x >> y) << y == x
    if op == "or" and "disjoint" in flags:
        valid &= x & y == 0
    plain = {
        "lshr": lambda: x >> y, "ashr": lambda: (sx >> y) & mask,
        "udiv": lambda: x // y, "urem": lambda: x % y,
        "and": lambda: x & y, "or": lambda: x | y, "xor": lambda: x ^ y,
        "umin": lambda: np.minimum(x, y), "umax": lambda: np.maximum(x, y),
        "smin": lambda: np.minimum(sx, sy) & mask, "smax": lambda: np.maximum(sx, sy) & mask,
    }  # fmt: skip
    return plain[op](), valid


def _toward_zero(x: Lanes, y: Lanes) -> Lanes:
    magnitude = abs(x) // abs(y)
    return np.where((x < 0) == (y < 0), magnitude, -magnitude)


def _unary(op: str, flags: Sequence[str], bits: int, x: Lanes, source: int) -> tuple[Lanes, Lanes]:
    valid = np.ones(x.shape, dtype=bool)
    mask = (1 << bits) - 1
    if op == "sext":
        return signed(x, source) & mask, valid
    if op == "abs":
        return abs(signed(x, bits)) & mask, valid
    if op == "zext" and "nneg" in flags:
        valid &= signed(x, source) >= 0
    if op == "trunc" and "nsw" in flags:
        valid &= signed(x & mask, bits) == signed(x, source)
    if op == "trunc" and "nuw" in flags:
        valid &= x & mask == x
    return x & mask, valid


def _compare(flags: Sequence[str], bits: int, x: Lanes, y: Lanes, predicate: str) -> tuple[Lanes, Lanes]:
    x, y = np.broadcast_arrays(x, y)
    sx, sy = signed(x, bits), signed(y, bits)
    valid = np.ones(x.shape, dtype=bool)
    if "samesign" in flags:
        valid &= (sx < 0) == (sy < 0)
    a, b = (sx, sy) if predicate[0] == "s" else (x, y)
    outcome = {
        "eq": x == y, "ne": x != y, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b,
    }[predicate if predicate in ("eq", "ne") else predicate[1:]]  # fmt: skip
    return outcome.astype(np.int64), valid
