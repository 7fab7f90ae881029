"""Runs drawn kernels of Python by some of their doors, beside the same text in plain Python (`conformance.reference`).

Doors: machine code, the interpreter with its checks and as a model of a GPU, and PTX that is made of the kernel and
lifted again. Widths, levels of instructions and options are drawn.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import pytest

from conformance import reference
from conformance.ptx import flattened
from loops.python_doors import WIDTHS, functions, levels, same
from weft import cuda
from weft.cuda.ptx.module import Module
from weft.cuda.to_ptx import ptx_of
from weft.frontend.python.typeof import typeof
from weft.switches import OPTIONAL_PASSES

DOORS = ("machine code",) * 5 + ("checked", "simulated", "ptx")
Extents = tuple[int, ...]


class DrawnKernel(Protocol):
    """A kernel that is drawn by a seed."""

    seed: int
    is_checked: bool
    """Whether nothing that it does is a finding of the sanitizer."""

    def text(self) -> str:
        """Its module."""
        ...

    def arguments(self, number: int) -> list[Any]:
        """Arguments of a launch."""
        ...

    def launches(self) -> Sequence[tuple[Extents, Extents]]:
        """Grids and blocks."""
        ...


def compare(program: DrawnKernel, counts: dict[str, int]) -> None:
    """Run a kernel by two doors for all its launches.

    Raises
    ------
    AssertionError
        An array is not what plain Python makes of it.
    """
    rng = random.Random(f"doors {program.seed}")
    text = program.text()
    kernel = functions(text, f"<kernel {program.seed}>")["kernel"]
    every = [argument for number in range(len(program.launches())) for argument in program.arguments(number)]
    are_rows = all(argument.flags.c_contiguous for argument in every if isinstance(argument, np.ndarray))
    refused = {"checked": not program.is_checked, "ptx": not are_rows}
    doors = [door for door in DOORS if not refused.get(door)]
    level = rng.choice(levels() or [""])
    options: dict[str, Any] = {
        "width": rng.choice(WIDTHS),
        "boscc": rng.choice(("auto", "auto", "on", "off")),
    }
    if rng.random() < 0.15:
        options["without"] = tuple(rng.sample(sorted(OPTIONAL_PASSES), rng.choice((1, 5))))
    chosen = {rng.choice(doors) for _ in range(2)}
    wanted: list[list[Any]] = []
    for number, (grid, block) in enumerate(program.launches()):
        wanted.append(program.arguments(number))
        reference.run(kernel, grid, block, tuple(wanted[-1]))
    with pytest.MonkeyPatch.context() as patched:
        # Results are compared here, and not what each pass does.
        patched.setenv("WEFT_CHECK", "0")
        patched.setenv("WEFT_CPU", level)
        for door in sorted(chosen):
            counts[door] = counts.get(door, 0) + 1
            run = _through(door, kernel, options)
            for number, (grid, block) in enumerate(program.launches()):
                given = program.arguments(number)
                run(grid, block, given)
                for at, (a, b) in enumerate(zip(given, wanted[number], strict=True)):
                    where = f"seed {program.seed}, {door}, {level}, {options}, launch {number}, argument {at}"
                    assert not isinstance(a, np.ndarray) or same(a, b), f"{where}\n{a}\nnot\n{b}\n{text}"


def _through(
    door: str, kernel: Any, options: dict[str, Any]
) -> Callable[[Extents, Extents, list[Any]], None]:
    if door == "machine code":
        compiled = cuda.jit(kernel, **options)
        return lambda grid, block, given: compiled[grid, block](*given)
    if door == "checked":
        debugged = cuda.jit(kernel, debug=True)
        return lambda grid, block, given: debugged[grid, block](*given)
    if door == "simulated":
        plain = cuda.jit(kernel)

        def simulate(grid: Extents, block: Extents, given: list[Any]) -> None:
            plain.simulate(grid, block, *given)

        return simulate
    return lambda grid, block, given: _run_ptx(kernel, grid, block, given)


def _run_ptx(kernel: Any, grid: Extents, block: Extents, given: list[Any]) -> None:
    made = ptx_of(kernel, tuple(map(typeof, given)), "sm_90")
    lifted = Module(made.text)[made.entry]
    lifted[grid, block](*flattened(given, lifted))
