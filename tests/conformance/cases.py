"""What a conformance case is: a kernel, a launch, arguments, and what to compare with.

A test module makes a `Cases` list and decorates its kernels with it. Every array among the arguments is an
output: all must hold the same bytes after the plain Python execution, the interpreter and machine code.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Extents = int | tuple[int, ...]
MakeArgs = Callable[[np.random.Generator], tuple]


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel with one launch.

    Parameters
    ----------
    name
        Unique within its module.
    kernel
        The Python function, not compiled.
    make_args
        Makes the arguments from a seeded generator; called once per execution, so that each gets its own.
    threads
        How many threads the launch needs in all; None when `grid` is given.
    grid, block
        The launch. With `threads`, the grid follows from the block.
    expect
        Turns fresh arguments into the expected ones with NumPy, where plain Python would mean something else
        or the kernel's threads race in order only; None: plain Python execution is what is expected.
    ulp
        By how many units in the last place floats may differ; 0 is bit for bit (NaN payloads apart).
    any_block
        The result does not depend on the block's size, so any may be launched.
    undefined
        The sanitizer would object (division by zero, say), although the dialect defines the result.
    dynamic_bytes
        Dynamic shared memory of the launch.
    number
        Which of the cases of its kernel it is: others differ in the types of arguments for the most part.
    """

    name: str
    kernel: Callable[..., Any]
    make_args: MakeArgs
    threads: int | None = None
    grid: Extents = 1
    block: Extents = 32
    expect: Callable[..., None] | None = None
    ulp: int = 0
    any_block: bool = True
    undefined: bool = False
    dynamic_bytes: int = 0
    number: int = 0

    def __str__(self) -> str:
        return self.name

    def args(self) -> tuple:
        """Return fresh arguments, the same at each call."""
        return self.make_args(np.random.default_rng(zlib.crc32(self.name.encode())))

    def launch(self) -> tuple[Extents, Extents]:
        if self.threads is None:
            return self.grid, self.block
        assert isinstance(self.block, int)
        return max(1, -(-self.threads // self.block)), self.block

    def at_block(self, block: int) -> Case:
        """Return the same problem launched with another block size."""
        assert self.any_block and self.threads is not None
        return replace(self, block=block)


class Cases(list[Case]):
    """The cases of one test module, in order."""

    def add(self, kernel: Callable[..., Any], make_args: MakeArgs, name: str = "", **details: Any) -> None:
        """Add a case for a kernel that exists already."""
        if "threads" not in details and "grid" not in details:
            details["threads"] = 48
        if "grid" in details:
            details.setdefault("any_block", False)
        number = sum(other.kernel is kernel for other in self)
        case = Case(name or kernel.__name__, kernel, make_args, number=number, **details)
        assert all(case.name != other.name for other in self), case.name
        self.append(case)

    def kernel(
        self, make_args: MakeArgs, **details: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorate a kernel: adds its case and leaves the function as it is."""

        def decorate(kernel: Callable[..., Any]) -> Callable[..., Any]:
            self.add(kernel, make_args, **details)
            return kernel

        return decorate
