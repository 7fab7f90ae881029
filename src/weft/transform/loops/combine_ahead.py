"""Iterations of a loop combine ahead, in lanes, what a loop inside combines up to where their group begins.

    for j in a..n:                     for g in a..n by U:
        A(j)                               e = min(g + U, n)
        for k in b..j: r ⊕= X(j, k)        for u in g..e:                      (in lanes)
        B(j, r)                                s = neutral; for k in b..g: s ⊕= X(u, k); cells[u - g] = s
                                           for j in g..e:
                                               A(j); r ⊕= cells[j - g]; for k in max(b, g)..j: r ⊕= X(j, k); B(j, r)

In ``for j: (t[i, j] = max(...); for k < j: t[i, j] = max(t[i, j], t[i, k] + t[k + 1, j]))`` each element waits for
those before it in its row, but U of them wait for the same ones up to the first of them. What they combine of these,
lanes along u have beside each other.

Precondition: a loop-closed function; ``⊕`` is associative and commutative to the last bit. `combines` says that the
loop goes up by 1, does nothing but compute, load and store, and runs the loop inside in each iteration; that one
combines one number, and what it uses of the iteration is computed of its counter. The caller knows that no dependence
turns around (`weft.analysis.sequential.orders.RoundsAhead`), and strips flags off the combination. Postcondition: the
loop is one of a group, in a loop over groups. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Builder, Constant, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.intrinsics import PURE
from weft.ir.types import ArrayType, FunctionType
from weft.transform.loops.jam import is_other_effect
from weft.transform.loops.tile_loop import goes_up

_COMPUTES = {"add", "sub", "mul", "shl", "and", "or", "xor", "sext", "zext", "trunc", "getelementptr"}

MOST_STEPS = 20
"""Instructions that are computed for a loop inside."""


class Combining(Struct, frozen=True):
    """A loop that combines a number in a loop inside.

    Parameters
    ----------
    loop, inside
        How the two count.
    phi
        The number.
    steps
        What is computed of the counter of the loop, for the one inside.
    """

    loop: CountedLoop
    inside: CountedLoop
    phi: Instruction
    steps: tuple[Instruction, ...]


def combines(view: CFGView, loop: Loop) -> Combining | CountedLoop | None:
    """A loop of this form; the loop inside where the number is still in memory; None for any other."""
    counted = counted_loop(view, loop)
    if (
        len(loop.children) != 1
        or isinstance(counted, str)
        or counted.predicate != "slt"
        or not goes_up(counted)
    ):
        return None
    (child,) = loop.children
    inner = counted_loop(view, child)
    if (
        child.children
        or isinstance(inner, str)
        or inner.predicate != "slt"
        or not goes_up(inner, carries=True)
    ):
        return None
    own = set(counted.blocks)
    start = inner.counter.start
    if inner.bound is not counted.counter.phi or (isinstance(start, Instruction) and start.block in own):
        return None
    if len(inner.blocks) != 2 or inner.counter.type is not counted.counter.type:
        return None
    if any(is_other_effect(i) for b in counted.blocks for i in b.instructions):
        return None
    if any(p not in own for p in (inner.preheader, inner.exit)) or not _is_always_run(counted, inner):
        return None
    if any(i.op == "store" for b in inner.blocks for i in b.instructions):
        return inner
    phis = [phi for phi in inner.header.phis() if phi is not inner.counter.phi]
    if len(phis) != 1:
        return None
    steps = _steps(counted, inner, phis[0])
    return None if steps is None else Combining(counted, inner, phis[0], steps)


def _is_always_run(loop: CountedLoop, inner: CountedLoop) -> bool:
    """Whether each iteration comes to the loop inside: no way from header to latch goes around it."""
    seen, work = {loop.latch}, [loop.latch]
    while work:
        block = work.pop()
        if block is loop.header:
            return False
        if block is inner.header:
            continue
        for before in block.predecessors:
            if before not in seen:
                seen.add(before)
                work.append(before)
    return True


def _steps(loop: CountedLoop, inner: CountedLoop, phi: Instruction) -> tuple[Instruction, ...] | None:
    """What an iteration computes of its counter for the loop inside, in order; None where it is more than that."""
    own, inside = set(loop.blocks), set(inner.blocks)
    found: dict[Instruction, None] = {}

    def add(value: Value) -> bool:
        if not isinstance(value, Instruction) or value.block not in own - inside or value in found:
            return True
        if value is loop.counter.phi:
            return True
        if value.op not in _COMPUTES or not all(add(v) for v in value.operands):
            return False
        found[value] = None
        return len(found) <= MOST_STEPS

    for block in inner.blocks:
        for instruction in block.instructions:
            used = [instruction.incoming_value(inner.latch)] if instruction.is_phi else instruction.operands
            if not all(add(v) for v in used):
                return None
    return tuple(found)


def combine_ahead(
    function: Function,
    found: Combining,
    count: int,
    neutral: Constant,
    join: Callable[[Builder, Value, Value], Value],
) -> tuple[BasicBlock, BasicBlock]:
    """Let so many iterations combine ahead; the headers of the loop over groups and of that in lanes.

    Parameters
    ----------
    neutral
        What changes no number that it is combined with.
    join
        Builds the combination of two.
    """
    loop, inner, number = found.loop, found.inside, found.phi
    counter, header, type = loop.counter, loop.header, loop.counter.type
    array = ArrayType(number.type, count)
    cells = Builder(before=function.entry.instructions[0]).alloca(
        array, name=f"{number.name or 'ahead'}.ahead"
    )
    groups, ahead, lanes, lane, kept, enter = (
        function.add_block(f"{header.name}.{name}", loop.preheader)
        for name in ("groups", "group", "lanes", "lane", "kept", "enter")
    )
    leave = function.add_block(f"{header.name}.next", loop.latch)
    zero, build = const_int(0, type), Builder(groups)
    build.loc = header.terminator.loc

    def least(which: str, a: Value, b: Value) -> Value:
        kind = FunctionType(type, (type, type))
        return build.call(build.module.declare(f"llvm.{which}.i{type.bits}", kind, PURE), (a, b))

    first = build.phi(type, name=f"{counter.phi.name}.group")
    build.cond_br(build.icmp("slt", first, loop.bound), ahead, loop.exit)
    build.at_end(ahead)
    # What is left may be more than fits a signed number.
    size = least("umin", build.binary("sub", loop.bound, first), const_int(count, type))
    end = build.binary("add", first, size, ("nsw",))
    behind = least("smax", inner.counter.start, first)
    build.br(lanes)
    build.at_end(lanes)
    own = build.phi(type, name=f"{counter.phi.name}.lane")
    build.cond_br(build.icmp("slt", own, end), lane, enter)
    values: ValueMap = {counter.phi: own}
    build.at_end(lane)
    for step in found.steps:
        copy = step.clone()
        for index, operand in enumerate(copy.operands):
            copy.set_operand(index, values.get(operand, operand))
        values[step] = build.insert(copy)
    for block in clone_blocks(inner.blocks, function, values):
        # Loops are known by the names of their headers.
        block.name = f"{block.name}.ahead"
    copied, result = values[inner.header], values[number]
    assert isinstance(copied, BasicBlock) and isinstance(result, Instruction)
    build.br(copied)
    for phi in copied.phis():
        _enter(phi, inner.preheader, neutral if phi is result else inner.counter.start, lane)
    test = copied.terminator.operands[0]
    assert isinstance(test, Instruction)
    for index, value in enumerate(test.operands):
        if value is own:
            test.set_operand(index, first)
    copied.replace_successor(inner.exit, kept)
    build.at_end(kept)
    build.store(result, build.gep(array, cells, (zero, build.binary("sub", own, first)), ("inbounds",)))
    following = build.binary("add", own, const_int(1, type), ("nsw",))
    build.br(lanes)
    own.add_incoming(first, ahead)
    own.add_incoming(following, kept)
    build.at_end(enter)
    build.br(header)
    build.at_end(leave)
    build.br(groups)
    first.add_incoming(counter.start, loop.preheader)
    first.add_incoming(end, leave)
    loop.preheader.replace_successor(header, groups)
    # The loop runs over a group, and the one inside goes on from where the group begins.
    _enter(counter.phi, loop.preheader, first, enter)
    test = header.terminator.operands[0]
    assert isinstance(test, Instruction)
    for index, value in enumerate(test.operands):
        if value is not counter.phi:
            test.set_operand(index, end)
    header.replace_successor(loop.exit, leave)
    loop.exit.replace_phi_source(header, groups)
    build = Builder(before=inner.preheader.terminator)
    build.loc = inner.header.terminator.loc
    place = build.gep(array, cells, (zero, build.binary("sub", counter.phi, first)), ("inbounds",))
    begins = join(build, number.incoming_value(inner.preheader), build.load(number.type, place))
    _enter(number, inner.preheader, begins, inner.preheader)
    _enter(inner.counter.phi, inner.preheader, behind, inner.preheader)
    return groups, lanes


def _enter(phi: Instruction, before: BasicBlock, value: Value, source: BasicBlock) -> None:
    """Let a loop begin with another value, from another block."""
    for index, block in enumerate(phi.blocks):
        if block is before:
            phi.set_operand(index, value)
            phi.set_block(index, source)
