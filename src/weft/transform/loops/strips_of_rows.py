"""Rows of lanes' own are accessed strip by strip: a line of the cache of each lane at a time.

    for t in range(columns):            for s in range(0, whole, 16):
        state = f(state, z[i, t])           here[0] = z[i, s]; ...; here[15] = z[i, s + 15]
        out[i, t] = state                   for k in range(16):
                                                state = f(state, here[k])
                                                there[k] = state
                                            out[i, s] = there[0]; ...; out[i, s + 15] = there[15]
                                        for t in range(whole, columns): as before

Stack objects of lanes lie side by side (`weft.codegen.widen.stack_objects`), so that the loop inside has vector
accesses alone, and what is loaded and stored in strips is transposed in registers (`weft.codegen.widen.own_rows`).

Precondition: P-LLVM without predicates, shadows and guards, loop-simplified and loop-closed; `row_strips` found the
strips in it as it is. Postcondition: the same form. No element is accessed that the program does not access, and each
iteration sees what it did. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.loops.counted_loops import CountedLoop, build_iterations
from weft.analysis.loops.ordered_exits import size_of
from weft.analysis.loops.row_strips import RowStrips
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.loop_metadata import is_never_unrolled, mark_unrolled
from weft.ir.types import I8, I64, ArrayType
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.rebuilt import rebuilt
from weft.transform.loops.simplify_loops import simplify_loops

WRITTEN_OUT = 40
"""Instructions of an iteration up to which those of a strip are written out, so that strips stay in registers. LLVM
leaves the loop of kernels otherwise: a recurrence of two terms takes 1.2 times as long with AVX-512, 1.5 with AVX2."""


def access_in_strips(function: Function, strips: Sequence[RowStrips]) -> None:
    """Let loops of a function go along rows strip by strip."""
    for each in strips:
        _cut(function, each)
    remove_dead_instructions(function)
    simplify_loops(function)
    close_loops(function)


def _cut(function: Function, strips: RowStrips) -> None:
    loop = strips.loop
    before, header, location = loop.preheader, loop.header, loop.counter.following.loc
    heads, load, stored, rest = (
        function.add_block(f"{header.name}.{name}", None) for name in ("strips", "strip", "stored", "rest")
    )
    copies: ValueMap = {}
    blocks = list(loop.blocks)
    clone_blocks(blocks, function, copies)
    inner, latch = (_block(copies, b) for b in (header, loop.latch))
    inner.name = f"{header.name}.own"

    build = Builder(before=before.terminator)
    build.loc = location
    iterations = build_iterations(loop, build)
    if not loop.top_tested:
        # The loop as it is has at least one iteration.
        iterations = build.binary("sub", iterations, const_int(1))
    whole = build.binary("and", iterations, const_int(-strips.length))

    build.at_end(heads)
    done = build.phi(I64, name="strips")
    carried = {phi: build.phi(phi.type, name=phi.name) for phi in header.phis()}
    build.cond_br(build.icmp("ult", done, whole), load, rest)
    build.at_end(rest)
    build.br(header)

    build.at_end(load)
    begins: ValueMap = {**carried}
    rows = [(access, rebuilt(build, access.pointer, begins, set(blocks))) for access in strips.accesses]
    number = _count(build, inner, load, latch)
    rooms = _load_strips(function, build, strips, rows, copies, number)
    build.br(inner)

    _let_run(loop, strips.length, copies, number, stored)
    if size_of(loop.blocks) <= WRITTEN_OUT and not is_never_unrolled(latch.terminator):
        mark_unrolled(latch.terminator, strips.length)
    build.at_end(stored)
    for access, pointer in rows:
        if access.op == "store":
            _store_strip(build, strips.length, access, pointer, rooms[access])
    following = build.binary("add", done, const_int(strips.length), ("nuw", "nsw"))
    build.br(heads)

    done.add_incoming(const_int(0), before)
    done.add_incoming(following, stored)
    for phi, handed in carried.items():
        handed.add_incoming(phi.incoming_value(before), before)
        # A loop tested at its top is left with what it hands on; one tested at its end is left before.
        leaving = phi if loop.top_tested else phi.incoming_value(loop.latch)
        handed.add_incoming(copies.get(leaving, leaving), stored)
        for index, source in enumerate(phi.blocks):
            if source is before:
                phi.set_operand(index, handed)
                phi.set_block(index, rest)
        made = copies[phi]
        assert isinstance(made, Instruction)
        for index, source in enumerate(made.blocks):
            if source is before:
                made.set_operand(index, handed)
                made.set_block(index, load)
    before.replace_successor(header, heads)


def _count(build: Builder, header: BasicBlock, before: BasicBlock, latch: BasicBlock) -> Instruction:
    """The number of an iteration in its strip."""
    loc = build.loc
    head = Builder(header)
    head.loc = loc
    number = head.phi(I64, name="own")
    step = Builder(before=latch.terminator)
    step.loc = loc
    following = step.binary("add", number, const_int(1), ("nuw", "nsw"))
    number.add_incoming(const_int(0), before)
    number.add_incoming(following, latch)
    return number


def _load_strips(
    function: Function,
    build: Builder,
    strips: RowStrips,
    rows: Sequence[tuple[Instruction, Value]],
    copies: ValueMap,
    number: Instruction,
) -> dict[Instruction, Instruction]:
    """Load strips, and let the copies of accesses go to what is on the stack; the stack objects of accesses."""
    rooms: dict[Instruction, Instruction] = {}
    for access, pointer in rows:
        type = access.accessed_type
        array = ArrayType(type, strips.length)
        room = rooms[access] = Builder(before=function.entry.instructions[0]).alloca(array, name="strip")
        if access.op == "load":
            loads: list[Instruction] = []
            for k in range(strips.length):
                place = _element(build, pointer, k, access)
                made = build.insert(access.clone())
                made.debug_records = []
                made.set_operand(0, place)
                loads.append(made)
            for k, made in enumerate(loads):
                build.store(made, build.gep(array, room, (const_int(0), const_int(k)), ("inbounds",)))
        copy = copies[access]
        assert isinstance(copy, Instruction)
        here = Builder(before=copy)
        here.loc = access.loc
        place = here.gep(array, room, (const_int(0), number), ("inbounds",))
        if access.op == "load":
            # What the loop hands on may be the element itself.
            loaded = copies[access] = here.load(type, place, name=access.name)
            copy.replace_all_uses(loaded)
        else:
            here.store(copy.operands[0], place)
        copy.erase()
    return rooms


def _store_strip(build: Builder, length: int, access: Instruction, pointer: Value, room: Instruction) -> None:
    type = access.accessed_type
    array = ArrayType(type, length)
    values = [
        build.load(type, build.gep(array, room, (const_int(0), const_int(k)), ("inbounds",)))
        for k in range(length)
    ]
    for k, value in enumerate(values):
        place = _element(build, pointer, k, access)
        made = build.insert(access.clone())
        made.debug_records = []
        for index, operand in enumerate((value, place)):
            made.set_operand(index, operand)


def _element(build: Builder, pointer: Value, k: int, access: Instruction) -> Value:
    size = build.module.layout.store_size(access.accessed_type)
    return build.gep(I8, pointer, (ConstInt(I64, k * size),)) if k else pointer


def _let_run(
    loop: CountedLoop, length: int, copies: ValueMap, number: Instruction, behind: BasicBlock
) -> None:
    """Let the copy of a loop run so many times, and go on behind it."""
    exiting = _block(copies, loop.exiting)
    branch = exiting.terminator
    test = Builder(before=branch)
    test.loc = branch.loc
    tested = number if loop.top_tested else number.incoming_value(_block(copies, loop.latch))
    leaves_if_true = branch.blocks[0] is loop.exit
    branch.set_operand(0, test.icmp("eq" if leaves_if_true else "ne", tested, const_int(length)))
    exiting.replace_successor(loop.exit, behind)


def _block(copies: ValueMap, block: BasicBlock) -> BasicBlock:
    made = copies[block]
    assert isinstance(made, BasicBlock)
    return made
