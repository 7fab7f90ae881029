"""Elements of memory that a loop updates again and again, kept in a register while it runs.

    for k: c[i, j] += a[i, k] * b[k, j]        r = c[i, j]; for k: r += a[i, k] * b[k, j]; c[i, j] = r

LLVM does this where it sees that nothing else in the loop touches the element. Here that is known of loops whose
assumptions are tested: what leads to different objects does not meet. Lanes then carry a value, no gather and scatter.

Precondition: a loop with one exit, whose function is loop-closed; its accesses are all described, and objects that are
not the same are apart. Other elements of the same object are apart where that is proved. Postcondition: the element is
loaded before the loop and stored behind it. Preserves the program under FR, for one thread or for threads that do not
meet in the element.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.dependences import DependenceTest
from weft.analysis.sequential.orders import Anyhow
from weft.analysis.sequential.scope import LoopContext
from weft.ir import BasicBlock, Builder, Instruction, Value
from weft.ir.effects import may_read, may_trap, may_write
from weft.transform.ssa_repair import ReachingDefinition


class Promotion(Struct, frozen=True):
    """An element and the loop that it stays in a register for.

    Parameters
    ----------
    loop
        The loop.
    pointer
        The element's address, known before the loop.
    accesses
        The loads and stores.
    is_touched
        Whether it is stored to before or behind the loop in any case; else the loop has to run its body once.
    assumptions
        What it rests on that nothing else in the loop touches the element.
    """

    loop: LoopContext
    pointer: Value
    accesses: tuple[Instruction, ...]
    is_touched: bool
    assumptions: tuple[Assumption, ...] = ()


def find_promotions(accesses: Accesses, around: LoopContext, *, assuming: bool = False) -> list[Promotion]:
    """The elements that can be promoted in innermost loops inside of a loop.

    Parameters
    ----------
    assuming
        Whether they may rest on assumptions other than that objects do not overlap.
    """
    found: list[Promotion] = []
    for loop in around.scope.loops.values():
        innermost = not loop.loop.children
        if loop is around or not innermost or not around.contains(loop) or len(loop.loop.exit_edges) != 1:
            continue
        found += (p for p in _in_loop(accesses, loop, around) if assuming or not p.assumptions)
    return found


def _in_loop(accesses: Accesses, loop: LoopContext, around: LoopContext) -> list[Promotion]:
    known = accesses.of(loop)
    plain = [a for a in known if isinstance(a, Access)]
    if len(plain) != len(known) or any(a.base is None or a.scope is not loop.scope for a in plain):
        return []
    found: list[Promotion] = []
    for store in plain:
        if not store.is_write or store.instruction.op != "store" or not store.is_certain:
            continue
        pointer = store.instruction.pointer
        same = [
            a for a in plain if a.instruction.op in ("load", "store") and a.instruction.pointer is pointer
        ]
        if len({a.instruction.accessed_type for a in same}) > 1 or any(p.pointer is pointer for p in found):
            continue
        # Objects that iterations choose may be the same.
        if any(a.base is not None and a.base.loop is not None for a in plain):
            continue
        if isinstance(pointer, Instruction) and not _is_before(pointer.block, loop):
            continue
        assumptions: tuple[Assumption, ...] | None = ()
        if any(a.base is store.base and a not in same for a in plain):
            assumptions = _apart_from_others(accesses, loop, pointer)
        if assumptions is None:
            continue
        instructions = tuple(dict.fromkeys(a.instruction for a in same))
        touched = _is_touched(pointer, loop, around) or _is_next(accesses, store, loop, around)
        if touched or any(i.op == "store" and _is_always_done(i, loop) for i in instructions):
            found.append(Promotion(loop, pointer, instructions, touched, assumptions))
    return found


def _apart_from_others(
    accesses: Accesses, loop: LoopContext, pointer: Value
) -> tuple[Assumption, ...] | None:
    """What it rests on that no other access of the loop touches an element; None if one may."""
    found = DependenceTest(accesses, loop, order=Anyhow()).run(frozenset())
    pairs = (tuple(_touches(a, pointer) for a in (each.source, each.sink)) for each in found.found)
    if found.opaque or not found.is_complete or any(a != b for a, b in pairs):
        return None
    return tuple(a for a in found.assumptions if a.kind != "overlap")


def _touches(access: Access, pointer: Value) -> bool:
    return access.instruction.op in ("load", "store") and access.instruction.pointer is pointer


def _is_before(block: BasicBlock | None, loop: LoopContext) -> bool:
    scope = loop.scope
    return (
        block is not None
        and scope.view.index[block] not in loop.loop.blocks
        and scope.dominates(block, loop.header)
    )


def _is_touched(pointer: Value, loop: LoopContext, around: LoopContext) -> bool:
    """Whether the element is stored to on every way to the loop, in the same iteration of the loop around.

    Nobody else has it in hand then. If it might not be stored to at all, other iterations might use it.
    """
    if not isinstance(pointer, Instruction):
        return False
    inside = set(around.blocks)
    return any(
        user.op == "store"
        and user.pointer is pointer
        and user.block in inside
        and _is_before(user.block, loop)
        for user in pointer.instruction_users()
    )


def _is_next(accesses: Accesses, store: Access, loop: LoopContext, around: LoopContext) -> bool:
    """Whether the element is stored to behind the loop whatever happens, as nothing before that leaves the function."""
    view = loop.scope.view
    inside = {view.blocks[b] for b in loop.loop.blocks}
    (exit,) = (b for b in view.blocks[loop.loop.exiting[0]].successors if b not in inside)
    calm: set[Instruction] = set()
    for instruction in exit.instructions:
        calm.add(instruction)
        plain = instruction.is_plain_access
        if not plain and (may_read(instruction) or may_write(instruction) or may_trap(instruction)):
            break
    return any(
        isinstance(a, Access)
        and a.is_write
        and a.instruction.is_plain_access
        and a.instruction in calm
        and a.base is store.base
        and a.offset == store.offset
        and a.size == store.size
        for a in accesses.of(around)
    )


def _is_always_done(instruction: Instruction, loop: LoopContext) -> bool:
    """Whether every iteration of the loop executes an instruction."""
    scope = loop.scope
    assert instruction.block is not None
    return all(scope.dominates(instruction.block, scope.view.blocks[latch]) for latch in loop.loop.latches)


def promote(promotion: Promotion) -> None:
    """Keep the element in a register."""
    loop = promotion.loop
    view, header = loop.scope.view, loop.header
    inside = {view.blocks[b] for b in loop.loop.blocks}
    (before,) = (b for b in header.predecessors if b not in inside)
    (exit,) = (b for b in view.blocks[loop.loop.exiting[0]].successors if b not in inside)
    first = promotion.accesses[0]
    type, align = first.accessed_type, min(i.alignment for i in promotion.accesses)
    builder = Builder(before=before.terminator)
    builder.loc = first.loc
    start = builder.load(type, promotion.pointer, align=align)
    at_end: dict[BasicBlock, Value] = {before: start}
    known: dict[BasicBlock, Value] = {}
    first_loads: list[Instruction] = []
    for block in inside:
        for instruction in list(block.instructions):
            if instruction not in promotion.accesses:
                continue
            if instruction.op == "store":
                known[block] = instruction.stored_value
                instruction.erase()
            elif block in known:
                instruction.replace_all_uses(known[block])
                instruction.erase()
            else:
                first_loads.append(instruction)
    reaching = ReachingDefinition(type, {**at_end, **known}, "element")
    for load in first_loads:
        assert load.block is not None
        load.replace_all_uses(reaching.start_of(load.block))
        for block, value in reaching.at_end.items():
            if value is load:
                reaching.at_end[block] = reaching.start_of(load.block)
        load.erase()
    builder = Builder.after_phis(exit)
    builder.loc = first.loc
    builder.store(reaching.start_of(exit), promotion.pointer, align=align)
    reaching.simplify()
