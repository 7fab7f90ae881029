"""From the control flow of a nest to statements: ifs, loops that count, loops with a condition, breaks.

The graph is reducible. A branch's two ways meet again in the block that post-dominates it within the loop it is in,
edges out of the loop and back to its header left aside. Tests of ``a and b`` and ``a or b``, which are two branches
with one target, become one condition. φs are assignments on the edges, made at the same time. A loop that is a
dimension of the grid is a condition on the number of the thread; nothing happens behind it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.analysis.sequential.scope import LoopContext
from weft.graph.cfg import CFG
from weft.graph.dominators import DominatorTree, post_dominator_tree
from weft.ir import BasicBlock, Instruction
from weft.ir.effects import may_write
from weft.ir.types import I1, I64
from weft.loops.emission.kernel import KernelParts
from weft.loops.emission.nests import Form
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
    names_in,
)
from weft.loops.emission.values import Values, negated
from weft.report.loop_counters import counter_of

MAX_VISITS = 3
"""So often a block may be written; control flow that needs more has no readable form."""


@dataclass(slots=True)
class Frame:
    """A loop that is being written.

    Parameters
    ----------
    loop
        The loop.
    follow
        The block behind it, None behind the kernel's outermost.
    around
        The loop around it.
    """

    loop: LoopContext
    follow: BasicBlock | None
    around: Frame | None
    blocks: frozenset[BasicBlock] = field(init=False)
    tree: DominatorTree = field(init=False)
    numbers: dict[BasicBlock, int] = field(init=False)

    def __post_init__(self) -> None:
        own = self.loop.blocks
        self.blocks = frozenset(own)
        self.numbers = {
            b: k for k, b in enumerate([self.loop.header, *(b for b in own if b is not self.loop.header)])
        }
        succs = [
            [self.numbers[s] for s in b.successors if s in self.blocks and s is not self.loop.header]
            for b in self.numbers
        ]
        self.tree = post_dominator_tree(CFG(succs))

    def join(self, block: BasicBlock) -> BasicBlock | None:
        """Where the ways of a branch meet."""
        number = self.tree.idom[self.numbers[block]]
        return next((b for b, k in self.numbers.items() if k == number), None)


class Structure:
    """Writes a nest as statements."""

    def __init__(self, parts: KernelParts, values: Values) -> None:
        self._parts = parts
        self._values = values
        self._kinds = parts.kinds
        self._visits: dict[BasicBlock, int] = {}

    def statements(self) -> list[Statement]:
        """The body of the kernel.

        Raises
        ------
        EmissionError
            Something has no form.
        """
        body: list[Statement] = []
        self._grid(self._parts.nest.loop, body, None)
        return _tidy(body)

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
        made.body = _tidy(made.body)
        made.spread = "grid"
        return made

    def _walk(self, block: BasicBlock, stop: BasicBlock | None, frame: Frame) -> list[Statement]:
        body: list[Statement] = []
        while block is not stop:
            self._visits[block] = self._visits.get(block, 0) + 1
            if self._visits[block] > MAX_VISITS:
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
            self._compute(block, body)
            branch = block.terminator
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
                if self._copies(second, shared) != self._copies(block, shared):
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
        return not any(self._is_written(i) for i in block.instructions)

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
            self._assign(source, target, body)
            return False
        if target is frame.loop.header:
            if frame.loop in self._kinds.grid:
                body.append(Return())
            else:
                self._assign(source, target, body)
                body.append(Continue())
            return True
        if frame.follow is None or frame.around is None:
            body += self._leave(frame.loop)
            return True
        self._assign(source, target, body)
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
        follow = _common_join(frame, exits)
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
        body.append(While(None, _without_last_jump(self._walk(header, None, inner))))
        return follow

    def _loop_body(self, header: BasicBlock, inside: BasicBlock, frame: Frame) -> list[Statement]:
        return _without_last_jump(self._arm(header, inside, None, None, frame))

    def _tests_first(
        self, header: BasicBlock, ends: list[tuple[BasicBlock, BasicBlock]], follow: BasicBlock
    ) -> bool:
        """Whether a loop's header is nothing but the test whether it goes on."""
        if header.terminator.op != "br" or not header.terminator.operands:
            return False
        if any(self._is_written(i) for i in header.non_phis()):
            return False
        mine = [x for e, x in ends if e is header]
        if len(mine) != 1:
            return False
        # What the test's own way out does would happen behind a break, too.
        return len(ends) == 1 or (mine[0] is follow and not self._copies(header, follow))

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
                If(condition, _without_last_jump(self._arm(counted.header, inside, None, None, inner)))
            )
            return
        rest = _guarded(_without_last_jump(self._walk(loop.header, None, inner)))
        if loop.loop.exiting != (loop.loop.header,):
            # What is tested behind an iteration says whether there is another one.
            trips = self._parts.made.trip_count(loop)
            if trips is None or loop not in self._parts.iterations:
                raise self._values.error(loop.header.terminator, "it is not known how often this loop runs")
            self._parts.place = loop.header
            limit = self._values.number(trips, I64, loop.header.terminator)
            rest = [If(Node("<", I1, (self._parts.iterations[loop], limit)), rest)]
        body += rest

    def _is_written(self, instruction: Instruction) -> bool:
        """Whether an instruction is a statement of the kernel."""
        if instruction.is_phi:
            return False
        is_store = instruction.op == "store" and not self._parts.nest.is_dry
        return is_store or self._parts.variable(instruction) is not None or (
            instruction.op == "call" and may_write(instruction) and instruction in self._parts.variables.live
        )  # fmt: skip

    def _compute(self, block: BasicBlock, body: list[Statement]) -> None:
        for instruction in block.instructions:
            if instruction.op == "store":
                if not self._parts.nest.is_dry:
                    body.append(self._store(instruction))
            elif not instruction.is_phi and instruction in self._parts.variables.live:
                variable = self._parts.variable(instruction)
                if variable is not None:
                    value = self._values.operation(instruction)
                    turn = self._values.signed if variable.reading == "s" else self._values.unsigned
                    body.append(Assign(variable, turn(value)))
                elif instruction.op == "call" and may_write(instruction):
                    name = instruction.callee_name or "a function through a pointer"
                    raise self._values.error(instruction, f"the call of {name} has no form in the kernel")

    def _store(self, store: Instruction) -> Store:
        target = self._parts.element(store)
        update = self._parts.nest.updates.get(store)
        if update is not None:
            return Store(target, self._values.of(update.value), update.operation)
        return Store(target, self._values.of(store.stored_value))

    def _copies(self, source: BasicBlock, target: BasicBlock) -> list[tuple[Variable, Node]]:
        """What φs ask for on an edge."""
        found: list[tuple[Variable, Node]] = []
        for phi in target.phis():
            if phi not in self._parts.variables.live or self._parts.is_counter(phi):
                continue
            variable = self._parts.variable(phi)
            if variable is None:
                continue
            self._parts.place = source
            value = self._values.of(phi.incoming_value(source))
            turn = self._values.signed if variable.reading == "s" else self._values.unsigned
            value = turn(value)
            if not (value.op == "name" and value.text == variable.name):
                found.append((variable, value))
        return found

    def _assign(self, source: BasicBlock, target: BasicBlock, body: list[Statement]) -> None:
        """Assign variables of φs as if at the same time."""
        left = self._copies(source, target)
        while left:
            ready = next(
                (c for c in left if not any(c[0].name in names_in(o[1]) for o in left if o is not c)), None
            )
            if ready is None:
                # All are read by others: one is kept under another name.
                variable = left[0][0]
                kept = Variable(self._parts.unique(f"old_{variable.name}"), variable.type, variable.reading)
                body.append(Assign(kept, variable.node))
                ready = left[0]
                others = [(v, _renamed(n, variable.name, kept.node)) for v, n in left[1:]]
                left = [left[0], *others]
            body.append(Assign(ready[0], ready[1]))
            left = [c for c in left if c is not ready]


def _renamed(node: Node, name: str, by: Node) -> Node:
    if node.op == "name" and node.text == name:
        return by
    args = tuple(_renamed(a, name, by) for a in node.args)
    return Node(node.op, node.type, args, node.text, node.number, node.reading, node.is_nonnegative)


def _common_join(frame: Frame, exits: list[BasicBlock]) -> BasicBlock | None:
    """The nearest block that all ways out of a loop come to."""
    chains: list[list[BasicBlock]] = []
    for exit in exits:
        chain: list[BasicBlock] = []
        block: BasicBlock | None = exit
        while block is not None:
            chain.append(block)
            block = frame.join(block)
        chains.append(chain)
    return next((b for b in chains[0] if all(b in c for c in chains)), None)


def _without_last_jump(body: list[Statement]) -> list[Statement]:
    """A loop's body without what begins the next iteration at its end anyway."""
    while body and isinstance(body[-1], Continue | Return):
        body = body[:-1]
    if body and isinstance(body[-1], If):
        last = body[-1]
        last.then, last.otherwise = _without_last_jump(last.then), _without_last_jump(last.otherwise)
    return body


def _tidy(body: list[Statement]) -> list[Statement]:
    """Statements without ifs that do nothing, and with conditions of ifs inside of each other in one."""
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, For | While):
            statement.body = _tidy(statement.body)
        elif isinstance(statement, If):
            statement.then, statement.otherwise = _tidy(statement.then), _tidy(statement.otherwise)
            if not statement.then and not statement.otherwise:
                continue
            if not statement.then:
                statement = If(negated(statement.condition), statement.otherwise)
            while len(statement.then) == 2 and _is_thread(statement.then[0]) and not statement.otherwise:
                found.append(statement.then.pop(0))
            inner = statement.then[0]
            if (
                not statement.otherwise
                and len(statement.then) == 1
                and isinstance(inner, If)
                and not inner.otherwise
            ):
                both = Node("and", I1, (statement.condition, inner.condition))
                statement = If(both, inner.then)
        found.append(statement)
    return found


def _guarded(body: list[Statement]) -> list[Statement]:
    """Statements behind a test that ends the thread, as statements under the opposite condition."""
    first = body[0] if body else None
    if (
        isinstance(first, If)
        and len(first.then) == 1
        and isinstance(first.then[0], Return)
        and not first.otherwise
    ):
        return [If(negated(first.condition), body[1:])]
    return body


def _is_thread(statement: Statement) -> bool:
    """Whether a statement computes the iteration of a thread, which does no harm outside of a condition."""

    def has_thread(node: Node) -> bool:
        return node.op == "thread" or any(has_thread(a) for a in node.args)

    return isinstance(statement, Assign) and has_thread(statement.value)
