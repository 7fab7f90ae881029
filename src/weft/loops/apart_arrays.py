"""Array arguments that do not overlap, as the caller of a function sees to.

Where arrays overlap of which one is written to, a call gets code of its own; all other code is told that each array is
apart from all others (``noalias``). So loops that write one array and read another need no test for that, and no
version for when it fails, and what was read stays known across stores.

``noalias`` says that nothing but pointers from the parameter leads to what is written. So nothing is promised of
functions that are given memory in other ways: in tuples of arrays, in records, or as arrays whose addresses they hold.

Precondition: a function as the front end makes it; `written_arrays` wants functions inlined where they are called.
Postcondition: `promise_apart` adds attributes, the other one changes nothing. Preserves the program where the promise
holds.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.analysis.memory.alias import bases_of, is_identified
from weft.frontend.python.compile import FrontendResult
from weft.frontend.python.components import has_extents
from weft.frontend.python.types import Array, Callee, KernelType, NoneType, Scalar, Tuple
from weft.ir import Argument, Function, Instruction, Module, Value
from weft.ir.effects import may_write


def arrays_of(made: FrontendResult) -> dict[int, int]:
    """The IR parameters that lead to arrays, by the numbers of arguments, if it can matter whether these overlap.

    None of them if there is one array only, or a function may come to their memory in other ways.
    """
    if made.captured or not all(_is_known(param.type) for param in made.params):
        return {}
    arrays = {n: param.first for n, param in enumerate(made.params) if isinstance(param.type, Array)}
    return arrays if len(arrays) > 1 else {}


def promise_apart(function: Function, arrays: Mapping[int, int]) -> None:
    """Promise of a function's arrays that they are apart."""
    for number in arrays.values():
        argument = function.args[number]
        argument.attributes = ("noalias", *argument.attributes)


def written_arrays(module: Module, function: Function, arrays: Mapping[int, int]) -> tuple[int, ...]:
    """Which arrays, by the numbers of arguments, a function may write to."""
    parameters: dict[Value, int] = {function.args[first]: number for number, first in arrays.items()}
    written: set[int] = set()
    for each in module.definitions():
        for instruction in each.instructions():
            if not may_write(instruction):
                continue
            for pointer in _written_through(instruction):
                for base in bases_of(pointer, function.layout):
                    if base in parameters:
                        written.add(parameters[base])
                    elif isinstance(base, Argument) or not is_identified(base):
                        return tuple(arrays)
    return tuple(sorted(written))


def _written_through(instruction: Instruction) -> list[Value]:
    """The pointers by which an instruction may write, or let others write."""
    if instruction.op in ("store", "atomicrmw", "cmpxchg"):
        kept = [v for v in instruction.operands if v is not instruction.pointer and v.type.is_pointer]
        return [instruction.pointer, *kept]
    values = instruction.args if instruction.op == "call" else instruction.operands
    if (instruction.callee_name or "").startswith("llvm.mem"):
        # What they read from comes second.
        values = values[:1]
    return [value for value in values if value.type.is_pointer]


def _is_known(type: KernelType) -> bool:
    """Whether the only memory that an argument leads to is an array's."""
    if isinstance(type, Array):
        return has_extents(type) and type.space == 0
    if isinstance(type, Tuple):
        return all(not isinstance(item, Array) and _is_known(item) for item in type.items)
    return isinstance(type, (Scalar, NoneType, Callee))
