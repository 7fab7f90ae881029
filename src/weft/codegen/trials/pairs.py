"""What a trial compares, and when it is over: pairs of pieces, their shares, and what comes behind a trial.

Code that the builder adds where it stands, without branches.
"""

from __future__ import annotations

from weft.codegen.trials.state import TrialState, Word
from weft.ir import Builder, Module, Value
from weft.ir.builder import const_float, const_int
from weft.ir.types import F64, I64, FunctionType

LEAST = 50_000
"""Nanoseconds that a version is measured for in a pair of the first trial. In a quarter of that, lanes, which touch
more memory at a time, may look slow behind the other version: measured on walks down a tree in a far cache."""

LATER = 16 * LEAST
"""The same for later trials, where none of both is `SURE` to be faster. What a version leaves in the caches is paid for
by the other one: the keys of a radix pass by each thread alone, which take 1.6 times as long as in lanes, take 1.0, 1.2
and 1.3 times as long in pieces of 50, 200 and 900 us, measured on Emerald Rapids with AVX-512."""

SURE = 0.25
"""The mean share of the trials so far that is beyond doubt: a factor of 1.7."""

FEWEST, PAIRS = 3, 8
"""Pairs of a trial, at least and at most, behind the first."""

CLEAR, CLEAR_WHERE_CLOSE = 0.6, 1.0
"""The sum of the shares of pairs that is enough to end a trial, and one of longer pieces: of three by a factor of 1.5,
or of six by 1.2. A pair that something has disturbed does not decide it, as it could where the mean of three had to be
0.1: with five busy processes on two cores, a loop that takes half the time in lanes ran one by one for up to 0.4
seconds. Levels of a search differ by as much as a factor of 1.8 either way, three in a row now and then."""

KEPT = 0.5
"""What the shares of the trial before count beside those of a trial that has not ended by clear ones."""

MARGIN = 0.02
"""The mean share that the model's choice must lose by to be given up: a factor of 1.04."""

MOST = 1 / 3
"""What a pair counts at most: a factor of 2."""

BEYOND, HARDLY = 0.8, 0.2
"""From which share on, a factor of 9, a pair counts so much of `MOST`: most such have been interrupted."""

PATIENCE, PAUSE = 384.0, float(1 << 27)
"""Until the next trial it takes so many cycles for each nanosecond that the last one lost, some 130 to 190 times as
long, and so many cycles, some 50 ms."""

SOON = 1 / 8
"""The second trial comes after this part of the time."""

DRIFT, HASTE = 2.0, 4
"""Where groups take so many times what they took behind the trial, or that part of it, cycles count so many times."""

_LONG = float(1 << 62)
"""Cycles until another trial, at most."""


class Pairs:
    """Builds that code."""

    __slots__ = ("_builder", "_fabs", "_state")

    def __init__(self, module: Module, builder: Builder, state: TrialState) -> None:
        self._builder, self._state = builder, state
        self._fabs = module.declare("llvm.fabs.f64", FunctionType(F64, (F64,)))

    def is_long(self, time: Value) -> Value:
        """Whether a piece has been measured for long enough."""
        b = self._builder
        return b.icmp("uge", time, b.select(self._is_close(), const_int(LATER), const_int(LEAST)))

    def fold(self) -> Value:
        """Add what both have run of a launch to the sums of a pair, for as many groups; whether that is all of it."""
        b, state = self._builder, self._state
        one = const_float(1.0, F64)
        groups = [state.number(Word.GROUPS + k) for k in range(2)]
        # Launches at the same time may have cleared them.
        groups = [b.select(b.fcmp("ogt", g, one), g, one) for g in groups]
        fewer = b.select(b.fcmp("olt", groups[0], groups[1]), groups[0], groups[1])
        sums: list[Value] = []
        for k in range(2):
            time = b.binary("fdiv", b.binary("fmul", state.number(Word.TIMES + k), fewer), groups[k])
            sums.append(b.binary("fadd", state.word(Word.SUMS + k, type=F64), time))
            state.put(Word.SUMS + k, sums[-1])
        state.clear_launch()
        least = b.select(self._is_close(), const_float(float(LATER), F64), const_float(float(LEAST), F64))
        one_long, other_long = (b.fcmp("oge", total, least) for total in sums)
        return b.binary("or", one_long, other_long)

    def add(self) -> tuple[Value, Value, Value]:
        """Count a pair that both versions have run: pairs but the first, the sum of their shares, time lost."""
        b, state = self._builder, self._state
        first, second = (state.word(Word.SUMS + k, type=F64) for k in range(2))
        more = b.binary("fsub", first, second)
        whole = b.binary("fdiv", more, b.binary("fadd", first, second))
        most, least = const_float(MOST, F64), const_float(-MOST, F64)
        share = b.select(b.fcmp("ogt", whole, most), most, whole)
        share = b.select(b.fcmp("olt", share, least), least, share)
        beyond = b.fcmp("ogt", self._absolute(whole), const_float(BEYOND, F64))
        share = b.select(beyond, b.binary("fmul", share, const_float(HARDLY, F64)), share)
        lost = self._absolute(more)
        # The first pair warms up.
        before = state.word(Word.COUNT)
        counts = b.icmp("ne", before, const_int(0))
        sums: list[Value] = []
        for word, value in ((Word.SHARES, share), (Word.LOST, lost)):
            added = b.binary("fadd", state.word(word, type=F64), value)
            sums.append(b.select(counts, added, const_float(0.0, F64)))
            state.put(word, sums[-1])
        state.put(Word.COUNT, b.binary("add", before, const_int(1)))
        state.clear_pair()
        return b.cast("uitofp", before, F64), sums[0], sums[1]

    def are_enough(self, counted: Value, shares: Value) -> Value:
        """Whether the pairs so far end a trial."""
        b = self._builder
        clear = self._are_clear(shares)
        enough = b.fcmp("oge", counted, const_float(FEWEST, F64))
        full = b.fcmp("oge", counted, const_float(PAIRS, F64))
        return b.binary("or", full, b.binary("and", clear, enough))

    def conclude(self, counted: Value, shares: Value, lost: Value) -> None:
        """Choose a version by the pairs of a trial, and say when the next one begins."""
        b, state = self._builder, self._state
        clear, kept = self._are_clear(shares), const_float(KEPT, F64)
        known: list[Value] = []
        for word, value in ((Word.KNOWN, shares), (Word.KNOWN_PAIRS, counted)):
            before = b.binary("fmul", kept, state.word(word, type=F64))
            known.append(b.select(clear, value, b.binary("fadd", value, before)))
            state.put(word, known[-1])
        better = b.fcmp("ogt", known[0], b.binary("fmul", const_float(MARGIN, F64), known[1]))
        state.put(Word.CHOSEN, b.cast("zext", better, I64))
        state.put(Word.EXPECTED, const_float(0.0, F64))
        wait = b.binary("fadd", b.binary("fmul", const_float(PATIENCE, F64), lost), const_float(PAUSE, F64))
        # What launches at the same time have disturbed may be no number.
        wait = b.select(b.fcmp("olt", wait, const_float(_LONG, F64)), wait, const_float(PAUSE, F64))
        soon = b.icmp("eq", state.word(Word.TRIALS), const_int(0))
        wait = b.select(soon, b.binary("fmul", wait, const_float(SOON, F64)), wait)
        state.put(Word.LEFT, b.cast("fptosi", wait, I64))
        state.put(Word.TRIALS, const_int(1))
        state.put(Word.COUNT, const_int(0))
        state.put(Word.SETTLED, const_int(1))

    def hastened(self, taken: Value, groups: Value) -> Value:
        """Cycles, or more where groups took another time than the first ones behind the trial."""
        b = self._builder
        number, time = b.cast("uitofp", groups, F64), b.cast("uitofp", taken, F64)
        drift = const_float(DRIFT, F64)
        known = self._state.word(Word.EXPECTED, type=F64)
        each = b.select(b.fcmp("oeq", known, const_float(0.0, F64)), b.binary("fdiv", time, number), known)
        self._state.put(Word.EXPECTED, each)
        expected = b.binary("fmul", each, number)
        longer = b.fcmp("ogt", time, b.binary("fmul", expected, drift))
        shorter = b.fcmp("olt", b.binary("fmul", time, drift), expected)
        more = b.binary("mul", taken, const_int(HASTE))
        return b.select(b.binary("or", longer, shorter), more, taken)

    def _is_close(self) -> Value:
        """Whether this is not the first trial, and those before have not told which version is faster for sure."""
        b, state = self._builder, self._state
        shares, pairs = (state.word(word, type=F64) for word in (Word.KNOWN, Word.KNOWN_PAIRS))
        sure = b.binary("fmul", const_float(SURE, F64), pairs)
        return b.fcmp("olt", self._absolute(shares), sure)

    def _are_clear(self, shares: Value) -> Value:
        """Whether shares are enough to end a trial before it has all its pairs."""
        b = self._builder
        enough = b.select(self._is_close(), const_float(CLEAR_WHERE_CLOSE, F64), const_float(CLEAR, F64))
        return b.fcmp("oge", self._absolute(shares), enough)

    def _absolute(self, value: Value) -> Value:
        return self._builder.call(self._fabs, (value,))
