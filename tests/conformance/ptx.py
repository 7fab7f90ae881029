"""Compiles the cases of the suite to PTX, assembles it, and runs it here: ``python -m conformance.ptx``.

Prints how many there are, and each that weft or ``ptxas`` refuses, or whose PTX computes something else than plain
Python when weft lifts it and runs it on the CPU. One case in `SHARE` is taken; with ``WEFT_FUZZ`` all are, for all
architectures. Without ``ptxas`` nothing is assembled, without libdevice kernels that need it are left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from conformance.cases import Case
from conformance.runner import assert_same, expected
from conformance.suite import every_case
from weft.cuda.ptx.module import Module
from weft.cuda.to_ptx import ptx_of
from weft.diag.errors import UnresolvedError, WeftError
from weft.frontend.device.metadata import Passing
from weft.frontend.python.typeof import typeof
from weft.frontend.python.types import Array, KernelType, Scalar, Tuple
from weft.machine.cuda_tools import find_libdevice, find_program
from weft.ptx_kernel import PtxKernel

SHARE = 1 if os.environ.get("WEFT_FUZZ") else 150
ARCHITECTURES = ("sm_75", "sm_90") if os.environ.get("WEFT_FUZZ") else ("sm_90",)
ULP = 4
"""By how much libdevice may differ from the C library beside what a case allows."""


def problems(counts: Counter[str], share: int = SHARE, chosen: int = 0) -> Iterator[str]:
    """What is refused, or wrong; `counts` tells how many cases went how."""
    ptxas = find_program("ptxas")
    for name, case in every_case().items():
        if zlib.crc32(name.encode()) % share != chosen:
            continue
        counts["cases"] += 1
        for arch in ARCHITECTURES:
            try:
                made = ptx_of(case.kernel, tuple(map(typeof, case.args())), arch)
            except UnresolvedError:
                assert find_libdevice() is None
                counts["without libdevice"] += 1
                continue
            except WeftError as error:
                yield f"{name}: {arch}: {error}"
                continue
            said = assemble(ptxas, made.text, arch) if ptxas is not None else ""
            counts[f"{arch} {'refused' if said else 'accepted'} by ptxas"] += ptxas is not None
            if said:
                yield f"{name}: {arch}: ptxas: {said}"
            if arch == ARCHITECTURES[0]:
                yield from _wrong(name, case, made, counts)


def assemble(ptxas: Path, text: str, arch: str) -> str:
    """What ``ptxas`` says against a module; nothing where it accepts it."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(text)
        command = [ptxas, "-arch", arch, "-o", Path(folder, "kernel.cubin"), source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr + done.stdout


def _wrong(name: str, case: Case, made: PtxKernel, counts: Counter[str]) -> Iterator[str]:
    """What is wrong with a kernel's PTX, when it runs here."""
    args = case.args()
    if any(min(v.strides, default=0) < 0 for v in _values(args) if isinstance(v, np.ndarray)):
        counts["not run: arrays from their end"] += 1
        return
    try:
        kernel = Module(made.text)[made.entry]
        grid, block = case.launch()
        kernel[grid, block, 0, case.dynamic_bytes](*flattened(args, kernel))
        assert_same(args, expected(case), max(case.ulp, ULP), "PTX")
    except (WeftError, AssertionError) as error:
        yield f"{name}: when run: {error}"
    else:
        counts["right when run"] += 1


def flattened(args: Iterable[Any], kernel: Any) -> list[Any]:
    """What a kernel that is lifted from PTX takes for the arguments of the kernel that it is made of."""
    # What is no address to the kernel is a number, and never asked for where it was an array.
    return [
        0 if isinstance(value, np.ndarray) and info.passing is not Passing.BUFFER else value
        for info, value in zip(kernel.info.arguments, _values(args), strict=True)
    ]


def _values(args: Iterable[Any]) -> list[Any]:
    values: list[Any] = []
    for argument in args:
        _flatten(typeof(argument), argument, values)
    return values


def _flatten(type: KernelType, value: Any, values: list[Any]) -> None:
    """Append what the parameters of an argument hold; an array stands for its address."""
    if isinstance(type, Tuple):
        for item_type, item in zip(type.items, value or (), strict=True):
            _flatten(item_type, item, values)
    elif isinstance(type, Array):
        values += (value, *value.shape)
        if type.layout != "C":
            values += value.strides
    elif isinstance(type, Scalar) and type.kind == "c":
        values += (np.real(value), np.imag(value))
    elif isinstance(value, np.void):
        values.append(np.asarray(value).reshape(1))
    else:
        values.append(int(value) if isinstance(value, (bool, np.bool_)) else value)


if __name__ == "__main__":
    totals: Counter[str] = Counter()
    part = [int(text) for text in sys.argv[1:]] or [SHARE, 0]
    found = list(problems(totals, *part))
    print("\n".join(found))
    print(dict(totals))
    sys.exit(bool(found))
