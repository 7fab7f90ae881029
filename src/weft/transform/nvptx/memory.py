"""Shared memory as variables of the address space that hardware has for it, and atomics for the whole GPU.

Objects of P-LLVM are numbered; here each is an internal variable in address space 3, and the dynamic one an external
array without a size, which the launch gives. Atomic operations of P-LLVM are seen by all threads of the launch: scope
``device``. Ones on shared memory are seen by the work-group: ``block``.
"""

from __future__ import annotations

from weft.ir import ConstInt, Function, GlobalVariable, Instruction, Module
from weft.ir.builder import address_space
from weft.ir.constants import Poison
from weft.ir.intrinsics import SHARED_ATTRIBUTE, SHARED_SPACE
from weft.ir.types import I8, ArrayType

_DYNAMIC_ALIGN = 16
_SCOPED = ("atomicrmw", "cmpxchg")


def lower_shared(module: Module, kernel: Function) -> None:
    """Make variables of the shared objects of `kernel`, and use them.

    Precondition: ``weft.shared`` with constant numbers. Postcondition: no function asks for shared memory.
    """
    names: dict[int, GlobalVariable] = {}
    sizes = [item.split(":") for item in (kernel.attribute(SHARED_ATTRIBUTE) or "").split(",") if item]
    for function in list(module.definitions()):
        for call in [
            i for i in function.instructions() if i.callee_name in ("weft.shared", "weft.shared.dynamic")
        ]:
            if call.callee_name == "weft.shared.dynamic":
                number, size, align = -1, 0, _DYNAMIC_ALIGN
            else:
                index = call.args[0]
                assert isinstance(index, ConstInt), "the number of a shared object is no constant"
                number = index.value
                size, align = (int(part) for part in sizes[number])
            if number not in names:
                names[number] = _variable(module, kernel, number, size, align)
            call.replace_all_uses(names[number])
            call.erase()


def _variable(module: Module, kernel: Function, number: int, size: int, align: int) -> GlobalVariable:
    type = ArrayType(I8, size)
    base = f"{kernel.name}.shared" + (f".{number}" if number >= 0 else "")
    initializer = Poison(type) if number >= 0 else None
    variable = GlobalVariable(module.unused_name(base), type, initializer, space=SHARED_SPACE)
    variable.linkage.linkage = "internal" if number >= 0 else "external"
    variable.linkage.align = align
    return module.add_global(variable)


def scope_atomics(module: Module) -> None:
    """Give atomic operations without a scope the widest that kernels can see, not that of the whole system."""
    for function in module.definitions():
        for instruction in function.instructions():
            if instruction.op in _SCOPED and not instruction.attrs.get("syncscope"):
                instruction.attrs["syncscope"] = _scope(instruction)


def _scope(atomic: Instruction) -> str:
    return "block" if address_space(atomic.operands[0]) == SHARED_SPACE else "device"
