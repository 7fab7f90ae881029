"""Ranges of numbers that φs and stack objects hand on to each other, by how far additions can carry them.

    score = max(0, diagonal + reward, above[j] - gap, left - gap)
    diagonal, above[j], left = above[j], score, score

A fixed point over intervals knows nothing of what is in memory, and `accumulations` follows one φ. Here the φs,
choices, minima, maxima, conversions and loads of stack objects that a number comes from are followed to what is no such
thing: the numbers that it began as. It is one of these, plus what additions on its way have added. Each execution of an
addition sees results of earlier ones only, so it is on that way once at most. So additions change a number by no more
than the sum, over all of them, of what one adds, times how often it is executed: the rounds of the loops around. Where
what an addition makes comes back to it only by way of a later iteration of an outer loop
(`weft.analysis.integers.earlier_stores`), it is on the way once in each of these, not in each round of the inner one.

Sums are taken in whole numbers. If the bounds fit into the narrowest type on the way, nothing wraps around or is cut
off, by induction over the executions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from weft.analysis.integers.earlier_stores import EarlierStores
from weft.analysis.integers.intervals import Interval, full, join
from weft.analysis.integers.stored_numbers import StoredNumbers
from weft.graph.loops import Loop, loop_forest
from weft.ir import ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.types import IntType

MAX_SOURCES = 64
"""Instructions that one number is followed to."""

_CHOICES = ("llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax.")


class Drifts:
    """The numbers of one function that go around, by the ranges that are known of other values.

    Parameters
    ----------
    rounds
        How often a loop goes back to its header at most, where that is known.
    stored
        What loads of the function read.
    """

    __slots__ = ("_earlier", "_function", "_innermost", "_known", "_rounds", "_stored", "_view")

    def __init__(
        self,
        function: Function,
        view: CFGView,
        known: Mapping[Value, Interval],
        rounds: Callable[[Loop], int | None],
        stored: StoredNumbers,
    ) -> None:
        self._function = function
        self._view = view
        self._known = known
        self._rounds = rounds
        self._stored = stored
        self._innermost = loop_forest(view.cfg).innermost
        self._earlier: EarlierStores | None = None

    def of(self, phi: Instruction) -> tuple[Interval, list[Instruction]] | None:
        """Bounds of a φ, and all φs and loads that they hold for; None if there are none that fit."""
        sources = self._sources(phi)
        if sources is None:
            return None
        start: Interval | None = None
        below, above, bits = 0, 0, phi.type.bits if isinstance(phi.type, IntType) else 0
        for source, begins in sources.items():
            assert isinstance(source.type, IntType)
            if begins:
                known = self._range(source)
                if known is None:
                    return None
                start = join(start, known)
                continue
            bits = min(bits, source.type.bits)
            if isinstance(source, Instruction) and source.op in ("add", "sub"):
                part = self._range(_carried(source, self._width)[1])
                times = self._times_on_a_way(source)
                if part is None or times is None:
                    return None
                lo, hi = (part.lo, part.hi) if source.op == "add" else (-part.hi, -part.lo)
                below, above = below + times * min(0, lo), above + times * max(0, hi)
        if start is None:
            return None
        found, whole = Interval(start.lo + below, start.hi + above), full(bits)
        if found.lo < whole.lo or found.hi > whole.hi:
            return None
        bounded = [s for s, begins in sources.items() if not begins and isinstance(s, Instruction)]
        return found, [s for s in bounded if s.op in ("phi", "load")]

    def _sources(self, phi: Instruction) -> dict[Value, bool] | None:
        """All that a number comes from, and of which of it no more is asked than the range; None: too much."""
        sources: dict[Value, bool] = {}
        work: list[Value] = [phi]
        while work:
            value = work.pop()
            if value in sources:
                continue
            if len(sources) == MAX_SOURCES:
                return None
            operands = self._operands(value)
            sources[value] = operands is None
            work += operands or ()
        return sources

    def _operands(self, value: Value) -> list[Value] | None:
        """What a value is one of, plus what it adds itself; None where it is to be taken as it is."""
        if not isinstance(value, Instruction) or value.block not in self._view.index:
            return None
        op, operands = value.op, list(value.operands)
        if op == "phi":
            return operands if value.shadow is None else None
        if op in ("sext", "trunc"):
            return operands if isinstance(operands[0].type, IntType) else None
        if op == "select":
            return operands[1:]
        if op == "call" and (value.callee_name or "").startswith(_CHOICES):
            return list(value.args)
        if op in ("add", "sub"):
            return [_carried(value, self._width)[0]]
        return self._stored_values(value) if op == "load" else None

    def _width(self, value: Value) -> int:
        known = self._range(value)
        assert isinstance(value.type, IntType)
        return known.hi - known.lo if known is not None else 1 << value.type.bits

    def _range(self, value: Value) -> Interval | None:
        if isinstance(value, ConstInt):
            return Interval(value.signed, value.signed)
        return self._known.get(value)

    def _times_on_a_way(self, addition: Instruction) -> int | None:
        """How often an addition can be on the way to a number; None if nobody knows."""
        assert addition.block is not None
        innermost = self._innermost[self._view.index[addition.block]]
        loops: list[Loop] = []
        loop = innermost.parent if innermost is not None else None
        while loop is not None:
            loops.append(loop)
            loop = loop.parent
        for outer in reversed(loops):
            if not outer.is_irreducible and self._is_once_in(addition, outer):
                return self._iterations(outer)
        return self._iterations(innermost)

    def _iterations(self, loop: Loop | None) -> int | None:
        """How many iterations a loop has at most, all runs of it together; None if nobody knows."""
        times = 1
        while loop is not None:
            back = None if loop.is_irreducible else self._rounds(loop)
            if back is None:
                return None
            times *= back + 1
            loop = loop.parent
        return times

    def _is_once_in(self, addition: Instruction, outer: Loop) -> bool:
        """Whether what an addition makes does not come back to it in the same iteration of a loop."""
        work: list[Value] = [_carried(addition, self._width)[0]]
        seen: set[Value] = set()
        while work:
            value = work.pop()
            if value is addition or len(seen) > MAX_SOURCES:
                return False
            if value in seen or not isinstance(value, Instruction) or value.block not in self._view.index:
                continue
            seen.add(value)
            number = self._view.index[value.block]
            if number not in outer.blocks or (value.is_phi and number == outer.header):
                # It is older than this iteration.
                continue
            if value.op == "load" and self._earlier_stores().reads_earlier(value, outer):
                continue
            work += self._operands(value) or ()
        return True

    def _earlier_stores(self) -> EarlierStores:
        if self._earlier is None:
            objects = self._stored.objects
            self._earlier = EarlierStores(self._function, self._view, objects, self._innermost, self._rounds)
        return self._earlier

    def _stored_values(self, load: Instruction) -> list[Value] | None:
        stored = self._stored.of(load)
        if stored is None:
            return None
        zero = [ConstInt(load.type, 0)] if stored.cleared and isinstance(load.type, IntType) else []
        return [*zero, *(store.stored_value for store in stored.stores)]


def _carried(addition: Instruction, width: Callable[[Value], int]) -> tuple[Value, Value]:
    """What an addition is followed to, and what it adds to that: of which less numbers are possible."""
    first, second = addition.operands
    if addition.op == "add" and width(first) < width(second):
        return second, first
    return first, second
