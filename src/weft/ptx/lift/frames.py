"""Stack objects that memory instructions reach by constant distances: accesses of them name them.

Compilers that do not optimize keep every variable in one stack object of the function, ``__local_depot``, pointers
among them, and reach it by its generic address. `name_frames` makes pointers of those addresses, so that ``sroa``
makes values of what is in there; then the objects that *these* lead into can be found, and other stack objects, of
which one held the address. So both take turns until nothing is left that ``sroa`` would take.

Precondition: ``sroa`` has made values of registers. Same memory, same values.
"""

from __future__ import annotations

from weft.ir import Function, Instruction, Module, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.constants import ConstInt
from weft.ptx.lift.disjoint_bits import write_sums
from weft.ptx.lift.pointers import Pointers
from weft.ptx.lift.roots import RootAnalysis

_ARITHMETIC = frozenset(
    (
        "add",
        "sub",
        "mul",
        "shl",
        "and",
        "or",
        "trunc",
        "zext",
        "sext",
        "ptrtoint",
        "inttoptr",
        "getelementptr",
    )
)


def name_frames(module: Module) -> bool:
    """Let accesses of stack objects name these; return whether ``sroa`` can make values of one."""
    found = False
    for function in module.definitions():
        objects = [i for i in function.instructions() if i.op == "alloca"]
        if not objects:
            continue
        _name(function, set(objects))
        found |= any(_is_plain(o) for o in objects)
    return found


def _name(function: Function, objects: set[Instruction]) -> None:
    write_sums(function)
    # No parameter is an address here: in the sum of one and of a stack object, that is the object's.
    analysis = RootAnalysis(function, False, frozenset())
    analysis.solve()
    pointers = Pointers(function, analysis)
    for cast in [i for i in function.instructions() if i.op == "inttoptr"]:
        address = cast.operands[0]
        roots = analysis.roots(address)
        if len(roots) == 1 and analysis.is_whole(address) and _object_of(*roots) in objects:
            replace_and_erase(cast, pointers.pointer(address))
    _drop_dead(function)


def _object_of(root: Value) -> Value | None:
    if isinstance(root, Instruction) and root.op == "ptrtoint":
        return root.operands[0]
    return root


def _drop_dead(function: Function) -> None:
    """Erase arithmetic that nothing uses, which would keep the address of an object."""
    work = [i for i in function.instructions() if not i.is_used and i.op in _ARITHMETIC]
    while work:
        dead = work.pop()
        operands = [o for o in dict.fromkeys(dead.operands) if isinstance(o, Instruction)]
        dead.erase()
        work += [o for o in operands if not o.is_used and o.op in _ARITHMETIC]


def _is_plain(object: Instruction) -> bool:
    """Whether all that is done with an object is reading and writing at constant distances."""
    work: list[Instruction] = [object]
    while work:
        pointer = work.pop()
        for user in pointer.instruction_users():
            match user.op:
                case "load" if user.is_plain_access:
                    continue
                case "store" if user.operands[0] is not pointer and user.is_plain_access:
                    continue
                case "getelementptr" if all(isinstance(o, ConstInt) for o in user.operands[1:]):
                    work.append(user)
                case _:
                    return False
    return True
