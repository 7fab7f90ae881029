"""Loops that count the bits of a number by taking away the lowest one each time: ``llvm.ctpop``.

    while x:                    count += popcount(x)
        x &= x - 1              x = 0
        count += 1

Lanes would go on until the one with the most bits is done. LLVM knows these loops, too, but only where they are left
to one thread, and not before they are counted in lanes. Each value that such a loop counts goes up by the same constant
each time; the loop does nothing else.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no loop that is tested at its top only
counts bits so. Preserves the program under FR.
"""

from __future__ import annotations

from msgspec import Struct

from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions, remove_unreachable_blocks
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.types import FunctionType, IntType

_WIDTHS = (8, 16, 32, 64)


class _BitLoop(Struct, frozen=True):
    """A loop that counts bits.

    Parameters
    ----------
    header, body, exit
        Its blocks, and where it goes on.
    bits
        The φ of the number.
    counts
        The φs of what is counted, and by how much each goes up.
    """

    header: BasicBlock
    body: BasicBlock
    exit: BasicBlock
    bits: Instruction
    counts: tuple[tuple[Instruction, ConstInt], ...]


def count_bits(function: Function) -> int:
    """Replace loops that count bits; return how many."""
    view = cfg_of(function)
    found = [each for loop in loop_forest(view.cfg).loops if (each := _bit_loop(loop, view)) is not None]
    for each in found:
        _replace(each)
    if found:
        remove_unreachable_blocks(function)
        remove_dead_instructions(function)
    return len(found)


def _bit_loop(loop: Loop, view: CFGView) -> _BitLoop | None:
    if loop.children or len(loop.blocks) != 2 or len(loop.latches) != 1:
        return None
    header, body = view.blocks[loop.header], view.blocks[loop.latches[0]]
    branch = header.terminator
    if branch.op != "br" or len(branch.successors) != 2 or body is header or body.predecessors != [header]:
        return None
    phis, test = list(header.phis()), branch.operands[0]
    if not isinstance(test, Instruction) or test.op != "icmp" or header.instructions != [*phis, test, branch]:
        return None
    bits, zero = test.operands
    stays = {"ne": 0, "eq": 1}.get(test.predicate)
    if stays is None or branch.successors[stays] is not body or not _is_int(zero, 0):
        return None
    if not isinstance(bits, Instruction) or bits not in phis or not isinstance(bits.type, IntType):
        return None
    if bits.type.bits not in _WIDTHS:
        return None
    lower = bits.incoming_value(body)
    if not isinstance(lower, Instruction) or lower.op != "and" or bits not in lower.operands:
        return None
    less = next((v for v in lower.operands if v is not bits), None)
    if not isinstance(less, Instruction) or not _steps(less, bits, -1):
        return None
    counts: list[tuple[Instruction, ConstInt]] = []
    for phi in phis:
        more = phi.incoming_value(body)
        if phi is bits:
            continue
        if not isinstance(more, Instruction) or more.op != "add" or more.operands[0] is not phi:
            return None
        if not isinstance(more.operands[1], ConstInt):
            return None
        counts.append((phi, more.operands[1]))
    computed = {lower, less, *(phi.incoming_value(body) for phi, _ in counts)}
    if set(body.instructions[:-1]) != computed:
        return None
    return _BitLoop(header, body, branch.successors[1 - stays], bits, tuple(counts))


def _is_int(value: Value, number: int) -> bool:
    return isinstance(value, ConstInt) and value.signed == number


def _steps(value: Instruction, of: Instruction, step: int) -> bool:
    """Whether a value is another one and a constant."""
    if value.op == "sub":
        return value.operands[0] is of and _is_int(value.operands[1], -step)
    return value.op == "add" and value.operands[0] is of and _is_int(value.operands[1], step)


def _replace(found: _BitLoop) -> None:
    header, bits, type = found.header, found.bits, found.bits.type
    assert header.function is not None and header.function.module is not None and isinstance(type, IntType)
    test, branch = header.terminator.operands[0], header.terminator
    for phi in header.phis():
        phi.remove_incoming(phi.blocks.index(found.body))
    builder = Builder(before=branch)
    builder.loc = branch.loc
    attributes = ("nounwind", "willreturn", "memory(none)")
    name = f"llvm.ctpop.i{type.bits}"
    callee = header.function.module.declare(name, FunctionType(type, (type,)), attributes)
    number = builder.call(callee, (bits,))
    for phi, step in found.counts:
        assert isinstance(phi.type, IntType)
        many: Value = number
        if phi.type.bits != type.bits:
            many = builder.cast("trunc" if phi.type.bits < type.bits else "zext", number, phi.type)
        if not _is_int(step, 1):
            many = builder.binary("mul", many, step)
        behind = builder.binary("add", phi, many)
        for user in list(phi.instruction_users()):
            if user is not behind:
                user.replace_operand(phi, behind)
    for user in list(bits.instruction_users()):
        if user is not number and user is not test:
            user.replace_operand(bits, ConstInt(type, 0))
    exit = found.exit
    branch.erase()
    last = Builder(header).br(exit)
    last.loc = builder.loc
