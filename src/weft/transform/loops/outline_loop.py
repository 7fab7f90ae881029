"""The body of a parallel loop as a function of its own: a kernel whose threads are the iterations (Moll, §3.1).

Precondition: canonical P-LLVM; a loop whose iterations may run in any order (`weft.analysis.loops.parallel_loops`).
Postcondition: the function is unchanged and the module has one more: one iteration, for the thread of a lane group
that follows the first by its lane id. Its parameters are, in this order, each counter's value in lane 0, what the
loop uses from outside, and for each reduction a pointer to as many cells as there are lanes; a thread loads its cell
at first and stores it at last::

    body(ptr a, i64 first, ptr cells):
        i = first + step * lane
        r = cells[lane]            for (...; i < n; i += step)
        ...                            r = r + a[i]
        cells[lane] = r

A stack object that is made anew in each iteration (its lifetime begins in the loop) goes with the body. Under FR.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, Counter
from weft.analysis.loops.parallel_loops import ParallelLoop, captured_by
from weft.analysis.loops.reductions import Reduction
from weft.analysis.memory.alias import are_apart, locate
from weft.ir import Argument, BasicBlock, Builder, ConstInt, Function, Instruction, Module, Value
from weft.ir.cfg_edit import remove_unreachable_blocks
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.clone_metadata import LocalScopes
from weft.ir.heap import is_allocation
from weft.ir.intrinsics import FIRST_ATTRIBUTE, WRITABLE_ATTRIBUTE, declare
from weft.ir.layout import DataLayout
from weft.ir.types import I1, I8, I64, PTR, VOID, FunctionType, PointerType, Type
from weft.transform.loops.recomputed import compute_again, recomputed, to_be_given


class OutlinedLoop(Struct, frozen=True):
    """A loop and the function of its body.

    Parameters
    ----------
    parallel
        The loop.
    body
        The function.
    captured
        Values of the loop's function that are arguments of the body, behind the counters.
    """

    parallel: ParallelLoop
    body: Function
    captured: tuple[Value, ...]


def cell_type(reduction: Reduction) -> Type:
    """The type of a reduction's value in memory."""
    return I8 if reduction.type is I1 else reduction.type


def outline_loop(
    module: Module,
    parallel: ParallelLoop,
    name: str,
) -> OutlinedLoop:
    """Add the loop's body to `module` as the function `name`; the loop itself stays as it is."""
    loop, counters, reductions = parallel.loop, parallel.counters, parallel.reductions
    source = loop.header.function
    assert source is not None
    used = tuple(v for v in captured_by(loop) if v not in parallel.private)
    again = recomputed(loop.blocks, used)
    captured = to_be_given(used, again)
    params = [*(c.type for c in counters), *(v.type for v in captured), *(PTR for _ in reductions)]
    names = [f"{c.phi.name or 'i'}.first" for c in counters]
    names += [v.name for v in captured] + [f"{r.phi.name or 'r'}.cells" for r in reductions]
    body, scopes = body_function(module, source, name, params, names)
    for counter, argument in zip(counters, body.args, strict=False):
        if isinstance(counter.start, ConstInt):
            argument.attributes = (
                f'"{FIRST_ATTRIBUTE}"="{counter.start.value}+{abs(counter.step)}"',
                *(_range_of(counter, counter.start) if counter.phi is loop.counter.phi else ()),
            )
    first_captured, first_cells = len(counters), len(counters) + len(captured)
    layout = module.layout
    values: ValueMap = {}
    for value, argument in zip(captured, body.args[first_captured:first_cells], strict=True):
        argument.attributes = captured_attributes(value, captured, layout)
        values[value] = argument
    entry, done = body.add_block("entry"), body.add_block("done")
    builder = Builder(entry)
    for alloca in parallel.private:
        values[alloca] = builder.insert(alloca.clone())
    compute_again(builder, again, values)
    lane = builder.call(declare(module, "weft.lane.id"), ())
    carried: dict[Instruction, Value] = {}
    for counter, first in zip(counters, body.args[:first_captured], strict=True):
        carried[counter.phi] = counter_at(builder, counter, first, lane)
    cells: list[Value] = []
    for reduction, base in zip(reductions, body.args[first_cells:], strict=True):
        cell, carried[reduction.phi] = load_cell(builder, reduction, base, lane)
        cells.append(cell)
    clone_blocks(loop.blocks, body, values, scopes)
    for reduction in reductions:
        drop_flags(reduction, values)
    body.blocks.remove(done)
    body.blocks.append(done)
    _close(loop, values, entry, done, carried)
    builder.at_end(done)
    for reduction, cell in zip(reductions, cells, strict=True):
        store_cell(builder, reduction, values.get(reduction.update, reduction.update), cell)
    builder.ret()
    remove_unreachable_blocks(body)
    return OutlinedLoop(parallel, body, captured)


def body_function(
    module: Module, source: Function, name: str, params: Sequence[Type], names: Sequence[str]
) -> tuple[Function, LocalScopes]:
    """A function without blocks for what is taken out of another one, and the scopes of its debug information."""
    body = Function(name, FunctionType(VOID, tuple(params)), tuple(names))
    body.linkage.linkage = "internal"
    writable = (f'"{WRITABLE_ATTRIBUTE}"',) if source.attribute(WRITABLE_ATTRIBUTE) is not None else ()
    body.attributes = ("nounwind", *writable)
    scopes = LocalScopes(source.subprogram)
    body.metadata = [(kind, scopes.node(node)) for kind, node in source.metadata if kind == "dbg"]
    return module.add_function(body), scopes


def load_cell(builder: Builder, reduction: Reduction, base: Value, lane: Value | None) -> tuple[Value, Value]:
    """A lane's cell of a reduction, and what is in it."""
    assert lane is not None
    type = cell_type(reduction)
    wide = builder.cast("zext", lane, I64, ("nneg",))
    cell = builder.gep(type, base, (wide,), ("inbounds", "nuw"))
    value = builder.load(type, cell)
    return cell, builder.cast("trunc", value, I1) if type is not reduction.type else value


def store_cell(builder: Builder, reduction: Reduction, value: Value, cell: Value) -> None:
    """Keep a lane's part of a reduction."""
    type = cell_type(reduction)
    builder.store(builder.cast("zext", value, type) if type is not reduction.type else value, cell)


def drop_flags(reduction: Reduction, values: ValueMap) -> None:
    """A part of a sum may wrap around where the sum in the order of the loop does not."""
    for operation in reduction.operations:
        copy = values.get(operation)
        if isinstance(copy, Instruction) and copy.op in ("add", "sub", "mul"):
            copy.flags = tuple(f for f in copy.flags if f not in ("nsw", "nuw"))


def captured_attributes(value: Value, captured: tuple[Value, ...], layout: DataLayout) -> tuple[str, ...]:
    """What is known of a captured value.

    Nothing else leads into an array that the function itself has made, or into what its caller said is reached by one
    argument alone; but in the loop's body a captured pointer that was derived from it is an argument beside it.
    """
    others = [v for v in captured if v is not value and isinstance(v.type, PointerType)]
    alone = all(are_apart(value, locate(other, layout).base) for other in others)
    if isinstance(value, Argument):
        return tuple(a for a in value.attributes if a != "noalias" or alone)
    return ("noalias", "align 64") if is_allocation(value) and alone else ()


def _range_of(counter: Counter, start: ConstInt) -> tuple[str, ...]:
    """What a tested counter that begins with a constant never is: less than that, if it goes up and not around."""
    if counter.step < 0 or start.signed < 0 or "nsw" not in counter.following.flags:
        return ()
    bits = counter.type.bits
    return (f"range(i{bits} {start.signed}, {-1 << bits - 1})",)


def counter_at(builder: Builder, counter: Counter, first: Value, lane: Value) -> Value:
    """The counter of the iteration that follows the first one by `lane`; it does not wrap where the loop's does not."""
    type = counter.type
    kept = ("nsw", "nuw") if counter.step > 0 and counter.following.op == "add" else ("nsw",)
    flags = tuple(f for f in counter.following.flags if f in kept)
    steps: Value = lane
    if type.bits > 32:
        steps = builder.cast("zext", lane, type, ("nneg",))
    elif type.bits < 32:
        steps = builder.cast("trunc", lane, type)
        flags = ()
    if counter.step != 1:
        steps = builder.binary(
            "mul", steps, ConstInt(type, abs(counter.step)), ("nsw",) if "nsw" in flags else ()
        )
    return builder.binary("add" if counter.step > 0 else "sub", first, steps, flags)


def _close(
    loop: CountedLoop,
    values: ValueMap,
    entry: BasicBlock,
    done: BasicBlock,
    carried: dict[Instruction, Value],
) -> None:
    """Make one pass of the copied loop: in at the entry, out at its end, the φs of its header gone."""
    header, latch, exiting = (values[b] for b in (loop.header, loop.latch, loop.exiting))
    assert (
        isinstance(header, BasicBlock) and isinstance(latch, BasicBlock) and isinstance(exiting, BasicBlock)
    )
    Builder(entry).br(header)
    for phi in list(loop.header.phis()):
        made = values[phi]
        assert isinstance(made, Instruction)
        made.replace_all_uses(carried[phi])
        values[phi] = carried[phi]
        made.erase()
    if exiting is not latch:
        inner = next(b for b in loop.exiting.successors if b is not loop.exit)
        exiting.terminator.erase()
        target = values[inner]
        assert isinstance(target, BasicBlock)
        Builder(exiting).br(target)
    latch.terminator.erase()
    Builder(latch).br(done)
