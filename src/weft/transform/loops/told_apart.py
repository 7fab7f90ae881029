"""What the caller promises of arrays, told to LLVM, for threads that run by themselves.

    before:  void f(ptr %a, ptr %b)                       "arrays apart"
    after:   void f(ptr noalias %a, ptr noalias %b)

LLVM's vectorizers ask where loops begin whether what they store is apart from what they load. Of short rows that takes
longer than the row, so that none of them would be vectorized; nor does LLVM ask before straight code. Loops that store
nothing need no answer, and threads around them would be taken together with one: dots of 24 floats took 2.5 times as
long.

``noalias`` promises more than the launcher does: that nothing else than pointers from the parameter leads to the
array. So all that is accessed has to be seen to be a parameter, or an object of the function's own; arrays that code
has the address of, and pointers that are loaded, might be the same as one of a parameter.

Precondition: P-LLVM. Postcondition: the same, with attributes. Preserves the program where the promise holds.
"""

from __future__ import annotations

from weft.analysis.memory.alias import is_identified, locate
from weft.graph.loops import loop_forest
from weft.ir import Argument, Function, Instruction
from weft.ir.cfg_view import cfg_of
from weft.ir.effects import may_read, may_write
from weft.ir.intrinsics import ARRAYS_APART_ATTRIBUTE


def tell_apart(function: Function) -> bool:
    """Tell LLVM that parameters are apart, where that is promised and a loop may gain; whether it was."""
    if function.attribute(ARRAYS_APART_ATTRIBUTE) is None:
        return False
    view = cfg_of(function)
    repeated = {view.blocks[b] for loop in loop_forest(view.cfg).loops for b in loop.blocks}
    arrays, stores = set[Argument](), False
    for i in function.instructions():
        if not (may_read(i) or may_write(i)):
            continue
        if not i.is_plain_access:
            return False
        base = locate(i.pointer, function.layout).base
        if isinstance(base, Argument):
            arrays.add(base)
            stores |= i.op == "store" and i.block in repeated
        elif not is_identified(base):
            return False
        if _is_of_pointer(i):
            return False
    if not stores or len(arrays) < 2:
        return False
    for argument in arrays:
        if "noalias" not in argument.attributes:
            argument.attributes = ("noalias", *argument.attributes)
    return True


def _is_of_pointer(access: Instruction) -> bool:
    """Whether an address is loaded, or stored: it may come back from where it is."""
    return (access.operands[0] if access.op == "store" else access).type.is_pointer
