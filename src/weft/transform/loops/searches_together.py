"""Searches by halves of several iterations of the loop around them go on together, round by round.

    for e in a..b:                       while b - e >= 4:
        grid = A(e)                          grid, grid', ... = A(e), A(e + 1), ...
        low, high = l, h                     low, low', ..., high, high', ... = l, ..., h, ...
        while high - low > 1:                while high - low > 1 and high' - low' > 1 and ...:
            ...look at grid...                   ...look at grid...; ...look at grid'...; ...
        C(e, low)                            while high - low > 1: ...look at grid...
                                             while high' - low' > 1: ...look at grid'...; ...
                                             C(e, low); C(e + 1, low'); ...
                                             e += 4
                                         for e in e..b: ...

A round of a search waits for what the round before has loaded and compared, ten cycles and more, and hardly does
anything; a processor that looks ahead for work has to go through whole searches for it. Rounds of different searches do
not wait for one another. They go on together while each of the searches would go on by itself, so nothing is loaded
that would not have been, and what is left of each, a round at most if the ranges are of one size, follows.

Where the ends have fewer bits than addresses, LLVM would make one vector of the four, with a place to be taken out of
it for each load, and what was loaded put into another. That takes half as long again, and more than it wins elsewhere
in such loops. So the function is marked, and LLVM's superword vectorizer is not run on its module, but with SSE2.

Precondition: P-LLVM of one thread, loop-closed, without predicates, shadows and guards; searches that may be done ahead
are those of `weft.analysis.loops.repeated_searches`. Postcondition: the same; the loop around has a version of four
iterations before it, whose choices are marked ``unpredictable``. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.loops.repeated_searches import RepeatedSearch, repeated_searches
from weft.ir import BasicBlock, Builder, Function, Instruction, MDTuple, Module, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import cfg_of
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.intrinsics import NARROW_SEARCHES_ATTRIBUTE
from weft.ir.loop_metadata import unmark
from weft.ir.types import IntType
from weft.machine.targets import Isa
from weft.transform.loops.close_loops import close_loops

TOGETHER = 4
"""Searches that go on together: with their ends and places they fill the registers."""

_MARK = f'"{NARROW_SEARCHES_ATTRIBUTE}"'

LARGEST = 100
"""Instructions of a loop that is there once more, four times as long."""


def search_together(function: Function) -> int:
    """Give loops that search by halves a version that searches for four iterations at a time; how many."""
    found = [
        each
        for each in repeated_searches(function, cfg_of(function))
        if sum(len(block.instructions) for block in each.around.blocks) <= LARGEST
    ]
    for each in found:
        _Version(function, each).build()
    if found:
        close_loops(function)
    if any(_is_narrow(choice) for each in found for choice in each.choices) and not _is_marked(function):
        function.attributes = (*function.attributes, _MARK)
    return len(found)


def has_narrow_searches(module: Module, isa: Isa) -> bool:
    """Whether searches go on together in a module, by numbers of which LLVM would make slow vectors.

    With SSE2 the module is faster with superwords (XSBench in CUDA C++: a tenth).
    """
    return isa.vector_bits > 128 and any(map(_is_marked, module.definitions()))


def _is_narrow(choice: Instruction) -> bool:
    return isinstance(choice.type, IntType) and choice.type.bits < 64


def _is_marked(function: Function) -> bool:
    return _MARK in function.attributes


class _Version:
    """The version of a loop that does several iterations at a time."""

    def __init__(self, function: Function, found: RepeatedSearch) -> None:
        self._function, self._found = function, found
        self._values: list[ValueMap] = [{} for _ in range(TOGETHER)]
        """What stands for the loop's values in each of the iterations."""

    def build(self) -> None:
        """Put it before the loop, which does what is left."""
        around = self._found.around
        preheader = around.preheader
        head = self._block("head")
        self._take_over(head)
        last = self._do_behind(self._search(self._do_before()))
        self._carry_on(head, last)
        preheader.terminator.set_block(0, head)

    def _block(self, name: str) -> BasicBlock:
        return self._function.add_block(f"{self._found.around.header.name}.{name}.together")

    def _take_over(self, head: BasicBlock) -> None:
        """What the loop carries goes through the version first, while there are iterations enough."""
        around = self._found.around
        for phi in around.header.phis():
            made = head.append(Instruction("phi", phi.type, name=phi.name, loc=phi.loc))
            made.add_incoming(phi.incoming_value(around.preheader), around.preheader)
            self._values[0][phi] = made
        rest = self._block("rest")
        for phi in around.header.phis():
            phi.remove_incoming(phi.blocks.index(around.preheader))
            phi.add_incoming(self._values[0][phi], rest)
        builder = Builder(head)
        builder.loc = around.header.terminator.loc
        counter = self._values[0][around.counter.phi]
        left = builder.binary("sub", around.bound, counter)
        enough = builder.icmp("uge", left, const_int(TOGETHER, around.counter.type))
        test = builder.binary("and", builder.icmp(around.predicate, counter, around.bound), enough)
        self._entry = self._block("before")
        builder.cond_br(test, self._entry, rest)
        end = Builder(rest)
        end.loc = around.header.terminator.loc
        end.br(around.header)

    def _do_before(self) -> BasicBlock:
        """What the iterations do before they search."""
        around = self._found.around
        counter = around.counter
        block = self._entry
        first = self._values[0][counter.phi]
        for number, values in enumerate(self._values):
            builder = Builder(block)
            builder.loc = counter.following.loc
            if number:
                ahead = const_int(number, counter.type)
                values[counter.phi] = builder.binary("add", first, ahead, self._flags())
            for each in (around.header, *self._found.before):
                self._copy(each, block, values)
        return block

    def _copy(self, source: BasicBlock, block: BasicBlock, values: ValueMap) -> None:
        for i in source.non_phis():
            if not i.is_terminator:
                values[i] = block.append(self._copied(i, values))

    @staticmethod
    def _copied(instruction: Instruction, values: ValueMap) -> Instruction:
        made = instruction.clone()
        made.debug_records = []
        for index, value in enumerate(made.operands):
            made.set_operand(index, values.get(value, value))
        return made

    def _search(self, block: BasicBlock) -> BasicBlock:
        """Search together, then each for itself; the block behind."""
        header, latch = self._found.search
        head, body = self._block("search"), self._block("round")
        Builder(block).br(head)
        (outer,) = (b for b in header.successors if b is not latch)
        stays_if_true = header.terminator.blocks[0] is latch
        states: list[ValueMap] = []
        for values in self._values:
            state = dict(values)
            for phi in header.phis():
                made = head.append(Instruction("phi", phi.type, name=phi.name, loc=phi.loc))
                start = next(v for v, b in phi.incoming() if b is not latch)
                made.add_incoming(values.get(start, start), block)
                state[phi] = made
            states.append(state)
        builder = Builder(head)
        builder.loc = header.terminator.loc
        conditions: list[Value] = []
        for state in states:
            self._copy(header, head, state)
            condition = header.terminator.operands[0]
            conditions.append(state.get(condition, condition))
        test = self._all(builder, conditions, stays_if_true)
        behind = self._block("left")
        builder.cond_br(test, *((body, behind) if stays_if_true else (behind, body)))
        for state in states:
            self._copy(latch, body, state)
            self._go_on(header, latch, state, {phi: state[phi] for phi in header.phis()}, body)
        end = Builder(body)
        end.loc = latch.terminator.loc
        end.br(head)
        for values, state in zip(self._values, states, strict=True):
            behind = self._finish(behind, values, {phi: state[phi] for phi in header.phis()}, outer)
        return behind

    def _go_on(
        self,
        header: BasicBlock,
        latch: BasicBlock,
        state: ValueMap,
        phis: dict[Instruction, Value],
        source: BasicBlock,
    ) -> None:
        for phi, made in phis.items():
            assert isinstance(made, Instruction)
            following = phi.incoming_value(latch)
            made.add_incoming(state.get(following, following), source)
        for choice in self._found.choices:
            copy = state[choice]
            assert isinstance(copy, Instruction)
            copy.set_metadata("unpredictable", MDTuple([]))

    @staticmethod
    def _all(builder: Builder, conditions: Sequence[Value], stays_if_true: bool) -> Value:
        test = conditions[0]
        for condition in conditions[1:]:
            test = builder.binary("and" if stays_if_true else "or", test, condition)
        return test

    def _finish(
        self, block: BasicBlock, values: ValueMap, starts: dict[Instruction, Value], outer: BasicBlock
    ) -> BasicBlock:
        """What is left of one search; the block behind it."""
        header, latch = self._found.search
        head, body, behind = self._block("alone"), self._block("alone.round"), self._block("found")
        Builder(block).br(head)
        for phi, start in starts.items():
            made = head.append(Instruction("phi", phi.type, name=phi.name, loc=phi.loc))
            made.add_incoming(start, block)
            values[phi] = made
        self._copy(header, head, values)
        condition = header.terminator.operands[0]
        builder = Builder(head)
        builder.loc = header.terminator.loc
        targets = (body, behind) if header.terminator.blocks[0] is latch else (behind, body)
        builder.cond_br(values.get(condition, condition), *targets)
        self._copy(latch, body, values)
        self._go_on(header, latch, values, {phi: values[phi] for phi in header.phis()}, body)
        end = Builder(body)
        end.loc = latch.terminator.loc
        end.br(head)
        for phi in outer.phis():
            made = behind.append(Instruction("phi", phi.type, name=phi.name, loc=phi.loc))
            value = phi.incoming_value(header)
            made.add_incoming(values.get(value, value), head)
            values[phi] = made
        return behind

    def _do_behind(self, block: BasicBlock) -> BasicBlock:
        """What the iterations do behind the searches, one after the other; the last block."""
        around, behind = self._found.around, self._found.behind
        phis = [phi for phi in around.header.phis() if phi is not around.counter.phi]
        found = list(behind[0].phis())
        for number, values in enumerate(self._values):
            if number:
                for phi in phis:
                    following = phi.incoming_value(around.latch)
                    earlier = self._values[number - 1]
                    values[phi] = earlier.get(following, following)
            known = {phi: values[phi] for phi in found}
            clone_blocks(behind, self._function, values)
            entry = values[behind[0]]
            assert isinstance(entry, BasicBlock)
            for phi, value in known.items():
                copy = values[phi]
                assert isinstance(copy, Instruction)
                copy.replace_all_uses(value)
                copy.erase()
                values[phi] = value
            Builder(block).br(entry)
            latch = values[around.latch]
            assert isinstance(latch, BasicBlock)
            unmark(latch.terminator)
            latch.terminator.erase()
            block = latch
        return block

    def _carry_on(self, head: BasicBlock, last: BasicBlock) -> None:
        around = self._found.around
        counter, values = around.counter, self._values[-1]
        builder = Builder(last)
        builder.loc = counter.following.loc
        first = self._values[0]
        for phi in around.header.phis():
            made = first[phi]
            assert isinstance(made, Instruction)
            following = phi.incoming_value(around.latch)
            following = values.get(following, following)
            if phi is counter.phi:
                following = builder.binary("add", made, const_int(TOGETHER, counter.type), self._flags())
            made.add_incoming(following, last)
        builder.br(head)

    def _flags(self) -> tuple[str, ...]:
        """How the counter is known not to wrap around, as far as the bound."""
        return ("nsw",) if self._found.around.predicate == "slt" else ("nuw",)
