"""The loops as kernels of a GPU: PTX by LLVM behind each policy, and cycles that the cost model predicts for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.ptx import Assembled, assemble
from bench.scalar_replacement.loops import ROWS, SOURCE, data
from weft import cuda, ptx
from weft.device.simulation import simulated
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.machine.cuda_tools import find_program
from weft.ptx_kernel import ptx_of_module
from weft.simt.result import Simulation
from weft.transform.scalar_replacement.policy import PolicyName

GRID, BLOCK = 2, 128
_KERNEL = """
extern "C" __global__ void {name}_kernel(const float *__restrict__ a, const float *__restrict__ b,
                                         const int *__restrict__ k, float *__restrict__ out, int n) {{
    {name}(blockIdx.x * blockDim.x + threadIdx.x + 8, a, b, k, out, n);
}}
"""


@dataclass(slots=True)
class Kernels:
    """The loops as kernels in CUDA C++.

    Parameters
    ----------
    names
        Which ones.
    arch
        The GPU that PTX is for.
    """

    names: Sequence[str]
    arch: str
    _texts: dict[str, str] = field(default_factory=dict)
    _ptx: dict[tuple[str, PolicyName], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        text = re.sub(r"^void (?=\w+\(ARGS\))", "static __device__ void ", SOURCE.read_text(), flags=re.M)
        text = text.replace("restrict", "__restrict__")
        module = cuda.Module(text + "".join(_KERNEL.format(name=name) for name in self.names))
        for name in self.names:
            self._texts[name] = write_module(simulated(module[f"{name}_kernel"].origin))

    def ptx(self, name: str, policy: PolicyName) -> str:
        """The PTX of a loop by a policy, where the cost model chooses."""
        known = self._ptx.get((name, policy))
        if known is None:
            module = read_module(self._texts[name])
            function = module.functions[f"{name}_kernel"]
            types = [str(argument.type) for argument in function.args]
            known = ptx_of_module(
                module, function, types, self.arch, lines=False, scalar_replacement=policy
            ).text
            self._ptx[name, policy] = known
        return known

    def assembled(self, name: str, policy: PolicyName) -> tuple[int, Assembled]:
        """Loads in the PTX of a loop, and what ``ptxas`` makes of it."""
        text = self.ptx(name, policy)
        return len(re.findall(r"^\s+ld\.global", text, re.MULTILINE)), assemble(text, self.arch)

    def simulation(self, name: str, policy: PolicyName) -> tuple[Simulation, bytes]:
        """What the model says of some blocks, and what they wrote; registers are those of ``ptxas`` if it is there."""
        kernel = ptx.Module(self.ptx(name, policy))[f"{name}_kernel"]
        a, b, k, out = data()
        # What a loop does not use is no address, and then a number.
        given = (a, b, k, out, ROWS, np.zeros(1, np.uint64))
        passed = [
            value if isinstance(value, int) or argument.passing == "buffer" else 0
            for value, argument in zip(given, kernel.info.arguments, strict=True)
        ]
        registers = None
        if find_program("ptxas") and find_program("nvdisasm"):
            registers = self.assembled(name, policy)[1].registers
        return kernel.simulate(GRID, BLOCK, *passed, registers=registers), out.tobytes()


def issued_loads(simulation: Simulation) -> int:
    """How often a warp did a load."""
    return sum(access.counts.requests for access in simulation.accesses if access.kind == "load")
