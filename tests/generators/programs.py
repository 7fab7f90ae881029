"""Random kernels: defined for every input, ending on every input, and hard on a vectorizer.

``random_program(seed, options)`` gives a module with a kernel

    @kernel(ptr %in, ptr %out, i32 %u, i64 %n)

that any number of threads up to `MAX_THREADS` may run. `%in` has `INPUT_BYTES` bytes that are only read, `%out` has
`SLICE_BYTES` bytes for each thread, which only that thread writes and reads. So the result does not depend on the
order of threads, and two ways to run a program can be compared byte by byte.

Unless `Options.poison` is set the program has no undefined behaviour and no poison: divisors are not zero, shift
amounts are in range, accesses in bounds, stack objects initialized. With it, flags (nsw, exact, ...) and φ operands
may be poison: for tests of analyses, which stop where the interpreter reports a fault.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from generators.callees import make_callees
from generators.every_kind import LANE_OPERATIONS, EveryKind
from generators.expressions import Expressions
from generators.graphs import GraphBuilder, GraphShape, Node
from generators.memory import MemoryStatements
from weft.graph.cfg import CFG, reachable
from weft.graph.dominators import dominator_tree
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Module, Poison, Value
from weft.ir.intrinsics import declare
from weft.ir.layout import X86_64_LAYOUT
from weft.ir.types import F16, F32, F64, I1, I8, I16, I32, I64, PTR, VOID, FunctionType, IntType, Type

MAX_THREADS = 64
INPUT_BYTES = 2048
SLICE_BYTES = 128
_POOLED = (I1, I8, I16, I32, I64, F16, F32, F64, PTR)


@dataclass(frozen=True, slots=True)
class Options:
    """What programs may contain.

    Parameters
    ----------
    blocks, loop_depth, statements
        Blocks of the graph before unreachable ones go, depth of loops, statements a block at most.
    trips
        Most iterations of a loop, about.
    memory_share, stack_share
        The share of statements that access memory, and of these the share that access stack objects.
    switches, floats, memory, stack, horizontal, atomics, calls
        Kinds of instructions.
    single_return
        Whether there is one return only.
    poison
        Flags and φ operands that may be poison.
    lane_ids
        Whether kernels may ask for the thread's place in its lane group and the group's in the grid.
    every_kind
        The share of statements of `generators.every_kind`; the output then has `accesses.BYTES` bytes.
    half
        Of these, whether some are of half precision.
    grid
        Whether a thread is known by its place in the grid, not in the group: launches may have several groups.
    guard
        Whether only the first `%u` threads run the kernel.
    lane_operations
        Of these, the horizontal operations.
    """

    blocks: int = 10
    loop_depth: int = 3
    statements: int = 4
    trips: int = 3
    memory_share: float = 0.35
    stack_share: float = 0.4
    switches: bool = True
    floats: bool = True
    memory: bool = True
    stack: bool = True
    horizontal: bool = False
    atomics: bool = False
    calls: bool = True
    single_return: bool = True
    poison: bool = False
    lane_ids: bool = True
    every_kind: float = 0.0
    half: bool = False
    grid: bool = False
    guard: bool = False
    lane_operations: tuple[str, ...] = LANE_OPERATIONS


def random_program(seed: int, options: Options = Options()) -> Module:
    """The program of a seed: the same one every time."""
    module = Module(f"random.{seed}", datalayout=X86_64_LAYOUT)
    rng = random.Random(seed)
    callee = _helper(module, rng, options) if options.calls and rng.random() < 0.4 else None
    callees = make_callees(module, rng, options, _fill) if options.every_kind and options.calls else []
    kernel = Function("kernel", FunctionType(VOID, (PTR, PTR, I32, I64)), ("in", "out", "u", "n"))
    kernel.attributes = ('"weft.kernel"', "nounwind")
    module.add_function(kernel)
    _Body(kernel, rng, options, callee, callees).fill()
    return module


def _fill(function: Function, rng: random.Random, options: Options) -> None:
    _Body(function, rng, options, None).fill()


def _helper(module: Module, rng: random.Random, options: Options) -> Function:
    """A small function of integers for the kernel to call."""
    function = Function("helper", FunctionType(I32, (I32, I32)), ("a", "b"))
    function.linkage.linkage = "internal"
    function.attributes = ("nounwind",)
    module.add_function(function)
    small = replace(
        options, blocks=4, loop_depth=1, statements=2, trips=2, floats=False, memory=False, stack=False,
        horizontal=False, calls=False,
    )  # fmt: skip
    _Body(function, rng, small, None).fill()
    return function


class _Body:
    """Fills one function."""

    def __init__(
        self,
        function: Function,
        rng: random.Random,
        options: Options,
        callee: Function | None,
        callees: list[Function] | None = None,
    ) -> None:
        self.function = function
        self.rng = rng
        self.options = options
        assert function.module is not None
        shape = GraphShape(options.blocks, options.loop_depth, options.switches, options.single_return)
        nodes = GraphBuilder(rng, shape).build()
        for node in nodes:
            _trim(node)
        by_number = sorted(nodes, key=lambda n: n.number)
        live = reachable([n.succs for n in by_number])
        self.nodes: list[Node] = [n for n in nodes if live[n.number]]
        self.has_guard = options.guard and function.name == "kernel"
        if self.has_guard:
            function.add_block("guard")
        self.blocks: dict[int, BasicBlock] = {
            n.number: function.add_block(f"b{n.number}") for n in self.nodes
        }
        self.counters: dict[int, tuple[Instruction, Instruction]] = {}
        self.pending: list[tuple[Instruction, int]] = []
        self.pools: dict[int, dict[Type, list[Value]]] = {}
        self.expressions = Expressions(rng, function.module, options)
        self.memory = MemoryStatements(rng, function, options, self.expressions)
        self.callee = callee
        self.more = (
            EveryKind(rng, function, options, self.expressions, self.memory, callees or [])
            if options.every_kind
            else None
        )

    def fill(self) -> None:
        numbers = [n.number for n in self.nodes]
        position = {number: i for i, number in enumerate(numbers)}
        cfg = CFG([[position[t] for t in n.succs] for n in self.nodes])
        idom = dominator_tree(cfg).idom
        preds = {n.number: [numbers[p] for p in cfg.distinct_preds(position[n.number])] for n in self.nodes}
        for node in self.nodes:
            at = position[node.number]
            if at == 0:
                pool: dict[Type, list[Value]] = {t: [] for t in _POOLED}
                for argument in self.function.args:
                    if not argument.type.is_pointer:
                        pool[argument.type].append(argument)
            else:
                pool = {t: list(v) for t, v in self.pools[numbers[idom[at]]].items()}
            self.pools[node.number] = pool
            builder = Builder(self.blocks[node.number])
            self._phis(node, preds[node.number], position, builder, pool)
            if at == 0 and self.has_guard:
                self._guard(builder, pool)
            elif at == 0 and self.function.args[0].type.is_pointer:
                self.memory.enter(builder, pool)
            if at == 0 and self.more is not None:
                self.more.enter(builder)
            for _ in range(self.rng.randint(0, self.options.statements)):
                self._statement(builder, pool)
            self._terminate(node, builder, pool)
        for phi, pred in self.pending:
            phi.add_incoming(self._incoming(phi.type, pred), self.blocks[pred])

    def _guard(self, builder: Builder, pool: dict[Type, list[Value]]) -> None:
        """Let only threads below `%u` go on from the block before the first."""
        guard = Builder(self.function.entry)
        self.memory.enter(guard, pool)
        assert self.memory.tid is not None
        bound = guard.cast("sext", self.function.args[2], I64)
        runs = guard.icmp(self.rng.choice(("slt", "ult", "ule")), self.memory.tid, bound)
        outside = self.function.add_block("outside")
        assert builder.block is not None
        guard.cond_br(runs, builder.block, outside)
        Builder(outside).ret()

    def _phis(
        self,
        node: Node,
        preds: list[int],
        position: dict[int, int],
        builder: Builder,
        pool: dict[Type, list[Value]],
    ) -> None:
        block = self.blocks[node.number]
        if node.is_header:
            counter = builder.phi(I32, f"k{node.number}")
            step = builder.binary("add", counter, ConstInt(I32, 1), ("nuw", "nsw"), f"k{node.number}.next")
            for pred in preds:
                back = position[pred] >= position[node.number]
                counter.add_incoming(step if back else ConstInt(I32, 0), self.blocks[pred])
            bound: Value = ConstInt(I32, self.rng.randint(2, self.options.trips + 1))
            if self.rng.random() < 0.6:
                start = self.expressions.pick(I32, self.pools[node.number])
                if self.rng.random() < 0.5 and self.memory.tid is not None:
                    start = builder.cast("trunc", self.memory.tid, I32)
                bound = builder.binary("urem", start, ConstInt(I32, self.options.trips + 2))
            test = builder.icmp("ult", step, bound)
            self.counters[node.number] = (step, test)
            pool[I32].append(counter)
        if not preds or (len(preds) == 1 and self.rng.random() < 0.5):
            return
        for _ in range(self.rng.choice((0, 1, 1, 2, 3))):
            type = self.rng.choice(
                (I32, I32, I64, I1, *((F32,) if self.options.floats else ()), *self._pointer(pool))
            )
            if self.more is not None and self.rng.random() < self.options.every_kind:
                type = self.more.phi_type()
            phi = Builder(block).phi(type)
            for pred in preds:
                if position[pred] >= position[node.number]:
                    self.pending.append((phi, pred))
                else:
                    phi.add_incoming(self._incoming(type, pred), self.blocks[pred])
            pool[type].append(phi)

    def _pointer(self, pool: dict[Type, list[Value]]) -> tuple[Type, ...]:
        return (PTR,) if len(pool[PTR]) > 1 else ()

    def _incoming(self, type: Type, pred: int) -> Value:
        if self.options.poison and self.rng.random() < 0.05:
            return Poison(type)
        if isinstance(type, IntType) and self.rng.random() < 0.3:
            return ConstInt(type, self.rng.randint(0, 3))
        return self.expressions.pick(type, self.pools[pred])

    def _statement(self, builder: Builder, pool: dict[Type, list[Value]]) -> None:
        if self.more is not None and self.rng.random() < self.options.every_kind:
            self.more.statement(builder, pool)
        elif self.memory.is_ready and self.rng.random() < self.options.memory_share:
            self.memory.statement(builder, pool)
        elif self.callee is not None and self.rng.random() < 0.08:
            arguments = [self.expressions.pick(I32, pool) for _ in range(2)]
            pool[I32].append(builder.call(self.callee, arguments))
        elif self.options.horizontal and self.rng.random() < 0.1:
            self._horizontal(builder, pool)
        else:
            value = self.expressions.statement(builder, pool)
            pool[value.type].append(value)

    def _horizontal(self, builder: Builder, pool: dict[Type, list[Value]]) -> None:
        module = self.function.module
        assert module is not None
        name = self.rng.choice(
            ("weft.any", "weft.all", "weft.ballot", "weft.mask", "weft.shfl.idx.i32", "weft.active")
        )
        arguments: list[Value] = (
            [] if name in ("weft.mask", "weft.active") else [self.expressions.pick(I1, pool)]
        )
        if name == "weft.shfl.idx.i32":
            lane = (
                ConstInt(I32, self.rng.choice((0, 0, 1, 3)))
                if self.rng.random() < 0.7
                else self.expressions.pick(I32, pool)
            )
            arguments = [self.expressions.pick(I32, pool), lane]
        result = builder.call(declare(module, name), arguments)
        pool[result.type].append(result)

    def _terminate(self, node: Node, builder: Builder, pool: dict[Type, list[Value]]) -> None:
        targets = node.succs
        if not targets:
            self._return(builder, pool)
            return
        if targets[0] in self.counters and targets[0] in node.headers:
            _, condition = self.counters[targets[0]]
            if self.rng.random() < 0.4:
                condition = builder.binary("and", condition, self._condition(builder, pool))
            builder.cond_br(condition, *(self.blocks[t] for t in targets))
            return
        if len(targets) == 1:
            builder.br(self.blocks[targets[0]])
        elif len(targets) == 2:
            builder.cond_br(self._condition(builder, pool), *(self.blocks[t] for t in targets))
        else:
            value = builder.binary("and", self.expressions.pick(I32, pool), ConstInt(I32, 7))
            if self.options.poison:
                value = builder.unary("freeze", value)
            cases = [
                (i + self.rng.randint(0, 1), self.blocks[t])
                for i, t in zip((0, 2, 4), targets[1:], strict=False)
            ]
            builder.switch(value, self.blocks[targets[0]], cases)

    def _condition(self, builder: Builder, pool: dict[Type, list[Value]]) -> Value:
        rng, pick = self.rng, self.expressions.pick
        kind = rng.random()
        if kind < 0.3 and self.memory.tid is not None:
            # Most threads go one way, some the other.
            bits = builder.binary("and", self.memory.tid, ConstInt(I64, rng.choice((1, 3, 7))))
            condition = builder.icmp(rng.choice(("eq", "ult", "ugt")), bits, ConstInt(I64, rng.randint(0, 3)))
        elif kind < 0.6 and pool[I1]:
            condition = pick(I1, pool)
        else:
            type = rng.choice((I32, I64))
            other = ConstInt(type, rng.randint(-2, 8)) if rng.random() < 0.5 else pick(type, pool)
            predicate = rng.choice(("eq", "ne", "slt", "ult", "sge", "ugt"))
            condition = builder.icmp(predicate, pick(type, pool), other)
        return builder.unary("freeze", condition) if self.options.poison else condition

    def _return(self, builder: Builder, pool: dict[Type, list[Value]]) -> None:
        if self.function.fn_type.result.is_void:
            self.memory.leave(builder, pool)
            if self.more is not None:
                self.more.leave(builder, pool)
            builder.ret()
        else:
            builder.ret(self.expressions.pick(self.function.fn_type.result, pool))


def _trim(node: Node) -> None:
    """A block with a back edge goes back as long as the loop's counter allows, and else on: first back, then on."""
    back = [t for t in node.succs if t in node.headers]
    if back:
        node.succs = [back[0], next(t for t in node.succs if t not in back)]
