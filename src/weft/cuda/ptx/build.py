"""PTX from its text to what kernels are compiled from: the same program that CUDA C++ becomes.

Kernels are lifted one by one when they are first asked for, so that one that weft cannot run stands in no other's way.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from weft.cuda.c.source import STATE_BYTES, CudaSource
from weft.diag.errors import ArgumentError
from weft.frontend.cuda_c.adopt import assertions_of
from weft.frontend.cuda_c.arguments import WARP
from weft.frontend.cuda_c.options import CudaOptions
from weft.frontend.cuda_c.variables import Variable
from weft.frontend.device.memory import Scope, scope_of
from weft.frontend.device.metadata import ADDRESS, SIGNLESS, UNUSED, ArgumentInfo, KernelInfo, Passing
from weft.ir import Function, Instruction, Module
from weft.ir.reader import read_module
from weft.ir.types import FloatType, Type
from weft.ir.writer import write_module
from weft.ptx import syntax
from weft.ptx.lift.addresses import find_objects
from weft.ptx.lift.calls import is_memory
from weft.ptx.lift.device_runtime import settle_runtime
from weft.ptx.lift.escapes import may_be_addresses
from weft.ptx.lift.frames import name_frames
from weft.ptx.lift.kernel import lift_kernel
from weft.ptx.lift.types import bits_of, is_float, is_signed
from weft.ptx.lift.variables import align_of, module_variables, size_of
from weft.target.machine import TargetSpec
from weft.target.once import COMPILING
from weft.target.passes import SROA_ONLY, optimize

_MOST_FRAMES = 8
"""How often stack objects are looked at anew: each time is for functions whose arguments are kept in the one before."""


class PtxProgram(Struct):
    """A PTX module, its kernels as they are asked for.

    Parameters
    ----------
    text
        The module.
    file
        What messages call it.
    scope
        Its variables in global and constant memory.
    lock_step
        Whether warps of all kernels run in lock step.
    """

    text: syntax.Module
    file: str
    scope: Scope
    lock_step: bool = False
    _kernels: dict[str, CudaSource] = field(default_factory=dict)

    @classmethod
    def of(cls, text: syntax.Module, file: str, lock_step: bool = False) -> PtxProgram:
        """Find the variables of a module.

        Raises
        ------
        UnsupportedError
            A variable begins with what a CPU cannot have.
        """
        module = Module("scope")
        module_variables(text, module)
        return cls(text, file, scope_of(module, reserved=STATE_BYTES), lock_step)

    def kernel(self, name: str) -> CudaSource:
        """What a kernel is compiled from.

        Raises
        ------
        ArgumentError
            There is no such kernel.
        UnsupportedError
            It has what weft cannot run, at the instruction's line.
        """
        if name not in self._kernels:
            names = [f.name for f in self.text.entries()]
            if name not in names:
                raise ArgumentError(f"{self.file} has no kernel {name}", hint=f"it has {', '.join(names)}")
            self._kernels[name] = self._lift(name)
        return self._kernels[name]

    def _lift(self, name: str) -> CudaSource:
        source = self.text.function(name)
        with COMPILING:
            module = _with_values(lift_kernel(self.text, name, self.lock_step))
        kernel = module.functions[name]
        through: dict[int, list[Instruction]] = {}
        marked = frozenset(
            k for k, parameter in enumerate(source.parameters) if parameter.pointer is not None
        )
        for function in list(module.definitions()):
            found = find_objects(function, marked if function is kernel else frozenset())
            settle_runtime(function)
            if function is kernel:
                through = found
        info = _kernel_info(self, source, kernel, through)
        text = write_module(module, plain=True)
        return replace(self.bare(), text=text, kernels={name: info}, assertions=assertions_of(module))

    def bare(self) -> CudaSource:
        """The module without kernels."""
        return CudaSource("", "", self.file, CudaOptions(), {}, (), self.scope, self.variables(), ())

    def variables(self) -> dict[str, Variable]:
        """The variables that the host may set and read."""
        return {
            v.name: Variable(v.name, _dtype_of(v))
            for v in self.text.variables()
            if v.name in self.scope.offsets
        }


def _with_values(module: Module) -> Module:
    """The module with values in the place of registers, and of what compilers keep in memory of a thread's own."""
    machine = TargetSpec.chosen().machine
    module = read_module(optimize(write_module(module, plain=True), SROA_ONLY, machine))
    for _ in range(_MOST_FRAMES):
        if not name_frames(module):
            break
        module = read_module(optimize(write_module(module, plain=True), SROA_ONLY, machine))
    return module


def _code(type: str) -> str:
    """NumPy's code of a type; empty for those that NumPy does not have."""
    if type.startswith("bf") or type.endswith("x2") or type == "b128":
        return ""
    kind = "f" if is_float(type) else "i" if is_signed(type) else "u"
    return f"{kind}{bits_of(type) // 8}"


def _dtype_of(variable: syntax.Variable) -> Any:
    code = _code(variable.type) or f"V{bits_of(variable.type) // 8}"
    extents = [e or 0 for e in variable.extents] + ([variable.vector] if variable.vector else [])
    return [code, extents] if extents else code


def _kernel_info(
    program: PtxProgram, source: syntax.Function, kernel: Function, through: dict[int, list[Instruction]]
) -> KernelInfo:
    kept = may_be_addresses(kernel)
    arguments = tuple(
        _argument(parameter, k, through.get(k), is_used=any(kernel.args[k].users), is_kept=k in kept)
        for k, parameter in enumerate(source.parameters)
    )
    required = source.directive("reqntid")
    size: tuple[int, int, int] | None = None
    if required is not None:
        x, y, z = [*(int(v) for v in required.values), 1, 1][:3]
        size = (x, y, z)
    return KernelInfo(
        source.name, arguments, required_size=size,
        sub_group_size=WARP, file=program.file, line=source.line,
    )  # fmt: skip


def _argument(
    parameter: syntax.Variable,
    number: int,
    accesses: list[Instruction] | None,
    *,
    is_used: bool,
    is_kept: bool,
) -> ArgumentInfo:
    name, line = parameter.name, parameter.line
    size, align = size_of(parameter), align_of(parameter)
    if is_memory(parameter):
        return ArgumentInfo(
            name, f".{parameter.type}[{size}]", "private", "none", (), Passing.RECORD, size, align, line=line
        )
    if accesses is not None:
        element, target = _accessed(accesses)
        kind = (
            parameter.pointer.space if parameter.pointer is not None and parameter.pointer.space else "global"
        )
        return ArgumentInfo(
            name, f".{parameter.type} address", kind if kind in ("global", "constant") else "global", "none", (),
            Passing.BUFFER, 8, target, element, 1, (), line,
        )  # fmt: skip
    qualifiers: tuple[str, ...] = (SIGNLESS,)
    if size == 8 and not is_float(parameter.type):
        qualifiers += (ADDRESS,) * is_kept + (UNUSED,) * (not is_used)
    return ArgumentInfo(
        name, f".{parameter.type}", "private", "none", qualifiers, Passing.VALUE, size, size,
        _value_code(parameter.type), 1, (), line,
    )  # fmt: skip


def _value_code(type: str) -> str:
    return _code(type) or f"u{bits_of(type) // 8}"


def _accessed(accesses: list[Instruction]) -> tuple[str, int]:
    """NumPy's code of what all accesses of a parameter agree on, and the least alignment that they ask for."""
    types = {i.accessed_type for i in accesses}
    align = max((min(i.alignment, 16) for i in accesses), default=1)
    if len(types) != 1:
        return "", align
    return _code_of(types.pop()), align


def _code_of(type: Type) -> str:
    """NumPy's code of a type; integers of a register may be anything of their size."""
    if isinstance(type, FloatType):
        return "" if type.kind == "bfloat" else f"f{type.bits // 8}"
    return ""
