"""A group of iterations of a loop does what a loop inside does up to the group's first one together (triangular nests).

    for i in a..n:                     for g in a..n - U + 1 by U:
        A(i)                               A(g); A(g + 1); ...
        for j in 0..i: X(i, j)             for j in 0..g: X(g, j); X(g + 1, j); ...
        Y(i)                               for i in g..g + U: (for j in g..i: X(i, j); Y(i))
                                       for i in g..n: (A(i); for j in 0..i: X(i, j); Y(i))

In ``for i: for j < i: (for k < j: a[i, j] -= a[i, k] * a[j, k]; ...)``, which decomposes a matrix, elements of a row
are sums that wait for one another's additions, and for the elements before them. Those of several rows do not. In
``for i: (s = b[i]; for j < i: s -= a[i, j] * x[j]; x[i] = s / a[i, i])``, which solves a triangular system, each row is
one sum. It is index set splitting of j at g, distribution, interchange, and unroll and jam; what the loop over j hands
on is in an array on the stack between its two parts.

Precondition: a loop-closed function; `triangle` says that the loop goes up by 1 from a number that is not negative, and
its first loop inside from 0 to it; that one holds nothing but blocks one behind the other and loops of one block, whose
numbers of rounds depend on its counter at most. The caller knows that no dependence turns around
(`weft.analysis.sequential.orders.Ahead`). Postcondition: the loop is one of a group, in a loop over groups; a copy
behind it does the iterations that are left. Preserves the program under FR.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.intrinsics import PURE
from weft.ir.types import ArrayType, FunctionType
from weft.transform.loops.jam import Jammable, blocks_in_order, counting, is_other_effect, repeat_blocks
from weft.transform.loops.tile_loop import goes_up


class Triangle(Struct, frozen=True):
    """A loop that begins with one from 0 to it.

    Parameters
    ----------
    loop
        How it counts.
    before
        Its blocks before the loop inside, which compute, load and store. What they load before they store is not used
        behind them, but for what the loop inside begins with.
    inside
        The loop inside.
    """

    loop: CountedLoop
    before: tuple[BasicBlock, ...]
    inside: Jammable


def triangle(view: CFGView, loop: Loop) -> Triangle | None:
    """A loop of this form; None for any other."""
    # Where an unsigned bound is negative as a signed one, no group is begun.
    counted = _rising(view, loop, "slt", "ult")
    if counted is None or not isinstance(counted.counter.start, ConstInt) or counted.counter.start.signed < 0:
        return None
    headed = {view.blocks[c.header]: c for c in loop.children}
    own = set(counted.blocks)
    before: list[BasicBlock] = []
    block = next(b for b in counted.header.successors if b in own)
    while block not in headed:
        if len(block.successors) != 1 or any(is_other_effect(i) for i in block.instructions):
            return None
        if block is counted.header or any(i.is_phi for i in block.instructions):
            return None
        before.append(block)
        block = block.successors[0]
    first = headed[block]
    inner = _rising(view, first, "slt", "ult", carries=True)
    if inner is None or inner.bound is not counted.counter.phi or not before:
        return None
    start = inner.counter.start
    if not isinstance(start, ConstInt) or start.signed != 0 or inner.preheader is not before[-1]:
        return None
    if not _is_done_once(before, inner):
        return None
    copied = {*before, *inner.blocks}
    if any(user.block in copied for user in counted.counter.following.instruction_users()):
        return None
    inside = blocks_in_order(view, first, inner, own, inner.counter.phi)
    return None if inside is None else Triangle(counted, tuple(before), inside)


def _is_done_once(before: list[BasicBlock], inner: CountedLoop) -> bool:
    """Whether blocks can be left out where they were done before: what they load is not needed any more."""
    instructions = [i for block in before for i in block.instructions]
    if not any(i.op == "store" for i in instructions):
        return True
    loaded: set[Value] = set()
    for instruction in instructions:
        if instruction.op == "load" or any(v in loaded for v in instruction.operands):
            loaded.add(instruction)
    begins = {phi for phi in inner.header.phis() if phi is not inner.counter.phi}
    known = {*loaded, *begins}
    return all(user in known for i in loaded if isinstance(i, Instruction) for user in i.instruction_users())


def _rising(view: CFGView, loop: Loop, *predicates: str, carries: bool = False) -> CountedLoop | None:
    counted = counted_loop(view, loop)
    if isinstance(counted, str) or counted.predicate not in predicates:
        return None
    return counted if goes_up(counted, carries=carries) else None


def run_ahead(function: Function, found: Triangle, count: int) -> tuple[BasicBlock, BasicBlock]:
    """Let groups of so many iterations begin together; the headers of the loop over groups and of what is left."""
    loop, inner = found.loop, found.inside.loop
    counter, header, type = loop.counter, loop.header, loop.counter.type
    rest = _copy(function, loop.blocks, {}, "left")
    groups = function.add_block(f"{header.name}.groups", loop.preheader)
    enter = function.add_block(f"{header.name}.enter", groups)
    leave = function.add_block(f"{header.name}.next", loop.latch)
    build = Builder(groups)
    build.loc = header.terminator.loc
    first = build.phi(type, name=f"{counter.phi.name}.group")
    own = [*found.before, *inner.blocks]
    ahead = _copy(function, own, {counter.phi: first}, "ahead")
    # Where the bound is below them, there is no group.
    make = Builder(before=loop.preheader.terminator)
    make.loc = header.terminator.loc
    declared = make.module.declare(f"llvm.smax.i{type.bits}", FunctionType(type, (type, type)), PURE)
    most = make.call(declared, (loop.bound, const_int(0, type)))
    limit = make.binary("sub", most, const_int(count - 1, type), ("nsw",))
    build.cond_br(build.icmp("slt", first, limit), _block(ahead, found.before[0]), _block(rest, header))
    build.at_end(enter)
    end = build.binary("add", first, const_int(count, type), ("nsw",))
    build.br(header)
    build.at_end(leave)
    build.br(groups)
    first.add_incoming(counter.start, loop.preheader)
    first.add_incoming(end, leave)
    loop.preheader.replace_successor(header, groups)
    # The loop runs over a group, and the one inside goes on from where the group begins.
    _enter(counter.phi, loop.preheader, first, enter)
    _enter(inner.counter.phi, inner.preheader, first, inner.preheader)
    _bound(loop, end)
    header.replace_successor(loop.exit, leave)
    _enter(_instruction(rest, counter.phi), loop.preheader, first, groups)
    loop.exit.replace_phi_source(header, _block(rest, header))
    # What comes first is done for all of the group.
    behind = function.add_block(f"{header.name}.handed", enter)
    _block(ahead, inner.header).replace_successor(inner.exit, behind)
    _hand_on(function, found, ahead, first, count, behind)
    Builder(behind).br(enter)
    for block in found.before:
        for instruction in block.instructions:
            if instruction.op == "store":
                instruction.erase()
    place = _block(ahead, found.before[0])

    def of_row(number: int) -> dict[Value, Value]:
        begin = Builder(before=place.terminator)
        begin.loc = counter.following.loc
        return {first: begin.binary("add", first, const_int(number, type), ("nsw",))}

    once = {_instruction(ahead, i) for each in (inner, *found.inside.inside) for i in counting(each)}
    blocks = [_block(ahead, b) for b in (*found.before, inner.header, *found.inside.blocks)]
    repeat_blocks([*blocks, behind], once, count, of_row)
    return groups, _block(rest, header)


def _hand_on(
    function: Function, found: Triangle, ahead: ValueMap, first: Instruction, count: int, behind: BasicBlock
) -> None:
    """Let the second part of the loop inside go on with what the first one hands on, by arrays with a place a row."""
    counter, inner = found.loop.counter, found.inside.loop
    carried = [phi for phi in inner.header.phis() if phi is not inner.counter.phi]
    if not carried:
        return
    zero = const_int(0, counter.type)
    # The group's first row by another name: the rows' own take the place of the one they are copied by.
    named = Builder(before=_behind_phis(first.block))
    base = named.binary("add", first, zero)
    store, load = Builder(behind), Builder(before=inner.preheader.terminator)
    store.loc = load.loc = counter.following.loc
    own, row = store.binary("sub", first, base), load.binary("sub", counter.phi, first)
    for phi in carried:
        array = ArrayType(phi.type, count)
        cells = Builder(before=function.entry.instructions[0]).alloca(array, name=f"{phi.name or 'sum'}.rows")
        store.store(_instruction(ahead, phi), store.gep(array, cells, (zero, own), ("inbounds",)))
        value = load.load(phi.type, load.gep(array, cells, (zero, row), ("inbounds",)))
        _enter(phi, inner.preheader, value, inner.preheader)


def _behind_phis(block: BasicBlock | None) -> Instruction:
    assert block is not None
    return next(iter(block.non_phis()))


def _bound(loop: CountedLoop, end: Value) -> None:
    """Let a loop end at another number."""
    test = loop.header.terminator.operands[0]
    assert isinstance(test, Instruction)
    for index, value in enumerate(test.operands):
        if value is not loop.counter.phi:
            test.set_operand(index, end)


def _enter(phi: Instruction, before: BasicBlock, value: Value, source: BasicBlock) -> None:
    """Let a loop begin with another value, from another block."""
    for index, block in enumerate(phi.blocks):
        if block is before:
            phi.set_operand(index, value)
            phi.set_block(index, source)


def _copy(
    function: Function, blocks: list[BasicBlock] | tuple[BasicBlock, ...], values: ValueMap, name: str
) -> ValueMap:
    for block in clone_blocks(blocks, function, values):
        # Loops are known by the names of their headers.
        block.name = f"{block.name}.{name}"
    return values


def _block(copies: ValueMap, original: BasicBlock) -> BasicBlock:
    found = copies[original]
    assert isinstance(found, BasicBlock)
    return found


def _instruction(copies: ValueMap, original: Instruction) -> Instruction:
    found = copies[original]
    assert isinstance(found, Instruction)
    return found
