"""A thread by itself asks for what it looks up next, where that is one of two places known before it is chosen.

    d = x - tree[node]                               ask for tree[2 * node + 1], where tree[2 * node + 2] is, too
    if near enough: node = 2 * node + (1 if d < 0 else 2)
    else:           node = what is on the stack      d = x - tree[node] ...

Processors foresee which way a branch goes and ask for what is there, and go the wrong way every other time: then they
know the place when what is awaited has come, and wait again. A request for both places takes an instruction or two.
Nearest neighbours in kd-trees of two and three dimensions, on Zen 3, take 0.57 to 0.8 of the time in trees of 2^19 and
more points, 0.75 to 0.96 where queries are neighbours, and 0.96 to 1.0 in small trees; trees of vantage points, whose
roots take longer, 0.96 to 1.02. To ask how far away a place is, as lanes do (`weft.codegen.widen.next_places`), costs
more than it saves.

Descents that never turn back are left alone: processors are at several of them, which do not wait for each other, and
walks of few rounds in small trees (decision trees) take 1.1 to 1.2 times as long with requests. So are walks with a
loop in them, as along the coordinates of a point: 9 of them, of 4 k to 2^17 points, took 1.04 to 1.08.

Precondition: P-LLVM of one thread, without predicates, shadows and guards. Postcondition: the same; loads of walks that
turn back, and whose next place is one of two, have ``llvm.prefetch`` before them. Preserves the program under FR: what
is asked for need not be there.
"""

from __future__ import annotations

from weft.analysis.loops.places_ahead import CACHE_LINE, Algebra, CarriedPlace, Way, ways_apart
from weft.analysis.memory.alias import Location
from weft.analysis.memory.linear_locations import linear_location
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.layout import DataLayout
from weft.ir.loop_metadata import is_seldom
from weft.ir.types import I8, I32, I64, VOID, FunctionType, IntType, PointerType

_READ, _KEEP, _DATA = ConstInt(I32, 0), ConstInt(I32, 3), ConstInt(I32, 1)
_LOW = (1 << 64) - 1


def ask_for_children(function: Function) -> int:
    """Ask for both places that loads may look up next; before how many loads."""
    view = cfg_of(function)
    loops = loop_forest(view.cfg)
    asked = 0
    for loop in loops.loops:
        if loop.children or _is_seldom(loop, view):
            continue
        own = [view.blocks[n] for n in sorted(loop.blocks)]
        for load, location in _looked_up(own, function.layout):
            chain = CarriedPlace.of(load, location, view, loops)
            if chain is None or not chain.turns_back():
                continue
            if ways := ways_apart(chain):
                _ask(chain, ways, load, location.base)
                asked += 1
    return asked


def _looked_up(blocks: list[BasicBlock], layout: DataLayout) -> list[tuple[Instruction, Location]]:
    """The loads from memory that is not a thread's own, one for each line that several read in a block."""
    found: list[tuple[Instruction, Location]] = []
    for block in blocks:
        lines: list[Location] = []
        for i in block.instructions:
            if i.op != "load" or not i.is_plain_access or not isinstance(i.pointer.type, PointerType):
                continue
            location = linear_location(i.pointer, layout)
            base = location.base
            if (isinstance(base, Instruction) and base.op == "alloca") or not location.terms:
                continue
            if not any(_is_of_line(location, other) for other in lines):
                lines.append(location)
                found.append((i, location))
    return found


def _is_seldom(loop: Loop, view: CFGView) -> bool:
    return any(is_seldom(view.blocks[latch].terminator) for latch in loop.latches)


def _is_of_line(one: Location, other: Location) -> bool:
    same = one.base is other.base and one.terms == other.terms
    return same and abs(one.offset - other.offset) < CACHE_LINE


def _ask(chain: CarriedPlace, ways: list[Way], load: Instruction, base: Value) -> None:
    builder = Builder(before=load)
    builder.loc = load.loc

    def known(value: Value) -> Value:
        assert isinstance(value.type, IntType)
        if value.type == I64:
            return value
        return builder.cast("trunc" if value.type.bits > I64.bits else "sext", value, I64)

    def binary(op: str, one: Value, other: Value) -> Value:
        neutral = 1 if op == "mul" else 0
        return (
            one if isinstance(other, ConstInt) and other.value == neutral else builder.binary(op, one, other)
        )

    algebra = Algebra[Value](known, lambda number: const_int(number & _LOW, I64), binary)
    type, module = base.type, load.function.module
    assert isinstance(type, PointerType) and module is not None
    name, parameters = f"llvm.prefetch.p{type.space}", (type, I32, I32, I32)
    ask = module.declare(name, FunctionType(VOID, parameters), ("nounwind", "willreturn"))
    for way in ways:
        place = chain.place(algebra, way, 1)
        builder.call(ask, (builder.gep(I8, base, (place,)), _READ, _KEEP, _DATA))
