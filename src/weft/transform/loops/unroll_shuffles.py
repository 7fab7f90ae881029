"""Loops of few rounds in which lanes read others at a distance that each round changes, written out.

    d = 16                                    total += shfl_down(total, 16)
    while d > 0:                              total += shfl_down(total, 8)
        total += shfl_down(total, d)          total += shfl_down(total, 4)
        d >>= 1                               total += shfl_down(total, 2)
                                              total += shfl_down(total, 1)

The sum of a warp is written so. Where the distance is a number, a shuffle is one permutation by a constant; where it is
not, lanes are taken out one by one on machines without permutations of several registers
(`weft.codegen.widen.shuffles`).

Precondition: canonical form, loop-closed, without predicates, shadows and guards; ids are calls. Postcondition: valid;
no innermost loop is left whose rounds are known, and few, and that changes which lanes a shuffle in it reads, but those
that the source does not let be unrolled. What has become constant is to be folded. Preserves the program under FR.
"""

from __future__ import annotations

from weft.analysis.integers.interval_transfer import rule_of
from weft.analysis.integers.intervals import Interval
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.loop_metadata import is_never_unrolled
from weft.ir.types import IntType
from weft.transform.loops.unroll_rows import LoopRounds, write_out

MOST_ROUNDS = 8
"""Warps of 32 threads have five, those of 64 six."""

SHUFFLE = "weft.shfl."
"""How the names of shuffles begin."""

LARGEST = 48
"""Instructions of a round."""


def unroll_shuffles(function: Function) -> list[Instruction]:
    """Write out such loops; what asked each of them for its end."""
    if not any(_is_shuffle(i) for i in function.instructions()):
        return []
    view = cfg_of(function)
    found = [
        rounds for loop in loop_forest(view.cfg).loops if (rounds := _few_rounds(view, loop)) is not None
    ]
    asked = [loop.exiting.terminator for loop in found]
    write_out(function, found)
    return asked


def _is_shuffle(instruction: Instruction) -> bool:
    return (instruction.callee_name or "").startswith(SHUFFLE)


def _few_rounds(view: CFGView, loop: Loop) -> LoopRounds | None:
    if loop.children or loop.is_irreducible or len(loop.latches) != 1 or len(loop.exit_edges) != 1:
        return None
    ((source, target),) = loop.exit_edges
    header, latch, exiting = view.blocks[loop.header], view.blocks[loop.latches[0]], view.blocks[source]
    if exiting is not header and exiting is not latch:
        return None
    blocks = (header, *(view.blocks[b] for b in sorted(loop.blocks) if b != loop.header))
    shuffles = [i for block in blocks for i in block.instructions if _is_shuffle(i)]
    if not shuffles or sum(len(block.instructions) for block in blocks) > LARGEST:
        return None
    if is_never_unrolled(latch.terminator) or len(view.cfg.preds[loop.header]) != 2:
        return None
    rounds = _Rounds(header, latch, exiting, view.blocks[target])
    if not any(rounds.changes(i.args[1], set(blocks)) for i in shuffles):
        return None
    count = rounds.count()
    return None if count is None else LoopRounds(header, latch, blocks, exiting, view.blocks[target], count)


class _Rounds:
    """A loop that is followed round by round, in what its φs compute of numbers alone."""

    __slots__ = ("_carried", "_exit", "_exiting", "_latch", "_top")

    def __init__(self, header: BasicBlock, latch: BasicBlock, exiting: BasicBlock, exit: BasicBlock) -> None:
        self._latch, self._exiting, self._exit = latch, exiting, exit
        self._top = exiting is header and header is not latch
        # Loop-simplified: what is not carried around arrives from before the loop.
        self._carried: dict[Instruction, int] = {}
        for phi in header.phis():
            (start,) = (value for value, block in phi.incoming() if block is not latch)
            if isinstance(start, ConstInt):
                self._carried[phi] = start.signed

    def changes(self, value: Value, inside: set[BasicBlock]) -> bool:
        """Whether a value is computed of what is followed."""
        work, seen = [value], set[Value]()
        while work:
            at = work.pop()
            if at in self._carried:
                return True
            if isinstance(at, Instruction) and at not in seen and at.block in inside and not at.is_phi:
                seen.add(at)
                work += at.operands
        return False

    def count(self) -> int | None:
        """How often the body runs; None if that is not known, or often."""
        branch = self._exiting.terminator
        if branch.op != "br" or len(branch.blocks) != 2:
            return None
        now = dict(self._carried)
        for turn in range(MOST_ROUNDS + 1):
            seen: dict[Value, int] = {**now}
            condition = _number(branch.operands[0], seen)
            if condition is None:
                return None
            if (branch.blocks[0] is self._exit) == bool(condition):
                return turn if self._top else turn + 1
            following = {phi: _number(phi.incoming_value(self._latch), seen) for phi in now}
            now = {phi: value for phi, value in following.items() if value is not None}
        return None


def _number(value: Value, seen: dict[Value, int], steps: int = 8) -> int | None:
    """A number, with a sign, of others that are known."""
    if isinstance(value, ConstInt):
        return value.signed
    if value in seen:
        return seen[value]
    if not isinstance(value, Instruction) or value.is_phi or not steps or not isinstance(value.type, IntType):
        return None
    operands = [_number(operand, seen, steps - 1) for operand in value.operands]
    if value.op not in _FOLLOWED or not all(isinstance(o.type, IntType) for o in value.operands):
        return None
    known = [Interval(o, o) for o in operands if o is not None]
    if len(known) < len(operands):
        return None
    first = value.operands[0].type
    assert isinstance(first, IntType)
    predicate = value.predicate if value.op == "icmp" else None
    found = rule_of(value.op, value.flags, value.type.bits, first.bits, predicate)(*known)
    if found.lo != found.hi:
        return None
    seen[value] = found.lo
    return found.lo


_FOLLOWED = {
    *("add", "sub", "mul", "shl", "lshr", "ashr", "udiv", "sdiv", "and", "or", "xor"),
    *("zext", "sext", "trunc", "icmp"),
}
