"""Masks that loops carry are numbers of as many bits as what they choose between.

Where processors have no registers for masks, a comparison of 32-bit numbers gives 32 bits for each lane, and blends and
masked accesses want as many. What LLVM carries over the edges of blocks are vectors of i1, though, for which it has
registers of bytes: it packs a mask at the end of each iteration, and unpacks it at the begin of the next one. A vector
of numbers, of which the sign says whether a lane is on, stays as it is::

    live = φ(true, next)                      live' = φ(-1, next')
    ...select live, a, b...           ==>     ...select (live' < 0), a, b...
    next = select live, c, false              next' = select c, live', 0
    any = (bits of next) != 0                 any = (the lanes of next' or'ed together) != 0

Masks with more lanes than a register has bytes LLVM carries lane by lane, so all their φs are of bytes.

Precondition: plain LLVM IR. Postcondition: no φ of a loop's header has vectors of i1 whose lanes mostly decide on
values of 32 or of 64 bits, if these take few registers, and no φ has vectors of i1 of more than `Isa.mask_lanes`.
Preserves what functions give, in all lanes.
"""

from __future__ import annotations

from collections import Counter

from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Builder, ConstInt, ConstSplat, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import cfg_of
from weft.ir.constants import ConstZero
from weft.ir.types import I1, FloatType, FunctionType, IntType, PointerType, Type, VectorType
from weft.machine.targets import Isa
from weft.transform.outside_bits import bits_outside

WIDE = (32, 64)
"""Bits of values that instructions blend by their lanes' signs."""

BYTE = 8
"""Bits of a lane of masks with more lanes than `Isa.mask_lanes`."""

MOST_REGISTERS = 4
"""Of a mask: where values take more, others need the registers."""

_MASKED = ("llvm.masked.load", "llvm.masked.store", "llvm.masked.gather", "llvm.masked.scatter")
_LOGIC = ("and", "or", "xor")


def widen_masks(function: Function, isa: Isa) -> int:
    """Replace masks that φs carry, if the processor has no registers for masks; how many."""
    if isa.mask_registers or not any(_lanes_of(phi) for block in function.blocks for phi in block.phis()):
        return 0
    view = cfg_of(function)
    headers = {view.blocks[loop.header] for loop in loop_forest(view.cfg).loops}
    found: dict[Instruction, Instruction] = {}
    for block in function.blocks:
        left = MOST_REGISTERS * isa.vector_bits
        uses = {phi: _uses(phi) for phi in block.phis() if _lanes_of(phi)}
        for phi in sorted(uses, key=lambda phi: -uses[phi].total()):
            lanes = _lanes_of(phi)
            bits = max(uses[phi], key=lambda b: (uses[phi][b], -b), default=0)
            if block in headers and bits in WIDE and lanes * bits <= left:
                left -= lanes * bits
            elif lanes > isa.mask_lanes:
                bits = BYTE
            else:
                continue
            wide = VectorType(IntType(bits), lanes)
            found[phi] = Builder.after_phis(block).phi(wide, phi.name)
    for phi, wide in found.items():
        _fill(phi, wide, found)
    for phi, wide in found.items():
        _use(phi, wide)
        phi.erase()
    if found:
        remove_dead_instructions(function)
    return len(found)


def _lanes_of(value: Value) -> int:
    """How many lanes a mask has that bits of an integer may stand for; 0 for other values."""
    type = value.type
    if not isinstance(type, VectorType) or type.element != I1:
        return 0
    return type.count if type.count > 1 and type.count & (type.count - 1) == 0 else 0


def _uses(phi: Instruction) -> Counter[int]:
    """On how many values of how many bits a mask decides, or others that are made of it.

    Blocks behind each other become one in LLVM's hands, so it does not matter where these are used.
    """
    found: Counter[int] = Counter()
    seen: set[Value] = {phi}
    work = [phi]
    while work:
        mask = work.pop()
        for user in mask.instruction_users():
            if user.type == phi.type and user.op in (*_LOGIC, "select"):
                if user not in seen:
                    seen.add(user)
                    work.append(user)
            elif user.op == "select" and user.operands[0] is mask:
                found[_bits_of(user.type)] += 1
            elif user.op == "call" and (user.callee_name or "").startswith(_MASKED):
                stores = user.type.is_void
                found[_bits_of(user.args[0].type if stores else user.type)] += 1
    return found


def _bits_of(type: Type) -> int:
    element = type.element if isinstance(type, VectorType) else type
    if isinstance(element, PointerType):
        return 64
    return element.bits if isinstance(element, IntType | FloatType) else 0


def _fill(phi: Instruction, wide: Instruction, found: dict[Instruction, Instruction]) -> None:
    """Give a φ of numbers what the one of masks gets."""
    carried: dict[Value, Value | None] = {}
    extended: dict[tuple[Value, BasicBlock], Value] = {}
    for value, block in phi.incoming():
        if value not in carried:
            carried[value] = _carried(value, wide.type, found)
        numbers = carried[value]
        if numbers is None:
            # Each block has its own, as it may be that none is on the way to all others.
            if (value, block) not in extended:
                extended[value, block] = Builder(before=block.terminator).cast("sext", value, wide.type)
            numbers = extended[value, block]
        wide.add_incoming(numbers, block)


def _carried(value: Value, type: Type, found: dict[Instruction, Instruction]) -> Value | None:
    """The numbers of a mask that are there already, or made of such where the mask is; None where there are none."""
    zero = ConstZero(type)
    if isinstance(value, Instruction):
        known = found.get(value)
        if known is not None and known.type == type:
            return known
        mask = value.operands[0] if value.op == "select" else None
        carried = found.get(mask) if isinstance(mask, Instruction) else None
        if carried is not None and carried.type == type and is_false(value.operands[2]):
            # A condition that decides nothing in a lane that is off may be poison there.
            builder = Builder(before=value)
            numbers = builder.select(builder.unary("freeze", decided_in(value)), carried, zero)
            _ask_numbers(value, numbers)
            return numbers
    return None


def decided_in(masked: Instruction) -> Value:
    """What is looked at under a mask, be it that the mask stands there several times."""
    mask, value, _ = masked.operands
    while isinstance(value, Instruction) and value.op == "select" and value.operands[0] is mask:
        if value.type != mask.type or not is_false(value.operands[2]):
            break
        value = value.operands[1]
    return value


def in_all_lanes(number: int, type: VectorType) -> ConstSplat:
    """A vector with the same number in all lanes."""
    assert isinstance(type.element, IntType)
    return ConstSplat(type, ConstInt(type.element, number))


def is_false(value: Value) -> bool:
    """Whether a number, or each of a vector's, is the constant 0."""
    if isinstance(value, ConstSplat):
        value = value.element
    return isinstance(value, ConstZero) or (isinstance(value, ConstInt) and value.value == 0)


def _use(phi: Instruction, wide: Instruction) -> None:
    """Let what used a mask use the signs of numbers, each block by itself."""
    _ask_numbers(phi, wide)
    signs: dict[BasicBlock, Instruction] = {}

    def sign(block: BasicBlock) -> Instruction:
        if block not in signs:
            builder = Builder.after_phis(block)
            signs[block] = builder.icmp("slt", wide, ConstZero(wide.type))
        return signs[block]

    for user in list(phi.instruction_users()):
        assert user.block is not None
        _vote_by_numbers(phi, user, wide)
        if user.is_phi:
            for i, (value, block) in enumerate(list(user.incoming())):
                if value is phi:
                    user.set_operand(i, sign(block))
        else:
            user.replace_operand(phi, sign(user.block))


def _vote_by_numbers(mask: Instruction, masked: Instruction, wide: Value) -> None:
    """Ask numbers, too, where nothing but a vote is to be had of a condition in the lanes that are on."""
    if masked.op != "select" or masked.operands[0] is not mask or not is_false(masked.operands[2]):
        return
    if masked.type != mask.type or not all(u.op == "bitcast" for u in masked.instruction_users()):
        return
    builder, decided = Builder(before=masked), decided_in(masked)
    outside = bits_outside(decided, wide.type)
    if outside is not None:
        assert isinstance(wide.type, VectorType)
        number, to_natural, bits = outside
        place = builder.unary("freeze", number)
        if to_natural:
            place = builder.binary("add", place, in_all_lanes(to_natural, wide.type))
        # All bits of what is on are set. LLVM asks the bits once for all registers.
        there = builder.binary("and", place, wide)
        _ask_numbers(masked, builder.binary("and", there, in_all_lanes(bits, wide.type)))
        return
    _ask_numbers(masked, builder.select(builder.unary("freeze", decided), wide, ConstZero(wide.type)))


def _ask_numbers(mask: Instruction, numbers: Value) -> None:
    """Ask numbers whether some lane of a mask is on, where its bits are asked."""
    for bits in [u for u in mask.instruction_users() if u.op == "bitcast" and isinstance(u.type, IntType)]:
        for test in list(bits.instruction_users()):
            if test.op != "icmp" or test.predicate not in ("eq", "ne") or not is_false(test.operands[1]):
                continue
            builder = Builder(before=test)
            builder.loc = test.loc
            type = numbers.type
            assert isinstance(type, VectorType) and isinstance(type.element, IntType)
            name = f"llvm.vector.reduce.or.v{type.count}i{_bits_of(type)}"
            reduce = builder.module.declare(name, FunctionType(type.element, (type,)))
            either = builder.call(reduce, (numbers,))
            new = builder.icmp(test.predicate, either, ConstInt(type.element, 0))
            test.replace_all_uses(new)
            test.erase()
