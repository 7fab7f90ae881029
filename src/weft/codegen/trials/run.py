"""The function that runs a range of groups piece by piece, by turns where a trial goes on, and keeps the state.

One function for all launches of a module; where a range begins, `_open` decides how much of it one version may run::

    next ──> run ──┬─ no trial ──> settled ──> again, where it is time for one
      ^            └─ a trial ──> tried ──┬─ short: a longer piece, of the same version
      │                                   └─ begun ──┬─ turned: the other version's piece
      └──────────── all of these go on here          └─ both ──> pair ──> pause, or the end of the trial
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.codegen.loops import variable
from weft.codegen.trials.clock import Clock
from weft.codegen.trials.pairs import Pairs
from weft.codegen.trials.state import TrialState, Word
from weft.ir import FALSE, BasicBlock, Builder, Function, Module, Value
from weft.ir.builder import const_int
from weft.ir.types import I32, I64, PTR, FunctionType

RUN = FunctionType(I32, (PTR, I64, I64, I32))
"""A function that runs groups: launch record, the first, the one behind the last, worker; an error or 0."""

FEW = 8
"""Groups. Of launches of fewer each version runs all by turns: else what one takes for the first of three is compared
with what the other one takes for the last, which may have less to do, and that in each launch. Rays that march through
150 rows in three grains ran one by one, as often as not, four times as long."""

GAP = 1 << 22
"""Cycles between pairs of a later trial, some 2 ms."""

_LONGEST = 1 << 16
"""Groups of a piece at most, in so many as belong together."""

_PARTS = 3
"""Between pairs a launch asks the clock when so many times a quarter of a piece have run, as a power of two."""

_NAME = "weft.trial"


def running(module: Module) -> Function:
    """That function of a module: state, two versions, what `RUN` takes, and how many groups belong together."""
    found = module.functions.get(_NAME)
    if found is not None:
        return found
    names = ("state", "first", "second", "record", "begin", "end", "worker", "together")
    function = Function(_NAME, FunctionType(I32, (PTR, PTR, PTR, *RUN.params, I64)), names)
    function.linkage.linkage, function.attributes = "internal", ("nounwind", "noinline")
    module.add_function(function)
    _Running(module, function).build()
    return function


@dataclass(slots=True)
class _Piece:
    """What has run last: by which version, whether in a trial, and how much."""

    tries: Value
    turn: Value
    rival: Value
    leads: Value
    """Whether the other version has not run any of this launch."""
    limit: Value
    between: Value
    """Whether more pairs of a trial follow after a gap."""
    count: Value
    stop: Value
    taken: Value


class _Running:
    """Builds that function."""

    def __init__(self, module: Module, function: Function) -> None:
        self._function = function
        self._builder = b = Builder(function.add_block("entry"))
        self._state = TrialState(b, function.args[0])
        self._pairs = Pairs(module, b, self._state)
        self._clock = Clock(module)
        self._umin, self._umax = (
            module.declare(f"llvm.{name}.i64", FunctionType(I64, (I64, I64))) for name in ("umin", "umax")
        )
        self._begin, self._end, self._worker, self._together = function.args[4:]
        self._place, self._half = variable(function, I64), variable(function, I64)
        self._whole = b.binary("sub", self._end, self._begin)
        self._own = b.icmp("eq", self._worker, const_int(0, I32))

    def build(self) -> None:
        b, function = self._builder, self._function
        following, run, done = (function.add_block(name) for name in ("next", "run", "done"))
        at_once = self._open(following)
        b.at_end(following)
        at = b.load(I64, self._place)
        b.cond_br(b.icmp("slt", at, self._end), run, done)
        b.at_end(done)
        b.ret(const_int(0, I32))
        b.at_end(run)
        piece = self._run(at, at_once)
        tried, other, settled = (function.add_block(name) for name in ("tried", "other", "settled"))
        b.cond_br(piece.tries, tried, other)
        b.at_end(other)
        b.cond_br(self._own, settled, following)
        b.at_end(settled)
        self._wait(piece, at_once, following)
        b.at_end(tried)
        self._try(piece, following)

    def _open(self, following: BasicBlock) -> Value:
        """Begin a range, and go on; whether one version is to run all of it, and the other one the next."""
        b, state = self._builder, self._state
        middle = self._middle(self._begin)
        b.store(self._begin, self._place)
        several = b.binary("and", self._own, b.icmp("slt", middle, self._end))
        few = b.icmp("slt", self._whole, b.binary("mul", self._together, const_int(FEW)))
        again = b.binary("and", few, b.icmp("eq", self._whole, state.word(Word.LAST)))
        at_once = b.binary("and", several, again)
        b.store(b.select(at_once, self._end, middle), self._half)
        begins, drops = (self._function.add_block(name) for name in ("begins", "drops"))
        b.cond_br(several, begins, following)
        b.at_end(begins)
        before = b.icmp("ne", state.word(Word.WHOLE), const_int(0))
        state.put(Word.LAST, self._whole)
        state.put(Word.WHOLE, b.cast("zext", at_once, I64))
        b.cond_br(b.binary("and", at_once, before), following, drops)
        # What one version has run of another launch is compared with nothing here.
        b.at_end(drops)
        state.clear_launch()
        b.br(following)
        return at_once

    def _run(self, at: Value, at_once: Value) -> _Piece:
        """Run the piece that is next, or return its error."""
        b, state = self._builder, self._state
        first, second, record = self._function.args[1:4]
        tries = b.select(self._own, b.icmp("eq", state.word(Word.SETTLED), const_int(0)), FALSE)
        turn = b.select(tries, state.word(Word.TURN), state.word(Word.CHOSEN))
        rival = b.binary("xor", turn, const_int(1))
        leads = b.icmp("eq", state.word(Word.GROUPS, rival), const_int(0))
        half = b.load(I64, self._half)
        limit = b.select(b.binary("and", leads, b.icmp("slt", at, half)), half, self._end)
        left = b.binary("sub", self._end, at)
        piece = b.select(at_once, self._whole, b.binary("mul", self._pieces(), self._together))
        between = b.select(self._own, b.icmp("ne", state.word(Word.COUNT), const_int(0)), FALSE)
        most = b.call(self._umin, (b.binary("shl", piece, const_int(_PARTS)), left))
        trial = b.call(self._umin, (piece, b.binary("sub", limit, at)))
        count = b.select(tries, trial, b.select(between, most, left))
        stop = b.binary("add", at, count)
        version = b.select(b.icmp("eq", turn, const_int(0)), first, second)
        kind = self._clock.kind(b, tries, state.word(Word.LENGTH))
        before = self._clock.now(b, kind)
        status = b.call(version, (record, at, stop, self._worker), RUN)
        taken = b.binary("sub", self._clock.now(b, kind), before)
        b.store(stop, self._place)
        ran, failed = (self._function.add_block(name) for name in ("ran", "failed"))
        b.cond_br(b.icmp("eq", status, const_int(0, I32)), ran, failed)
        b.at_end(failed)
        b.ret(status)
        b.at_end(ran)
        return _Piece(tries, turn, rival, leads, limit, between, count, stop, taken)

    def _wait(self, piece: _Piece, at_once: Value, following: BasicBlock) -> None:
        """Count the time until the next trial, or the next pair, and begin it."""
        b, state = self._builder, self._state
        passed = b.select(piece.between, piece.taken, self._pairs.hastened(piece.taken, piece.count))
        left = b.binary("sub", state.word(Word.LEFT), passed)
        state.put(Word.LEFT, left)
        again = self._function.add_block("again")
        b.cond_br(b.icmp("slt", left, const_int(0)), again, following)
        b.at_end(again)
        for word in (Word.PIECE, Word.SETTLED):
            state.put(word, const_int(0))
        state.clear_launch()
        state.clear_pair()
        b.store(b.select(at_once, self._end, self._middle(piece.stop)), self._half)
        b.br(following)

    def _try(self, piece: _Piece, following: BasicBlock) -> None:
        """Count what a version has run in a trial, and see whose turn is next."""
        b, state, function = self._builder, self._state, self._function
        begun, short, turned, both = (
            function.add_block(name) for name in ("begun", "short", "turned", "both")
        )
        state.put(Word.LENGTH, piece.taken)
        time = b.binary("add", state.word(Word.TIMES, piece.turn), piece.taken)
        state.put(Word.TIMES, time, piece.turn)
        groups = b.binary("add", state.word(Word.GROUPS, piece.turn), piece.count)
        state.put(Word.GROUPS, groups, piece.turn)
        over = b.binary("or", self._pairs.is_long(time), b.icmp("sge", piece.stop, piece.limit))
        b.cond_br(over, begun, short)
        b.at_end(short)
        longer = b.binary("shl", self._pieces(), const_int(1))
        state.put(Word.PIECE, b.call(self._umin, (longer, const_int(_LONGEST))))
        b.br(following)
        b.at_end(begun)
        b.cond_br(piece.leads, turned, both)
        b.at_end(turned)
        state.put(Word.TURN, piece.rival)
        b.br(following)
        b.at_end(both)
        self._close(piece, following)

    def _close(self, piece: _Piece, following: BasicBlock) -> None:
        """Compare what both versions have run: where it is a whole pair, the trial may be over."""
        b, state, function = self._builder, self._state, self._function
        pair, pause, end = (function.add_block(name) for name in ("pair", "pause", "end"))
        long = self._pairs.fold()
        b.store(self._middle(piece.stop), self._half)
        b.cond_br(long, pair, following)
        b.at_end(pair)
        state.put(Word.PIECE, b.binary("lshr", state.word(Word.PIECE), const_int(2)))
        counted, shares, lost = self._pairs.add()
        b.cond_br(self._pairs.are_enough(counted, shares), end, pause)
        b.at_end(pause)
        later = b.icmp("ne", state.word(Word.TRIALS), const_int(0))
        state.put(Word.SETTLED, b.cast("zext", later, I64))
        state.put(Word.LEFT, const_int(GAP))
        b.br(following)
        b.at_end(end)
        self._pairs.conclude(counted, shares, lost)
        b.br(following)

    def _pieces(self) -> Value:
        return self._builder.call(self._umax, (self._state.word(Word.PIECE), const_int(1)))

    def _middle(self, at: Value) -> Value:
        """Where the half of what is left ends, which is what the version runs at most that begins."""
        b = self._builder
        left = b.binary("sub", self._end, at)
        half = b.binary("udiv", b.binary("lshr", left, const_int(1)), self._together)
        half = b.binary("mul", b.call(self._umax, (half, const_int(1))), self._together)
        return b.binary("add", at, b.call(self._umin, (half, left)))
