"""Kernels of any door as PTX: the module, and which argument is in which of its parameters."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.analysis.divergence import analyze_divergence
from weft.costs.gpu_replaced_loads import GpuReplacedLoads
from weft.ir import Function, Module
from weft.ir.reader import read_module
from weft.ir.types import FloatType, IntType, Type
from weft.ir.writer import write_module
from weft.machine.gpus import WARP, architecture
from weft.switches import DEFAULT_REPLACEMENT
from weft.target.machine import TargetSpec
from weft.target.once import COMPILING
from weft.target.passes import CANONICAL, optimize
from weft.target.ptx import emit_ptx, require_target
from weft.transform.nvptx.lower import lower_to_nvptx, users_of
from weft.transform.nvptx.mathematics import PREFIX
from weft.transform.scalar_replacement.policy import POLICIES, Policy, PolicyName
from weft.transform.scalar_replacement.replacement import replace_loads


class PtxParameter(Struct, frozen=True):
    """A parameter of an entry point.

    Parameters
    ----------
    name
        What it holds of which argument.
    about
        The argument's type in the source language.
    size
        Its bytes, to a multiple of which it is aligned.
    """

    name: str
    about: str
    size: int


class PtxKernel(Struct, frozen=True):
    """A kernel in PTX.

    Parameters
    ----------
    text
        The module.
    entry
        The name of the kernel in it.
    parameters
        Its parameters, in order.
    """

    text: str
    entry: str
    parameters: tuple[PtxParameter, ...]

    def table(self) -> str:
        """Which argument is in which parameter, one a line: number, offset, bytes, what it is."""
        lines = [f"{self.entry}: {len(self.parameters)} parameters"]
        offset = 0
        for number, each in enumerate(self.parameters):
            offset = -(-offset // each.size) * each.size
            lines.append(f"{number:4} {offset:6} {each.size:3}  {each.name} ({each.about})")
            offset += each.size
        return "\n".join(lines) + "\n"


def ptx_of_module(
    module: Module,
    kernel: Function,
    about: Sequence[str],
    arch: str,
    *,
    lines: bool = True,
    exact: bool = True,
    max_registers: int | None = None,
    scalar_replacement: str = DEFAULT_REPLACEMENT,
) -> PtxKernel:
    """The PTX of a kernel's P-LLVM, which is used up.

    Parameters
    ----------
    module, kernel
        The program for one thread, as front ends make it.
    about
        Of each parameter, the type of the argument that it is of.
    arch
        As ``ptxas`` spells it, ``sm_90``.
    lines
        Whether PTX names lines of the source.
    exact
        Whether mathematics keeps exact roots and denormals.
    max_registers
        The ``.maxnreg`` of the kernel, if it has one.
    scalar_replacement
        By which policy loads are replaced whose values are known, where the model of a GPU expects to win by it.

    Raises
    ------
    UnsupportedError
        The kernel uses something that a GPU does not have.
    SettingError
        There is no such architecture.
    UnresolvedError
        The kernel calls functions of libdevice, which is not installed.
    """
    parameters = tuple(
        PtxParameter(argument.name, text, _size(argument.type))
        for argument, text in zip(kernel.args, about, strict=True)
    )
    require_target(arch)
    if scalar_replacement != PolicyName.OFF:
        module, kernel = with_known_loads(module, kernel, POLICIES[PolicyName(scalar_replacement)], arch)
    lower_to_nvptx(module, kernel)
    if max_registers is not None:
        kernel.attributes = (*kernel.attributes, f'"nvvm.maxnreg"="{max_registers}"')
    functions = users_of(module, PREFIX)
    present = [*module.functions, *module.globals]
    text = emit_ptx(write_module(module, plain=True), arch, functions, present, lines=lines, exact=exact)
    return PtxKernel(text, kernel.name, parameters)


def with_known_loads(module: Module, kernel: Function, policy: Policy, arch: str) -> tuple[Module, Function]:
    """The kernel behind scalar replacement, and LLVM's scalar passes, where that pays; else as it is.

    Arrays may overlap, as far as the program does not say otherwise: nobody looks at them when a GPU is launched.
    """
    if not any(i.op == "load" for f in module.definitions() for i in f.instructions()):
        return module, kernel
    with COMPILING:
        text = optimize(write_module(module, plain=True), CANONICAL, TargetSpec.chosen().machine)
    made = read_module(text)
    function, machine = made.functions[kernel.name], architecture(arch)
    summary = replace_loads(
        function,
        policy,
        lambda: analyze_divergence(function, width=WARP),
        judge=lambda divergence: GpuReplacedLoads(divergence, machine),
    )
    return (made, function) if summary.changed else (module, kernel)


def _size(type: Type) -> int:
    return type.bits // 8 if isinstance(type, (IntType, FloatType)) else 8
