"""Counters of histograms in four banks, so that increments of one counter do not wait for each other.

    for k in 0 .. n: h[x[k]] += w          →        b = 0; for k in 0 .. n: b[k % 4, x[k]] += w
                                                    for j in 0 .. R: h[j] += b[0, j] + b[1, j] + b[2, j] + b[3, j]

A load of what has just been stored waits for some five cycles, and equal numbers are often neighbours: in pictures, in
what is sorted. Four iterations have banks of their own here; LLVM, which unrolls such loops, knows which iteration has
which bank. Counters that stay 0 are left alone, so memory is written that the loop writes, and no other.

What the loop updates has to lie among R counters, by ranges, few enough for the stack and the nearest cache. It is
asked before the loop whether it runs so often that banks pay, and whether what it reads lies elsewhere. Sums of
integers only: they may be formed in any order.

Precondition: plain code of one thread, in which loops count from 0 (`weft.transform.loops.counts_ahead`).
Postcondition: such loops have a version with banks. Preserves the program under FR and OBL, but for the order in which
counters are written, which nothing in the loop reads otherwise.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.integers.ranges import Ranges
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, is_left_by_itself
from weft.graph.loops import Loop, loop_forest
from weft.ir import FALSE, BasicBlock, Builder, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import is_speculatable, may_read, may_write
from weft.ir.layout import DataLayout
from weft.ir.slices import slice_of
from weft.ir.types import I1, I8, I64, PTR, VOID, ArrayType, FunctionType, IntType, PointerType
from weft.transform.loops.version_loop import version_loop

BANKS = 4

LARGEST = 2048
"""Bytes of a bank."""

PER_COUNTER = 32
"""So many iterations for each counter make up for clearing and adding up banks."""

MOST = 4
"""Loops of one function that have banks, which take 8 KiB of the stack at most."""

_MOST_LOADS = 4
_ZERO = const_int(0)


class Banked(Struct, frozen=True):
    """A loop that updates counters.

    Parameters
    ----------
    place
        The address of a counter, which a load and a store have.
    base, index, counters
        Where the counters begin, which it is, and how many there are.
    operation, store
        What is added to it, or subtracted, and the store.
    loads
        What else is read.
    """

    place: Instruction
    base: Value
    index: Value
    counters: int
    operation: Instruction
    store: Instruction
    loads: tuple[Instruction, ...]

    @property
    def type(self) -> IntType:
        """The type of a counter."""
        assert isinstance(self.operation.type, IntType)
        return self.operation.type


def bank_counters(function: Function) -> int:
    """Give such loops a version with banks; how many."""
    done: set[BasicBlock] = set()
    while len(done) < 2 * MOST and (found := _next(function, done)) is not None:
        view, own, loop, banked = found
        copies = version_loop(function, view, own, lambda b, x=(loop, banked): _test(b, *x))
        _use_banks(function, loop, banked)
        done |= {loop.header, copies[loop.header]}
    return len(done) // 2


def _next(function: Function, done: set[BasicBlock]) -> tuple[CFGView, Loop, CountedLoop, Banked] | None:
    view = cfg_of(function)
    for own in loop_forest(view.cfg).loops:
        loop = counted_loop(view, own)
        if own.children or isinstance(loop, str) or loop.header in done or not _counts_from_zero(loop):
            continue
        store = _only_store(loop)
        if store is None or not is_left_by_itself(loop):
            continue
        # Few loops get so far that ranges are asked for.
        banked = _banked(loop, store, lambda: ranges_of(function, view), function.layout)
        if banked is not None:
            return view, own, loop, banked
    return None


def _counts_from_zero(loop: CountedLoop) -> bool:
    counter = loop.counter
    return (
        loop.top_tested
        and not loop.tests_next
        and counter.step == 1
        and counter.start == const_int(0, counter.type)
        and counter.type.bits in (32, 64)
        and loop.predicate in ("slt", "ult", "ne")
    )


def _only_store(loop: CountedLoop) -> Instruction | None:
    """The one store of a loop that writes nothing else."""
    writing = [i for block in loop.blocks for i in block.instructions if may_write(i)]
    return writing[0] if len(writing) == 1 and writing[0].op == "store" else None


def _banked(
    loop: CountedLoop, store: Instruction, ranges: Callable[[], Ranges], layout: DataLayout
) -> Banked | None:
    """What a loop with one store updates; None if that is no counter among few."""
    place, operation = store.pointer, store.stored_value
    inside = set(loop.blocks)
    if not isinstance(place, Instruction) or place.op != "getelementptr" or len(place.operands) != 2:
        return None
    base, index = place.operands
    if isinstance(base, Instruction) and base.block in inside:
        return None
    if not isinstance(base.type, PointerType) or base.type.space or not isinstance(index.type, IntType):
        return None
    if not isinstance(operation, Instruction) or operation.op not in ("add", "sub"):
        return None
    type = operation.type
    if not isinstance(type, IntType) or place.source_type != type or layout.bit_size(type) not in (32, 64):
        return None
    load = next((o for o in operation.operands if isinstance(o, Instruction) and o.op == "load"), None)
    if operation.op == "sub" and operation.operands[0] is not load:
        return None
    if load is None or load.pointer is not place or not _is_used_by(load, operation):
        return None
    if not _is_used_by(operation, store) or set(place.instruction_users()) != {load, store}:
        return None
    known = ranges().at(index, place.block)
    if known is None or known.lo < 0 or (known.hi + 1) * layout.store_size(type) > LARGEST:
        return None
    loads = [i for b in loop.blocks for i in b.instructions if may_read(i) and i is not load]
    if max(load.alignment, store.alignment) > layout.store_size(type):
        return None
    if len(loads) > _MOST_LOADS or not all(i.is_plain_access for i in (load, store, *loads)):
        return None
    if not all(i.op == "load" and _moves_on(i.pointer, loop.counter.phi, inside) for i in loads):
        return None
    return Banked(place, base, index, known.hi + 1, operation, store, tuple(loads))


def _is_used_by(value: Instruction, user: Instruction) -> bool:
    return list(value.instruction_users()) == [user]


def _moves_on(pointer: Value, counter: Instruction, inside: set[BasicBlock]) -> bool:
    """Whether an address is one from outside the loop, or grows by as much from each iteration to the next."""

    def is_made(part: Instruction) -> bool:
        if part.op in ("zext", "sext"):
            return part.operands[0] is counter
        return part.op in ("getelementptr", "add") and len(part.operands) <= 2 and is_speculatable(part)

    return all(
        part is counter or is_made(part)
        for part in slice_of(pointer, lambda i: i.block in inside and is_made(i))
        if isinstance(part, Instruction) and part.block in inside
    )


def _test(builder: Builder, loop: CountedLoop, banked: Banked) -> Value:
    """Whether there are many iterations, and what they read lies elsewhere."""
    counter = loop.counter
    layout = builder.module.layout
    least = const_int(PER_COUNTER * banked.counters, counter.type)
    many = builder.icmp("sgt" if loop.predicate == "slt" else "ugt", loop.bound, least)
    last = builder.binary("sub", loop.bound, const_int(1, counter.type))
    begin = builder.cast("ptrtoint", banked.base, I64)
    size = banked.counters * layout.store_size(banked.type)
    end = builder.binary("add", begin, const_int(size))
    for load in banked.loads:
        low, high = (
            builder.cast("ptrtoint", _computed(builder, load.pointer, loop, {counter.phi: number}), I64)
            for number in (const_int(0, counter.type), last)
        )
        behind = builder.binary("add", high, const_int(layout.store_size(load.type)))
        before = builder.icmp("ule", behind, begin)
        apart = builder.binary("or", before, builder.icmp("ule", end, low))
        forward = builder.icmp("ule", low, high)
        many = builder.select(many, builder.binary("and", apart, forward), FALSE)
    return builder.unary("freeze", many)


def _computed(builder: Builder, value: Value, loop: CountedLoop, values: dict[Value, Value]) -> Value:
    """An address as it is where the counter is a number, as `values` has it; it may lie anywhere."""
    if value in values:
        return values[value]
    if not isinstance(value, Instruction) or value.block not in loop.blocks:
        return value
    made = value.clone()
    made.flags = ()
    for k, operand in enumerate(value.operands):
        made.set_operand(k, _computed(builder, operand, loop, values))
    values[value] = builder.insert(made)
    return values[value]


def _use_banks(function: Function, loop: CountedLoop, banked: Banked) -> None:
    """Let the loop update banks, which are cleared before it, and added up behind it."""
    type, layout = banked.type, function.layout
    entry = Builder(before=function.entry.instructions[0])
    size = BANKS * banked.counters
    banks = entry.alloca(ArrayType(type, size), align=64)
    left = next(s for s in loop.exiting.terminator.successors if s not in loop.blocks)
    before = next(p for p in loop.header.predecessors if p not in loop.blocks)
    clear = Builder(before=before.terminator)
    module = function.module
    assert module is not None
    fill = module.declare(
        "llvm.memset.p0.i64", FunctionType(VOID, (PTR, I8, I64, I1)), ("nounwind", "willreturn")
    )
    clear.call(fill, (banks, const_int(0, I8), const_int(size * layout.store_size(type)), FALSE))
    at = Builder(before=banked.place)
    at.loc = banked.place.loc
    counter: Value = loop.counter.phi
    which = at.binary("and", counter, const_int(BANKS - 1, loop.counter.type))
    wide = which if which.type == I64 else at.cast("zext", which, I64)
    first = at.binary("mul", wide, const_int(banked.counters), ("nuw", "nsw"))
    index = banked.index
    if index.type != I64:
        index = at.cast("zext", index, I64)
    place = at.gep(type, banks, (at.binary("add", first, index, ("nuw", "nsw")),), ("inbounds", "nuw"))
    banked.place.replace_all_uses(place)
    # Sums of some of the terms may wrap around where that of all does not.
    banked.operation.flags = ()
    _add_up(function, left, banks, banked)
    banked.place.erase()


def _add_up(function: Function, left: BasicBlock, banks: Value, banked: Banked) -> None:
    """Add the banks to the counters behind the loop, but where nothing was added up."""
    exit = left.terminator.successors[0]
    loc = left.terminator.loc
    left.terminator.erase()
    names = ("banks", "banks.some", "banks.next", "banks.done")
    head, some, following, done = (function.add_block(name) for name in names)
    Builder(left).br(head)
    b = Builder(head)
    b.loc = loc
    number = b.phi(I64)
    total: Value | None = None
    for k in range(BANKS):
        offset = b.binary("add", number, const_int(k * banked.counters), ("nuw", "nsw"))
        one = b.load(banked.type, b.gep(banked.type, banks, (offset,), ("inbounds", "nuw")))
        total = one if total is None else b.binary("add", total, one)
    assert total is not None
    b.cond_br(b.icmp("ne", total, const_int(0, banked.type)), some, following)
    b.at_end(some)
    place = b.gep(banked.type, banked.base, (number,))
    align = banked.store.alignment
    before = b.load(banked.type, place, align=align)
    b.store(b.binary("add", before, total), place, align=align)
    b.br(following)
    b.at_end(following)
    more = b.binary("add", number, const_int(1), ("nuw", "nsw"))
    b.cond_br(b.icmp("ult", more, const_int(banked.counters)), head, done)
    number.add_incoming(_ZERO, left)
    number.add_incoming(more, following)
    b.at_end(done)
    b.br(exit)
    exit.replace_phi_source(left, done)
