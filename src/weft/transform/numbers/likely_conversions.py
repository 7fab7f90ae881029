"""Floats that become indices are expected to fit: what brings others to the ends of integers stands aside.

    before:  k = saturating(x)                 x86: convert, compare, jump, compare with itself, choose
    after:   k = |x| < 2 ** 63 ? convert(x) : saturating(x)                  a branch that is not taken

x86 has no instruction that brings what is too great to the greatest integer, and NaN to 0. LLVM asks for each on its
own, of every number. A float whose integer says where something lies is hardly ever outside. A histogram of floats took
1.2 times as long.

Where processors have vectors of 64-bit integers from floats, loops stay as they are for LLVM to vectorize, but for what
is read and written at such a place, as a bin is: of that no vectors are made.

Precondition: plain code of one thread. Postcondition: the same; in loops, no scalar that becomes part of an address is
brought between the ends of its type on the way that is taken. Preserves the program under FR and OBL.
"""

from __future__ import annotations

from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Builder, ConstFloat, Function, Instruction
from weft.ir.branch_weights import OFTEN, weigh
from weft.ir.cfg_edit import split_block
from weft.ir.cfg_view import cfg_of
from weft.ir.intrinsics import PURE
from weft.ir.types import F32, F64, I32, I64, FloatType, FunctionType, IntType
from weft.machine.targets import Isa

STEPS = 4
"""Operations between the integer and the address."""

_ON_THE_WAY = frozenset(("add", "sub", "mul", "shl", "sext", "zext", "select", "icmp", "and", "or", "ashr"))
_EXTREMA = ("llvm.smax.i", "llvm.smin.i", "llvm.umax.i", "llvm.umin.i")


def expect_indices(function: Function, isa: Isa) -> int:
    """Branch around saturation of such conversions; of how many."""
    if isa.arch != "x86_64":
        return 0
    view = cfg_of(function)
    inside: set[BasicBlock] = {
        view.blocks[b] for loop in loop_forest(view.cfg).loops if not loop.children for b in loop.blocks
    }
    found = [
        i
        for block in inside
        for i in block.instructions
        if (i.callee_name or "").startswith("llvm.fptosi.sat.i")
        and i.type in (I32, I64)
        and i.args[0].type in (F32, F64)
        and _leads_to_address(i, inside, STEPS, updated=bool(isa.mask_registers))
    ]
    for conversion in found:
        _expect(function, conversion)
    return len(found)


def _leads_to_address(value: Instruction, inside: set[BasicBlock], steps: int, *, updated: bool) -> bool:
    """Whether something is accessed at a place that is computed of a value; if so asked, read and written there."""
    for user in value.instruction_users():
        if user.block not in inside:
            continue
        if user.op == "getelementptr" and user.operands[0] is not value:
            if not updated or _is_updated(user, inside):
                return True
        elif steps and _is_on_the_way(user) and _leads_to_address(user, inside, steps - 1, updated=updated):
            return True
    return False


def _is_on_the_way(user: Instruction) -> bool:
    """Whether a number becomes a place by an operation, or is brought between the ends of a row."""
    return user.op in _ON_THE_WAY or (user.callee_name or "").startswith(_EXTREMA)


def _is_updated(place: Instruction, inside: set[BasicBlock]) -> bool:
    """Whether a place, or an element of the row there, is read and written."""
    accesses = {
        u.op
        for u in place.instruction_users()
        if u.block in inside and u.is_plain_access and u.pointer is place
    }
    if accesses == {"load", "store"}:
        return True
    elements = (u for u in place.instruction_users() if u.op == "getelementptr" and u.operands[0] is place)
    return any(_is_updated(element, inside) for element in elements)


def _expect(function: Function, conversion: Instruction) -> None:
    module, block, number = function.module, conversion.block, conversion.args[0]
    type, source = conversion.type, number.type
    assert module is not None and block is not None
    assert isinstance(type, IntType) and isinstance(source, FloatType)
    rest = split_block(conversion)
    outside = function.add_block(f"{block.name}.outside", after=block)
    block.terminator.erase()
    builder = Builder(block)
    builder.loc = conversion.loc
    # A branch on poison is undefined; a place that nobody accesses may be poison.
    given = builder.unary("freeze", number)
    magnitude = builder.call(
        module.declare(f"llvm.fabs.f{source.bits}", FunctionType(source, (source,)), PURE), (given,)
    )
    fits = builder.fcmp("olt", magnitude, ConstFloat.of(source, 2.0 ** (type.bits - 1)))
    quick = builder.cast("fptosi", given, type)
    weigh(builder.cond_br(fits, rest, outside), OFTEN, 1)
    found = Instruction("phi", type, loc=conversion.loc)
    rest.insert(0, found)
    conversion.replace_all_uses(found)
    rest.instructions.remove(conversion)
    builder.at_end(outside)
    builder.br(rest)
    outside.insert_before(outside.terminator, conversion)
    conversion.set_operand(0, given)
    found.add_incoming(quick, block)
    found.add_incoming(conversion, outside)
