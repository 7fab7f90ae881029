"""Counters of 32 bits whose loops access memory in each iteration: they do not wrap around.

``for (int i = get_global_id(0); i < n; i += get_global_size(0)) … a[i] …`` adds with 64 bits, and unsigned ``i +=
blockDim.x * gridDim.x`` with 32, so that C lets i wrap around:

    H: i = φ(s, i + d);  if i < n goto B        B: … access a[i], whatever a is …        L: i + d;  goto H

Let d be in [0, 2³¹), and i + d wrap around. Then the next i is smaller than this one, which was smaller than n: B runs
again, and accesses ``a + scale·(i + d - 2³²)``, behind ``a + scale·i`` in the iteration before. These are 2 GiB or more
apart, and the object has less (`weft.transform.numbers.accessed_indices`). So one of them was undefined, and the sum,
which nothing else uses, may say that it does not wrap around. So it is where a loop is tested at its end:

    if s < n goto B        B: i = φ(s, i + d);  … access a[i] …        L: i + d;  if i + d < n goto B

Precondition: P-LLVM without predicates, shadows and guards; what is said of the sizes of objects holds. Postcondition:
such a sum has ``nsw``. Preserves the program under FR: the branch on what is poison now comes before an access that was
undefined, with nothing between them that could end the thread or wait for others.
"""

from __future__ import annotations

from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.integers.ranges import Ranges
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, ConstInt, Function, Instruction
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import is_speculatable
from weft.ir.types import I32, I64
from weft.transform.numbers.accessed_indices import first_access

_RISES = {"slt": 0, "sle": 0, "sgt": 1, "sge": 1}
_QUIET = ("load", "store", "atomicrmw", "cmpxchg", "fence")


def sign_counters(function: Function) -> int:
    """Mark the sums of such loops; return how many these were."""
    if not any(_may_count(i) for i in function.instructions()):
        return 0
    view = cfg_of(function)
    found = [(loop, phi) for loop in loop_forest(view.cfg).loops for phi in _accessed(function, view, loop)]
    if not found:
        return 0
    ranges = ranges_of(function, view)
    return sum(_sign(function, phi, view, loop, ranges) for loop, phi in found)


def _sign(function: Function, phi: Instruction, view: CFGView, loop: Loop, ranges: Ranges) -> int:
    """Mark what a counter is raised to, if the loop goes on where it wraps around; how many sums that are."""
    header, inside = view.blocks[loop.header], {view.blocks[b] for b in loop.blocks}
    changed = 0
    for value, source in phi.incoming():
        if source not in inside or not isinstance(value, Instruction) or not _may_count(value):
            continue
        if value.block not in inside or phi not in value.operands or not _rises(value, phi, ranges):
            continue
        others = [user for user in value.instruction_users() if user is not phi]
        if not others and value.block is not header:
            goes_on = _is_bounded(phi, header, inside)
        else:
            # Behind a test of something else at the header there may be no access.
            goes_on = len(others) == 1 and _is_bounded_at_end(phi, value, source, inside, ranges)
            goes_on = goes_on and _is_accessed(phi, header, function)
        if goes_on:
            value.flags = (*value.flags, "nsw")
            changed += 1
    return changed


def _rises(total: Instruction, phi: Instruction, ranges: Ranges) -> bool:
    """Whether it is the counter and what is not negative."""
    first, second = total.operands
    step = second if first is phi else first
    if isinstance(step, ConstInt):
        return step.signed >= 0
    known = ranges.at(step, total.block)
    return known is not None and known.lo >= 0


def _may_count(instruction: Instruction) -> bool:
    return instruction.op == "add" and instruction.type == I32 and "nsw" not in instruction.flags


def _accessed(function: Function, view: CFGView, loop: Loop) -> list[Instruction]:
    """The counters at which each iteration accesses memory."""
    header = view.blocks[loop.header]
    inside = {view.blocks[b] for b in loop.blocks}
    body = _body(header, inside)
    blocks = (header,) if body is None else (header, body)
    return [
        phi
        for phi in header.phis()
        if phi.type == I32 and any(_is_accessed(phi, block, function) for block in blocks)
    ]


def _body(header: BasicBlock, inside: set[BasicBlock]) -> BasicBlock | None:
    """Where a loop goes on that is only left at its header."""
    end = header.terminator
    if end.op != "br" or len(end.successors) != 2 or not _is_quiet(header.instructions[:-1]):
        return None
    body, exit = end.successors
    # The condition is to hold for the body.
    if body not in inside or exit in inside or list(body.predecessors) != [header]:
        return None
    return body


def _is_bounded(phi: Instruction, header: BasicBlock, inside: set[BasicBlock]) -> bool:
    """Whether a loop goes on while the φ is below what does not change meanwhile."""
    test = header.terminator.operands[0]
    if not isinstance(test, Instruction) or test.op != "icmp" or test.predicate not in _RISES:
        return False
    at = _RISES[test.predicate]
    bound = test.operands[1 - at]
    return test.operands[at] is phi and not (isinstance(bound, Instruction) and bound.block in inside)


def _is_bounded_at_end(
    phi: Instruction, total: Instruction, latch: BasicBlock, inside: set[BasicBlock], ranges: Ranges
) -> bool:
    """Whether a loop is entered, and goes on, while the next number is below what does not change meanwhile."""
    end = latch.terminator
    test = end.operands[0] if end.op == "br" and len(end.successors) == 2 else None
    if not isinstance(test, Instruction) or test.op != "icmp" or test.predicate not in _RISES:
        return False
    at = _RISES[test.predicate]
    bound = test.operands[1 - at]
    if test.operands[at] is not total or (isinstance(bound, Instruction) and bound.block in inside):
        return False
    if list(test.instruction_users()) != [end]:
        return False
    if end.successors[0] is not phi.block or end.successors[1] in inside:
        return False
    header = end.successors[0]
    return all(
        any(
            c.other is bound and c.predicate in ("slt", "sle")
            for c in ranges.bounds_arriving(value, source, header)
        )
        for value, source in phi.incoming()
        if source not in inside
    )


def _is_accessed(phi: Instruction, block: BasicBlock, function: Function) -> bool:
    """Whether each iteration comes to an access at a place that is computed of the φ alone."""
    for extension in phi.instruction_users():
        if extension.op not in ("sext", "zext") or extension.type != I64 or extension.block is not block:
            continue
        access = first_access(extension, function)
        if access is not None and _is_quiet(block.instructions[: block.instructions.index(access)]):
            return True
    return False


def _is_quiet(instructions: list[Instruction]) -> bool:
    """Whether a thread that comes to the first of them comes to what is behind them."""
    return all(i.is_phi or i.op in _QUIET or _is_of_lives(i) or is_speculatable(i) for i in instructions)


def _is_of_lives(instruction: Instruction) -> bool:
    """Whether it says that the life of a stack object begins or ends."""
    return (instruction.callee_name or "").startswith("llvm.lifetime.")
