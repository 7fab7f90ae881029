"""Scans and compactions of a loop, as lanes compute them group after group (`weft.analysis.loops.carried_forms`).

What the loop hands on is in a cell, which the lanes of a group read together and write together:

    scan        so_far = load cell                    compaction  base = load cell
                mine = so_far + prefix(x)                         mine = base + how many lanes before this one count
                store mine of the last lane, cell                 store base + how many lanes count, cell

What is handed on as it is each lane has of the lane before it, the first one from the cell.

Where a compaction's counter gives nothing but the elements that values are stored to, side by side, the values that are
kept move together instead: the first lanes store them, with one contiguous store. Cells become registers.

Precondition: a counted, loop-closed loop with one exit, whose iterations lanes may run in lock step, in their order;
a scan's order of operations may be changed; a loop with a scan in memory runs its body. Postcondition: the φs are gone,
and the loop asks what other lanes do. In one lane it means what it meant. Preserves the program under FR, in one lane,
or in lock step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec.structs import replace

from weft.analysis.loops.carried_forms import Compaction, HandedOn, Scan
from weft.analysis.loops.counted_loops import CountedLoop, counters_of
from weft.ir import FALSE, TRUE, BasicBlock, Builder, ConstFloat, ConstInt, Instruction, Module, Poison, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import split_block
from weft.ir.effects import is_removable
from weft.ir.intrinsics import declare, prefix_name
from weft.ir.types import I1, I8, I32, I64, FloatType, FunctionType, IntType, Type, int_type
from weft.transform.loops.rebuilt import rebuilt


def carry_in_lanes(
    module: Module,
    loop: CountedLoop,
    carried: Sequence[Scan | HandedOn],
    compactions: Mapping[Compaction, Sequence[Instruction]],
) -> None:
    """Rewrite what a loop hands on; the stores of each compaction that can be made side by side, or none."""
    for each in carried:
        if isinstance(each, HandedOn):
            _hand_on(module, loop, each)
        else:
            known = each if each.phi.is_phi else replace(each, phi=_in_register(loop, each.phi, each.update))
            _rewrite_scan(module, loop, known)
    for compaction, stores in compactions.items():
        if stores:
            _store_side_by_side(module, loop, compaction, stores)
        else:
            _count_by_rank(module, loop, compaction)


def _rewrite_scan(module: Module, loop: CountedLoop, scan: Scan) -> None:
    phi, update = scan.phi, scan.update
    cell = _cell(loop, phi)
    assert update.block is not None
    builder = Builder(before=_made_ready(scan, update, update))
    builder.loc = update.loc
    type = phi.type
    assert isinstance(type, IntType | FloatType)
    # Not what the form says: that may have been rewritten.
    (brought,) = (v for v in (update.args if update.op == "call" else update.operands) if v is not phi)
    if update.op == "sub":
        brought = builder.binary("sub", ConstInt(type, 0), brought)  # type: ignore[arg-type]
    elif update.op == "fsub":
        brought = builder.binary("fsub", ConstFloat.of(type, -0.0), brought)  # type: ignore[arg-type]
    so_far = builder.load(type, cell)
    prefix = builder.call(declare(module, prefix_name(scan.operation, type)), (brought,))
    flags = tuple(f for f in update.flags if f not in ("nsw", "nuw", "disjoint"))

    def combined(value: Value) -> Value:
        if update.op == "call":
            return builder.call(update.callee, (so_far, value))
        return builder.binary(scan.operation, so_far, value, flags)

    mine = combined(prefix)
    others = [u for u in phi.instruction_users() if u is not update]
    mine_before = _of_lane_before(module, builder, mine, so_far) if others else None
    for user in others:
        if mine_before is not None and user.block in loop.blocks:
            user.replace_operand(phi, mine_before)
    # In scalars: the next lane group waits for nothing else.
    builder.store(combined(_of_last_lane(module, builder, prefix)), cell)
    update.replace_all_uses(mine)
    _read_behind(loop, phi, mine, cell)
    update.erase()
    if mine_before is not None:
        phi.replace_all_uses(mine_before)
    phi.erase()


def _made_ready(form: Scan | HandedOn, result: Instruction, latest: Instruction) -> Instruction:
    """Move what a form needs before what needs the form, and before `latest`; the first of these."""
    assert result.block is not None
    body = result.block.instructions
    at = min((u for u in (*form.before, latest) if u.block is result.block and not u.is_phi), key=body.index)
    for instruction in form.moved:
        # Others may have moved it.
        if body.index(instruction) > body.index(at):
            instruction.detach()
            Builder(before=at).insert(instruction)
    return at


def _of_lane_before(module: Module, builder: Builder, value: Value, first: Value) -> Value:
    """The value of the lane before each lane, and `first` in the first one."""
    lane = builder.call(declare(module, "weft.lane.id"), ())
    before = builder.binary("sub", lane, const_int(1, I32))
    moved = _as_bits(
        builder, value, lambda b, v: b.call(declare(module, f"weft.shfl.idx.i{_bits(v)}"), (v, before))
    )
    return builder.select(builder.icmp("eq", lane, const_int(0, I32)), first, moved)


def _of_last_lane(module: Module, builder: Builder, value: Value) -> Value:
    count = builder.call(declare(module, "weft.popcount"), (TRUE,))
    last = builder.cast("trunc", builder.binary("sub", count, const_int(1)), I32)
    return _as_bits(
        builder, value, lambda b, v: b.call(declare(module, f"weft.extract.i{_bits(v)}"), (v, last))
    )


def _hand_on(module: Module, loop: CountedLoop, handed: HandedOn) -> None:
    phi = handed.phi
    # What it was may have been rewritten.
    value = phi.incoming_value(loop.latch)
    assert isinstance(value, Instruction) and value.block is not None
    cell = _cell(loop, phi)
    body = value.block.instructions
    users = [u for u in phi.instruction_users() if u.block in loop.blocks]
    builder = Builder(before=_made_ready(handed, value, body[body.index(value) + 1]))
    builder.loc = value.loc
    mine = _of_lane_before(module, builder, value, builder.load(phi.type, cell))
    builder.store(_of_last_lane(module, builder, value), cell)
    for user in users:
        user.replace_operand(phi, mine)
    _read_behind(loop, phi, value, cell)
    # Behind the loop: what has been handed on twice.
    phi.replace_all_uses(mine)
    phi.erase()


def _in_register(loop: CountedLoop, load: Instruction, update: Instruction) -> Instruction:
    """Hand on in a φ what a load reads, which the iteration before has stored, but for the first one."""
    builder = Builder(before=loop.preheader.terminator)
    builder.loc = load.loc
    counters = counters_of(loop.header, loop.preheader, loop.latch)
    place = rebuilt(builder, load.pointer, {c.phi: c.start for c in counters}, set(loop.blocks), flags=False)
    first = builder.load(load.type, place, align=load.alignment)
    phi = Instruction("phi", load.type, name=load.name, loc=load.loc)
    loop.header.insert(0, phi)
    phi.add_incoming(first, loop.preheader)
    phi.add_incoming(update, loop.latch)
    load.replace_all_uses(phi)
    load.erase()
    return phi


def _bits(value: Value) -> int:
    assert isinstance(value.type, IntType)
    return value.type.bits


def _as_bits(builder: Builder, value: Value, move: Callable[[Builder, Value], Value]) -> Value:
    """Move a value between lanes, as an integer of 32 or 64 bits."""
    type = value.type
    assert isinstance(type, IntType | FloatType)
    word = int_type(max(type.bits, 32))
    if isinstance(type, FloatType):
        return builder.cast("bitcast", move(builder, builder.cast("bitcast", value, word)), type)
    if type is word:
        return move(builder, value)
    return builder.cast("trunc", move(builder, builder.cast("zext", value, word)), type)


def _count_by_rank(module: Module, loop: CountedLoop, compaction: Compaction) -> None:
    """Give each lane that counts the counter's value, by the lanes before it that count."""
    phi, type = compaction.phi, compaction.phi.type
    assert isinstance(type, IntType)
    cell = _cell(loop, phi)
    builder = Builder.after_phis(compaction.head)
    builder.loc = compaction.growth.loc
    lane = builder.cast("zext", builder.call(declare(module, "weft.lane.id"), ()), I64, ("nneg",))
    here = builder.call(declare(module, "weft.active"), ())
    below = builder.binary("sub", builder.binary("shl", const_int(1), lane), const_int(1))
    base = builder.load(type, cell)
    rank = _population(module, builder, builder.binary("and", here, below))
    mine = builder.binary("add", base, _steps(builder, rank, type, compaction.step))
    every = _population(module, builder, here)
    builder.store(builder.binary("add", base, _steps(builder, every, type, compaction.step)), cell)
    _finish(loop, compaction, cell, mine)


def _population(module: Module, builder: Builder, bits: Value) -> Value:
    attributes = ("nounwind", "willreturn", "memory(none)")
    return builder.call(module.declare("llvm.ctpop.i64", FunctionType(I64, (I64,)), attributes), (bits,))


def _steps(builder: Builder, count: Value, type: IntType, step: int) -> Value:
    """So many steps, in a counter's type."""
    if type.bits < 64:
        count = builder.cast("trunc", count, type)
    elif type.bits > 64:
        count = builder.cast("zext", count, type)
    return count if step == 1 else builder.binary("mul", count, ConstInt(type, step))


def _store_side_by_side(
    module: Module, loop: CountedLoop, compaction: Compaction, stores: Sequence[Instruction]
) -> None:
    """Move what is kept to the first lanes, which store it where all iterations meet."""
    phi, type, meeting = compaction.phi, compaction.phi.type, compaction.merge.block
    assert isinstance(type, IntType) and meeting is not None
    cell = _cell(loop, phi)
    arriving = [source for value, source in compaction.merge.incoming() if value is compaction.growth]
    builder = Builder(meeting, meeting.instructions[0])
    builder.loc = compaction.growth.loc
    counts = _chosen(builder, meeting, I1, TRUE, FALSE, arriving, "counts")
    values = [
        _chosen(builder, meeting, s.accessed_type, s.stored_value, Poison(s.accessed_type), arriving, "kept")
        for s in stores
    ]
    builder = Builder.after_phis(meeting)
    builder.loc = compaction.growth.loc
    number = builder.call(declare(module, "weft.popcount"), (counts,))
    lane = builder.cast("zext", builder.call(declare(module, "weft.lane.id"), ()), I64, ("nneg",))
    base = builder.load(type, cell)
    packed = [
        _as_bits(
            builder, value, lambda b, v: b.call(declare(module, f"weft.compact.i{_bits(v)}"), (v, counts))
        )
        for value in values
    ]
    builder.store(builder.binary("add", base, _steps(builder, number, type, compaction.step)), cell)
    is_first = builder.icmp("ult", lane, number)
    rest = split_block(_behind_last(builder), f"{meeting.name}.rest")
    storing = rest.function
    assert storing is not None
    keep = storing.add_block(f"{meeting.name}.keep", meeting)
    location = meeting.terminator.loc
    meeting.terminator.erase()
    builder.at_end(meeting)
    builder.loc = location
    builder.cond_br(is_first, keep, rest)
    builder.at_end(keep)
    for store, value in zip(stores, packed, strict=True):
        builder.loc = store.loc
        place = rebuilt(builder, store.pointer, {phi: base}, set(loop.blocks), flags=False)
        element = builder.gep(I8, place, (_scaled(builder, lane, module.layout.store_size(value.type)),))
        builder.store(value, element, align=store.alignment)
    builder.br(rest)
    for store in stores:
        pointer = store.pointer
        store.erase()
        _remove_unused(pointer)
    _finish(loop, compaction, cell, base)


def _chosen(
    builder: Builder,
    meeting: BasicBlock,
    type: Type,
    value: Value,
    other: Value,
    arriving: Collection[BasicBlock],
    name: str,
) -> Instruction:
    """A φ where all iterations meet: a value of those that count."""
    phi = builder.phi(type, name)
    for source in meeting.edge_sources:
        phi.add_incoming(value if source in arriving else other, source)
    return phi


def _behind_last(builder: Builder) -> Instruction:
    """The instruction that the builder builds before."""
    assert builder.before is not None
    return builder.before


def _scaled(builder: Builder, lane: Value, size: int) -> Value:
    return lane if size == 1 else builder.binary("mul", lane, const_int(size), ("nuw", "nsw"))


def _cell(loop: CountedLoop, phi: Instruction) -> Value:
    """A stack object with what a φ has when the loop is entered."""
    function = loop.header.function
    assert function is not None
    cell = Builder(before=function.entry.instructions[0]).alloca(
        phi.type, name=f"{phi.name or 'carried'}.cell"
    )
    Builder(before=loop.preheader.terminator).store(phi.incoming_value(loop.preheader), cell)
    return cell


def _finish(loop: CountedLoop, compaction: Compaction, cell: Value, mine: Value) -> None:
    """Take out the φs of a compaction."""
    phi, merge, growth = compaction.phi, compaction.merge, compaction.growth
    _read_behind(loop, phi, merge, cell)
    growth.flags = ()
    phi.replace_all_uses(mine)
    phi.erase()
    merge.erase()
    _remove_unused(growth)


def _remove_unused(value: Value) -> None:
    """Remove an instruction, and what it alone used, if nobody uses it."""
    if isinstance(value, Instruction) and not value.is_used and is_removable(value):
        operands = list(value.operands)
        value.erase()
        for operand in dict.fromkeys(operands):
            _remove_unused(operand)


def _read_behind(loop: CountedLoop, phi: Instruction, following: Value, cell: Value) -> None:
    """Read what the loop has handed on last from the cell, behind it."""
    found: Value | None = None
    last = phi if loop.top_tested else following
    for closing in list(loop.exit.phis()):
        # The block that the loop is left from may have been split.
        if last not in closing.operands:
            continue
        if found is None:
            found = Builder.after_phis(loop.exit).load(phi.type, cell)
        closing.replace_all_uses(found)
        closing.erase()
