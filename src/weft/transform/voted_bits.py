"""Votes on whether numbers are outside of a power of two ask for bits of one register, where masks have registers.

Comparisons of four registers of numbers are four masks, which are put together before one instruction asks whether some
lane is on. Numbers of lanes that are off are 0, those of all registers are or'ed, and one comparison asks for the bits
that are set outside (`weft.transform.outside_bits`)::

    m = select live, (n > 2ᵏ - 1), false             z = select live, n, 0
    any = bitcast m != 0                      ==>    any = bitcast ((z's registers | ...) & bits != 0) != 0

Loops whose numbers may turn out to fit 32 bits ask so in each iteration (`weft.transform.loops.guess_ranges`).

Precondition: LLVM IR without P-LLVM's operations. Postcondition: on x86 with registers for masks, no such vote of lanes
under a mask compares several registers. Preserves what functions give. Processors without registers for masks have
`weft.transform.wide_masks`.
"""

from __future__ import annotations

from weft.ir import Builder, ConstInt, Function, Instruction
from weft.ir.constants import ConstZero
from weft.ir.types import I1, IntType, VectorType
from weft.machine.targets import Isa
from weft.transform.outside_bits import bits_outside
from weft.transform.wide_masks import WIDE, decided_in, in_all_lanes, is_false


def vote_by_bits(function: Function, isa: Isa) -> int:
    """Let such votes ask for bits; how many did not."""
    if isa.arch != "x86_64" or not isa.mask_registers:
        return 0
    masked = [i for i in function.instructions() if i.op == "select" and is_false(i.operands[2])]
    return sum(_ask_bits(i, isa) for i in masked)


def _ask_bits(masked: Instruction, isa: Isa) -> bool:
    type = masked.type
    votes = _votes(masked)
    if not votes or not isinstance(type, VectorType) or type.element is not I1:
        return False
    mask, decided = masked.operands[0], decided_in(masked)
    for bits in WIDE:
        each, wide = isa.vector_bits // bits, VectorType(IntType(bits), type.count)
        outside = bits_outside(decided, wide) if type.count > each and type.count % each == 0 else None
        if mask.type != type or outside is None:
            continue
        number, to_natural, asked = outside
        builder = Builder(before=masked)
        builder.loc = masked.loc
        place = builder.unary("freeze", number)
        if to_natural:
            place = builder.binary("add", place, in_all_lanes(to_natural, wide))
        on = builder.select(mask, place, ConstZero(wide))
        joined, *others = (builder.shuffle(on, on, range(k, k + each)) for k in range(0, type.count, each))
        for other in others:
            joined = builder.binary("or", joined, other)
        register = VectorType(IntType(bits), each)
        joined = builder.binary("and", joined, in_all_lanes(asked, register))
        found = builder.cast("bitcast", builder.icmp("ne", joined, ConstZero(register)), IntType(each))
        for vote in votes:
            vote.replace_all_uses(
                Builder(before=vote).icmp(vote.predicate, found, ConstInt(IntType(each), 0))
            )
            vote.erase()
        return True
    return False


def _votes(masked: Instruction) -> list[Instruction]:
    """What asks whether some lane of a mask is on; nothing where the mask has other uses."""
    numbers = list(masked.instruction_users())
    votes = [vote for bits in numbers for vote in bits.instruction_users()]
    if not all(n.op == "bitcast" and isinstance(n.type, IntType) for n in numbers):
        return []
    asks = all(v.op == "icmp" and v.predicate in ("eq", "ne") and is_false(v.operands[1]) for v in votes)
    return votes if asks else []
