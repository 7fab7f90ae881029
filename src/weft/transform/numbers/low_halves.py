"""Numbers of 64 bits of which only the low 32 are used: computed with 32.

Positions are ``size_t`` in C, and what they are added to is an ``int``, as in ``i += get_global_size(0)``. LLVM
computes with 64 bits to the end, and cuts off there: by ``shl`` and ``ashr`` where the number is extended at once.
Whether the low half wraps around cannot be seen of that. So sums, products and φs of which only the low half is used
have 32 bits, and what is extended is that. A number that is its low half is used as it is.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no low half of a sum, a product or a φ of 64
bits is extended that is used in no other way. Preserves the program under FR: low bits of sums and products depend on
low bits only; a ``trunc`` is without wrap-around where ranges say so, and other flags are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.integers.ranges import Ranges
from weft.graph.block_index import block_index
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions, replace_and_erase
from weft.ir.cfg_view import cfg_of
from weft.ir.types import I32, I64, IntType

_HALF = 32
_MASK = (1 << _HALF) - 1
_RING = frozenset(("add", "sub", "mul", "and", "or", "xor"))


def halve_numbers(function: Function) -> int:
    """Compute such numbers with 32 bits; return how many that were."""
    extensions = [i for i in function.instructions() if _extended(i) is not None]
    if not extensions:
        return 0
    view = cfg_of(function)
    index = block_index(view.cfg)
    ranges = ranges_of(function, view)
    short = {i for i in map(_extended, extensions) if i is not None and _is_short(ranges, i)}
    chosen = _connected(extensions, _numbers_of_low_halves(function, ranges))
    if not chosen and not short:
        return 0
    ordered = [i for b in index.order for i in view.blocks[b].instructions if i in chosen]
    phis = [i for i in ordered if i.is_phi]
    halves = _Halves(ranges, function.entry, {}, {})
    for phi in phis:
        halves.made[phi] = Builder(before=phi).phi(I32, phi.name)
        halves.made[phi].loc = phi.loc
    # Operands come before what is computed of them.
    for number in ordered:
        if not number.is_phi:
            halves.made[number] = halves.computed(number)
    for phi in phis:
        for value, source in phi.incoming():
            halves.made[phi].add_incoming(halves.of(value), source)
    _use(halves, ordered, extensions)
    remove_dead_instructions(function)
    return len(ordered) + len(short)


def _use(halves: _Halves, chosen: Iterable[Instruction], extensions: Iterable[Instruction]) -> None:
    """Let the halves be what is extended, and cut shorter."""
    truncs = [user for number in chosen for user in number.instruction_users() if user.op == "trunc"]
    for trunc in truncs:
        half: Value = halves.of(trunc.operands[0])
        if trunc.type != I32:
            builder = Builder(before=trunc)
            half = builder.cast("trunc", half, trunc.type)
        replace_and_erase(trunc, half)
    for extension in extensions:
        number = _extended(extension)
        if number is None or (number not in halves.made and not _is_short(halves.ranges, number)):
            continue
        builder = Builder(before=extension)
        builder.loc = extension.loc
        wide = number
        if number in halves.made:
            wide = builder.cast("sext" if extension.op == "ashr" else "zext", halves.made[number], I64)
        amount = extension.operands[1]
        assert isinstance(amount, ConstInt)
        if extension.op != "and" and amount.value < _HALF:
            wide = builder.binary("shl", wide, ConstInt(I64, _HALF - amount.value), ("nsw",))
        replace_and_erase(extension, wide)


def _extended(instruction: Instruction) -> Value | None:
    """The number of which an instruction extends the low half, shifted up or not."""
    if instruction.type != I64 or len(instruction.operands) != 2:
        return None
    number, amount = instruction.operands
    if not isinstance(amount, ConstInt):
        return None
    if instruction.op == "and":
        return number if amount.value == _MASK else None
    if instruction.op in ("ashr", "lshr") and 0 < amount.value <= _HALF and _is_shift_to_the_top(number):
        assert isinstance(number, Instruction)
        return number.operands[0]
    return None


def _is_shift_to_the_top(value: Value) -> bool:
    if not isinstance(value, Instruction) or value.op != "shl":
        return False
    amount = value.operands[1]
    return isinstance(amount, ConstInt) and amount.value == _HALF


def _is_short(ranges: Ranges, number: Value) -> bool:
    """Whether a number is its low half, however that is extended."""
    known = ranges.of(number)
    return known is not None and known.lo >= 0 and known.hi <= _MASK >> 1


def _numbers_of_low_halves(function: Function, ranges: Ranges) -> set[Instruction]:
    """Numbers of 64 bits of which only the low half is used, and which may be more."""
    found = {
        i
        for i in function.instructions()
        if i.type == I64 and i.is_used and _depends_on_low_halves(i) and _extended(i) is None
    }
    found = {i for i in found if i.is_phi or not _is_short(ranges, i)}
    work = list(found)
    while work:
        number = work.pop()
        if number in found and not all(_uses_low_half(user, found) for user in number.instruction_users()):
            found.discard(number)
            work += [o for o in number.operands if isinstance(o, Instruction) and o in found]
    return found


def _depends_on_low_halves(instruction: Instruction) -> bool:
    """Whether the low half is made of the operands' low halves."""
    if instruction.is_phi or instruction.op in _RING:
        return True
    if instruction.op != "shl":
        return False
    amount = instruction.operands[1]
    return isinstance(amount, ConstInt) and amount.value < _HALF


def _uses_low_half(user: Instruction, found: set[Instruction]) -> bool:
    if user in found or _extended(user) is not None:
        return True
    if user.op == "trunc":
        return isinstance(user.type, IntType) and user.type.bits <= _HALF
    return _is_shift_to_the_top(user) and all(_extended(u) is not None for u in user.instruction_users())


def _connected(extensions: Iterable[Instruction], found: set[Instruction]) -> set[Instruction]:
    """The numbers that come of what is extended, by their operands and their users."""
    seen: set[Instruction] = set()
    work: list[Value | None] = [_extended(i) for i in extensions]
    while work:
        number = work.pop()
        if not isinstance(number, Instruction) or number not in found or number in seen:
            continue
        seen.add(number)
        for other in (*number.operands, *number.instruction_users()):
            work.append(other)
            if isinstance(other, Instruction):
                work.append(_extended(other))
    return seen


class _Halves(Struct, frozen=True):
    """Builds low halves, each once, behind the number that it is of."""

    ranges: Ranges
    entry: BasicBlock
    made: dict[Value, Instruction]
    cut: dict[Value, Value]

    def computed(self, number: Instruction) -> Instruction:
        """What the halves of its operands make."""
        builder = Builder(before=number)
        builder.loc = number.loc
        return builder.build(number.op, I32, [self.of(operand) for operand in number.operands])

    def of(self, number: Value) -> Value:
        """The low half of a number."""
        return self.made.get(number) or self._cut(number)

    def _cut(self, number: Value) -> Value:
        if isinstance(number, ConstInt):
            return ConstInt(I32, number.value & _MASK)
        if number not in self.cut:
            self.cut[number] = self._built(number)
        return self.cut[number]

    def _built(self, number: Value) -> Value:
        builder = self._behind(number)
        if isinstance(number, Instruction):
            builder.loc = number.loc
            whole = _extended(number)
            if whole is not None and _keeps_low_half(number):
                return self.of(whole)
            if number.op in ("sext", "zext") and (narrow := _fitting(builder, number)) is not None:
                return narrow
        flags = ("nuw", "nsw") if _is_short(self.ranges, number) else ()
        return builder.cast("trunc", number, I32, flags)

    def _behind(self, value: Value) -> Builder:
        """A builder behind where a value is defined."""
        if not isinstance(value, Instruction):
            return Builder.after_phis(self.entry)
        assert value.block is not None
        if value.is_phi:
            return Builder.after_phis(value.block)
        instructions = value.block.instructions
        return Builder(before=instructions[instructions.index(value) + 1])


def _keeps_low_half(extension: Instruction) -> bool:
    amount = extension.operands[1]
    return extension.op == "and" or (isinstance(amount, ConstInt) and amount.value == _HALF)


def _fitting(builder: Builder, extension: Instruction) -> Value | None:
    """What 32 bits hold of a number that was extended."""
    number = extension.operands[0]
    if not isinstance(number.type, IntType) or number.type.bits > _HALF:
        return None
    return number if number.type == I32 else builder.cast(extension.op, number, I32, extension.flags)
