"""Loops whose numbers may turn out to fit 32 bits run in 32 bits until one does not.

Integers of Python have 64 bits, and often nothing says how large they get: ``n = 3 * n + 1``, ``x, y = y, x % y``. In
vectors they take twice the registers, and are divided lane by lane. Such loops get bounds for what they carry, tight
enough for all that an iteration computes to fit 32 bits. Whether all lanes are within them is asked before the loop and
at the begin of each iteration; where one is not, a copy goes on in 64 bits, to the end::

    before: br loop                     before: br any(x0 > b), wide, loop
    loop:   x = φ(x0, x')               loop:   x = φ(x0, x'); br any(x > b), wide, rest
            x' = ...            ==>     rest:   x' = ...; br c, loop, exit
            br c, loop, exit            wide:   y = φ(x0, x, y'); y' = ...; br c', wide, exit

What that leaves to narrowing (`weft.transform.numbers.narrowing`) it finds by ranges alone.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: the same, loop-simplified and loop-closed.
Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.integers.intervals import Interval, full, join, leq
from weft.analysis.integers.ranges import Ranges
from weft.diag.source import SourceSpan
from weft.graph.cfg import reverse_postorder
from weft.graph.loops import Loop, loop_forest
from weft.ir import FALSE, BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_dead_instructions, remove_unreachable_blocks, split_block, split_edge
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.effects import is_convergent, is_speculatable
from weft.ir.intrinsics import declare
from weft.ir.locations import span_of_block
from weft.ir.types import I64, IntType
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.simplify_loops import simplify_loops

LARGEST_LOOP = 60
"""Loops of more instructions have no copy."""

MOST_LOOPS = 4
"""Copies of loops that a function gets."""

MOST_BITS, LEAST_BITS = 31, 13
"""Of the bounds: with tighter ones a loop would be left at once."""

SELDOM = 0.02
"""How likely a loop is thought to be left for its copy, where costs are estimated."""

_GUESS = "guess"
_NARROW = frozenset(("add", "sub", "mul", "shl", "sdiv", "srem", "udiv", "urem"))
"""What narrower vectors are better at, or half as many."""


class _Guess(Struct, frozen=True):
    """A loop, and between which bounds what it carries and what it uses of before is guessed to be.

    `known` is what follows for others of its numbers, `alike` are those that lanes share.
    """

    loop: Loop
    view: CFGView
    carried: dict[Value, Interval]
    used: dict[Value, Interval]
    known: Mapping[Value, Interval]
    alike: set[Value]

    def begin(self, before: BasicBlock) -> dict[Value, Interval]:
        """What the loop carries when it is entered, and the bounds for that."""
        phis = ((p, bounds) for p, bounds in self.carried.items() if isinstance(p, Instruction))
        return {p.incoming_value(before): bounds for p, bounds in phis}

    def stays(self, phi: Value, latch: BasicBlock) -> bool:
        """Whether what arrives at a φ from an iteration within bounds is within bounds."""
        assert isinstance(phi, Instruction)
        found = self.known.get(phi.incoming_value(latch))
        return found is not None and leq(found, self.carried[phi])


def guess_ranges(function: Function, divergence: Divergence) -> list[SourceSpan | None]:
    """Give loops a copy for numbers of 64 bits, where 32 may do; where these loops are.

    The divergence is that of the function as it is.
    """
    view = cfg_of(function)
    guesses: list[_Guess] = []
    for loop in loop_forest(view.cfg).loops:
        if len(guesses) < MOST_LOOPS and _may_be_copied(loop, view):
            guess = _guess(loop, view, divergence)
            if guess is not None:
                guesses.append(guess)
    places = [span_of_block(view.blocks[guess.loop.header]) for guess in guesses]
    for guess in guesses:
        _copy(function, guess)
    if guesses:
        simplify_loops(function)
        close_loops(function)
    return places


def guess_for_good(function: Function) -> None:
    """Leave the copies out, as if all numbers fitted: what a function mostly runs, for cost models."""
    for block in function.blocks:
        branch = block.terminator
        if branch.attrs.get(_GUESS):
            avoided, taken = branch.blocks
            avoided.remove_phi_source(block)
            branch.erase()
            Builder(block).br(taken)
    remove_unreachable_blocks(function)
    remove_dead_instructions(function)


def _may_be_copied(loop: Loop, view: CFGView) -> bool:
    """Whether a loop is innermost and small, accesses no memory, and is entered and goes around by one way each."""
    if loop.children or loop.is_irreducible or len(loop.latches) != 1:
        return False
    blocks = [view.blocks[b] for b in loop.blocks]
    entering = [b for b in view.blocks[loop.header].predecessors if b not in blocks]
    if len(entering) != 1 or sum(len(b.instructions) for b in blocks) > LARGEST_LOOP:
        return False
    return all(_computes(i) for b in blocks for i in b.instructions)


def _computes(i: Instruction) -> bool:
    return i.is_phi or i.is_terminator or is_speculatable(i) or i.op in ("sdiv", "srem", "udiv", "urem")


def _guess(loop: Loop, view: CFGView, divergence: Divergence) -> _Guess | None:
    """Bounds under which all numbers of 64 bits that differ from lane to lane fit, if there are such."""
    ranges, shape = divergence.engine.ranges, divergence.shape
    assert ranges is not None

    def fits(value: Value) -> bool:
        return isinstance(value, ConstInt) or _fits(ranges.of(value))

    header, (latch,) = view.blocks[loop.header], (view.blocks[b] for b in loop.latches)
    order = [
        i
        for n in reverse_postorder(view.cfg.succs)
        if n in loop.blocks
        for i in view.blocks[n].instructions
        if isinstance(i.type, IntType) and not (i.is_phi and i.block is header)
    ]
    inside = {*order, *header.phis()}
    # What lanes count together is kept for each that leaves.
    phis = [p for p in header.phis() if p.type == I64 and (shape(p).is_uniform or not shape(p).is_strided)]
    varying = [i for i in order if not shape(i).is_strided]
    wide = {i for i in varying if i.type == I64}
    if not any(i.op in _NARROW and not all(map(fits, (i, *i.operands))) for i in wide):
        return None
    asked = [i for i in varying if i.type == I64 or i.op == "icmp"]
    operands = [v for i in asked for v in i.operands if v.type == I64 and not isinstance(v, ConstInt)]
    wide |= {v for v in operands if isinstance(v, Instruction) and v in inside and not shape(v).is_strided}
    wide |= {v for v in operands if isinstance(v, Instruction) and v in inside and shape(v).is_uniform}
    used = dict.fromkeys(v for v in operands if v not in inside and v.tracks_users)
    starts = [v for p in phis for v, _ in p.incoming() if isinstance(v, ConstInt)]
    if not all(map(_is_small, starts)):
        return None
    bits: dict[Value, int] = {v: _bits_of(ranges.of(v)) for v in (*phis, *used)}
    supposed = ranges.supposing(order)
    natural = {p for p in phis if all(_is_natural(v, ranges) for v, b in p.incoming() if b is not latch)}
    divides = any(i.op in ("sdiv", "srem") for i in order)
    while True:
        bounds = {v: _within(b, ranges.of(v), natural=v in natural, divides=divides) for v, b in bits.items()}
        known = supposed.known(bounds)
        if negative := {p for p in natural if not _stays_natural(p.incoming_value(latch), known)}:
            natural -= negative
            continue
        bad = next((i for i in order if i in wide and not _fits(known[i])), None)
        bad = bad or _first_that_does_not_meet(phis, latch, known)
        if bad is None:
            break
        widest = max((v for v in _behind(bad, inside) if v in bits), key=lambda v: bits[v], default=None)
        if widest is None or bits[widest] <= LEAST_BITS:
            return None
        bits[widest] -= 1
    guessed = {v: b for v, b in bounds.items() if not leq(ranges.of(v) or full(I64.bits), b)}
    if not guessed:
        return None
    carried: dict[Value, Interval] = {p: guessed[p] for p in phis if p in guessed}
    alike = {v for v in guessed if shape(v).is_uniform}
    return _Guess(loop, view, carried, {v: guessed[v] for v in used if v in guessed}, known, alike)


def _fits(known: Interval | None) -> bool:
    """Whether numbers in an interval are their low 32 bits, as signed or as unsigned."""
    if known is None:
        return False
    return (known.lo >= -(1 << 31) and known.hi < 1 << 31) or (known.lo >= 0 and known.hi < 1 << 32)


def _is_small(value: ConstInt) -> bool:
    return abs(value.signed) < 1 << LEAST_BITS


def _bits_of(known: Interval | None) -> int:
    """How many bits numbers have, as far as is known, if not more than `MOST_BITS`."""
    if known is None:
        return MOST_BITS
    return min(MOST_BITS, max(known.hi, -known.lo).bit_length())


def _is_natural(value: Value, ranges: Ranges) -> bool:
    known = ranges.of(value)
    return known is not None and known.lo >= 0


def _stays_natural(value: Value, known: Mapping[Value, Interval]) -> bool:
    """Whether what arrives from an iteration is not negative."""
    if isinstance(value, ConstInt):
        return value.signed >= 0
    found = known.get(value)
    return found is not None and found.lo >= 0


def _within(bits: int, known: Interval | None, *, natural: bool = False, divides: bool = False) -> Interval:
    """Numbers of so many bits, and a sign where there may be one."""
    most = (1 << bits) - 1
    if natural or (known is not None and known.lo >= 0):
        return Interval(0, most)
    # No quotient by -1 is greater; without quotients a few bits tell of a number whether it is within.
    return Interval(-most if divides else -most - 1, most)


def _first_that_does_not_meet(
    carried: list[Instruction], latch: BasicBlock, known: Mapping[Value, Interval]
) -> Instruction | None:
    """What arrives first at a φ that does not fit with what it is at the begin, one of which may be unsigned."""
    for phi in carried:
        value = phi.incoming_value(latch)
        if isinstance(value, Instruction) and not _fits(join(known[phi], known.get(value, known[phi]))):
            return value
    return None


def _behind(value: Instruction, inside: set[Instruction]) -> Iterator[Value]:
    """What a number of a loop is computed of in the same iteration, what the loop carries or has of before included."""
    seen: set[Value] = set()
    work: list[Value] = [value]
    while work:
        v = work.pop()
        if v in seen:
            continue
        seen.add(v)
        yield v
        if isinstance(v, Instruction) and v in inside and not (v.is_phi and v is not value):
            work += v.operands


def _copy(function: Function, guess: _Guess) -> None:
    loop, view = guess.loop, guess.view
    header, (latch,) = view.blocks[loop.header], (view.blocks[b] for b in loop.latches)
    blocks = [view.blocks[b] for b in sorted(loop.blocks)]
    (before,) = (b for b in header.predecessors if b not in blocks)
    values: ValueMap = {}
    clone_blocks(blocks, function, values)
    wide = values[header]
    assert isinstance(wide, BasicBlock)
    wide.name = f"{header.name}.wide"
    wide.remove_phi_source(before)
    for block in blocks:
        leaving = values[block]
        assert isinstance(leaving, BasicBlock)
        for exit in dict.fromkeys(s for s in block.successors if s not in blocks):
            for phi in exit.phis():
                value = phi.incoming_value(block)
                phi.add_incoming(values.get(value, value), leaving)
    start = split_edge(before, header, f"{header.name}.start")
    small = split_edge(start, header, f"{header.name}.small")
    asked = guess.begin(small) | guess.used
    start.terminator.erase()
    _leave(start, small, header, values, some_outside(_builder(start, header), asked, guess.alike))
    _use_small(blocks, small, start, guess.used)
    open_ones = {p: bounds for p, bounds in guess.carried.items() if not guess.stays(p, latch)}
    if open_ones:
        rest = split_block(header.instructions[header.first_insertion], f"{header.name}.rest")
        header.terminator.erase()
        _leave(header, rest, header, values, some_outside(_builder(header, header), open_ones, guess.alike))


def _builder(block: BasicBlock, header: BasicBlock) -> Builder:
    builder = Builder(block)
    builder.loc = next((i.loc for i in header.instructions if i.loc is not None), None)
    return builder


def _leave(
    block: BasicBlock, onwards: BasicBlock, header: BasicBlock, values: ValueMap, leave: Value
) -> None:
    """End a block with the way to the copy of a loop, which goes on with what the loop carries there."""
    wide = values[header]
    assert isinstance(wide, BasicBlock)
    leave_guess(_builder(block, header), leave, wide, onwards)
    for phi in header.phis():
        copy = values[phi]
        assert isinstance(copy, Instruction)
        copy.add_incoming(phi if block is header else phi.incoming_value(onwards), block)


def leave_guess(builder: Builder, leave: Value, wide: BasicBlock, onwards: BasicBlock) -> None:
    """End a block with the way to a copy that guesses nothing."""
    builder.cond_br(leave, wide, onwards).attrs.update({"chance": SELDOM, _GUESS: True})


def guessed_way(block: BasicBlock) -> BasicBlock | None:
    """Where a block goes on if a guess is right; None where it does not end with a guess."""
    branch = block.terminator
    return branch.blocks[1] if branch.attrs.get(_GUESS) else None


def reached_for_good(function: Function) -> set[BasicBlock]:
    """The blocks that run as if all guesses were right."""
    found: set[BasicBlock] = set()
    work = [function.entry]
    while work:
        block = work.pop()
        if block not in found:
            found.add(block)
            guessed = guessed_way(block)
            work += block.successors if guessed is None else [guessed]
    return found


def keeps_lanes_together(instruction: Instruction) -> bool:
    """Whether it matters which threads run together: where an instruction is convergent, and no vote on a guess."""
    return is_convergent(instruction) and not _is_asked_for_guess(instruction)


def _is_asked_for_guess(value: Instruction) -> bool:
    """Whether all that a value decides is whether guesses are right."""
    users = list(value.instruction_users())
    return bool(users) and all(
        bool(u.attrs.get(_GUESS)) if u.is_terminator else u.op == "or" and _is_asked_for_guess(u)
        for u in users
    )


def some_outside(builder: Builder, asked: Mapping[Value, Interval], alike: set[Value]) -> Value:
    """Whether a number of some lane is not within its bounds."""
    tests: dict[bool, list[Value]] = {False: [], True: []}
    for value, bounds in asked.items():
        for predicate, bound in _tests(bounds):
            if not isinstance(value, ConstInt):
                assert isinstance(value.type, IntType)
                test = builder.icmp(predicate, value, const_int(bound, value.type))
                # One number that is poison must not hide another one.
                tests[value in alike].append(builder.unary("freeze", test))
    found = list(tests[True])
    if tests[False]:
        any_lane = declare(builder.module, "weft.any")
        found.append(builder.call(any_lane, (_either(builder, tests[False]),)))
    return _either(builder, found) if found else FALSE


def _tests(bounds: Interval) -> list[tuple[str, int]]:
    """By which comparisons a number is outside of bounds."""
    if bounds.lo == 0:
        return [("ugt", bounds.hi)]
    return [("slt", bounds.lo), ("sgt", bounds.hi)]


def _either(builder: Builder, tests: list[Value]) -> Value:
    either, *others = tests
    for test in others:
        either = builder.binary("or", either, test)
    return either


def _use_small(
    blocks: list[BasicBlock], within: BasicBlock, before: BasicBlock, used: dict[Value, Interval]
) -> None:
    """Let a loop use what it uses of before as numbers that are known to be within bounds."""
    inside = set(blocks)
    for value in used:
        small = Builder.after_phis(within).phi(I64, "small")
        small.add_incoming(value, before)
        for user in list(value.instruction_users()):
            if user is not small and user.block in inside:
                if user.is_phi:
                    for i, (arriving, source) in enumerate(list(user.incoming())):
                        if arriving is value and source in inside:
                            user.set_operand(i, small)
                else:
                    user.replace_operand(value, small)
