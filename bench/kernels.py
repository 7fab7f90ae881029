"""The kernels that analyses are measured on: those of `examples/` and of the conformance tests."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from bench.workloads import WORKLOADS
from conformance.suite import every_case
from examples.workgroups.__main__ import NAMES
from weft.cuda.kernel import Kernel
from weft.frontend.python.compile import FrontendResult, compile_python
from weft.frontend.python.typeof import typeof

SMALL_SIZES = {"smith_waterman": 2, "bitonic_sort": 1024, "walsh": 1024, "dct": 16}
"""Sizes at which the work-group examples are quick; 64 for all others."""


@dataclass(frozen=True, slots=True)
class CompiledSource:
    """A kernel as the front end leaves it."""

    name: str
    result: FrontendResult


def all_kernels(every: int = 1) -> Iterator[CompiledSource]:
    """Yield every kernel with the types that it is launched with, or of so many of each kind one."""
    for name, make in islice(WORKLOADS.items(), 0, None, every):
        workload = make()
        types = tuple(typeof(a) for a in (*workload.inputs, workload.output()))
        yield CompiledSource(f"examples.{name}", compile_python(workload.kernel, types))
    for name, function, types in workgroup_kernels(every):
        yield CompiledSource(f"examples.workgroups.{name}", compile_python(function, types))
    for name, case in islice(every_case().items(), 0, None, every):
        types = tuple(typeof(a) for a in case.args())
        yield CompiledSource(f"conformance.{name}", compile_python(case.kernel, types))


def workgroup_kernels(every: int = 1) -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """Yield the kernels of the work-group examples, or of one in so many, with argument types.

    They are run for that, on little.
    """
    launched: dict[tuple[Callable[..., Any], tuple[Any, ...]], str] = {}
    launch = Kernel.launch

    def note(kernel: Kernel, shape: Any, args: tuple[Any, ...]) -> None:
        launch(kernel, shape, args)
        for types in kernel.signatures:
            function = kernel.py_func
            launched.setdefault(
                (function, types), f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
            )

    # The types are all that is wanted: no checks of each pass, and nothing printed.
    with (
        mock.patch.object(Kernel, "launch", note),
        mock.patch.dict(os.environ, WEFT_CHECK="0"),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        for name in NAMES[::every]:
            importlib.import_module(f"examples.workgroups.{name}").main(SMALL_SIZES.get(name, 64))
    for (function, types), name in launched.items():
        yield name, function, types
