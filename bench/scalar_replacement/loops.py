"""The loops of ``c/loops.c``, their data, and the loads that they do on the interpreter."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from weft.analysis.divergence import analyze_divergence
from weft.analysis.shapes import domain_named
from weft.frontend.clang import compile_c
from weft.interp import Memory, run_function
from weft.interp.machine import Machine
from weft.ir import Function, Instruction, Module
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.passes.adopt import adopt
from weft.target.machine import TargetSpec
from weft.target.passes import CANONICAL, optimize
from weft.transform.scalar_replacement.policy import POLICIES, PolicyName
from weft.transform.scalar_replacement.replacement import replace_loads

SOURCE = Path(__file__).parent / "c" / "loops.c"
THREADS, PART, ROWS = 1024, 64, 64
LOOPS = (
    "stencil5", "stencil5_part", "stencil5_masked", "stencil9", "stencil25", "sobel", "bilateral", "fir", "conv1d",
    "conv2d", "smith_waterman", "prefix_sum", "btree", "bfs", "kmeans", "neighbours", "barnes_hut", "matrix_chain",
)  # fmt: skip
"""Functions of the source; each has reuse across iterations, or in arms of branches."""

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def data() -> Arrays:
    """The arrays `a`, `b`, `k` and `out`, with room around what is read."""
    rng = np.random.default_rng(4)
    a = rng.random((ROWS + 2) * THREADS + 8, np.float32)
    b = rng.random(256, np.float32)
    k = rng.integers(0, 1024, ROWS * THREADS, dtype=np.int32)
    return a, b, k, np.zeros((ROWS + 2) * THREADS, np.float32)


def program(spec: TargetSpec) -> Module:
    """The canonical program with all loops."""
    text = write_module(adopt(compile_c(SOURCE, spec.triple), str(SOURCE)), plain=True)
    return read_module(optimize(text, CANONICAL, spec.machine))


def replaced(module: Module, name: str, policy: PolicyName, width: int) -> Module:
    """A copy of the program behind scalar replacement of all loads that can be replaced, whatever it costs."""
    copy = read_module(write_module(module))
    function = copy.functions[name]
    if policy is not PolicyName.OFF:

        def divergence():
            return _divergence(function, width)

        replace_loads(function, POLICIES[policy], divergence)
    return copy


def _divergence(function: Function, width: int):
    domain = domain_named("product", (width,))
    shapes = dict.fromkeys(function.args, domain.uniform())
    shapes[function.args[0]] = domain.strided(1, 1, 32)
    return analyze_divergence(function, domain=domain, initial=shapes, width=width)


class _Loads:
    def __init__(self) -> None:
        self.threads = self.issued = 0

    def on_access(
        self, machine: Machine, i: Instruction, addresses: np.ndarray, mask: np.ndarray, kind: str, size: int
    ) -> None:
        if i.op == "load" and mask.any():
            self.threads += int(mask.sum())
            self.issued += 1


def loads(module: Module, name: str, width: int) -> tuple[int, int, bytes]:
    """The loads of some lanes, how often a lane group did one, and what the loop wrote."""
    arrays = data()
    memory, counter = Memory(), _Loads()
    a, b, k, out = (memory.map_array(array) for array in arrays)
    # Threads look to the left of their own column.
    lanes = np.arange(width, dtype=np.int32) + 8
    run_function(module, name, [lanes, a, b, k, out, ROWS], width, memory=memory, hooks=[counter])
    return counter.threads, counter.issued, arrays[3].tobytes()
