"""From integers to pointers: which object each access of a lifted kernel leads into.

In PTX an address is an integer. Here each integer that memory is accessed by is taken apart: sums, φs and selects are
followed to the *roots*, which are parameters of the kernel, variables, stack objects, and addresses loaded from memory
(`roots`), and pointers are made of them (`pointers`).
A parameter that is a root of an access becomes a pointer; an address with one root becomes its pointer and an offset,
one with several a φ of pointers. What is none of this stays an integer, which is right for every program and tells the
analyses nothing.

Shared addresses are 64-bit pointers whose upper half a program may drop, since all shared memory of a work-group lies
within 4 GiB: `SHARED_ADDRESS` asks for the whole of one.

Precondition: ``sroa`` has made values of registers. Postcondition: no call of `SHARED_ADDRESS`. Same memory, same
values.
"""

from __future__ import annotations

from weft.ir import Argument, Builder, Function, Instruction, Value
from weft.ir.builder import address_space
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.intrinsics import KERNEL_ATTRIBUTE, SHARED_SPACE
from weft.ir.result_types import gep_type
from weft.ir.types import I32, I64
from weft.ptx.lift.disjoint_bits import write_sums
from weft.ptx.lift.memory import SHARED_ADDRESS
from weft.ptx.lift.pointers import Pointers, later
from weft.ptx.lift.roots import RootAnalysis


def find_objects(function: Function, marked: frozenset[int] = frozenset()) -> dict[int, list[Instruction]]:
    """Let accesses of `function` name their objects; return the accesses through each parameter, by its number.

    Parameters
    ----------
    function
        The function.
    marked
        The parameters that the source calls pointers (``.ptr``). Where it calls some so, others are numbers: in the sum
        of an address and an extent, both could be either. They are pointers even where no access is seen to lead
        through them, as when addresses were spilled to memory.
    """
    write_sums(function)
    is_kernel = function.attribute(KERNEL_ATTRIBUTE) is not None
    analysis = RootAnalysis(function, is_kernel, marked)
    analysis.solve()
    casts = [i for i in function.instructions() if i.op == "inttoptr"]
    accessed = {cast: analysis.roots(cast.operands[0]) for cast in casts}
    parameters = [
        a
        for a in function.args
        if any(a in roots for roots in accessed.values())
        or (is_kernel and a.index in marked and a.type == I64)
    ]
    through: dict[int, list[Instruction]] = {a.index: [] for a in parameters}
    for cast, roots in accessed.items():
        for root in roots:
            if isinstance(root, Argument) and root.index in through:
                through[root.index] += _accesses(cast)
    pointers = Pointers(function, analysis)
    pointers.make_pointers(parameters)
    for cast in casts:
        _replace(cast, pointers.pointer(cast.operands[0]))
    _settle_shared(function, pointers)
    _drop_unused(function)
    return through


def _accesses(cast: Instruction) -> list[Instruction]:
    found: list[Instruction] = []
    for user in cast.instruction_users():
        found += _accesses(user) if user.op == "getelementptr" else [user]
    return found


def _replace(cast: Instruction, address: Value) -> None:
    """Let users of a cast have another pointer, which may lead into another address space."""
    if address.type != cast.type:
        for user in list(cast.instruction_users()):
            if user.op == "getelementptr":
                user.replace_operand(cast, address)
                user.type = gep_type(tuple(user.operands))
    replace_and_erase(cast, address)


def _settle_shared(function: Function, pointers: Pointers) -> None:
    """Put the whole address in the place of each call that asks for it."""
    for call in [i for i in function.instructions() if i.callee_name == SHARED_ADDRESS]:
        if not call.is_used:
            continue
        builder = Builder(before=call)
        builder.loc = call.loc
        roots = pointers.analysis.roots(call)
        module = function.module
        assert module is not None
        shared = [g for g in module.globals.values() if address_space(g) == SHARED_SPACE]
        if len(roots) == 1 and pointers.analysis.is_whole(call):
            pointer = pointers.pointer(call)
            value: Value = pointers.behind(later(call, pointer)).cast("ptrtoint", pointer, I64)
        elif shared:
            start = builder.cast("ptrtoint", shared[0], I64)
            distance = builder.binary("sub", call.args[0], builder.cast("trunc", start, I32))
            value = builder.binary("add", start, builder.cast("sext", distance, I64))
        else:
            value = builder.cast("zext", call.args[0], I64)
        for user in list(call.users):
            if user is not value:
                user.replace_operand(call, value)


def _drop_unused(function: Function) -> None:
    """Erase calls that ask for shared addresses, and what only they used."""
    work = [i for i in function.instructions() if i.callee_name == SHARED_ADDRESS and not i.is_used]
    while work:
        dead = work.pop()
        operands = [o for o in dead.operands if isinstance(o, Instruction)]
        dead.erase()
        work += [o for o in dict.fromkeys(operands) if not o.is_used and _is_pure(o) and o.block is not None]
    module = function.module
    assert module is not None
    asked = any(i.callee_name == SHARED_ADDRESS for f in module.definitions() for i in f.instructions())
    if not asked:
        module.functions.pop(SHARED_ADDRESS, None)


def _is_pure(value: Instruction) -> bool:
    return value.op in ("add", "sub", "mul", "trunc", "zext", "sext", "ptrtoint", "shl", "and", "or")
