"""A loop of known rounds followed round by round, with what its counters and what is computed of them are.

    m = 1                                  followed: m = 1, k = 0, 2, 4, 6; m = 2, k = 0, 4; m = 4, k = 0
    while m < 8:
        for k in range(0, 8, 2 * m): ...
        m *= 2

Numbers are followed, and so are the branches that they decide, in the loops inside as well. Where a loop is not to be
followed, as data decide when it is left, what changes in it is unknown. Facts are about a function in canonical form,
loop-closed; flags are taken for what they promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import and_, or_, xor

from weft.analysis.integers.interval_transfer import rule_of
from weft.analysis.integers.intervals import Interval
from weft.graph.cfg import reverse_postorder
from weft.graph.loops import Loop, LoopForest
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.loop_metadata import is_never_unrolled
from weft.ir.types import IntType

MOST_ROUNDS = 64
"""Rounds of one loop."""

FEW = 8
"""Numbers of which a value is one of."""

MOST_STEPS = 20000
"""Instructions that are followed, known ones included."""

_FOLLOWED = frozenset((
    *("add", "sub", "mul", "shl", "lshr", "ashr", "udiv", "sdiv", "urem", "srem", "and", "or", "xor"),
    *("zext", "sext", "trunc", "icmp"),
))  # fmt: skip
_EXACT: dict[str, Callable[[int, int], int]] = {"and": and_, "or": or_, "xor": xor}
"""Of these an interval of two numbers is wider than their result."""
_EXTREMA = tuple(f"llvm.{name}." for name in ("smin", "smax", "umin", "umax"))
_FREE = frozenset(("phi", "br", "getelementptr"))
"""What costs nothing once loops are written out: branches are known, places have constant distances."""

Known = dict[Value, frozenset[int]]
"""Of which few numbers a value is one, of most just one."""
Edge = tuple[int, int]


class TooLongError(Exception):
    """More is to be followed than pays."""


class FollowedRounds:
    """The rounds of loops of one function.

    Parameters
    ----------
    view, forest
        Its blocks and loops.
    look
        Is shown each instruction that is not a known number, each time it runs, with what is known then.
    largest
        How much code, written out, is too much.

    Attributes
    ----------
    size
        Instructions so far, those left out that are known.
    open
        Loops that could not be followed to their end, by their headers.
    """

    __slots__ = ("_forest", "_largest", "_look", "_order", "_steps", "_view", "open", "size")

    def __init__(
        self, view: CFGView, forest: LoopForest, look: Callable[[Instruction, Known], None], largest: int
    ) -> None:
        self._view, self._forest, self._look, self._largest = view, forest, look, largest
        self._order = reverse_postorder(view.cfg.succs)
        self._steps = self.size = 0
        self.open: set[int] = set()

    def follow(self, loop: Loop) -> int | None:
        """How often the header of `loop`, of which nothing is known from before it, is run; None if that is unknown.

        Raises
        ------
        TooLongError
            It is more than pays.
        """
        rounds, _ = self._loop(loop, {}, None)
        return rounds

    def _loop(self, loop: Loop, known: Known, arriving: set[Edge] | None) -> tuple[int | None, set[Edge]]:
        """Follow a loop to its end: rounds, if all were followed, and the edges by which it may be left."""
        before = dict(known)
        size, exits = self.size, set[Edge]()
        if can_be_written_out(self._view, loop):
            header, (latch,) = self._view.blocks[loop.header], loop.latches
            block = self._view.blocks[latch]
            values = self._at_start(header, block, known)
            for turn in range(MOST_ROUNDS):
                self._set(known, values)
                live = self._round(loop, known)
                left = {edge for edge in live if edge[1] not in loop.blocks}
                again = (latch, loop.header) in live
                ends = bool(_asks(loop) & left)
                if not again and ends:
                    if exits:
                        # It may have been left in an earlier round: which values leave it is not known.
                        self._forget(loop, known)
                    return turn + 1, exits | left
                if not again or ends:
                    break
                exits |= left
                values = {phi: few_numbers(phi.incoming_value(block), known) for phi in header.phis()}
        self.open.add(loop.header)
        self.size = size
        known.clear()
        known.update(before)
        self._forget(loop, known)
        live = self._round(loop, known)
        self._forget(loop, known)
        return None, {edge for edge in live if edge[1] not in loop.blocks}

    def _at_start(
        self, header: BasicBlock, latch: BasicBlock, known: Known
    ) -> dict[Instruction, frozenset[int] | None]:
        starts: dict[Instruction, frozenset[int] | None] = {}
        for phi in header.phis():
            (start,) = (value for value, block in phi.incoming() if block is not latch)
            starts[phi] = few_numbers(start, known)
        return starts

    def _round(self, loop: Loop, known: Known) -> set[Edge]:
        """Follow one round; the edges that may be taken."""
        live: set[Edge] = set()
        for block in self._order:
            if block not in loop.blocks:
                continue
            inner = self._forest.innermost[block]
            while inner is not None and inner is not loop and inner.parent is not loop:
                inner = inner.parent
            sources = self._view.cfg.distinct_preds(block)
            if block == loop.header or any((source, block) in live for source in sources):
                if inner is loop:
                    self._block(block, live, known, is_header=block == loop.header)
                elif inner is not None and block == inner.header:
                    _, exits = self._loop(inner, known, live)
                    live |= exits
        return live

    def _block(self, number: int, live: set[Edge], known: Known, *, is_header: bool) -> None:
        block = self._view.blocks[number]
        if not is_header:
            values: dict[Instruction, frozenset[int] | None] = {}
            for phi in block.phis():
                values[phi] = _one_of(
                    few_numbers(value, known)
                    for value, source in phi.incoming()
                    if (self._view.index[source], number) in live
                )
            self._set(known, values)
        self._steps += len(block.instructions)
        for i in block.instructions:
            if i.is_phi:
                continue
            found = _computed(i, known)
            if found is not None:
                known[i] = found
                if len(found) == 1:
                    continue
            else:
                known.pop(i, None)
            self.size += i.op not in _FREE
            self._look(i, known)
        if self.size > self._largest or self._steps > MOST_STEPS:
            raise TooLongError
        last = block.terminator
        targets = last.blocks
        if last.op == "br" and len(targets) == 2:
            condition = _number(last.operands[0], known)
            if condition is not None:
                targets = (targets[0 if condition else 1],)
        live.update((number, self._view.index[target]) for target in targets)

    def _set(self, known: Known, values: dict[Instruction, frozenset[int] | None]) -> None:
        for phi, value in values.items():
            if value is None:
                known.pop(phi, None)
            else:
                known[phi] = value

    def _forget(self, loop: Loop, known: Known) -> None:
        for block in loop.blocks:
            for i in self._view.blocks[block].instructions:
                known.pop(i, None)


def can_be_written_out(view: CFGView, loop: Loop) -> bool:
    """Whether a loop has the form of those that can be written out, if its rounds are known."""
    if loop.is_irreducible or len(loop.latches) != 1 or len(view.cfg.preds[loop.header]) != 2:
        return False
    latch = view.blocks[loop.latches[0]]
    return len(_asks(loop)) == 1 and not is_never_unrolled(latch.terminator)


def _asks(loop: Loop) -> set[Edge]:
    """The edge by which a loop is left when its rounds are over; none, or several, if that is not known."""
    at_header = {edge for edge in loop.exit_edges if edge[0] == loop.header}
    return at_header or {edge for edge in loop.exit_edges if edge[0] == loop.latches[0]}


def asks_for_its_end(view: CFGView, loop: Loop) -> tuple[BasicBlock, BasicBlock]:
    """Where a loop that can be written out asks whether to go on, and where it goes then."""
    ((source, target),) = _asks(loop)
    return view.blocks[source], view.blocks[target]


def few_numbers(value: Value, known: Known) -> frozenset[int] | None:
    """Of which few numbers a value is one; None if that is not known."""
    return frozenset((value.signed,)) if isinstance(value, ConstInt) else known.get(value)


def _number(value: Value, known: Known) -> int | None:
    if isinstance(value, ConstInt):
        return value.signed
    few = known.get(value)
    return next(iter(few)) if few is not None and len(few) == 1 else None


def _one_of(sets: Iterable[frozenset[int] | None]) -> frozenset[int] | None:
    found: frozenset[int] = frozenset()
    for each in sets:
        if each is None:
            return None
        found |= each
    return found if 0 < len(found) <= FEW else None


def _computed(i: Instruction, known: Known) -> frozenset[int] | None:
    if i.op == "freeze":
        return few_numbers(i.operands[0], known)
    if i.op == "select":
        condition = _number(i.operands[0], known)
        chosen = i.operands[1:] if condition is None else i.operands[1 if condition else 2 :][:1]
        return _one_of(few_numbers(value, known) for value in chosen)
    number = computed_number(i, known)
    return None if number is None else frozenset((number,))


def computed_number(i: Instruction, known: Known) -> int | None:
    """The number that an instruction computes of known ones, with a sign."""
    op = i.op
    if op == "call" and (i.callee_name or "").startswith(_EXTREMA):
        op = (i.callee_name or "").split(".")[1]
    if (op not in _FOLLOWED and op == i.op) or not isinstance(i.type, IntType):
        return None
    intervals: list[Interval] = []
    for operand in i.args if op != i.op else i.operands:
        number = _number(operand, known)
        if number is None:
            return None
        intervals.append(Interval(number, number))
    exact = _EXACT.get(op)
    if exact is not None:
        return exact(*(interval.lo for interval in intervals))
    if op in ("srem", "urem"):
        x, y = (interval.lo for interval in intervals)
        if not y or (op == "urem" and min(x, y) < 0):
            return None
        return abs(x) % abs(y) * (-1 if x < 0 else 1)
    first = i.type if op != i.op else i.operands[0].type
    assert isinstance(first, IntType)
    predicate = i.predicate if i.op == "icmp" else None
    found = rule_of(op, i.flags, i.type.bits, first.bits, predicate)(*intervals)
    return found.lo if found.lo == found.hi else None
