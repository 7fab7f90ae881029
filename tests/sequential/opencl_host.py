"""Runs what comments of OpenCL C say that the host does: as C, which calls back for each launch and for each array."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from weft.frontend.clang import compile_c
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object

KINDS = {"uchar": "u1", "char": "i1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8",
         "ulong": "u8", "float": "f4", "double": "f8", "bool": "u1"}  # fmt: skip
_HEAD = """#include <math.h>
#include <string.h>
#include <stdbool.h>
typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned uint; typedef unsigned long ulong;
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define global
#define LONG_MIN (-9223372036854775807L - 1)
static void (*launch_)(int, const long *, const void *);
static void *(*make_)(long);
"""

Launch = Callable[[str, tuple[int, ...], list[Any]], None]


def run_host(text: str, kernels: list[str], given: dict[str, Any], launch: Launch) -> Any:
    """Do what the comments say; what they return.

    Parameters
    ----------
    text
        The program.
    kernels
        The kernels that belong together.
    given
        Numbers and arrays by their names.
    launch
        Runs a kernel: its name, the global size, and what it is given.
    """
    about = text.partition("// The host does this:\n")[2]
    lines = re.match(r"(?://  .*\n)*", about)
    assert lines is not None
    body = re.sub(r"^// ", "", lines[0], flags=re.M)
    body = re.sub(r"global (\w+) (\w+)\[(.*)\];", r"\1 *\2 = make_((\3) * sizeof(\1));", body)
    result = next(iter(re.findall(r"return (.*);", body)), None)
    wrappers: list[str] = []
    signatures: list[list[tuple[str, bool]]] = []
    for number, name in enumerate(kernels):
        before, _, rest = text.partition(f"kernel void {name}(")
        parameters = re.findall(r"(?:global )?(?:const )?(\w+) (\*?)(\w+)(?:, |$)", rest.partition(")")[0])
        signatures.append([(kind, bool(star)) for kind, star, _ in parameters])
        sizes = re.findall(r"^// Global size: (.*?),? (?:rounded up to the )?local size", before, re.M)[-1]
        whole = (
            [f"(long)({s})" for s in sizes.rstrip(",").split(", ")]
            if "max(" not in sizes
            else [f"(long)({sizes})"]
        )
        whole += ["1"] * (3 - len(whole))
        packed = "".join(
            f"  memcpy(slots_ + {k}, &{n}, sizeof({n}));\n" for k, (_, _, n) in enumerate(parameters)
        )
        own = ", ".join(f"{kind} {star}{n}" for kind, star, n in parameters)
        wrappers.append(
            f"static void {name}(long size_x, long size_y, long size_z, {own}) {{\n"
            f"  long sizes_[3] = {{size_x, size_y, size_z}};\n"
            f"  long slots_[{len(parameters)}];\n{packed}"
            f"  launch_({number}, sizes_, slots_);\n}}\n"
        )
        body = re.sub(rf"\b{name}\(", f"{name}({', '.join(whole)}, ", body)
    kinds = {n: _kind_of(text, n, v) for n, v in given.items()}
    head = ", ".join(f"{k} {'*' if isinstance(given[n], np.ndarray) else ''}{n}" for n, k in kinds.items())
    returned = "double" if result is None else _returned(text, body, result, kinds)
    source = f"{_HEAD}{''.join(wrappers)}{returned} host_part({head}, void *launching_, void *making_) {{\n"
    source += f"  launch_ = launching_;\n  make_ = making_;\n{body}"
    source += "}\n" if result is not None else "  return 0;\n}\n"
    arrays = {v.ctypes.data: v for v in given.values() if isinstance(v, np.ndarray)}

    def on_launch(number: int, size: Any, slots: int) -> None:
        values: list[Any] = []
        for k, (kind, is_array) in enumerate(signatures[number]):
            place = slots + 8 * k
            if is_array:
                values.append(arrays[ctypes.c_int64.from_address(place).value].view(KINDS[kind]))
            else:
                values.append(np.frombuffer(ctypes.string_at(place, 8), KINDS[kind])[0])
        launch(kernels[number], tuple(size[:3]), values)

    def on_make(length: int) -> int:
        made = np.full(length, 77, "u1")
        arrays[made.ctypes.data] = made
        return made.ctypes.data

    callbacks = (
        ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.POINTER(ctypes.c_long), ctypes.c_void_p)(on_launch),
        ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_long)(on_make),
    )
    with TemporaryDirectory() as folder:
        file = Path(folder) / "host.c"
        file.write_text(source)
        spec = TargetSpec.chosen()
        options = ["-w", "-ffp-contract=off", "-fno-math-errno"]
        code = load_object(emit_object(compile_c(file, spec.triple, options), spec), ["host_part"], {})
    types = [ctypes.c_void_p if isinstance(v, np.ndarray) else _c_type(kinds[n]) for n, v in given.items()]
    values = [v.ctypes.data if isinstance(v, np.ndarray) else v for v in given.values()]
    call = ctypes.CFUNCTYPE(_c_type(returned), *types, ctypes.c_void_p, ctypes.c_void_p)
    found = call(code.address("host_part"))(*values, *(ctypes.cast(c, ctypes.c_void_p) for c in callbacks))
    return None if result is None else found


def _kind_of(text: str, name: str, value: Any) -> str:
    """The type that kernels give a parameter, or that of the number."""
    found = re.findall(rf"(?:const )?(\w+) \*?{name}[,)]", text)
    found = [f for f in found if f in KINDS]
    if found:
        return found[0]
    if isinstance(value, np.ndarray):
        return next(k for k, n in KINDS.items() if np.dtype(n) == value.dtype)
    return "float" if isinstance(value, float) else "int"


def _returned(text: str, body: str, result: str, kinds: dict[str, str]) -> str:
    declared = re.findall(rf"(\w+) {re.escape(result)}(?: =|;)", body)
    known = [d for d in declared if d in KINDS]
    return known[0] if known else kinds.get(result, "double" if "double" in text else "long")


def _c_type(kind: str) -> Any:
    return {
        "f4": ctypes.c_float, "f8": ctypes.c_double, "i4": ctypes.c_int, "u4": ctypes.c_uint, "i8": ctypes.c_long,
        "u8": ctypes.c_ulong, "i2": ctypes.c_short, "u1": ctypes.c_ubyte,
    }[KINDS[kind]]  # fmt: skip
