"""Further nests beside their peers: stencils of three dimensions, convolutions, Sobel, Life, transforms, a product.

Each row is a function ``kernel(a, b, w)`` over `prange`, which reads `a` and `w` and writes `b`, and what the libraries
have for it. Plain loops of the same text are numba's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np

Library = Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Row:
    """A nest and its arguments.

    Parameters
    ----------
    source
        Its text.
    a, b, w
        What it reads, where it writes, and weights.
    libraries
        What computes the same in one call, by the name of its package.
    """

    source: str
    a: Any
    b: Any
    w: Any
    libraries: Mapping[str, Library] = field(default_factory=dict)


def rows() -> dict[str, Callable[[], Row]]:
    """The rows by their names; each is made when it is asked for."""
    return {
        "7 points, 3-D": lambda: _stencil([p for p in _cube() if sum(map(abs, p)) < 2]),
        "27 points, 3-D": lambda: _stencil(_cube()),
        "convolution 3x3": lambda: _convolution(3),
        "convolution 7x7": lambda: _convolution(7),
        "Sobel": _sobel,
        "Game of Life": _life,
        "4x4 transforms": _transforms,
        "matrix product": _product,
        "4x4 products": _small_products,
        "bilateral grid, slice": _slice,
    }


def _nest(loops: list[tuple[str, str]], body: list[str]) -> str:
    lines = ["def kernel(a, b, w):"]
    for depth, (counter, extent) in enumerate(loops, 1):
        lines.append("    " * depth + f"for {counter} in prange({extent}):")
    lines += ["    " * (len(loops) + 1) + line for line in body]
    return "\n".join(lines) + "\n"


def _cube() -> list[tuple[int, ...]]:
    return list(product((-1, 0, 1), repeat=3))


def _stencil(points: list[tuple[int, ...]]) -> Row:
    a = np.random.default_rng(1).random((102, 102, 102))
    total = " + ".join(f"a[k + {k}, j + {j}, i + {i}]" for k, j, i in points)
    loops = [(v, f"1, a.shape[{d}] - 1") for d, v in enumerate("kji")]
    source = _nest(loops, [f"b[k, j, i] = {1 / len(points)!r} * ({total})"])
    return Row(source, a, np.zeros_like(a), np.zeros(1))


def _image(dtype: Any = np.float32, size: int = 1002) -> Any:
    return np.random.default_rng(1).random((size, size)).astype(dtype)


def _convolution(side: int) -> Row:
    a, reach = _image(size=1000 + side - 1), side // 2
    weights = np.random.default_rng(2).random((side, side)).astype(np.float32)
    loops = [(v, f"a.shape[{d}] - {side - 1}") for d, v in enumerate("ji")]
    body = [
        "total = w[0, 0] * a[j, i]",
        *(f"total += w[{y}, {x}] * a[j + {y}, i + {x}]" for y, x in product(range(side), repeat=2) if y or x),
        f"b[j + {reach}, i + {reach}] = total",
    ]
    libraries: dict[str, Library] = {}
    with suppress(ImportError):
        from scipy import ndimage

        libraries["SciPy"] = lambda a, b, w: ndimage.correlate(a, w, output=b, mode="constant")
    with suppress(ImportError):
        cv2: Any = import_module("cv2")
        cv2.setNumThreads(1)
        libraries["OpenCV"] = lambda a, b, w: cv2.filter2D(a, -1, w, dst=b)
    return Row(_nest(loops, body), a, np.zeros_like(a), weights, libraries)


def _sobel() -> Row:
    body = [
        "x = a[j, i + 2] + 2 * a[j + 1, i + 2] + a[j + 2, i + 2] - a[j, i] - 2 * a[j + 1, i] - a[j + 2, i]",
        "y = a[j + 2, i] + 2 * a[j + 2, i + 1] + a[j + 2, i + 2] - a[j, i] - 2 * a[j, i + 1] - a[j, i + 2]",
        "b[j + 1, i + 1] = x * x + y * y",
    ]
    a = _image()
    source = _nest([(v, f"a.shape[{d}] - 2") for d, v in enumerate("ji")], body)
    return Row(source, a, np.zeros_like(a), np.zeros(1))


def _life() -> Row:
    around = " + ".join(f"a[j + {y}, i + {x}]" for y, x in product(range(3), repeat=2) if (y, x) != (1, 1))
    body = [
        f"alive = {around}",
        "b[j + 1, i + 1] = 1 if alive == 3 or (alive == 2 and a[j + 1, i + 1] == 1) else 0",
    ]
    a = (np.random.default_rng(1).random((1002, 1002)) < 0.3).astype(np.uint8)
    source = _nest([(v, f"a.shape[{d}] - 2") for d, v in enumerate("ji")], body)
    return Row(source, a, np.zeros_like(a), np.zeros(1))


def _transforms() -> Row:
    """Hadamard's transform of each block of 4 by 4."""
    body = [f"x{y}{x} = a[4 * j + {y}, 4 * i + {x}]" for y, x in product(range(4), repeat=2)]
    signs = [[1 - 2 * ((y & x).bit_count() & 1) for x in range(4)] for y in range(4)]

    def total(names: list[str], line: list[int]) -> str:
        return "".join(f" {'+' if sign > 0 else '-'} {name}" for sign, name in zip(line, names, strict=True))[
            1:
        ]

    for y in range(4):
        body += [f"y{y}{k} = 0{total([f' x{y}{x}' for x in range(4)], signs[k])}" for k in range(4)]
    for k in range(4):
        for m in range(4):
            body.append(f"b[4 * j + {m}, 4 * i + {k}] = 0{total([f' y{y}{k}' for y in range(4)], signs[m])}")
    a = _image(size=1000)
    source = _nest([(v, f"a.shape[{d}] // 4") for d, v in enumerate("ji")], body)
    return Row(source, a, np.zeros_like(a), np.zeros(1))


def _product() -> Row:
    rng = np.random.default_rng(1)
    a, w = rng.random((512, 512)), rng.random((512, 512))
    body = [
        "total = 0.0",
        "for k in range(a.shape[1]):",
        "    total += a[j, k] * w[k, i]",
        "b[j, i] = total",
    ]
    source = _nest([("j", "a.shape[0]"), ("i", "w.shape[1]")], body)
    return Row(source, a, np.zeros_like(a), w, {"OpenBLAS": lambda a, b, w: np.matmul(a, w, out=b)})


def _small_products() -> Row:
    """Products of 4 by 4 matrices, one after the other in memory."""
    rng = np.random.default_rng(1)
    a, w = (rng.random((50_000, 4, 4)).astype(np.float32) for _ in range(2))
    body = ["b[n, j, i] = " + " + ".join(f"a[n, j, {k}] * w[n, {k}, i]" for k in range(4))]
    source = _nest([("n", "a.shape[0]"), ("j", "a.shape[1]"), ("i", "w.shape[2]")], body)
    return Row(source, a, np.zeros_like(a), w, {"NumPy": lambda a, b, w: np.matmul(a, w, out=b)})


def _slice() -> Row:
    """What a bilateral grid has at each pixel: eight cells around it, by its place and its brightness."""
    body = [
        "y = np.float32(j * 0.125)",
        "x = np.float32(i * 0.125)",
        "z = a[j, i] * np.float32(14.0)",
        "p = int(y)",
        "q = int(x)",
        "r = int(z)",
        "y = y - np.float32(p)",
        "x = x - np.float32(q)",
        "z = z - np.float32(r)",
    ]
    for dy, dx in product(range(2), repeat=2):
        body.append(f"v{dy}{dx} = (1 - z) * w[p + {dy}, q + {dx}, r] + z * w[p + {dy}, q + {dx}, r + 1]")
    body.append("b[j, i] = (1 - y) * ((1 - x) * v00 + x * v01) + y * ((1 - x) * v10 + x * v11)")
    grid = np.random.default_rng(2).random((128, 128, 16)).astype(np.float32)
    a = _image(size=1000)
    source = _nest([(v, f"a.shape[{d}]") for d, v in enumerate("ji")], body)
    return Row(source, a, np.zeros_like(a), grid)


def c_source(row: Row) -> str:
    """A row in C: ``kernel(a, b, w, extents...)``, with the extents of all three arrays."""
    types = {"float64": "double", "float32": "float", "uint8": "unsigned char"}
    element = types[row.a.dtype.name]
    arrays = {"a": row.a, "b": row.b, "w": row.w}
    head = ", ".join(
        f"{'' if name == 'b' else 'const '}{types[x.dtype.name]} *restrict {name}"
        for name, x in arrays.items()
    )
    extents = ", ".join(f"long {name}_{d}" for name, x in arrays.items() for d in range(x.ndim))
    lines, depth, known = [f"void kernel({head}, {extents}) {{"], 0, set[str]()
    for line in row.source.splitlines()[1:]:
        inside = (len(line) - len(line.lstrip())) // 4
        lines += ["}"] * (depth - inside + 1)
        depth = inside - 1
        text = _in_c(line.strip(), arrays)
        loop = re.fullmatch(r"for (\w+) in p?range\((?:(.*), )?(.*)\):", text)
        if loop:
            counter, low, high = loop.groups()
            lines.append(f"for (long {counter} = {low or 0}; {counter} < {high}; {counter}++) {{")
            depth += 1
            continue
        name = re.match(r"(\w+) = ", text)
        if name and name[1] not in known:
            known.add(name[1])
            text = f"{'long' if '(long)' in text else element} {text}"
        lines.append(f"{text};")
    return "\n".join([*lines, *["}"] * (depth + 1)]) + "\n"


def _in_c(text: str, arrays: dict[str, Any]) -> str:
    text = re.sub(r"(\w+)\.shape\[(\d)\]", r"\1_\2", text).replace("//", "/")
    text = text.replace("int(", "(long)(").replace("np.float32(", "(float)(")

    def place(found: re.Match[str]) -> str:
        name, indices = found[1], found[2].split(", ")
        offset = f"({indices[0]})"
        for d, index in enumerate(indices[1:], 1):
            offset = f"({offset} * {name}_{d} + ({index}))"
        return f"{name}[{offset}]"

    text = re.sub(r"\b([abw])\[([^\[\]]*)\]", place, text)
    chosen = re.fullmatch(r"(.*) = (.*) if (.*) else (.*)", text)
    if chosen:
        target, yes, condition, no = chosen.groups()
        condition = condition.replace(" and ", " && ").replace(" or ", " || ")
        text = f"{target} = ({condition}) ? {yes} : {no}"
    if next(iter(arrays.values())).dtype == np.float32:
        text = re.sub(r"(\d+\.\d+)", r"\1f", text)
    return text


def ispc_source(row: Row) -> str:
    """A row in ISPC, the innermost of its parallel loops over program instances."""
    text = c_source(row)
    counters = re.findall(r"for (\w+) in prange", row.source)
    text = re.sub(r"(const )?(double|float|unsigned char) \*restrict (\w+)", r"\1uniform \2 \3[]", text)
    text = re.sub(r"\blong (\w_\d)", r"uniform int64 \1", text)
    inner = rf"for \(long {counters[-1]} = (.*?); {counters[-1]} < (.*?); {counters[-1]}\+\+\)"
    text = re.sub(inner, rf"foreach ({counters[-1]} = \1 ... \2)", text)
    text = text.replace("for (long ", "for (uniform int64 ").replace("long", "int64")
    if row.a.dtype == np.float64:
        text = re.sub(r"(\d\.\d+)(e-?\d+)?", r"\1\2d", text)
    return "export " + text.replace("unsigned char", "uint8")
