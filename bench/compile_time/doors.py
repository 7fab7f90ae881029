"""The doors that a generated program goes through: a kernel in Python, loops over `prange` and `range`, C, OpenCL C."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Callable
from typing import Any

from bench.compile_time.families import Family
from bench.compile_time.text import Text

_PYTHON = """
{decorator}
def program(x, y, z, u, v, w, c, n, m):
{head}
{body}
"""


def _python(family: Family, size: int, decorator: str, head: list[str], kernel: bool) -> Any:
    text = Text("python", kernel=kernel, depth=len(head) and 2)
    family(text, size)
    source = _PYTHON.format(
        decorator=decorator,
        head=textwrap.indent("\n".join(head), "    "),
        body="\n".join(text.lines),
    )
    from weft import cuda, jit, prange, types

    names: dict[str, Any] = {"cuda": cuda, "jit": jit, "prange": prange, "types": types}
    where = f"<generated {size}>"
    linecache.cache[where] = len(source), None, source.splitlines(True), where
    exec(compile(source, where, "exec"), names)
    return names["program"]


_LONGS, _FLOATS, _INTS = "int64[::1], " * 3, "float32[::1], " * 2, "int32[::1], " * 2
_SIGNATURE = f"void({_LONGS}{_FLOATS}{_INTS}int64, int64)"


def kernel(family: Family, size: int) -> None:
    """A kernel in Python."""
    made = _python(family, size, "@cuda.jit", ["i = cuda.grid(1)", "if i < n:"], True)
    made.compile(_SIGNATURE)


def barriers(family: Family, size: int) -> None:
    """A kernel in Python whose threads all arrive at its barriers."""
    made = _python(family, size, "@cuda.jit", ["i = cuda.grid(1)", "if n > 0:"], True)
    made.compile(_SIGNATURE)


def prange(family: Family, size: int) -> None:
    """A loop over `prange`."""
    _python(family, size, "@jit", ["for i in prange(n):"], False).compile(_SIGNATURE)


def auto(family: Family, size: int) -> None:
    """A plain loop, which may turn out to be parallel."""
    _python(family, size, '@jit(parallel="auto")', ["for i in range(n):"], False).compile(_SIGNATURE)


_ARRAYS = (("long", "xyz"), ("float", "uv"), ("int", "wc"))


def _c(family: Family, size: int, kernel: bool) -> tuple[str, str, str]:
    text = Text("c", kernel=kernel, depth=1)
    family(text, size)
    variables = "\n".join(f"    {type} {name};" for name, type in text.names.items())
    return variables, "\n".join(text.lines), "".join(text.shared)


def c(family: Family, size: int) -> None:
    """A loop in C, whose iterations are promised to be independent."""
    from weft import vectorize_ir

    variables, body, _ = _c(family, size, False)
    arrays = ", ".join(f"{type} *restrict {name}" for type, names in _ARRAYS for name in names)
    source = (
        f"void program({arrays}, long n, long m) {{\n"
        f"  for (long i = 0; i < n; i++) {{\n{variables}\n{body}\n  }}\n}}\n"
    )
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.c"
        file.write_text(source)
        made = vectorize_ir(file, "program", loop="outermost")
        assert made.object_code


def opencl(family: Family, size: int) -> None:
    """A kernel in OpenCL C."""
    import numpy as np

    from weft import opencl as door

    variables, body, shared = _c(family, size, True)
    arrays = ", ".join(f"global {type} *restrict {name}" for type, names in _ARRAYS for name in names)
    source = (
        f"kernel void program({arrays}, long n, long m) {{\n"
        f"  {shared} long i = get_global_id(0);\n  if (n > 0) {{\n{variables}\n{body}\n  }}\n}}\n"
    )
    program = door.Program(source)
    longs, floats, ints = (np.zeros(16, type) for type in (np.int64, np.float32, np.int32))
    program.kernel("program")(64, 64, longs, longs, longs, floats, floats, ints, ints, 0, 0)


DOORS: dict[str, Callable[[Family, int], None]] = {
    "kernel": kernel,
    "barriers": barriers,
    "prange": prange,
    "auto": auto,
    "c": c,
    "opencl": opencl,
}
