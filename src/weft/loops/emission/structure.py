"""From the control flow of a nest to statements: ifs, loops that count, loops with a condition, breaks.

The graph is reducible. A branch's two ways meet again in the block that post-dominates it within the loop it is in,
edges out of the loop and back to its header left aside. Tests of ``a and b`` and ``a or b``, which are two branches
with one target, become one condition. φs are assignments on the edges, made at the same time. A loop that is a
dimension of the grid is a condition on the number of the thread; nothing happens behind it.
"""

from __future__ import annotations

from weft.analysis.sequential.scope import LoopContext
from weft.ir import BasicBlock
from weft.ir.types import I1, I64
from weft.loops.emission.block_statements import BlockStatements
from weft.loops.emission.frames import Frame, common_join
from weft.loops.emission.kernel import KernelParts
from weft.loops.emission.negation import negated
from weft.loops.emission.nests import Form
from weft.loops.emission.tidying import guarded, has_return, tidy, without_last_jump
from weft.loops.emission.tree import (
    Assign,
    Break,
    Continue,
    For,
    If,
    Node,
    Return,
    Statement,
    Store,
    Variable,
    While,
    ends_in_jump,
)
from weft.loops.emission.values import Values
from weft.report.loops.counters import counter_of

MAX_VISITS = 3
"""So often a block may be written; control flow that needs more has no readable form."""

SHORT, MAX_VISITS_OF_SHORT = 6, 16
"""Blocks of so few instructions may be written more often, as what switches do otherwise is."""


class Structure:
    """Writes a nest as statements."""

    def __init__(self, parts: KernelParts, values: Values) -> None:
        self._parts = parts
        self._values = values
        self._kinds = parts.kinds
        self._blocks = BlockStatements(parts, values)
        self._visits: dict[BasicBlock, int] = {}
        self.returns = 0
        self.returned: Node | None = None

    def statements(self) -> list[Statement]:
        """The body of the kernel.

        Raises
        ------
        EmissionError
            Something has no form.
        """
        body: list[Statement] = []
        self._grid(self._parts.nest.loop, body, None)
        return tidy(body)

    def host(self) -> list[Statement]:
        """The nest's loop as one that the host runs.

        Raises
        ------
        EmissionError
            Something has no form, or numbers are handed from iteration to iteration.
        """
        kinds = self._kinds
        for loop in kinds.headers.values():
            own = kinds.counting.get(loop)
            for phi in loop.header.phis():
                if phi in self._parts.variables.live and (own is None or phi is not own.phi):
                    raise self._values.error(
                        phi, "a number is handed from iteration to iteration on the host"
                    )
        made = self.spread()
        made.spread = ""
        return [made]

    def whole(self) -> list[Statement]:
        """The nest's function as one that the host runs.

        Raises
        ------
        EmissionError
            Something has no form.
        """
        region = self._parts.nest.loop
        body = self._walk(region.header, None, Frame(region, None, None))
        if body and isinstance(body[-1], Return):
            body.pop()
        if self.returns != 1 or has_return(body):
            raise self._values.error(region.header.terminator, "the function returns before its end")
        return tidy(body)

    def spread(self) -> For:
        """The nest's loop as one of which each thread takes some iterations.

        Raises
        ------
        EmissionError
            Something has no form.
        """
        loop = self._parts.nest.loop
        header, counting = loop.header, self._kinds.counting.get(loop)
        if counting is None:
            raise self._values.error(
                header.terminator, "this loop counts in a way that has no form in a kernel"
            )
        inner = Frame(loop, None, None)
        inside = next(b for b in header.terminator.blocks if b in inner.blocks)
        self._parts.place = header
        made = self._for(loop, self._loop_body(header, inside, inner))
        made.body = tidy(made.body)
        made.spread = "grid"
        return made

    def _walk(self, block: BasicBlock, stop: BasicBlock | None, frame: Frame) -> list[Statement]:
        body: list[Statement] = []
        while block is not stop:
            self._visits[block] = self._visits.get(block, 0) + 1
            is_short = len(block.instructions) <= SHORT
            if self._visits[block] > (MAX_VISITS_OF_SHORT if is_short else MAX_VISITS):
                raise self._values.error(block.terminator, "this control flow has no readable form")
            launched = next((c for c in self._parts.nest.opaque if c.header is block), None)
            if launched is not None:
                following = self._launch(launched, body, frame)
                if following is None:
                    return body
                block = following
                continue
            context = self._kinds.headers.get(block)
            if context is not None and context is not frame.loop:
                following = self._loop(context, body, frame)
                if following is None:
                    return body
                block = following
                continue
            self._parts.place = block
            self._blocks.compute(block, body)
            branch = block.terminator
            if branch.op == "ret" and self._parts.nest.needed:
                self.returns += 1
                self.returned = self._values.of(branch.operands[0]) if branch.operands else None
                body.append(Return())
                return body
            if branch.op != "br":
                raise self._values.error(branch, f"'{branch.op}' has no form in the kernel")
            if not branch.operands:
                target = branch.blocks[0]
                if self._edge(block, target, body, frame):
                    return body
                block = target
                continue
            following = self._branch(block, body, stop, frame)
            if following is None:
                return body
            block = following
        return body

    def _branch(
        self, block: BasicBlock, body: list[Statement], stop: BasicBlock | None, frame: Frame
    ) -> BasicBlock | None:
        """Write a branch; the block behind it, None where nothing is."""
        condition, source, then_target, other_target = self._condition(block, frame)
        join = frame.join(source)
        if source is not block and join is None:
            join = frame.join(block)
        then = self._arm(source, then_target, join, stop, frame)
        otherwise = self._arm(source, other_target, join, stop, frame)
        if ends_in_jump(then):
            body.append(If(condition, then))
            body += otherwise
        elif ends_in_jump(otherwise):
            body.append(If(negated(condition), otherwise))
            body += then
        else:
            body.append(If(condition, then, otherwise))
        return None if join is None or join is stop or ends_in_jump(body) else join

    def _condition(self, block: BasicBlock, frame: Frame) -> tuple[Node, BasicBlock, BasicBlock, BasicBlock]:
        """The condition of a branch and of those behind it that share a target; the last of them, and its targets."""
        self._parts.place = block
        branch = block.terminator
        condition = self._values.of(branch.operands[0])
        then, other = branch.blocks
        while True:
            for second, shared in ((other, then), (then, other)):
                if not self._is_test(second, block, frame) or shared not in second.successors:
                    continue
                last = second.terminator
                if self._blocks.copies(second, shared) != self._blocks.copies(block, shared):
                    continue
                self._parts.place = second
                more = self._values.of(last.operands[0])
                rest = last.blocks[1] if last.blocks[0] is shared else last.blocks[0]
                if rest is shared:
                    continue
                if last.blocks[0] is not shared:
                    more = negated(more)
                # `more` leads to the shared block, as `condition` does, or its opposite.
                if shared is then:
                    condition, then, other = Node("or", I1, (condition, more)), shared, rest
                else:
                    condition, then, other = Node("and", I1, (condition, negated(more))), rest, shared
                block = second
                break
            else:
                return condition, block, then, other

    def _is_test(self, block: BasicBlock, before: BasicBlock, frame: Frame) -> bool:
        """Whether a block only tests, behind one other block."""
        if block not in frame.blocks or block in self._kinds.headers:
            return False
        if block.predecessors != [before] or len(block.terminator.operands) != 1:
            return False
        return not any(self._blocks.is_written(i) for i in block.instructions)

    def _arm(
        self,
        source: BasicBlock,
        target: BasicBlock,
        join: BasicBlock | None,
        stop: BasicBlock | None,
        frame: Frame,
    ) -> list[Statement]:
        body: list[Statement] = []
        if self._edge(source, target, body, frame):
            return body
        if target is join or target is stop:
            return body
        return body + self._walk(target, join if join is not None else stop, frame)

    def _edge(self, source: BasicBlock, target: BasicBlock, body: list[Statement], frame: Frame) -> bool:
        """Write what happens on an edge; whether control does not go on there."""
        self._parts.place = source
        if target in frame.blocks and target is not frame.loop.header:
            self._blocks.assign(source, target, body)
            return False
        if target is frame.loop.header:
            if frame.loop in self._kinds.grid:
                body.append(Return())
            else:
                self._blocks.assign(source, target, body)
                body.append(Continue())
            return True
        if frame.follow is None or frame.around is None:
            body += self._leave(frame.loop)
            return True
        self._blocks.assign(source, target, body)
        if target is not frame.follow:
            body += self._walk(target, frame.follow, frame.around)
        body.append(Break())
        return True

    def _launch(self, loop: LoopContext, body: list[Statement], frame: Frame) -> BasicBlock | None:
        """Write the launches that stand for a loop; the block behind it."""
        body += self._parts.nest.opaque[loop]
        view = loop.scope.view
        ends = [(view.blocks[e], view.blocks[x]) for e, x in loop.loop.exit_edges]
        if len(ends) != 1:
            raise self._values.error(loop.header.terminator, "this loop may be left early")
        source, target = ends[0]
        return None if self._edge(source, target, body, frame) else target

    def _leave(self, loop: LoopContext) -> list[Statement]:
        """What happens where the nest's loop is left before its last iteration."""
        if self._parts.nest.form is Form.HOST:
            return [Break()]
        if self._parts.nest.form is not Form.SEARCH:
            return [Return()]
        counting = self._kinds.counting[loop]
        variable = self._parts.variable(counting.phi)
        assert variable is not None
        place = Node("index", variable.type, (Node("int", I64),), self._parts.found, reading=variable.reading)
        return [Store(place, variable.node, "min" if counting.step > 0 else "max"), Break()]

    def _loop(self, loop: LoopContext, body: list[Statement], frame: Frame) -> BasicBlock | None:
        """Write an inner loop; the block behind it."""
        if loop in self._kinds.grid:
            self._grid(loop, body, frame)
            return None
        view = loop.scope.view
        exits = list(dict.fromkeys(view.blocks[x] for _, x in loop.loop.exit_edges))
        if not exits or any(x not in frame.blocks for x in exits):
            raise self._values.error(loop.header.terminator, "a loop is left together with one around it")
        follow = common_join(frame, exits)
        if follow is None:
            raise self._values.error(loop.header.terminator, "the ways out of a loop do not meet again")
        inner = Frame(loop, follow, frame)
        header = loop.header
        ends = [(view.blocks[e], view.blocks[x]) for e, x in loop.loop.exit_edges]
        counting = self._kinds.counting.get(loop)
        branch = header.terminator
        if counting is not None or self._tests_first(header, ends, follow):
            inside = next(b for b in branch.blocks if b in inner.blocks)
            outside = next(b for b in branch.blocks if b not in inner.blocks)
            self._parts.place = header
            if counting is not None:
                body.append(self._for(loop, self._loop_body(header, inside, inner)))
            else:
                condition = self._values.condition(branch.operands[0], branch.blocks[0] is inside)
                body.append(While(condition, self._loop_body(header, inside, inner)))
            if self._edge(header, outside, body, frame):
                return None
            return outside
        body.append(While(None, without_last_jump(self._walk(header, None, inner))))
        return follow

    def _loop_body(self, header: BasicBlock, inside: BasicBlock, frame: Frame) -> list[Statement]:
        return without_last_jump(self._arm(header, inside, None, None, frame))

    def _tests_first(
        self, header: BasicBlock, ends: list[tuple[BasicBlock, BasicBlock]], follow: BasicBlock
    ) -> bool:
        """Whether a loop's header is nothing but the test whether it goes on."""
        if header.terminator.op != "br" or not header.terminator.operands:
            return False
        if any(self._blocks.is_written(i) for i in header.non_phis()):
            return False
        mine = [x for e, x in ends if e is header]
        if len(mine) != 1:
            return False
        # What the test's own way out does would happen behind a break, too.
        return len(ends) == 1 or (mine[0] is follow and not self._blocks.copies(header, follow))

    def _for(self, loop: LoopContext, inner: list[Statement]) -> For:
        counting = self._kinds.counting[loop]
        variable = self._parts.variable(counting.phi)
        if variable is None:
            variable = Variable(self._parts.unique("_"), counting.phi.type, "s")
        turn = self._values.unsigned if counting.is_unsigned else self._values.signed
        start, stop = turn(self._values.of(counting.start)), turn(self._values.of(counting.bound))
        if counting.beyond:
            beyond = Node("int", stop.type, number=abs(counting.beyond), is_nonnegative=True)
            if stop.op == "int":
                stop = Node("int", stop.type, number=stop.number + counting.beyond)
            else:
                stop = Node("+" if counting.beyond > 0 else "-", I64, (stop, beyond))
        return For(variable, start, stop, counting.step, inner)

    def _grid(self, loop: LoopContext, body: list[Statement], frame: Frame | None) -> None:
        """Write a loop that is a dimension: which iteration is this thread's, and whether there is one.

        Nothing that is written or used follows.
        """
        inner = Frame(loop, None, frame)
        dimension = self._parts.nest.dimensions.index(loop)
        thread = Node("thread", I64, text="xyz"[dimension], is_nonnegative=True)
        counted = self._kinds.grid[loop]
        self._parts.place = loop.header
        if counted is not None:
            phi, step = counted.counter.phi, counted.counter.step
            start = self._values.of(counted.counter.start)
        else:
            counter = counter_of(self._parts.made, loop)
            if counter is None:
                raise self._values.error(loop.header.terminator, "it is not known what this loop counts")
            phi, first, step = counter
            start = self._values.number(first, phi.type, phi)
        variable = self._parts.variable(phi) or self._parts.make_variable(phi)
        body.append(Assign(variable, self._values.stepped(thread, start, step, phi.type)))
        if start.op == "int" and start.number == 0 and step == 1:
            self._parts.iterations[loop] = variable.node
        if counted is not None:
            branch = counted.header.terminator
            inside = next(b for b in branch.blocks if b in inner.blocks)
            condition = self._values.condition(branch.operands[0], branch.blocks[0] is inside)
            body.append(
                If(condition, without_last_jump(self._arm(counted.header, inside, None, None, inner)))
            )
            return
        rest = guarded(without_last_jump(self._walk(loop.header, None, inner)))
        if loop.loop.exiting != (loop.loop.header,):
            # What is tested behind an iteration says whether there is another one.
            trips = self._parts.made.trip_count(loop)
            if trips is None or loop not in self._parts.iterations:
                raise self._values.error(loop.header.terminator, "it is not known how often this loop runs")
            self._parts.place = loop.header
            limit = self._values.number(trips, I64, loop.header.terminator)
            rest = [If(Node("<", I1, (self._parts.iterations[loop], limit)), rest)]
        body += rest
