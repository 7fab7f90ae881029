"""Which values of a nest are variables of the kernel, which stand where they are used, and what they are called.

A value that is used once stands where it is used, if it has the same value there: no store between a load and its use,
and no loop that would compute it again. So do casts and sums with constants wherever they are used. All others are
variables, and so are φs, whose variables are assigned on the way into their block. Variables that a φ joins become one
if they are never needed at the same time (out of SSA by coalescing of what does not interfere), which gives a sum that
a loop forms one name. What stands somewhere is read where it stands, so a variable in it is needed up to there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from weft.analysis.sequential.names import value_name
from weft.analysis.sequential.scope import LoopContext
from weft.ir import Argument, BasicBlock, ConstInt, Instruction, Value
from weft.ir.effects import may_write
from weft.loops.emission.loop_kinds import LoopKinds
from weft.loops.emission.nests import Nest

_CASTS = {"sext", "zext", "trunc", "freeze"}
_SIMPLE = {"add", "sub", "mul"}
_END = 1 << 30

Place = tuple[BasicBlock, int]


class Variables:
    """The variables of a nest.

    Attributes
    ----------
    live
        Instructions that the kernel needs.
    named
        The variable of each value that has one: a number that values of one variable share.
    names
        What the variables are called.
    """

    def __init__(self, nest: Nest, kinds: LoopKinds, reserved: Callable[[str], str]) -> None:
        self._nest = nest
        self._kinds = kinds
        self._blocks = nest.blocks
        # Behind a loop that is a kernel control is at its end.
        self._behind = {c.header: [c.scope.view.blocks[x] for _, x in c.loop.exit_edges] for c in nest.opaque}
        self._inside = set(self._blocks)
        self._index = {i: k for b in self._blocks for k, i in enumerate(b.instructions)}
        self._skipped = {t.operands[0] for c in kinds.headers.values() if (t := kinds.test_of(c)) is not None}
        self._counters = {c.phi for c in kinds.counting.values()}
        self._grid_phis = {p for c in kinds.grid for p in c.header.phis() if p not in nest.kept}
        self._grid_counters = {c.counter.phi for c in kinds.grid.values() if c is not None}
        self.live = self._find_live()
        self._placed: set[Instruction] = set()
        self._place_all()
        self.named: dict[Instruction, int] = {}
        self._coalesce()
        self.names = self._name(reserved)

    def _roots(self) -> Iterator[Instruction]:
        for block in self._blocks:
            for instruction in block.non_phis():
                if instruction.op == "store":
                    if not self._nest.is_dry:
                        yield instruction
                elif instruction.is_terminator and instruction.operands:
                    if instruction.operands[0] not in self._skipped:
                        yield instruction
                elif instruction.op == "call" and may_write(instruction) and not _is_marker(instruction):
                    # An error where it has no form, in dry runs too.
                    yield instruction

    def _used(self, instruction: Instruction) -> list[Value]:
        """The values that an instruction needs; of a counter that the loop itself counts none."""
        if instruction in self._counters or instruction in self._grid_phis:
            return []
        update = self._nest.updates.get(instruction)
        if update is not None:
            return [*update.values, instruction.pointer]
        return list(instruction.operands)

    def _find_live(self) -> set[Instruction]:
        live: set[Instruction] = set()
        work: list[Value] = [*self._roots(), *self._nest.kept]
        for counting in self._kinds.counting.values():
            work += [counting.start, counting.bound, counting.phi]
        for values in self._nest.needed.values():
            work += values
        for counted in self._kinds.grid.values():
            if counted is not None:
                work += [counted.counter.start, counted.bound]
        while work:
            value = work.pop()
            if not isinstance(value, Instruction) or value.block not in self._inside or value in live:
                continue
            live.add(value)
            work += self._used(value)
        return live

    def _users(self, value: Instruction) -> Iterator[tuple[Instruction, Place]]:
        """Who needs a value, and where."""
        for user in value.instruction_users():
            if user not in self.live or value not in self._used(user):
                continue
            if user.is_phi:
                for incoming, source in user.incoming():
                    if incoming is value:
                        yield user, (source, _END)
            else:
                assert user.block is not None
                yield user, (user.block, self._index[user])
        for loop, counting in self._kinds.counting.items():
            before = self._before(loop)
            if value in (counting.start, counting.bound) and before in self._inside:
                yield counting.phi, (before, _END)
        for loop, values in self._nest.needed.items():
            if value in values:
                yield next(loop.header.phis()), (self._before(loop), _END)
        for loop, counted in self._kinds.grid.items():
            if counted is not None and value in (counted.counter.start, counted.bound):
                before = self._before(loop)
                if before in self._inside:
                    yield counted.counter.phi, (before, _END)

    def _before(self, loop: LoopContext) -> BasicBlock:
        inside = set(loop.blocks)
        (before,) = (p for p in loop.header.predecessors if p not in inside)
        return before

    def _place_all(self) -> None:
        """Decide which values stand where they are used, users first as far as there is an order."""
        work = [i for b in reversed(self._blocks) for i in reversed(b.instructions) if i in self.live]
        work = [i for i in work if not i.is_phi and i.op not in ("store", "br", "switch")]
        changed = True
        while changed:
            changed = False
            for value in work:
                if value not in self._placed and self._may_stand_inside(value):
                    self._placed.add(value)
                    changed = True

    def _may_stand_inside(self, value: Instruction) -> bool:
        users = list(self._users(value))
        if not users:
            return True
        if value.op == "getelementptr":
            return True
        own = self._has_name(value)
        if own and any(value in values for values in self._nest.needed.values()):
            return False
        if self._is_simple(value) and not (own and len(users) > 1):
            return True
        if len(users) != 1 or (value.op == "call" and may_write(value)):
            return False
        place = self._final_place(*users[0], set())
        if place is None:
            return False
        block, position = place
        assert value.block is not None
        scope = self._nest.loop.scope
        if scope.loop_of(block) is not scope.loop_of(value.block):
            return False
        if value.op != "load":
            return True
        if block is not value.block:
            return False
        between = block.instructions[self._index[value] + 1 : min(position, len(block.instructions))]
        return not any(may_write(i) for i in between if i in self.live)

    def _final_place(self, user: Instruction, place: Place, seen: set[Instruction]) -> Place | None:
        """Where a value is read that stands in `user`, if that stands somewhere itself; None for several places."""
        if user.is_phi or user in seen or user not in self._placed:
            return place
        found = {self._final_place(u, p, seen | {user}) for u, p in self._users(user)}
        return found.pop() if len(found) == 1 else None

    def _is_simple(self, value: Instruction) -> bool:
        """Whether computing a value again is as good as reading a variable."""
        if value.op in _CASTS:
            operand = value.operands[0]
            return not isinstance(operand, Instruction) or operand.op in ("phi", *_CASTS)
        if value.op not in _SIMPLE:
            return False
        leaves = [o for o in value.operands if not isinstance(o, ConstInt)]
        return all(self._is_leaf(o) for o in leaves) and (value.op != "mul" or len(leaves) == 1)

    def _is_leaf(self, value: Value) -> bool:
        if isinstance(value, Instruction) and value.op in _CASTS:
            value = value.operands[0]
        return isinstance(value, Argument) or (isinstance(value, Instruction) and value.is_phi)

    def _has_name(self, value: Instruction) -> bool:
        return any(r.variable is not None and r.kind != "label" for r in value.records)

    def leaves(self, value: Value) -> set[Instruction]:
        """The variables that are read where a value is used."""
        if not isinstance(value, Instruction) or value.block not in self._inside:
            return set()
        if value in self.named:
            return {value}
        found: set[Instruction] = set()
        for operand in self._used(value):
            found |= self.leaves(operand)
        return found

    def _coalesce(self) -> None:
        own = [
            i
            for b in self._blocks
            for i in b.instructions
            if i in self.live
            and i not in self._placed
            and i.op not in ("store", "br", "switch")
            and (i not in self._grid_phis or i in self._grid_counters)
            and i not in self._skipped
        ]
        self.named = {value: number for number, value in enumerate(own)}
        self._meets = self._interference(own)
        for phi in own:
            if not phi.is_phi or phi in self._counters or phi in self._grid_phis:
                continue
            for value in phi.operands:
                if value in self.named and value not in self._counters and value not in self._grid_phis:
                    assert isinstance(value, Instruction)
                    self._join(phi, value)

    def _join(self, a: Instruction, b: Instruction) -> None:
        first, second = self.named[a], self.named[b]
        if first == second:
            return
        mine = [v for v, n in self.named.items() if n == first]
        other = [v for v, n in self.named.items() if n == second]
        if any(y in self._meets[x] for x in mine for y in other):
            return
        for value in other:
            self.named[value] = first

    def _interference(self, own: list[Instruction]) -> dict[Instruction, set[Instruction]]:
        """Which variables are needed at the same time."""
        live_out = self._liveness()
        meets: dict[Instruction, set[Instruction]] = {v: set() for v in own}

        def define(value: Instruction, live: set[Instruction]) -> None:
            for other in live - {value}:
                meets[value].add(other)
                meets[other].add(value)

        for block in self._blocks:
            live = set(live_out[block])
            for instruction in reversed(block.instructions):
                if instruction.is_phi:
                    continue
                if instruction in self.named:
                    define(instruction, live)
                    live.discard(instruction)
                live |= self._read_at(instruction)
            phis = [p for p in block.phis() if p in self.named]
            live |= set(phis)
            for phi in phis:
                define(phi, live)
        return meets

    def _read_at(self, instruction: Instruction) -> set[Instruction]:
        """The variables that are read where an instruction stands, if it is no part of another one."""
        if instruction not in self.live or instruction.is_phi:
            return set()
        if instruction in self._placed:
            return set()
        found: set[Instruction] = set()
        for operand in self._used(instruction):
            found |= self.leaves(operand)
        return found

    def _liveness(self) -> dict[BasicBlock, set[Instruction]]:
        at_end: dict[BasicBlock, set[Instruction]] = {b: set() for b in self._blocks}
        for block in self._blocks:
            for phi in block.phis():
                if phi in self.live and phi not in self._counters and phi not in self._grid_phis:
                    for value, source in phi.incoming():
                        if source in self._inside:
                            at_end[source] |= self.leaves(value)
        for loop, counting in self._kinds.counting.items():
            before = self._before(loop)
            for value in (counting.start, counting.bound):
                if before in self._inside:
                    at_end[before] |= self.leaves(value)
            # The loop counts by its variable to its end.
            for latch in loop.loop.latches:
                at_end[loop.scope.view.blocks[latch]].add(counting.phi)
        for loop, values in self._nest.needed.items():
            for value in values:
                at_end[self._before(loop)] |= self.leaves(value)
        # Behind the loop it is what is handed on.
        at_end[self._nest.loop.header] |= {p for p in self._nest.kept if p in self.named}
        for counted in self._kinds.grid.values():
            if counted is not None and counted.counter.phi in self.named:
                for block in self._blocks:
                    at_end[block].add(counted.counter.phi)
        out = {b: set(at_end[b]) for b in self._blocks}
        into: dict[BasicBlock, set[Instruction]] = {b: set() for b in self._blocks}
        changed = True
        while changed:
            changed = False
            for block in reversed(self._blocks):
                live = set(at_end[block])
                for successor in self._successors(block):
                    if successor in self._inside:
                        live |= into[successor]
                out[block] = set(live)
                for instruction in reversed(block.instructions):
                    live.discard(instruction)
                    if not instruction.is_phi:
                        live |= self._read_at(instruction)
                if live != into[block]:
                    into[block] = live
                    changed = True
        return out

    def _successors(self, block: BasicBlock) -> Iterator[BasicBlock]:
        for successor in block.successors:
            yield from self._behind.get(successor, (successor,))

    def _name(self, reserved: Callable[[str], str]) -> dict[int, str]:
        """A name for each variable: that of the program, if no other variable has it."""
        members: dict[int, list[Instruction]] = {}
        for value, number in self.named.items():
            members.setdefault(number, []).append(value)
        counters = self._counters | self._grid_phis
        names: dict[int, str] = {}
        for number, values in members.items():
            wanted = next((value_name(v) for v in values if self._has_name(v)), "")
            wanted = wanted or next((_stem(v) for v in values if v.is_phi), "") or "value"
            again = next(
                (
                    n
                    for o, n in names.items()
                    if n == wanted
                    and all(v in counters and v.type == values[0].type for v in (*members[o], *values))
                    and not any(y in self._meets[x] for x in members[o] for y in values)
                ),
                None,
            )
            names[number] = again or reserved(wanted)
        return names


def _stem(value: Instruction) -> str:
    found = value_name(value)
    return found if found.isidentifier() else ""


def _is_marker(call: Instruction) -> bool:
    name = call.callee_name or ""
    return name.startswith(("llvm.lifetime", "llvm.dbg", "llvm.assume", "llvm.experimental.noalias"))
