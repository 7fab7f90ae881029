"""Packing: what boxes side by side read again and again lies in one piece of memory (Goto and van de Geijn, 2008, §4).

In a product of matrices a box of iterations reads, in each step of its inner loop, the same few columns of another row.
These rows are far apart: each step takes another page and other lines of few sets of the cache, at any alignment. All
boxes of a column of boxes read the same. So they are run one after the other, and before the first of them this
*panel*, so many elements of each row, is copied to memory of its own, where it is aligned and contiguous.

    for (j ..) for (i ..) for (k ..) t += a[j, k] * w[k, i];

    for each column of boxes:  panel[k, 0:16] = w[k, i:i+16];  for each box of it:  t += a[j, k] * panel[k, 0:16]

A load is of a panel if each iteration of the nest makes it in each iteration of an inner loop that counts from zero, at
an address that depends on that counter and on the nest's inner one alone, and neighbours along the inner one read
neighbours. Nobody writes there: iterations of the nest do not meet in memory, and all along the outer loop read it.

Precondition: the body of a nest of two loops. Postcondition: a copy of it reads the panel. Preserves the program
under FR.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.codegen.loops import counted_loop as build_loop
from weft.codegen.widen.lanes import LaneSpace
from weft.graph.dominators import DominatorTree, dominator_tree
from weft.graph.loops import loop_forest
from weft.ir import Argument, Builder, ConstInt, Function, Instruction, Module, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.clone import ValueMap, clone_function
from weft.ir.effects import is_speculatable
from weft.ir.loop_metadata import mark_unrolled
from weft.ir.types import I8, I32, I64, PTR, VOID, FunctionType, VectorType
from weft.transform.loops.recomputed import compute_again

COORDINATE = "weft.lane.coordinate"

LINE = 64

MOST_BYTES = 512 << 10
"""Of a panel: it stays in a second-level cache."""

UNROLLED = 4
"""Steps of the inner loop in one, whose addresses are then apart by numbers that instructions have in them: without, a
step of 8 sums and products has half as many instructions for addresses. The products of 1000 by 1000 took 0.81 of the
time with AVX2, of doubles and floats, and 0.93 to 0.99 with AVX-512."""

LEAST_ROWS, LEAST_BOXES = 16, 16
"""Of a panel, and that read it, for the copy to pay."""


class Panel(Struct, frozen=True):
    """A load of a nest's body that can be packed.

    Parameters
    ----------
    load, counter, bound
        The load, the counter of the loop around it, and how many rows the panel has.
    coordinate
        Where a lane stands along a row of the panel.
    address
        What computes the load's address, in order.
    """

    load: Instruction
    counter: Instruction
    bound: Value
    coordinate: Instruction
    address: tuple[Instruction, ...]


class Packed(Struct, frozen=True):
    """The body that reads a panel.

    Parameters
    ----------
    panel
        Of the body as it was, with the parameters `arguments`.
    function
        It; its last parameter leads to the panel.
    """

    panel: Panel
    arguments: tuple[Argument, ...]
    function: Function


def pack(
    module: Module, body: Function, divergence: Divergence, lanes: LaneSpace, levels: int, name: str
) -> Packed | None:
    """Add a copy of a nest's body that reads a panel; None where it reads none."""
    panel = _find(body, divergence, lanes) if levels == len(lanes.extents) == 2 else None
    if panel is None:
        return None
    values: ValueMap = {}
    function = clone_function(body, name, values)
    memory = function.append_parameter(PTR, "panel")
    memory.attributes = ("noalias", "noundef", f"align {LINE}")
    load, extent = values[panel.load], lanes.by_axis(levels)[1]
    assert isinstance(load, Instruction)
    at = Builder(before=load)
    place = at.cast("zext", values[panel.coordinate], I64, ("nneg",))
    row = at.binary("mul", values[panel.counter], ConstInt(I64, extent), ("nuw", "nsw"))
    index = at.binary("add", row, place, ("nuw", "nsw"))
    load.replace_operand(load.pointer, at.gep(load.type, memory, (index,), ("inbounds", "nuw")))
    remove_dead_instructions(function)
    counter = values[panel.counter]
    assert isinstance(counter, Instruction)
    for following, latch in counter.incoming():
        if not isinstance(following, ConstInt):
            mark_unrolled(latch.terminator, UNROLLED)
    return Packed(panel, tuple(body.args), function)


def _find(body: Function, divergence: Divergence, lanes: LaneSpace) -> Panel | None:
    if not all(i.is_plain_access or i.is_phi or i.is_terminator or _is_pure(i) for i in body.instructions()):
        return None
    view = cfg_of(body)
    dominators = dominator_tree(view.cfg)
    for loop in loop_forest(view.cfg).loops:
        counted = counted_loop(view, loop)
        if loop.children or isinstance(counted, str) or not _counts_rows(counted, view, dominators):
            continue
        latch = view.index[counted.latch]
        for block in counted.blocks:
            if block is counted.header or not dominators.dominates(view.index[block], latch):
                continue
            for load in (i for i in block.instructions if i.op == "load"):
                found = _panel(load, counted, body, divergence, lanes)
                if found is not None:
                    return found
    return None


def _is_pure(i: Instruction) -> bool:
    return is_speculatable(i) or i.callee_name == COORDINATE


def _counts_rows(loop: CountedLoop, view: CFGView, dominators: DominatorTree) -> bool:
    """Whether each iteration of the nest runs the loop, from zero to a bound that it is given."""
    start, bound = loop.counter.start, loop.bound
    ends = [n for n, block in enumerate(view.blocks) if block.terminator.op == "ret"]
    return (
        loop.top_tested
        and not loop.tests_next
        and loop.counter.type is I64
        and loop.counter.step == 1
        and isinstance(start, ConstInt)
        and start.value == 0
        and loop.predicate in ("slt", "ult")
        and isinstance(bound, (Argument, ConstInt))
        and all(dominators.dominates(view.index[loop.header], end) for end in ends)
    )


def _panel(
    load: Instruction, loop: CountedLoop, body: Function, divergence: Divergence, lanes: LaneSpace
) -> Panel | None:
    inner = next(d for d in range(2) if lanes.along(d) == 1)
    size = body.layout.size(load.accessed_type)
    wanted = tuple(size if d == inner else 0 for d in range(2))
    if isinstance(load.accessed_type, VectorType) or divergence.shape(load.pointer).strides != wanted:
        return None
    slice, leaves = _slice(load.pointer)
    coordinates = [v for v in leaves if isinstance(v, Instruction) and v is not loop.counter.phi]
    if slice is None or body.args[0] in leaves or loop.counter.phi not in leaves or len(coordinates) != 1:
        return None
    (coordinate,) = coordinates
    along = coordinate.operands[0]
    if coordinate.callee_name != COORDINATE or not isinstance(along, ConstInt) or along.value != inner:
        return None
    return Panel(load, loop.counter.phi, loop.bound, coordinate, slice)


def _slice(value: Value) -> tuple[tuple[Instruction, ...] | None, set[Value]]:
    """The pure instructions that a value is computed by, in order, and what they begin with."""
    made: dict[Instruction, None] = {}
    leaves: set[Value] = set()

    def visit(v: Value) -> None:
        if isinstance(v, Instruction) and not v.is_phi and v.op != "call" and is_speculatable(v):
            if v not in made:
                for operand in v.operands:
                    visit(operand)
                made[v] = None
        elif isinstance(v, (Instruction, Argument)):
            leaves.add(v)

    visit(value)
    return (tuple(made) or None), leaves


def build_rows(packed: Packed, captured: Sequence[Value]) -> Value:
    """How many rows the panel has, where the values that the body gets are these."""
    known: ValueMap = dict(zip(packed.arguments[2:], captured, strict=False))
    return known.get(packed.panel.bound, packed.panel.bound)


def build_is_worthwhile(builder: Builder, rows: Value, boxes: Value, row_bytes: int) -> Value:
    """Whether a panel of so many rows is packed for so many boxes."""
    some = builder.icmp("uge", rows, ConstInt(I64, LEAST_ROWS))
    few = builder.icmp("ule", rows, ConstInt(I64, MOST_BYTES // row_bytes))
    many = builder.icmp("uge", boxes, ConstInt(I64, LEAST_BOXES))
    return builder.binary("and", builder.binary("and", some, few), many)


def build_memory(module: Module, builder: Builder, rows: Value, row_bytes: int) -> tuple[Value, Value]:
    """Memory for a panel: what is to be freed, null if there is none, and where the panel is."""
    size = builder.binary("add", builder.binary("mul", rows, ConstInt(I64, row_bytes)), ConstInt(I64, LINE))
    allocated = builder.call(module.declare("malloc", FunctionType(PTR, (I64,)), ("nounwind",)), (size,))
    address = builder.cast("ptrtoint", allocated, I64)
    past = builder.binary("and", builder.binary("sub", ConstInt(I64, 0), address), ConstInt(I64, LINE - 1))
    return allocated, builder.gep(I8, allocated, (past,))


def build_free(module: Module, builder: Builder, allocated: Value) -> None:
    """Give it back."""
    builder.call(module.declare("free", FunctionType(VOID, (PTR,)), ("nounwind",)), (allocated,))


def build_packing(
    builder: Builder, function: Function, packed: Packed, number: Value, captured: Sequence[Value],
    rows: Value, memory: Value, extent: int,
) -> None:  # fmt: skip
    """Copy the panel of the boxes that begin, along the inner loop, with this iteration."""
    panel, element = packed.panel, packed.panel.load.accessed_type
    vector = VectorType(element, extent)
    with build_loop(builder, function, ConstInt(I64, 0), rows, "row") as row:
        values: ValueMap = dict(zip(packed.arguments[2:], captured, strict=False))
        values |= {packed.arguments[1]: number, panel.counter: row, panel.coordinate: ConstInt(I32, 0)}
        compute_again(builder, panel.address, values)
        found = builder.load(vector, values[panel.load.pointer], align=panel.load.alignment)
        place = builder.binary("mul", row, ConstInt(I64, extent), ("nuw", "nsw"))
        size = function.layout.size(element) * extent
        builder.store(found, builder.gep(element, memory, (place,)), align=min(LINE, size & -size))
