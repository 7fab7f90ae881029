"""A loop becomes one over strips of it, in which several loops run one behind the other (scalar expansion).

    before: br loop                     before: n = iterations; br strips
    loop:   φ ...; br more, body, exit  strips: φ first, ...; br (first < n), begin, exit
    body:   x = f(i); s = g(s, x);      begin:  length = min(n - first, STRIP)
            y[i] = h(s); br loop        0:      for j < length: a[j] = f(first + j)
                                        1:      for j < length: s = g(s, a[j]); b[j] = s
                                        2:      for j < length: y[first + j] = h(b[j])
                                        end:    first += length; br strips

Values that a loop hands to another one behind it are in arrays on the stack of `STRIP` elements, so that they stay in
the first-level cache, however long the loop is (Wolfe, *High Performance Compilers for Parallel Computing*, ch. 9;
Juravle, ch. 6, maps what is left to kernels one by one).

Precondition: a loop-closed function, the graph of an innermost loop, and its nodes by the loops that are to have them,
such that none needs one of a later loop. Postcondition: as drawn; the latches of the loops are given back. The function
is loop-closed but for the loops' own values. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.loops.counted_loops import build_iterations, counters_of
from weft.analysis.loops.loop_parts import LoopBody, Slice
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Poison, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_unreachable_blocks
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.loop_metadata import unmark
from weft.ir.types import I1, I8, I64, ArrayType, IntType, Type

STRIP = 256
"""Iterations of a strip: many lane groups, while an array takes 2 KB of the first-level cache at most."""

_ALIGNMENT = 64


def run_in_strips(function: Function, body: LoopBody, slices: Sequence[Slice]) -> list[BasicBlock]:
    """Run the slices of a loop one behind the other, strip by strip; the latches of their loops."""
    loop = body.loop
    header, name = loop.header, loop.header.name
    counters = {c.phi: c.step for c in counters_of(header, loop.preheader, loop.latch)}
    needed = dict.fromkeys(value for part in slices for value in part.given)
    arrays = {value: _array(function, value) for value in needed}
    make = function.add_block
    strips, begin, end = (make(f"{name}.{part}", header) for part in ("strips", "begin", "end"))

    builder = Builder(before=loop.preheader.terminator)
    builder.loc = location = header.terminator.loc
    count = build_iterations(loop, builder)
    loop.preheader.terminator.erase()
    builder.at_end(loop.preheader)
    builder.br(strips)

    builder.at_end(strips)
    first = builder.phi(I64, "first")
    first.add_incoming(const_int(0), loop.preheader)
    given: dict[Instruction, Instruction] = {}
    for phi in header.phis():
        given[phi] = builder.phi(phi.type, phi.name)
        given[phi].add_incoming(phi.incoming_value(loop.preheader), loop.preheader)
    builder.cond_br(builder.icmp("ult", first, count), begin, loop.exit)

    builder.at_end(begin)
    left = builder.binary("sub", count, first)
    length = builder.select(builder.icmp("ult", left, const_int(STRIP)), left, const_int(STRIP), "length")
    parts: list[_Part] = []
    before = begin
    for number, kept in enumerate(slices):
        part = _Part(body, kept, number, before, length)
        part.build(function, given, arrays)
        parts.append(part)
        builder.at_end(before)
        builder.br(part.header)
        before = end if number + 1 == len(slices) else make(f"{name}.part{number + 1}.begin", end)
        part.leave_to(before)

    builder.at_end(end)
    builder.loc = location
    for phi, value in given.items():
        if phi in counters:
            assert isinstance(phi.type, IntType)
            distance = builder.binary(
                "mul", _resized(builder, length, phi.type), ConstInt(phi.type, counters[phi])
            )
            behind: Value = builder.binary("add", value, distance)
        else:
            behind = next((p.state(phi) for p in parts if phi in p.slice.kept), value)
        value.add_incoming(behind, end)
    first.add_incoming(builder.binary("add", first, length), end)
    builder.br(strips)

    for phi in loop.exit.phis():
        place = phi.blocks.index(header)
        value = phi.operands[place]
        phi.set_block(place, strips)
        phi.set_operand(place, given.get(value, value) if isinstance(value, Instruction) else value)
    remove_unreachable_blocks(function)
    return [part.latch for part in parts]


def _resized(builder: Builder, value: Value, type: IntType) -> Value:
    if type.bits == I64.bits:
        return value
    return builder.cast("trunc" if type.bits < I64.bits else "zext", value, type)


def _stored(type: Type) -> Type:
    return I8 if type is I1 else type


def _array(function: Function, value: Instruction) -> Instruction:
    """Room for what a loop hands on in one strip."""
    builder = Builder(before=function.entry.instructions[0])
    type = ArrayType(_stored(value.type), STRIP)
    return builder.alloca(type, align=_ALIGNMENT, name=f"{value.name or 'value'}.strip")


class _Part:
    """One loop of a strip.

    Parameters
    ----------
    body
        The loop as it was.
    slice
        What of it this one holds.
    number
        Which one it is.
    before
        The block before it.
    length
        How often it runs.
    """

    __slots__ = ("_before", "_body", "_copies", "_length", "_number", "slice")

    def __init__(self, body: LoopBody, slice: Slice, number: int, before: BasicBlock, length: Value) -> None:
        self.slice = slice
        self._body = body
        self._number = number
        self._before = before
        self._length = length
        self._copies: ValueMap = {}

    @property
    def header(self) -> BasicBlock:
        return self._block(self._body.loop.header)

    @property
    def latch(self) -> BasicBlock:
        return self._block(self._body.loop.latch)

    def state(self, phi: Instruction) -> Value:
        """What is handed on when the strip ends."""
        return self._copies[phi]

    def build(
        self,
        function: Function,
        given: dict[Instruction, Instruction],
        arrays: dict[Instruction, Instruction],
    ) -> None:
        """Copy the loop, without what other loops do."""
        body, loop, copies = self._body, self._body.loop, self._copies
        for block in clone_blocks(loop.blocks, function, copies):
            # Loops are known by the names of their headers.
            block.name = f"{block.name}.part{self._number}"
        unmark(self.latch.terminator)
        first = next(b for b in loop.header.successors if b is not loop.exit)
        number = Instruction("phi", I64, name="place", loc=loop.header.terminator.loc)
        for phi in loop.header.phis():
            mine = self._made(phi)
            place = phi.blocks.index(loop.preheader)
            mine.set_operand(place, given[phi])
            mine.set_block(place, self._before)
        self.header.insert(0, number)
        self._test(number)
        latch = Builder(before=self.latch.terminator)
        latch.loc = self.latch.terminator.loc
        number.add_incoming(const_int(0), self._before)
        number.add_incoming(latch.binary("add", number, const_int(1), ("nuw", "nsw")), self.latch)
        for value, array in arrays.items():
            if value in self.slice.given:
                self._take(value, array, number, first)
            elif value in self.slice.kept:
                self._hand_on(value, array, number, first)
        for block in loop.blocks:
            branch = block.terminator
            if len(block.successors) > 1 and block is not loop.header and block not in self.slice.branches:
                builder = Builder(before=self._made(branch))
                builder.loc = branch.loc
                builder.br(self._block(body.behind(block)))
                self._made(branch).erase()
        needless = [
            self._made(i)
            for i in body.order
            if not i.is_terminator and i not in self.slice.kept and i not in self.slice.given
        ]
        for instruction in needless:
            instruction.replace_all_uses(Poison(instruction.type))
        for instruction in needless:
            instruction.erase()

    def leave_to(self, target: BasicBlock) -> None:
        """Let the loop lead to a block."""
        self.header.terminator.set_block(1, target)

    def _test(self, number: Instruction) -> None:
        """Let the loop run as often as the strip is long."""
        loop = self._body.loop
        branch = self.header.terminator
        inside = self._block(next(b for b in loop.header.successors if b is not loop.exit))
        builder = Builder(before=branch)
        builder.loc = branch.loc
        builder.cond_br(builder.icmp("ult", number, self._length), inside, loop.exit)
        branch.erase()

    def _take(self, value: Instruction, array: Value, number: Value, first: BasicBlock) -> None:
        """Load what another loop has computed."""
        mine = self._made(value)
        builder = self._at(value, first)
        if builder is None:
            builder = Builder(before=mine)
        builder.loc = value.loc
        type = _stored(value.type)
        made = builder.load(type, self._place(builder, array, number, type), self._align(type))
        if type is not value.type:
            made = builder.cast("trunc", made, value.type)
        mine.replace_all_uses(made)
        mine.erase()
        self._copies[value] = made

    def _hand_on(self, value: Instruction, array: Value, number: Value, first: BasicBlock) -> None:
        """Store what another loop is to use."""
        mine = self._made(value)
        builder = self._at(value, first)
        if builder is None:
            assert mine.block is not None
            body = mine.block.instructions
            builder = Builder(before=body[body.index(mine) + 1])
        builder.loc = value.loc
        type = _stored(value.type)
        stored: Value = mine if type is value.type else builder.cast("zext", mine, type)
        builder.store(stored, self._place(builder, array, number, type), self._align(type))

    def _at(self, value: Instruction, first: BasicBlock) -> Builder | None:
        """Where the value of a φ is stored or loaded: what the loop's header has is not there behind the last one."""
        if not value.is_phi:
            return None
        assert value.block is not None
        return Builder.after_phis(
            self._block(first if value.block is self._body.loop.header else value.block)
        )

    def _place(self, builder: Builder, array: Value, number: Value, type: Type) -> Value:
        return builder.gep(type, array, [number], ("inbounds",))

    def _align(self, type: Type) -> int:
        return self._body.loop.preheader.instructions[0].function.layout.align(type)

    def _block(self, original: BasicBlock) -> BasicBlock:
        found = self._copies[original]
        assert isinstance(found, BasicBlock)
        return found

    def _made(self, original: Instruction) -> Instruction:
        found = self._copies[original]
        assert isinstance(found, Instruction)
        return found
