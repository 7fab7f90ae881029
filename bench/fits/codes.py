"""Codes of a program: made under any constants and options, told apart by their text, measured by turns."""

from __future__ import annotations

import hashlib
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

import numpy as np

from bench.fits.program import Arguments, Program
from weft.costs.constants import BY_LEVEL, Constants
from weft.cuda.compiled import CompiledKernel, KernelSource
from weft.frontend.python.typeof import typeof
from weft.machine.host import chosen
from weft.options import CompileOptions
from weft.runtime.launch_terms import Specializations
from weft.runtime.shape import launch_shape

WIDTHS = (1, 4, 8, 16, 32, 64)

LEAST_SAMPLE = 2e-4
"""Seconds of a sample: short launches are repeated."""


@contextmanager
def under(constants: Constants | None) -> Iterator[None]:
    """Compile under these constants for the chosen machine; None for those that it has."""
    if constants is None:
        yield
        return
    with mock.patch.dict(BY_LEVEL, {chosen().isa.name: constants}):
        yield


@dataclass(slots=True)
class Code:
    """One way to compile a program.

    Parameters
    ----------
    key
        Tells texts apart.
    label
        How it came about first.
    kernel
        Ready to be launched.
    """

    key: str
    label: str
    kernel: CompiledKernel


def make(
    program: Program,
    label: str,
    constants: Constants | None = None,
    width: int | None = None,
    boscc: str = "auto",
) -> Code:
    """Take a program through the passes; machine code is made when it is first launched."""
    arguments = program.data[0]()
    types = tuple(typeof(a) for a in arguments)
    shape = launch_shape(*program.launch(arguments), 0)
    options = CompileOptions(fastmath=program.fast, width=width, boscc=boscc, whole_rows=True)
    with under(constants):
        versions = Specializations(lambda code, others: _compiled(program, code.types, others))
        kernel = versions.serving(_compiled(program, types, options), shape, large=False)
        text = kernel.lowered().text
    return Code(hashlib.sha256(text.encode()).hexdigest()[:16], label, kernel)


def _compiled(program: Program, types: tuple, options: CompileOptions) -> CompiledKernel:
    return CompiledKernel(KernelSource(program.kernel, options), types)


class WrongResultError(Exception):
    """A code computes something else than the first one."""


class Stage:
    """One set of data of a program, on which all its codes run by turns."""

    def __init__(self, program: Program, make_data: Callable[[], Arguments]) -> None:
        self.program = program
        self.given = make_data()
        self.arguments = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in self.given)
        self.shape = launch_shape(*program.launch(self.given), 0)
        self._written: tuple[int, ...] = ()
        self._expected: tuple[np.ndarray, ...] = ()

    def run(self, code: Code, times: int = 1) -> float:
        """Return the CPU time of a launch."""
        launcher = code.kernel.launcher
        for k in self._written:
            self.arguments[k][...] = self.given[k]
        begin = time.thread_time()
        for _ in range(times):
            launcher.launch(self.shape, self.arguments, checked=True)
        return (time.thread_time() - begin) / times

    def check(self, code: Code) -> None:
        """Compare what a code computes with what the first one has.

        Raises
        ------
        WrongResultError
            It is something else.
        """
        self.run(code)
        if not self._written:
            arrays = [k for k, a in enumerate(self.given) if isinstance(a, np.ndarray)]
            self._written = tuple(
                k for k in arrays if not np.array_equal(self.given[k], self.arguments[k], equal_nan=True)
            )
            self._expected = tuple(self.arguments[k].copy() for k in self._written)
        for k, wanted in zip(self._written, self._expected, strict=True):
            wrong = ~np.isclose(self.arguments[k], wanted, rtol=1e-3, atol=1e-3)
            if wrong.sum() > self.program.tolerance * wrong.size:
                raise WrongResultError(f"{self.program.name}: {code.label} differs from the first")


def measure(program: Program, codes: Sequence[Code], rounds: int) -> list[float]:
    """Return the CPU time of each code: the least of rounds by turns, and the geometric mean over the sets of data.

    The least, since what else the machine does only adds: on a busy machine medians of one code differ by a fifth,
    these by a twentieth.

    Raises
    ------
    WrongResultError
        One computes something else than the first one.
    """
    logs = [0.0] * len(codes)
    for make_data in program.data:
        stage = Stage(program, make_data)
        times: list[int] = []
        for code in codes:
            stage.check(code)
            times.append(max(1, round(LEAST_SAMPLE / max(stage.run(code), 1e-6))))
        seconds: list[list[float]] = [[] for _ in codes]
        order = list(range(len(codes)))
        shuffled = random.Random(1)
        for _ in range(rounds):
            # What ran before leaves caches and clock rates behind.
            shuffled.shuffle(order)
            for k in order:
                seconds[k].append(stage.run(codes[k], times[k]))
        for k, own in enumerate(seconds):
            # Virtual machines have clocks of a thread that may go back.
            logs[k] += math.log(min(s for s in own if s > 0)) / len(program.data)
    return [math.exp(total) for total in logs]
