"""Rows that each thread reads again and again are copied when they are read first.

    for row in range(128):                      for row in range(128):
        for column in range(128):                   if row == 0:
            ... second[pair, column] ...                for column in range(128): own[column] = second[pair, column]
                                                    for column in range(128): ... own[column] ...

Lanes lie side by side in stack objects (`weft.codegen.widen.stack_objects`), so they read the copy with vector loads,
from the nearest cache, where they gathered. Elements are copied in the order of the loop along the row, and numbered
by its iterations.

Where the program does not say how many iterations there are, it is asked whether the copy has room for them, and the
loop along the row has a version that reads the copy, and one as it was.

Precondition: P-LLVM without predicates, shadows and guards, loop-simplified and loop-closed; `reread_rows` found the
rows in it as it is. Postcondition: the same form; the loads read the copies. Each element that is copied is one that
the first run of the inner loop would load, whatever a thread does. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.loops.counted_loops import CountedLoop, build_iterations, known_iterations
from weft.analysis.loops.reread_rows import RereadRow
from weft.graph.loops import loop_forest
from weft.ir import FALSE, TRUE, BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import cfg_of
from weft.ir.types import I1, I64, ArrayType
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.rebuilt import rebuilt
from weft.transform.loops.simplify_loops import simplify_loops
from weft.transform.loops.version_loop import version_loop


def copy_rows(function: Function, rows: Sequence[RereadRow]) -> None:
    """Copy rows of a function, and let what reads them read the copies."""
    together: dict[tuple[BasicBlock, BasicBlock], list[RereadRow]] = {}
    for row in rows:
        together.setdefault((row.inner.header, row.outer), []).append(row)
    tested = [row for row in rows if row.is_tested]
    # The least room there is for a row: loops that read the copy of one before must ask for no more than that one.
    room = min((row.length for row in tested), default=0)
    asked: set[BasicBlock] = set()
    for row in tested:
        for loop, loads in ((row.inner, row.loads), *row.behind):
            if loop.header not in asked:
                asked.add(loop.header)
                _ask_for_room(function, loop, room, loads[0])
    # A loop along rows may have several outer loops: what is put before it later goes on from what was before.
    for same in together.values():
        _copy(function, same)
    remove_dead_instructions(function)
    simplify_loops(function)
    close_loops(function)


def _ask_for_room(function: Function, counted: CountedLoop, room: int, load: Instruction) -> None:
    """Let a loop read copies where they have room for all of its iterations, and a copy of the loop run elsewhere."""
    view = cfg_of(function)
    header = view.index[counted.header]
    loop = loop_forest(view.cfg).innermost[header]
    assert loop is not None and loop.header == header

    def has_room(build: Builder) -> Value:
        build.loc = load.loc
        return build.icmp("ule", build_iterations(counted, build), const_int(room))

    version_loop(function, view, loop, has_room)


def _copy(function: Function, rows: Sequence[RereadRow]) -> None:
    """Copy rows that one loop reads, when the loop around begins."""
    inner, outer = rows[0].inner, rows[0].outer
    (before,) = (b for b in inner.header.predecessors if b is not inner.latch)
    location = rows[0].loads[0].loc
    begin, cells, cell, behind = (
        function.add_block(f"{inner.header.name}.{name}", after)
        for name, after in (("copy", before), ("cells", None), ("cell", None), ("copied", None))
    )
    end = before.terminator
    build = Builder(before=end)
    build.loc = location
    build.cond_br(_has_copy(outer, before), behind, begin)
    end.erase()
    build.at_end(begin)
    known = known_iterations(inner)
    iterations = build_iterations(inner, build) if known is None else const_int(known)
    build.br(cells)
    build.at_end(cells)
    number = build.phi(I64, name="cell")
    build.cond_br(build.icmp("ult", number, iterations), cell, behind)
    build.at_end(cell)
    at = _counter_at(build, inner, number)
    copies: dict[Value, Value] = {inner.counter.phi: at}
    inside = set(inner.blocks) | _blocks_of_loop(outer)
    places: list[Instruction] = []
    for row in rows:
        load = row.loads[0]
        array = ArrayType(load.type, row.length)
        room = Builder(before=function.entry.instructions[0]).alloca(array, name="row")
        places.append(room)
        pointer = rebuilt(build, load.pointer, copies, inside)
        read = build.insert(load.clone())
        read.debug_records = []
        read.set_operand(0, pointer)
        build.store(read, build.gep(array, room, (const_int(0), number), ("inbounds",)))
    following = build.binary("add", number, const_int(1), ("nuw", "nsw"))
    build.br(cells)
    number.add_incoming(const_int(0), begin)
    number.add_incoming(following, cell)
    build.at_end(behind)
    build.br(inner.header)
    inner.header.replace_phi_source(before, behind)
    for row, room in zip(rows, places, strict=True):
        array = ArrayType(row.loads[0].type, row.length)
        for loop, loads in ((inner, row.loads), *row.behind):
            own = _iteration(loop)
            for load in loads:
                here = Builder(before=load)
                here.loc = load.loc
                place = here.gep(array, room, (const_int(0), own), ("inbounds",))
                load.replace_all_uses(here.load(load.type, place, name=load.name))
                load.erase()


def _has_copy(outer: BasicBlock, before: BasicBlock) -> Instruction:
    """Whether an iteration of the loop is not the first one: then there is a copy."""
    blocks = _blocks_of_loop(outer)
    build = Builder(outer)
    build.loc = before.terminator.loc
    known = build.phi(I1, name="copied")
    for source in outer.predecessors:
        known.add_incoming(TRUE if source in blocks else FALSE, source)
    return known


def _blocks_of_loop(header: BasicBlock) -> set[BasicBlock]:
    """The blocks of a loop with one entry."""
    dominated = _dominated(header)
    found = {header}
    work = [b for b in header.predecessors if b in dominated]
    while work:
        block = work.pop()
        if block not in found:
            found.add(block)
            work += block.predecessors
    return found


def _dominated(header: BasicBlock) -> set[BasicBlock]:
    """The blocks that cannot be reached but through a header."""
    function = header.function
    assert function is not None
    reached: set[BasicBlock] = set()
    work = [function.entry] if header is not function.entry else []
    while work:
        block = work.pop()
        if block not in reached and block is not header:
            reached.add(block)
            work += block.successors
    return {b for b in function.blocks if b not in reached}


def _counter_at(build: Builder, loop: CountedLoop, number: Value) -> Value:
    """What the counter of a loop is in an iteration."""
    counter = loop.counter
    if counter.type != I64:
        number = build.cast("trunc" if counter.type.bits < I64.bits else "zext", number, counter.type)
    if counter.step != 1:
        number = build.binary("mul", number, const_int(counter.step, counter.type))
    if isinstance(counter.start, ConstInt) and counter.start.value == 0:
        return number
    return build.binary("add", counter.start, number)


def _iteration(loop: CountedLoop) -> Value:
    """The number of the iteration that a loop is in, from 0."""
    (before,) = (b for b in loop.header.predecessors if b is not loop.latch)
    counter = loop.counter
    starts_at_zero = isinstance(counter.start, ConstInt) and counter.start.value == 0
    if starts_at_zero and counter.step == 1 and counter.type == I64:
        return counter.phi
    build = Builder(loop.header)
    build.loc = counter.following.loc
    number = build.phi(I64, name="iteration")
    build = Builder(before=loop.latch.terminator)
    build.loc = counter.following.loc
    number.add_incoming(const_int(0), before)
    number.add_incoming(build.binary("add", number, const_int(1), ("nuw", "nsw")), loop.latch)
    return number
