"""Two versions of what a launch runs, of which the faster one is found out by the way: one in lanes, one without.

Whether threads that look places up are better off in lanes may be decided by the data: where neighbours look at the
same places, or all is in the nearest cache, one after the other may be faster, and where each waits for memory lanes
wait together. Both versions run the same groups (`weft.codegen.groups`), or grains of a loop
(`weft.codegen.parallel_launch`). So the thread that launches runs its first groups by turns, one piece by each version,
and counts cycles. What is chosen runs the rest, and further launches; the other threads of the pool follow. After a
while there is another trial, as data change, and sooner where groups take another time than just behind the last one::

    pieces:   A | B   B | A   A | B   B | A  ...      the first pair warms the caches
    a pair:   share = (a - b) / (a + b), cycles of a group, at most `MOST`, and less beyond: some are interrupted
    chosen:   when the shares of three or more pairs add up to `CLEAR`; else by the sign of eight

A piece is long enough to be measured (`LEAST` cycles). Both versions of a pair run groups of the same launch, half of
what is left of it at most, and launches that are shorter than a pair add up to one: what a group takes differs from
launch to launch, as where each is a level of a search. Where launches have few groups (`FEW`), as many as the one
before, one version runs a whole launch and the other one the next, as these groups may have more or less to do. Pairs
of the first trial follow each other, as launches may be few; those of later ones are `GAP` cycles apart, which what is
chosen runs, so that a trial does not see one kind of launch only where they take turns. What the slower version has
lost in a trial is at most one part in `PATIENCE` of the time until the next one, so that trials cost little whatever
the versions take; the second trial is soon behind the first.

Precondition: two functions ``i32 (ptr record, i64 begin, i64 end, i32 worker)`` that do the same. Postcondition: a
third one that does it by either. Preserves the program under FR. The state is a global variable of the code. Launches
of several threads of Python at once may disturb each other's trials, but each group runs once.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.codegen.launch_record import BLOCK
from weft.codegen.loops import variable
from weft.codegen.run_unit import RunUnit
from weft.codegen.stack import ENTRY_ATTRIBUTES
from weft.ir import FALSE, Builder, Function, GlobalVariable, Instruction, Module, Value
from weft.ir.builder import const_float, const_int
from weft.ir.constants import ConstZero
from weft.ir.types import F64, I1, I8, I32, I64, PTR, ArrayType, FunctionType, Type
from weft.machine.targets import Isa
from weft.machine.vecmath import math_function

BOTH_WAYS = "both ways"
"""What the pass that makes both versions is called."""

LEAST = 1 << 17
"""Cycles of the clock that a version is measured for in a pair, some 50 us. In a quarter of that, lanes, which touch
more memory at a time, may look slow behind the other version: measured on walks down a tree in a far cache."""

FEWEST, PAIRS = 3, 8
"""Pairs of a trial, at least and at most, behind the first."""

CLEAR = 0.6
"""The sum of the shares of pairs that is enough to end a trial: of three by a factor of 1.5, or of six by 1.2. A
pair that another process has interrupted does not decide it, as it could where the mean of three had to be 0.1: with
five busy processes on two cores, a loop that takes half the time in lanes ran one by one for up to 0.4 seconds."""

FEW = 8
"""Groups. Of launches of fewer each version runs all by turns: else what one takes for the first of three is compared
with what the other one takes for the last, which may have less to do, and that in each launch. Rays that march through
150 rows in three grains ran one by one, as often as not, four times as long."""

MARGIN = 0.02
"""The mean share that the model's choice must lose by to be given up: a factor of 1.04."""

MOST = 1 / 3
"""What a pair counts at most: a factor of 2."""

BEYOND, HARDLY = 0.8, 0.2
"""From which share on, a factor of 9, a pair counts so much of `MOST`: most such have been interrupted."""

PATIENCE, PAUSE = 128.0, float(1 << 27)
"""Until the next trial it takes so many times what the last one lost, and so many cycles, some 50 ms."""

GAP = 1 << 22
"""Cycles between pairs of a later trial, some 2 ms."""

SOON = 1 / 8
"""The second trial comes after this part of the time."""

DRIFT, HASTE = 2.0, 4
"""Where groups take so many times what they took behind the trial, or that part of it, cycles count so many times."""

_LONGEST, _LONG = 1 << 16, float(1 << 62)
"""Groups of a piece, and cycles until another trial, at most."""

_PARTS = 5
"""Between pairs a launch asks the clock when so many times a quarter of a piece have run, as a power of two."""

_TRIAL = "weft.trial"
_RUN = FunctionType(I32, (PTR, I64, I64, I32))

# Words of the state. Of `_SETTLED` and `_CHOSEN` 0 is the beginning: a trial, and what the model has chosen.
_SETTLED, _CHOSEN, _TURN, _PIECE = range(4)
# Of each version: what it has run of a launch, and its cycles for the same number of groups of all launches of a pair.
_CYCLES, _GROUPS, _SUMS = 4, 6, 8
_SHARES, _COUNT, _LOST, _LEFT, _EXPECTED, _TRIALS, _LAST, _WHOLE = range(10, 18)
_WORDS = 18


def may_try(instructions: Iterable[Instruction], isa: Isa) -> bool:
    """Whether what a thread does may run in lanes and without, by turns: both do the same, and the clock can be read.

    Vector math functions round in another way than those for one number, and atomic operations of lanes have another
    order. On aarch64 programs may not read the clock.
    """
    if isa.arch != "x86_64":
        return False
    for instruction in instructions:
        if instruction.op in ("atomicrmw", "cmpxchg", "fence") or instruction.attrs.get("volatile"):
            return False
        if instruction.op == "call":
            name = instruction.callee_name or ""
            if not name.startswith("llvm.") or math_function(name) is not None:
                return False
    return True


def run_better(
    module: Module, first: Function, second: Function, name: str, rows: RunUnit | None = None
) -> Function:
    """Add a function `name` that runs groups by the better one of two, `first` where it does not know.

    Of kernels, `rows` says how many groups belong together; grains of loops do not.
    """
    type = ArrayType(I64, _WORDS)
    state = module.add_global(GlobalVariable(f"{name}.state", type, ConstZero(type)))
    state.linkage.linkage, state.linkage.align = "internal", 128
    function = module.add_function(Function(name, _RUN, ("record", "begin", "end", "worker")))
    function.attributes = ENTRY_ATTRIBUTES
    for each in (first, second):
        each.linkage.linkage = "internal"
        each.attributes = (*each.attributes, "noinline")
    builder = Builder(function.add_block("entry"))
    together = const_int(1) if rows is None else _groups_together(module, builder, function.args[0], rows)
    done = builder.call(_trial(module), (state, first, second, *function.args, together))
    builder.ret(done)
    return function


def _groups_together(module: Module, builder: Builder, record: Value, rows: RunUnit) -> Value:
    """Of how many groups runs are a multiple, or a multiple of that (`RunUnit.groups`)."""
    place = builder.gep(I8, record, (const_int(BLOCK + 8 * rows.dimension),), ("inbounds",))
    size = builder.load(I64, place, align=8)
    twos = module.declare("llvm.cttz.i64", FunctionType(I64, (I64, I1)))
    number = builder.call(twos, (builder.binary("or", size, const_int(rows.width)), FALSE))
    return builder.binary("lshr", const_int(rows.width), number)


def _trial(module: Module) -> Function:
    """The function that runs a range of groups, and keeps the state."""
    found = module.functions.get(_TRIAL)
    if found is not None:
        return found
    type = FunctionType(I32, (PTR, PTR, PTR, *_RUN.params, I64))
    names = ("state", "first", "second", "record", "begin", "end", "worker", "together")
    function = Function(_TRIAL, type, names)
    function.linkage.linkage, function.attributes = "internal", ("nounwind", "noinline")
    module.add_function(function)
    _Trial(module, function).build()
    return function


class _Trial:
    """Builds that function."""

    def __init__(self, module: Module, function: Function) -> None:
        self._function = function
        self._builder = Builder(function.add_block("entry"))
        self._clock = module.declare(
            "llvm.readcyclecounter", FunctionType(I64, ()), ("nounwind", "willreturn")
        )
        self._umin, self._umax = (
            module.declare(f"llvm.{name}.i64", FunctionType(I64, (I64, I64))) for name in ("umin", "umax")
        )
        self._fabs = module.declare("llvm.fabs.f64", FunctionType(F64, (F64,)))

    def build(self) -> None:
        b, function = self._builder, self._function
        _, first, second, record, begin, end, worker, together = function.args
        names = (
            "next", "run", "done", "failed", "mine", "other", "settled", "again", "tried", "begun", "both",
            "short", "turned", "pair", "pause", "end",
        )  # fmt: skip
        block = {name: function.add_block(name) for name in names}
        place, half = variable(function, I64), variable(function, I64)
        b.store(begin, place)
        middle = self._middle(begin, end, together)
        whole = b.binary("sub", end, begin)
        own = b.icmp("eq", worker, const_int(0, I32))
        several = b.binary("and", own, b.icmp("slt", middle, end))
        few = b.icmp("slt", whole, b.binary("mul", together, const_int(FEW)))
        again = b.binary("and", few, b.icmp("eq", whole, self._word(_LAST)))
        at_once = b.binary("and", several, again)
        b.store(b.select(at_once, end, middle), half)
        begins, drops = function.add_block("begins"), function.add_block("drops")
        b.cond_br(several, begins, block["next"])
        b.at_end(begins)
        before = b.icmp("ne", self._word(_WHOLE), const_int(0))
        self._set(_LAST, whole)
        self._set(_WHOLE, b.cast("zext", at_once, I64))
        b.cond_br(b.binary("and", at_once, before), block["next"], drops)
        # What one version has run of another launch is compared with nothing here.
        b.at_end(drops)
        self._clear()
        b.br(block["next"])

        b.at_end(block["next"])
        at = b.load(I64, place)
        b.cond_br(b.icmp("slt", at, end), block["run"], block["done"])
        b.at_end(block["done"])
        b.ret(const_int(0, I32))

        b.at_end(block["run"])
        tries = b.select(own, b.icmp("eq", self._word(_SETTLED), const_int(0)), FALSE)
        turn = b.select(tries, self._word(_TURN), self._word(_CHOSEN))
        rival = b.binary("xor", turn, const_int(1))
        leads = b.icmp("eq", self._word(_GROUPS, rival), const_int(0))
        ahead = b.icmp("slt", at, b.load(I64, half))
        limit = b.select(b.binary("and", leads, ahead), b.load(I64, half), end)
        left = b.binary("sub", end, at)
        piece = b.binary("mul", b.call(self._umax, (self._word(_PIECE), const_int(1))), together)
        piece = b.select(at_once, whole, piece)
        between = b.select(own, b.icmp("ne", self._word(_COUNT), const_int(0)), FALSE)
        most = b.call(self._umin, (b.binary("shl", piece, const_int(_PARTS)), left))
        count = b.select(
            tries,
            b.call(self._umin, (piece, b.binary("sub", limit, at))),
            b.select(between, most, left),
        )
        stop = b.binary("add", at, count)
        version = b.select(b.icmp("eq", turn, const_int(0)), first, second)
        before = b.call(self._clock, ())
        status = b.call(version, (record, at, stop, worker), _RUN)
        taken = b.binary("sub", b.call(self._clock, ()), before)
        b.store(stop, place)
        b.cond_br(b.icmp("eq", status, const_int(0, I32)), block["mine"], block["failed"])
        b.at_end(block["failed"])
        b.ret(status)

        b.at_end(block["mine"])
        b.cond_br(tries, block["tried"], block["other"])
        b.at_end(block["other"])
        b.cond_br(own, block["settled"], block["next"])

        b.at_end(block["settled"])
        pause = b.binary("sub", self._word(_LEFT), b.select(between, taken, self._hastened(taken, count)))
        self._set(_LEFT, pause)
        b.cond_br(b.icmp("slt", pause, const_int(0)), block["again"], block["next"])
        b.at_end(block["again"])
        for word in (_PIECE, _SETTLED):
            self._set(word, const_int(0))
        self._clear()
        self._clear_sums()
        b.store(b.select(at_once, end, self._middle(stop, end, together)), half)
        b.br(block["next"])

        b.at_end(block["tried"])
        cycles = b.binary("add", self._word(_CYCLES, turn), taken)
        self._set(_CYCLES, cycles, turn)
        self._set(_GROUPS, b.binary("add", self._word(_GROUPS, turn), count), turn)
        enough = b.icmp("uge", cycles, const_int(LEAST))
        over = b.binary("or", enough, b.icmp("sge", stop, limit))
        b.cond_br(over, block["begun"], block["short"])
        b.at_end(block["short"])
        longer = b.binary("shl", b.call(self._umax, (self._word(_PIECE), const_int(1))), const_int(1))
        self._set(_PIECE, b.call(self._umin, (longer, const_int(_LONGEST))))
        b.br(block["next"])
        b.at_end(block["begun"])
        b.cond_br(leads, block["turned"], block["both"])
        b.at_end(block["turned"])
        self._set(_TURN, rival)
        b.br(block["next"])

        b.at_end(block["both"])
        long = self._fold()
        b.store(self._middle(stop, end, together), half)
        b.cond_br(long, block["pair"], block["next"])
        b.at_end(block["pair"])
        self._set(_PIECE, b.binary("lshr", self._word(_PIECE), const_int(2)))
        counted, shares, lost = self._add_pair()
        clear = b.fcmp("oge", self._absolute(shares), const_float(CLEAR, F64))
        enough = b.fcmp("oge", counted, const_float(FEWEST, F64))
        full = b.fcmp("oge", counted, const_float(PAIRS, F64))
        over = b.binary("or", full, b.binary("and", clear, enough))
        b.cond_br(over, block["end"], block["pause"])
        b.at_end(block["pause"])
        later = b.icmp("ne", self._word(_TRIALS), const_int(0))
        self._set(_SETTLED, b.cast("zext", later, I64))
        self._set(_LEFT, const_int(GAP))
        b.br(block["next"])

        b.at_end(block["end"])
        better = b.fcmp("ogt", shares, b.binary("fmul", const_float(MARGIN, F64), counted))
        self._set(_CHOSEN, b.cast("zext", better, I64))
        self._set(_EXPECTED, const_float(0.0, F64))
        wait = b.binary("fadd", b.binary("fmul", const_float(PATIENCE, F64), lost), const_float(PAUSE, F64))
        # What launches at the same time have disturbed may be no number.
        wait = b.select(b.fcmp("olt", wait, const_float(_LONG, F64)), wait, const_float(PAUSE, F64))
        soon = b.icmp("eq", self._word(_TRIALS), const_int(0))
        wait = b.select(soon, b.binary("fmul", wait, const_float(SOON, F64)), wait)
        self._set(_LEFT, b.cast("fptosi", wait, I64))
        self._set(_TRIALS, const_int(1))
        self._set(_COUNT, const_int(0))
        self._set(_SETTLED, const_int(1))
        b.br(block["next"])

    def _middle(self, at: Value, end: Value, together: Value) -> Value:
        """Where the half of a range ends that the version runs at most which begins, `together` groups at least."""
        b = self._builder
        left = b.binary("sub", end, at)
        half = b.binary("udiv", b.binary("lshr", left, const_int(1)), together)
        half = b.binary("mul", b.call(self._umax, (half, const_int(1))), together)
        return b.binary("add", at, b.call(self._umin, (half, left)))

    def _fold(self) -> Value:
        """Add what both have run of a launch to the sums of a pair, for as many groups; whether that is all of it."""
        b = self._builder
        one = const_float(1.0, F64)
        groups = [self._number(_GROUPS + k) for k in range(2)]
        # Launches at the same time may have cleared them.
        groups = [b.select(b.fcmp("ogt", g, one), g, one) for g in groups]
        fewer = b.select(b.fcmp("olt", groups[0], groups[1]), groups[0], groups[1])
        sums: list[Value] = []
        for k in range(2):
            cycles = b.binary("fdiv", b.binary("fmul", self._number(_CYCLES + k), fewer), groups[k])
            sums.append(b.binary("fadd", self._word(_SUMS + k, type=F64), cycles))
            self._set(_SUMS + k, sums[-1])
        self._clear()
        least = const_float(float(LEAST), F64)
        one_long, other_long = (b.fcmp("oge", total, least) for total in sums)
        return b.binary("or", one_long, other_long)

    def _add_pair(self) -> tuple[Value, Value, Value]:
        """Count a pair that both versions have run: pairs but the first, the sum of their shares, cycles lost."""
        b = self._builder
        first, second = (self._word(_SUMS + k, type=F64) for k in range(2))
        more = b.binary("fsub", first, second)
        whole = b.binary("fdiv", more, b.binary("fadd", first, second))
        most, least = const_float(MOST, F64), const_float(-MOST, F64)
        share = b.select(b.fcmp("ogt", whole, most), most, whole)
        share = b.select(b.fcmp("olt", share, least), least, share)
        beyond = b.fcmp("ogt", self._absolute(whole), const_float(BEYOND, F64))
        share = b.select(beyond, b.binary("fmul", share, const_float(HARDLY, F64)), share)
        lost = self._absolute(more)
        # The first pair warms up.
        before = self._word(_COUNT)
        counts = b.icmp("ne", before, const_int(0))
        sums: list[Value] = []
        for word, value in ((_SHARES, share), (_LOST, lost)):
            added = b.binary("fadd", self._word(word, type=F64), value)
            sums.append(b.select(counts, added, const_float(0.0, F64)))
            self._set(word, sums[-1])
        self._set(_COUNT, b.binary("add", before, const_int(1)))
        self._clear_sums()
        return b.cast("uitofp", before, F64), sums[0], sums[1]

    def _hastened(self, taken: Value, groups: Value) -> Value:
        """Cycles, or more where groups took another time than the first ones behind the trial."""
        b = self._builder
        number, time, drift = (
            b.cast("uitofp", groups, F64),
            b.cast("uitofp", taken, F64),
            const_float(DRIFT, F64),
        )
        known = self._word(_EXPECTED, type=F64)
        each = b.select(b.fcmp("oeq", known, const_float(0.0, F64)), b.binary("fdiv", time, number), known)
        self._set(_EXPECTED, each)
        expected = b.binary("fmul", each, number)
        longer = b.fcmp("ogt", time, b.binary("fmul", expected, drift))
        shorter = b.fcmp("olt", b.binary("fmul", time, drift), expected)
        more = b.binary("mul", taken, const_int(HASTE))
        return b.select(b.binary("or", longer, shorter), more, taken)

    def _clear(self) -> None:
        for word in (_CYCLES, _CYCLES + 1, _GROUPS, _GROUPS + 1):
            self._set(word, const_int(0))

    def _clear_sums(self) -> None:
        for k in range(2):
            self._set(_SUMS + k, const_float(0.0, F64))

    def _absolute(self, value: Value) -> Value:
        return self._builder.call(self._fabs, (value,))

    def _number(self, word: int) -> Value:
        return self._builder.cast("uitofp", self._word(word), F64)

    def _place(self, word: int, more: Value | None) -> Value:
        index: Value = const_int(word)
        if more is not None:
            index = self._builder.binary("add", index, more)
        return self._builder.gep(I64, self._function.args[0], (index,))

    def _word(self, word: int, more: Value | None = None, type: Type = I64) -> Value:
        return self._builder.load(type, self._place(word, more), align=8)

    def _set(self, word: int, value: Value, more: Value | None = None) -> None:
        self._builder.store(value, self._place(word, more), align=8)
