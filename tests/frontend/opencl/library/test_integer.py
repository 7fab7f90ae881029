"""Integer functions, against Python's integers: all of 8 bits, edges and random values of the others."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable

import numpy as np
import pytest

from frontend.opencl.library.running import INTEGERS, TYPES, Call, load, vector

FUZZ = bool(os.environ.get("WEFT_FUZZ"))
UNSIGNED = {t: t if t.startswith("u") else f"u{t}" for t in INTEGERS}


def bits_of(t: str) -> int:
    return np.dtype(TYPES[t]).itemsize * 8


def wrap(value: int, t: str) -> int:
    """The value in a type, modulo two to its bits."""
    bits = bits_of(t)
    value &= (1 << bits) - 1
    return value - (1 << bits) if not t.startswith("u") and value >> (bits - 1) else value


def clamp(value: int, t: str) -> int:
    info = np.iinfo(TYPES[t])
    return min(max(value, int(info.min)), int(info.max))


def _pattern(x: int, t: str) -> int:
    return x & ((1 << bits_of(t)) - 1)


def _rotate(t: str, x: int, n: int) -> int:
    bits = bits_of(t)
    n %= bits
    return wrap(_pattern(x, t) << n | _pattern(x, t) >> (bits - n), t)


def _ctz(t: str, x: int) -> int:
    x = _pattern(x, t)
    return (x & -x).bit_length() - 1 if x else bits_of(t)


UNARY: dict[str, Callable[[str, int], int]] = {
    "abs": lambda t, x: abs(x),
    "clz": lambda t, x: bits_of(t) - _pattern(x, t).bit_length(),
    "ctz": _ctz,
    "popcount": lambda t, x: _pattern(x, t).bit_count(),
    "bit_reverse": lambda t, x: wrap(int(f"{_pattern(x, t):0{bits_of(t)}b}"[::-1], 2), t),
}
BINARY: dict[str, Callable[[str, int, int], int]] = {
    "abs_diff": lambda t, x, y: abs(x - y),
    "add_sat": lambda t, x, y: clamp(x + y, t),
    "sub_sat": lambda t, x, y: clamp(x - y, t),
    "hadd": lambda t, x, y: (x + y) >> 1,
    "rhadd": lambda t, x, y: (x + y + 1) >> 1,
    "max": lambda t, x, y: max(x, y),
    "min": lambda t, x, y: min(x, y),
    "mul_hi": lambda t, x, y: (x * y) >> bits_of(t),
    "rotate": _rotate,
}
TERNARY: dict[str, Callable[[str, int, int, int], int]] = {
    "mad_hi": lambda t, x, y, z: wrap(((x * y) >> bits_of(t)) + z, t),
    "mad_sat": lambda t, x, y, z: clamp(x * y + z, t),
    "clamp": lambda t, x, low, high: min(max(x, low), high),
}
TO_UNSIGNED = frozenset({"abs", "abs_diff"})


def values(t: str, count: int, seed: int = 0) -> list[int]:
    """Edges of a type, and random numbers of random lengths."""
    info = np.iinfo(TYPES[t])
    edges = {int(info.min), int(info.max), 0, 1, int(info.max) - 1, int(info.min) + 1, clamp(-1, t), 2, 3}
    draw = np.random.default_rng(seed + bits_of(t))
    while len(edges) < min(count, 1 << bits_of(t)):
        edges.add(wrap(int.from_bytes(draw.bytes(8), "little") >> int(draw.integers(64)), t))
    return sorted(edges)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8, 16] if FUZZ else [1, 3])
def test_functions_of_integers(width: int) -> None:
    """Every function of every type, in one program a width: 16 lanes see other values than one."""
    # Vectors go through the same scalar function: that elements are where they belong shows in one type of each size.
    types = INTEGERS if width == 1 else ("char", "ushort", "int", "ulong") if FUZZ else ("ushort", "long")
    calls: dict[str, Call] = {}
    for t, (arity, table) in itertools.product(types, enumerate((UNARY, BINARY, TERNARY), 1)):
        v = vector(t, width)
        for name in table:
            result = vector(UNSIGNED[t], width) if name in TO_UNSIGNED else v
            calls[f"{name}_{t}"] = Call(name, result, (v,) * arity)
    program = load("".join(call.kernel(kernel) for kernel, call in calls.items()))
    for t, (arity, table) in itertools.product(types, enumerate((UNARY, BINARY, TERNARY), 1)):
        pool = values(t, 256 if arity == 1 else 14 if arity == 2 else 7)
        rows = list(itertools.product(pool, repeat=arity))
        rows = rows[: len(rows) // width * width]
        columns = [np.array(column, TYPES[t]) for column in zip(*rows, strict=True)]
        for name, expected in table.items():
            if name == "clamp":
                # The bounds are in order.
                columns = [columns[0], np.minimum(*columns[1:]), np.maximum(*columns[1:])]
                rows = list(zip(*(c.tolist() for c in columns), strict=True))
            result = np.zeros(len(rows), TYPES[UNSIGNED[t] if name in TO_UNSIGNED else t])
            program(f"{name}_{t}", *columns, result, len(rows) // width)
            # Functions of one, two and three numbers are in one table.
            wanted = [expected(t, *row) for row in rows]  # type: ignore[arg-type]
            assert result.tolist() == wanted, f"{name} of {vector(t, width)}"


def test_functions_of_two_types() -> None:
    kernels = [Call("upsample", r, (h, lo)) for r, h, lo in UPSAMPLE]
    kernels += [Call(f, t, (t,) * n) for t in ("int", "uint") for f, n in (("mul24", 2), ("mad24", 3))]
    kernels += [Call("max", "int4", ("int4", "int")), Call("clamp", "short8", ("short8", "short", "short"))]
    program = load("".join(c.kernel(f"k{n}") for n, c in enumerate(kernels)))
    draw = np.random.default_rng(3)
    for n, (r, h, lo) in enumerate(UPSAMPLE):
        high, low = (draw.integers(*_limits(t), size=64, dtype=TYPES[t], endpoint=True) for t in (h, lo))
        result = np.zeros(64, TYPES[r])
        program(f"k{n}", high, low, result, 64)
        assert result.tolist() == [
            (x << bits_of(h)) | y for x, y in zip(high.tolist(), low.tolist(), strict=True)
        ]
    for n, call in list(enumerate(kernels))[len(UPSAMPLE) : len(UPSAMPLE) + 4]:
        t = call.result
        low = 0 if t == "uint" else -(1 << 12)
        a, b, c = (draw.integers(low, 1 << 12, size=64, dtype=TYPES[t]) for _ in range(3))
        result = np.zeros(64, TYPES[t])
        program(f"k{n}", *(a, b, c)[: len(call.parameters)], result, 64)
        assert result.tolist() == (a * b + (c if call.name == "mad24" else 0)).tolist()
    x, bound, result = (
        np.arange(-8, 8, dtype=np.int32),
        np.array([3, -5, 0, 9], np.int32),
        np.zeros(16, np.int32),
    )
    program(f"k{len(kernels) - 2}", x, bound, result, 4)
    assert result.tolist() == np.maximum(x, bound.repeat(4)).tolist()


UPSAMPLE = (
    ("short", "char", "uchar"), ("ushort", "uchar", "uchar"), ("int", "short", "ushort"),
    ("uint", "ushort", "ushort"), ("long", "int", "uint"), ("ulong", "uint", "uint"),
)  # fmt: skip


def _limits(t: str) -> tuple[int, int]:
    info = np.iinfo(TYPES[t])
    return int(info.min), int(info.max)
