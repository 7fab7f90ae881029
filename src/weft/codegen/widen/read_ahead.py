"""Reading ahead of loads that are far from where they were an iteration before.

Where each iteration leads to another page (`weft.analysis.memory.far_steps`), processors do not read ahead by
themselves, and how far they see behind a load that misses their caches depends on how long an iteration is. So where it
is not short, lanes that load neighbours ask for what they load some iterations later. So they do in short loops that go
on later (`weft.transform.groups.rounds_together`): what is behind their few iterations no processor sees. A request may
be behind the end of an array, where it does nothing.

Work-groups with barriers that load a tile each, row by row of the work-group, leave a row for another one, far away,
every few bytes, too. What comes behind a row is that of the next work-group's tile: each lane group asks for it. A
stencil of 5 points that loads tiles of 16 x 16 floats, with their edges, into shared memory takes 2.8 ms for 1024 rows
of 1024 points on AMD's Zen 3 (busy), 5.8 ms without.

What such groups store in rows is asked for, too. A row of a line's length that does not begin at one, as those of
arrays that the C library allocates, ends in a line that is in no cache yet, while the line that it begins in was
written by the group before it.
"""

from __future__ import annotations

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.analysis.memory.far_steps import far_step
from weft.analysis.memory.linear_locations import linear_location
from weft.codegen.widen.context import Widening
from weft.codegen.widen.stack_objects import CACHE_LINE
from weft.costs.constants import constants_of
from weft.ir import FALSE, TRUE, ConstInt, Instruction, Value
from weft.ir.effects import is_speculatable
from weft.ir.intrinsics import SHARED_SPACE
from weft.ir.types import I8, I32, I64, VOID, IntType, PointerType
from weft.transform.groups.rounds_together import GOES_ON
from weft.transform.groups.work_items import WorkItems
from weft.transform.splitting.barriers import FRAME_PARAMETERS

SHORT = 16
"""Instructions of an iteration of which a processor has as many under way as are asked for ahead, and more."""
FEWEST = 24
"""Iterations of a loop for which requests pay: three times as many as they are ahead of. Guess between 16 and 32."""

_LONG = ("call", "fdiv", "frem", "sdiv", "udiv", "srem", "urem", "atomicrmw", "cmpxchg")

_READ, _KEEP, _DATA = ConstInt(I32, 0), ConstInt(I32, 3), ConstInt(I32, 1)


def read_ahead(w: Widening, load: Instruction, address: Value) -> None:
    """Ask for what lanes that load neighbours, from `address` on, load some iterations later, if that is far away."""
    known = w.divergence.facts.probability
    if _is_of_tile(w, load):
        items = WorkItems.of(w.source)
        ahead = w.builder.binary(
            "mul", w.scalar(items.lsize[0]), ConstInt(I64, w.module.layout.size(load.type))
        )
        _ask(w, load, w.builder.gep(I8, address, (ahead,)), "tile ahead")
        return
    far = far_step(load, known.view, known.loops, w.module.layout)
    if far is None or len(w.lanes.extents) != 1 or not all(map(w.is_uniform, far.numbers)):
        return
    assert load.block is not None
    loop = known.loops.innermost[known.view.index[load.block]]
    if loop is None:
        return
    goes_on = GOES_ON in known.view.blocks[loop.header].terminator.attrs
    if not goes_on and _is_short([i for n in loop.blocks for i in known.view.blocks[n]]):
        return
    builder = w.builder
    is_long = TRUE if goes_on else _is_long(w, counted_loop(known.view, loop, computed=True))
    if is_long == FALSE:
        return
    step: Value = ConstInt(I64, 1)
    for number in far.numbers:
        here = _computed_here(w, number, {}) if far.is_inside else w.scalar(number)
        if here is None or not isinstance(here.type, IntType) or here.type.bits > I64.bits:
            return
        if here.type.bits < I64.bits:
            here = builder.cast("sext", here, I64)
        step = here if step == ConstInt(I64, 1) else builder.binary("mul", step, here)
    ahead = far.scale * constants_of(w.isa).iterations_ahead
    distance: Value = builder.binary("mul", step, ConstInt(I64, ahead))
    if is_long != TRUE:
        # What is loaded now is asked for by short loops: behind a branch registers and masks would be kept elsewhere.
        distance = builder.select(is_long, distance, ConstInt(I64, 0))
    _ask(w, load, builder.gep(I8, address, (distance,)), "read ahead")


def write_ahead(w: Widening, store: Instruction, address: Value) -> None:
    """Ask for what the next work-group stores in a row, where this one stores to neighbours from `address` on."""
    if not _is_of_tile(w, store):
        return
    away = _to_next_group(w, store)
    if away is None:
        return
    width = w.lanes.width * w.module.layout.size(store.operands[0].type)
    _ask_lines(w, w.builder.gep(I8, address, (away,)), range(min(CACHE_LINE, width) - 1, width, CACHE_LINE))
    w.remark(store, "tile ahead")


def _to_next_group(w: Widening, access: Instruction) -> Value | None:
    """How many bytes behind what this work-group accesses the next one along x does; None if it is not that simple."""
    items = WorkItems.of(w.source)
    group, size = items.gid[0], items.lsize[0]
    terms = linear_location(access.pointer, w.module.layout).terms.items()
    asked = [(_in_any_bits(term), scale) for term, scale in terms if group in _numbers_behind(term)]
    if len(asked) != 1:
        return None
    ((term, scale),) = asked
    if scale <= 0:
        return None
    if term is group:
        return ConstInt(I64, scale)
    if not isinstance(term, Instruction) or term.op != "mul":
        return None
    if {_in_any_bits(factor) for factor in term.operands} != {group, size}:
        return None
    return w.builder.binary("mul", w.scalar(size), ConstInt(I64, scale))


def _in_any_bits(number: Value) -> Value:
    """What a number is that may have been extended, or cut off: requests for another place do nothing."""
    while isinstance(number, Instruction) and number.op in ("sext", "zext", "trunc"):
        number = number.operands[0]
    return number


def _is_long(w: Widening, counted: CountedLoop | str) -> Value:
    """Whether a loop has so many iterations that requests pay, as it is if nobody knows."""
    if isinstance(counted, str):
        return TRUE
    start, step = counted.counter.start, counted.counter.step
    first, last = (start, counted.bound) if step > 0 else (counted.bound, start)
    if isinstance(first, ConstInt) and isinstance(last, ConstInt):
        return TRUE if last.signed - first.signed >= abs(step) * FEWEST else FALSE
    if not (w.is_uniform(first) and w.is_uniform(last)):
        return TRUE
    made: dict[Value, Value | None] = {}
    ends = [_computed_here(w, value, made) for value in (last, first)]
    if None in ends or counted.counter.type.bits > I64.bits:
        return TRUE
    last, first = (w.builder.cast("sext", v, I64) if v.type != I64 else v for v in ends if v is not None)
    away = w.builder.binary("sub", last, first)
    return w.builder.icmp("sge", away, ConstInt(I64, abs(step) * FEWEST))


def _is_of_tile(w: Widening, load: Instruction) -> bool:
    """Whether a row of a tile is loaded, or stored, behind which the one of the next work-group's tile is."""
    known = w.divergence.facts.probability
    items = WorkItems.find(w.source)
    assert load.block is not None and isinstance(load.pointer.type, PointerType)
    if items is None or load.pointer.type.space == SHARED_SPACE or len(w.lanes.extents) != 1:
        return False
    if known.loops.innermost[known.view.index[load.block]] is not None:
        return False
    if not any(a.name == FRAME_PARAMETERS[0] for a in w.source.args):
        return False
    found = _numbers_behind(load.pointer)
    return items.gid[0] in found and items.tid[1] in found


def _numbers_behind(value: Value) -> set[Value]:
    """What a value is computed from, itself among it."""
    found, work = set[Value](), [value]
    while work:
        value = work.pop()
        if value not in found:
            found.add(value)
            work.extend(value.used_values() if isinstance(value, Instruction) else ())
    return found


def _ask(w: Widening, load: Instruction, place: Value, remark: str) -> None:
    """Ask for the row of neighbours that begins at `place`."""
    _ask_lines(w, place, range(0, w.lanes.width * w.module.layout.size(load.type), CACHE_LINE))
    w.remark(load, remark)


def _ask_lines(w: Widening, place: Value, offsets: range) -> None:
    """Ask for the lines that are so many bytes behind `place`."""
    builder, type = w.builder, place.type
    assert isinstance(type, PointerType)
    ask = w.intrinsic(f"llvm.prefetch.p{type.space}", VOID, (type, I32, I32, I32))
    for offset in offsets:
        at = builder.gep(I8, place, (ConstInt(I64, offset),)) if offset else place
        builder.call(ask, (at, _READ, _KEEP, _DATA))


def _is_short(iteration: list[Instruction]) -> bool:
    """Whether processors see many iterations ahead."""
    return len(iteration) <= SHORT and not any(i.op in _LONG for i in iteration)


def _computed_here(w: Widening, value: Value, made: dict[Value, Value | None]) -> Value | None:
    """A number that the loop computes of parameters alone, computed again; None if it is not that."""
    if value not in made:
        made[value] = _copied(w, value, made)
    return made[value]


def _copied(w: Widening, value: Value, made: dict[Value, Value | None]) -> Value | None:
    if not isinstance(value, Instruction):
        return w.scalar(value) if w.is_uniform(value) else None
    if value.is_phi or not is_speculatable(value) or value.callee_name is not None:
        return None
    operands = [_computed_here(w, o, made) for o in value.operands]
    if None in operands:
        return None
    copy = value.clone()
    for i, operand in enumerate(operands):
        assert operand is not None
        copy.set_operand(i, operand)
    return w.builder.insert(copy)
