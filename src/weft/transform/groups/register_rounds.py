"""What all threads of a work-group do in a loop with barriers, written out for one lane group.

Numbers that depend on the number of the thread and on constants alone are known
(`weft.transform.groups.folded_numbers`), and so is the way of all threads through the loop, but for conditions on data,
which are masks. Other values are kept for each *chunk* of as many threads as there are lanes. Static arrays in shared
memory are registers, too (`weft.transform.groups.register_arrays`). Threads run in lock step, which is one order of
those that a program without races may have.

What is not of this form raises `NotKnown`; what has been written by then is in the one block that is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

from msgspec import Struct

from weft.ir import FALSE, TRUE, BasicBlock, Builder, ConstInt, Function, Instruction, Poison, Value
from weft.ir.constants import Constant
from weft.ir.effects import is_convergent, is_speculatable
from weft.ir.intrinsics import IntrinsicKind, kind_of
from weft.ir.types import I32, FloatType, IntType, Type
from weft.transform.groups.folded_numbers import Known, computed
from weft.transform.groups.lane_tables import LaneTables
from weft.transform.groups.register_arrays import NotKnown, RegisterArrays
from weft.transform.groups.work_items import WorkItems

MOST_WRITTEN = 3000
"""Instructions that are written for all rounds."""

MOST_RUN = 3000
"""Instructions of the kernel that are run."""

MOST_DIVIDED = 256
"""Integers of 64 bits that are divided, one for each lane: LLVM takes some 10 ms to compile each of them."""

_DIVISIONS = ("sdiv", "udiv", "srem", "urem")

_NOTHING = (
    "llvm.assume",
    "llvm.experimental.noalias.scope.decl",
    "llvm.lifetime.start.p0",
    "llvm.lifetime.end.p0",
)


class TooLong(NotKnown):
    """There is too much of it."""


class Chunks(Struct, frozen=True):
    """A value for each chunk of threads that has one."""

    values: dict[int, Value]

    def of(self, chunk: int, type: Type) -> Value:
        return self.values.get(chunk) or Poison(type)


ThreadValue = Known | Chunks | Value
"""A number that is known, data of each thread, or what all threads have."""


class Mask(Struct, frozen=True):
    """Which threads are at a block: those that are known to be, if, by chunk, data does not say otherwise."""

    known: tuple[int, ...]
    data: dict[int, Value] | None = None


class Arrival(Struct):
    """Threads that have come to a block, and what its phis are for them."""

    mask: Mask
    phis: dict[Value, ThreadValue]


class RegisterRounds:
    """Runs a loop of a kernel and writes what it does to data.

    Parameters
    ----------
    builder
        Where that is written.
    blocks, header, before, exit
        The loop, where it begins, from where it is come to, and where it goes to.
    threads
        Of the work-group.
    lanes, lane
        The threads of a lane group, and their lane ids.
    of_all
        Whether all threads of the work-group have a value that is computed outside of the loop.
    """

    def __init__(
        self, function: Function, builder: Builder, blocks: list[BasicBlock], header: BasicBlock, before: BasicBlock,
        exit: BasicBlock, threads: int, lanes: int, lane: Value, of_all: Callable[[Value], bool],
    ) -> None:  # fmt: skip
        self.function, self.builder, self.lanes = function, builder, lanes
        self.blocks = {block: number for number, block in enumerate((*blocks, exit))}
        self.header, self.before, self.exit, self.threads, self.of_all = header, before, exit, threads, of_all
        self.items = WorkItems.of(function)
        self.tables = LaneTables(builder, lane, lanes, self._zero(blocks))
        self.lane = lane
        self.arrays = RegisterArrays(function, builder, self.tables)
        self.everyone = Mask((1,) * threads)
        self.accessing = 0
        self._divided = 0
        self.asks_for_size = False
        self._of_size: set[Value] = set()
        self._asked: set[Instruction] = set()
        one, x = 1, self.items
        self.known: dict[Value, ThreadValue] = {
            x.tid[0]: tuple(range(threads)), x.tid[1]: 0, x.tid[2]: 0, x.lsize[1]: one, x.lsize[2]: one,
        }  # fmt: skip
        self._pending: dict[BasicBlock, Arrival] = {}

    def _zero(self, blocks: list[BasicBlock]) -> Value | None:
        """What is 0 in these work-groups, if lanes whose results are not used have to have data.

        LLVM leaves to chance what is computed in lanes that it knows to be left out. Products of subnormal numbers,
        such as the lane numbers of a permutation are if read as floats, take a processor some 150 cycles.
        """
        operations = (i for block in blocks for i in block.instructions)
        if not any(isinstance(i.type, FloatType) and i.op in ("fmul", "fdiv", "call") for i in operations):
            return None
        return self.builder.cast("trunc", self.items.tid[1], I32)

    def run(self) -> dict[Value, ThreadValue]:
        """Run it up to its exit, and store what has changed; what is known of its values then."""
        self._arrive(self.header, self.before, self.everyone)
        ran: set[BasicBlock] = set()
        steps = 0
        while True:
            block = min(self._pending, key=lambda b: self.blocks[b])
            arrival = self._pending.pop(block)
            mask = arrival.mask
            if not self._pending:
                # All are here.
                mask = self.everyone
                ran.clear()
            if block in ran or (block is self.exit and self._pending):
                raise NotKnown
            ran.add(block)
            self.known.update(arrival.phis)
            if block is self.exit:
                break
            steps += len(block.instructions)
            written = self.builder.block
            if steps > MOST_RUN or (written is not None and len(written.instructions) > MOST_WRITTEN):
                raise TooLong
            for i in block.instructions:
                if not i.is_phi and not i.is_terminator:
                    self._execute(i, mask)
            self._leave(block, mask)
        self.arrays.store_changed()
        return self.known

    def value(self, of: Value) -> ThreadValue:
        """What is known of a value."""
        if of not in self.known and self._is_outside(of):
            self._look_outside(of)
        found = self.known.get(of)
        if found is not None:
            self.asks_for_size |= of in self._of_size
            return found
        if isinstance(of, ConstInt):
            return of.value
        if isinstance(of, Constant):
            return of
        if of is self.items.lsize[0]:
            self.asks_for_size = True
            return self.threads
        if not self.of_all(of) or (isinstance(of, Instruction) and of.block in self.blocks):
            raise NotKnown
        return of

    def _is_outside(self, value: Value) -> TypeGuard[Instruction]:
        """Whether it is an instruction in front of the loop that nobody has looked at."""
        return isinstance(value, Instruction) and value.block not in self.blocks and value not in self._asked

    def _look_outside(self, of: Instruction) -> None:
        """Find out whether a value is known that is computed in front of the loop, of whatever many others."""
        before = self.asks_for_size
        work = [of]
        while work:
            i = work[-1]
            operands = (
                [] if i.is_phi else [o for o in i.operands if o not in self.known and self._is_outside(o)]
            )
            if operands:
                work += operands
                continue
            work.pop()
            self._asked.add(i)
            self.asks_for_size = False
            result = self._number(i)
            if result is not None:
                self.known[i] = result
                if self.asks_for_size:
                    self._of_size.add(i)
        self.asks_for_size = before

    def _number(self, i: Instruction) -> Known | None:
        """The result where all operands are known numbers."""
        if not isinstance(i.type, IntType) or i.op in ("load", "phi"):
            return None
        operands: list[Known] = []
        for operand in i.args if i.op == "call" else i.operands:
            if not isinstance(operand.type, IntType):
                return None
            try:
                value = self.value(operand)
            except NotKnown:
                return None
            if not isinstance(value, (int, tuple)):
                return None
            operands.append(value)
        return computed(i, operands)

    def _execute(self, i: Instruction, mask: Mask) -> None:
        if i.op in ("load", "store"):
            self._access(i, mask)
        elif kind_of(i.callee_name) is IntrinsicKind.BARRIER:
            if i.callee_name != "weft.barrier" or mask is not self.everyone:
                raise NotKnown
        elif i.op == "getelementptr" or (i.callee_name or "") in _NOTHING:
            # Addresses are taken apart where memory is accessed.
            return
        else:
            result: ThreadValue | None = self._number(i)
            if result is None:
                if is_convergent(i) or not is_speculatable(i):
                    raise NotKnown
                result = self._computed(i, mask)
            self.known[i] = result

    def _computed(self, i: Instruction, mask: Mask) -> ThreadValue:
        """Data: the instruction for each chunk."""
        operands = {k: self.value(o) for k, o in enumerate(i.args if i.op == "call" else i.operands)}

        def made(chunk: int) -> Value:
            self._count_divided(i)
            copy = i.clone()
            for k, operand in operands.items():
                copy.set_operand(k, self._as_value(operand, chunk, i.operands[k].type))
            return self.builder.insert(copy)

        if not any(isinstance(o, (tuple, Chunks)) for o in operands.values()):
            return made(0)
        return Chunks({chunk: made(chunk) for chunk in self._chunks_of(mask)})

    def _count_divided(self, i: Instruction) -> None:
        """Count what LLVM will have to compile; narrower integers stay in registers, which is an eighth of the work."""
        if i.op in _DIVISIONS and isinstance(i.type, IntType):
            self._divided += self.lanes if i.type.bits > 32 else max(1, self.lanes // 8)
            if self._divided > MOST_DIVIDED:
                raise TooLong

    def _chunks_of(self, mask: Mask) -> list[int]:
        """Chunks with threads that are known to be there."""
        begins = range(0, self.threads, self.lanes)
        return [k for k, begin in enumerate(begins) if any(mask.known[begin : begin + self.lanes])]

    def _as_value(self, value: ThreadValue, chunk: int, type: Type) -> Value:
        """What the lanes have that are the threads of a chunk."""
        if isinstance(value, Value):
            return value
        if isinstance(value, Chunks):
            return value.of(chunk, type)
        assert isinstance(type, IntType)
        if isinstance(value, int):
            return ConstInt(type, value)
        return self.tables.numbers(value[chunk * self.lanes :][: self.lanes], type)

    def _leave(self, block: BasicBlock, mask: Mask) -> None:
        branch = block.terminator
        if branch.op not in ("br", "switch"):
            raise NotKnown
        if len(branch.blocks) == 1:
            self._arrive(branch.blocks[0], block, mask)
            return
        value = self.value(branch.operands[0])
        if isinstance(value, (int, tuple)):
            numbers = (value,) * self.threads if isinstance(value, int) else value
            ways = [_way(branch, number) for number in numbers]
            for target in dict.fromkeys(branch.blocks):
                there = tuple(int(on and way is target) for on, way in zip(mask.known, ways, strict=True))
                if any(there):
                    # Where all go there, they stay all.
                    self._arrive(target, block, mask if there == mask.known else Mask(there, mask.data))
        elif isinstance(value, Chunks) and branch.op == "br" and branch.blocks[0] is not branch.blocks[1]:
            for way, target in enumerate(branch.blocks):
                data: dict[int, Value] = {}
                for chunk in self._chunks_of(mask):
                    asked = value.of(chunk, branch.operands[0].type)
                    asked = self.builder.binary("xor", asked, TRUE) if way else asked
                    data[chunk] = self._both(mask.data[chunk], asked) if mask.data else asked
                self._arrive(target, block, Mask(mask.known, data))
        else:
            raise NotKnown

    def _both(self, first: Value, second: Value) -> Value:
        return second if first == TRUE else self.builder.select(first, second, FALSE)

    def _arrive(self, block: BasicBlock, last: BasicBlock, mask: Mask) -> None:
        if block not in self.blocks:
            raise NotKnown
        phis = {phi: self.value(phi.incoming_value(last)) for phi in block.phis()}
        other = self._pending.get(block)
        if other is None:
            self._pending[block] = Arrival(mask, dict(phis.items()))
            return
        for phi, value in phis.items():
            other.phis[phi] = self._either(mask, value, other.phis[phi], phi.type)
        known = tuple(a | b for a, b in zip(other.mask.known, mask.known, strict=True))
        data: dict[int, Value] | None = None
        if other.mask.data is not None or mask.data is not None:
            data = {
                chunk: self.builder.select(self._mask_of(mask, chunk), TRUE, self._mask_of(other.mask, chunk))
                for chunk in self._chunks_of(Mask(known))
            }
        other.mask = Mask(known, data)

    def _mask_of(self, mask: Mask, chunk: int) -> Value:
        known = self.tables.mask(mask.known[chunk * self.lanes :][: self.lanes], hidden=True)
        return known if mask.data is None else self._both(known, mask.data.get(chunk, FALSE))

    def _either(self, mask: Mask, value: ThreadValue, other: ThreadValue, type: Type) -> ThreadValue:
        """One value for the threads of a mask, and another one for others."""
        if value is other or (isinstance(value, int) and isinstance(other, int) and value == other):
            return value
        if not isinstance(type, (IntType, FloatType)):
            raise NotKnown
        if mask.data is None and isinstance(value, (int, tuple)) and isinstance(other, (int, tuple)):
            a = (value,) * self.threads if isinstance(value, int) else value
            b = (other,) * self.threads if isinstance(other, int) else other
            return tuple(x if bit else y for bit, x, y in zip(mask.known, a, b, strict=True))
        made: dict[int, Value] = {}
        for chunk in range(-(-self.threads // self.lanes)):
            a, b = self._as_value(value, chunk, type), self._as_value(other, chunk, type)
            there = (
                self._mask_of(mask, chunk) if any(mask.known[chunk * self.lanes :][: self.lanes]) else FALSE
            )
            if isinstance(a, Poison) and isinstance(b, Poison):
                continue
            made[chunk] = b if there == FALSE else a if there == TRUE else self.builder.select(there, a, b)
        return Chunks(made)

    def _access(self, access: Instruction, mask: Mask) -> None:
        if not access.is_plain_access:
            raise NotKnown
        array, elements = self.arrays.elements(access, mask.known, self._index)
        active = [thread for thread, on in enumerate(mask.known) if on]
        self.accessing = max(self.accessing, active[-1] + 1)
        if access.op == "load":
            rows = {k: elements[k * self.lanes :][: self.lanes] for k in self._chunks_of(mask)}
            self.known[access] = Chunks({k: self.arrays.gathered(array, row) for k, row in rows.items()})
            return
        stored = self.value(access.operands[0])
        type = access.accessed_type
        self.arrays.scatter(array, elements, lambda chunk: self._as_value(stored, chunk, type), mask.data)

    def _index(self, of: Value) -> Known:
        value = self.value(of)
        if not isinstance(value, (int, tuple)):
            raise NotKnown
        return value


def _way(branch: Instruction, number: int) -> BasicBlock:
    """Where a branch leads for a number."""
    if branch.op == "br":
        return branch.blocks[0 if number else 1]
    cases: tuple[int, ...] = branch.attrs["cases"]
    return branch.blocks[cases.index(number) + 1 if number in cases else 0]
