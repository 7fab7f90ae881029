"""Loops in which all threads of a work-group together fill shared memory, each iteration one time.

    for i in range(t, 18 * 18, 256):                 # t: the number of the thread in a block of 16 x 16
        r, c = i // 18, i % 18
        tile[r, c] = a[y + r, x + c]

The iterations of all threads are those from 0 to the bound. Which thread runs which one does not matter where

* all threads of the group come to the loop, and what it computes depends on the iteration alone;
* it stores to shared memory only, each iteration to a place of its own, and loads nothing of what it may store;
* no access between the last barrier and the loop, or between it and the next one, meets what it stores or loads, as
  such accesses of a thread come before or behind its own iterations.

That the threads of the group are numbered from 0, and that the loop goes by as many as there are, may depend on the
size of the group (`weft.transform.groups.thread_numbers`).

Precondition: a kernel whose ids are parameters (`weft.transform.groups.work_items`), in canonical form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.memory.alias import locate
from weft.graph.loops import Loop, loop_forest
from weft.ir import Argument, BasicBlock, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import is_convergent, is_speculatable, may_read, may_write
from weft.ir.intrinsics import SHARED_SPACE, IntrinsicKind, kind_of
from weft.ir.layout import DataLayout
from weft.ir.types import I32, IntType, PointerType
from weft.transform.groups.thread_numbers import ThreadNumber, thread_number
from weft.transform.groups.work_items import WorkItems, shared_layout

MOST_ITERATIONS = 4096
"""Of all threads; their places are compared one by one."""

FEWEST_COLUMNS = 8
"""Shorter rows fill too few lanes."""

LARGEST = 64
"""Instructions of such a loop."""

_CASTS = ("zext", "sext", "trunc")
_QUOTIENTS = ("udiv", "sdiv")
_REMAINDERS = ("urem", "srem")


class TileFill(Struct, frozen=True):
    """A loop of this form.

    Parameters
    ----------
    header, before, latch, blocks, exit
        The loop; it is left from its header alone.
    counter, iterations
        The number of an iteration, and how many there are.
    columns
        By how many it is divided.
    divisions
        Quotients and remainders of the counter by multiples of that.
    number
        How threads are numbered.
    """

    header: BasicBlock
    before: BasicBlock
    latch: BasicBlock
    blocks: tuple[BasicBlock, ...]
    exit: BasicBlock
    counter: Instruction
    iterations: int
    columns: int
    divisions: tuple[Instruction, ...]
    number: ThreadNumber


def tile_fills(function: Function, group: Divergence, layout: DataLayout) -> list[TileFill]:
    """Such loops of a kernel, of whose threads in a group `group` is the analysis."""
    view = cfg_of(function)
    found = (_tile_fill(view, loop, group, layout) for loop in loop_forest(view.cfg).loops)
    return [fill for fill in found if fill is not None]


def _tile_fill(view: CFGView, loop: Loop, group: Divergence, layout: DataLayout) -> TileFill | None:
    header = view.blocks[loop.header]
    blocks = (header, *(view.blocks[b] for b in sorted(loop.blocks) if b != loop.header))
    before = [b for b in header.predecessors if b not in blocks]
    if loop.children or loop.is_irreducible or len(loop.latches) != 1 or len(before) != 1:
        return None
    if len(loop.exit_edges) != 1 or sum(len(b.instructions) for b in blocks) > LARGEST:
        return None
    ((leaving, target),) = loop.exit_edges
    exit = view.blocks[target]
    if leaving != loop.header or len(before[0].successors) != 1 or len(exit.predecessors) != 1:
        return None
    if group.has_varying_predicate(before[0]) or group.has_varying_control(before[0]):
        return None
    latch = view.blocks[loop.latches[0]]
    counted = _counted(header, before[0], latch, blocks)
    if counted is None or any(exit.phis()):
        return None
    counter, step, iterations = counted
    divisions = tuple(_divisions(counter, blocks))
    columns = min((_divisor(d) for d in divisions), default=0)
    if not FEWEST_COLUMNS <= columns < iterations or columns & (columns - 1) == 0:
        return None
    if any(_divisor(d) % columns for d in divisions):
        return None
    number = thread_number(counter.incoming_value(before[0]), step, WorkItems.of(group.function))
    if number is None or not _is_of_iteration(blocks, counter, group):
        return None
    if not _stores_apart(blocks, counter, iterations, layout):
        return None
    if not _is_alone(group.function, blocks, before[0], exit):
        return None
    return TileFill(header, before[0], latch, blocks, exit, counter, iterations, columns, divisions, number)


def _counted(
    header: BasicBlock, before: BasicBlock, latch: BasicBlock, blocks: tuple[BasicBlock, ...]
) -> tuple[Instruction, Value, int] | None:
    """What counts, by how much, and to which number."""
    phis, branch = list(header.phis()), header.terminator
    if len(phis) != 1 or branch.op != "br" or len(branch.blocks) != 2 or branch.blocks[0] not in blocks:
        return None
    counter, test = phis[0], branch.operands[0]
    following = counter.incoming_value(latch)
    if not isinstance(test, Instruction) or test.op != "icmp" or test.operands[0] is not counter:
        return None
    bound = test.operands[1]
    if test.predicate not in ("slt", "ult") or not isinstance(bound, ConstInt):
        return None
    if not isinstance(following, Instruction) or following.op != "add" or counter not in following.operands:
        return None
    step = following.operands[following.operands[0] is counter]
    enough = isinstance(counter.type, IntType) and counter.type.bits >= I32.bits
    return (counter, step, bound.signed) if enough and 0 < bound.signed <= MOST_ITERATIONS else None


def _divisions(counter: Instruction, blocks: tuple[BasicBlock, ...]) -> Iterator[Instruction]:
    """Quotients and remainders of the counter, be it cast, by numbers."""
    work: list[Instruction] = [counter]
    while work:
        value = work.pop()
        for user in value.instruction_users():
            if user.block not in blocks or user.is_phi:
                continue
            if user.op in _CASTS and isinstance(user.type, IntType) and user.type.bits >= I32.bits:
                work.append(user)
            elif user.op in (*_QUOTIENTS, *_REMAINDERS) and user.operands[0] is value and _divisor(user) > 0:
                yield user


def _divisor(division: Instruction) -> int:
    by = division.operands[1]
    return by.signed if isinstance(by, ConstInt) else 0


def is_quotient(division: Instruction) -> bool:
    """Whether it is a quotient, not a remainder."""
    return division.op in _QUOTIENTS


def _is_of_iteration(blocks: tuple[BasicBlock, ...], counter: Instruction, group: Divergence) -> bool:
    """Whether what is done depends on the iteration alone: on nothing that threads have each for themselves."""
    for i in (i for block in blocks for i in block.instructions):
        if is_convergent(i) or not (
            i.is_phi or i.is_terminator or i.is_plain_access or is_speculatable(i) or _divides(i)
        ):
            return False
        for value in i.operands:
            inside = isinstance(value, Instruction) and value.block in blocks
            if i is not counter and not inside and not group.shape(value).is_uniform:
                return False
    return True


def _divides(i: Instruction) -> bool:
    return i.op in (*_QUOTIENTS, *_REMAINDERS)


Coefficients = dict[Value, int]


def _stores_apart(
    blocks: tuple[BasicBlock, ...], counter: Instruction, iterations: int, layout: DataLayout
) -> bool:
    """Whether each iteration stores to places in shared memory that no other one stores to or loads from."""
    stored: dict[Value, tuple[int, ...]] = {}
    loads = [i for b in blocks for i in b.instructions if i.op == "load"]
    for store in (i for b in blocks for i in b.instructions if i.op == "store"):
        root = root_of(store.pointer)
        if root is None or not _is_shared(root):
            return False
        there = locate(store.pointer, layout)
        form: Coefficients = {}
        if not all(_add_linear(index, scale, blocks, counter, form) for index, scale in there.terms.items()):
            return False
        places = [_place(form, counter, number) for number in range(iterations)]
        known = tuple(place for place in places if place is not None)
        if len(known) < iterations or not _are_apart(known, layout.size(store.operands[0].type)):
            return False
        # Two stores to one tile would be at places that both have to be told apart.
        if any(is_same_memory(root, other) for other in stored):
            return False
        stored[root] = known
    return bool(stored) and not any(
        (root := root_of(load.pointer)) is None or any(is_same_memory(root, other) for other in stored)
        for load in loads
    )


def _are_apart(places: tuple[int, ...], size: int) -> bool:
    ordered = sorted(places)
    return all(b - a >= size for a, b in pairwise(ordered))


def _add_linear(
    value: Value, scale: int, blocks: tuple[BasicBlock, ...], counter: Instruction, form: Coefficients
) -> bool:
    """Add a multiple of a value to a sum of multiples of what each iteration computes of its number alone.

    What is the same in all iterations is left out. False where the sum may be no such one.
    """
    if not isinstance(value, Instruction) or value.block not in blocks:
        return True
    if _place({value: 1}, counter, 0) is not None:
        form[value] = form.get(value, 0) + scale
        return True
    exact = "nsw" in value.flags
    match value.op, value.operands:
        case "add" | "or", (a, b) if exact or "disjoint" in value.flags:
            return _add_linear(a, scale, blocks, counter, form) and _add_linear(
                b, scale, blocks, counter, form
            )
        case "mul", (a, ConstInt() as by) if exact:
            return _add_linear(a, scale * by.signed, blocks, counter, form)
        case "shl", (a, ConstInt() as by) if exact:
            return _add_linear(a, scale << by.value, blocks, counter, form)
        case "sext", (a,):
            return _add_linear(a, scale, blocks, counter, form)
        case _:
            return False


def _place(form: Mapping[Value, int], counter: Instruction, number: int) -> int | None:
    total = 0
    for value, scale in form.items():
        at = _computed(value, counter, number)
        if at is None:
            return None
        total += scale * at
    return total


def _computed(value: Value, counter: Instruction, number: int, steps: int = 12) -> int | None:
    """What an iteration computes of its number alone, none of it below 0 or beyond 31 bits."""
    if value is counter:
        return number
    if isinstance(value, ConstInt):
        return value.signed if value.signed >= 0 else None
    if not isinstance(value, Instruction) or value.is_phi or not steps:
        return None
    if not isinstance(value.type, IntType) or value.type.bits < I32.bits or len(value.operands) > 2:
        return None
    operands = [_computed(operand, counter, number, steps - 1) for operand in value.operands]
    known = [operand for operand in operands if operand is not None]
    if len(known) < len(operands):
        return None
    found = _apply(value.op, known)
    return found if found is not None and 0 <= found < 1 << 31 else None


def _apply(op: str, operands: list[int]) -> int | None:
    match op, operands:
        case "zext" | "sext" | "trunc", (a,):
            return a
        case "udiv" | "sdiv", (a, b) if b:
            return a // b
        case "urem" | "srem", (a, b) if b:
            return a % b
        case "add", (a, b):
            return a + b
        case "sub", (a, b):
            return a - b
        case "mul", (a, b):
            return a * b
        case "shl", (a, b) if b < 31:
            return a << b
        case "lshr", (a, b) if b < 31:
            return a >> b
        case "and", (a, b):
            return a & b
        case "or", (a, b):
            return a | b
        case _:
            return None


def root_of(pointer: Value) -> Value | None:
    """The parameter, or the place of a shared object, that a pointer is reckoned from; None if it is another one."""
    while isinstance(pointer, Instruction) and pointer.op == "getelementptr":
        base = pointer.operands[0]
        if isinstance(base, Argument) and _is_shared(base) and _object(pointer) is not None:
            return pointer
        pointer = base
    return pointer if isinstance(pointer, Argument) else None


def _object(pointer: Value) -> int | None:
    """The number of the shared object that begins there."""
    if not isinstance(pointer, Instruction) or pointer.op != "getelementptr" or pointer.function is None:
        return None
    index = pointer.operands[1]
    items = WorkItems.find(pointer.function)
    if items is None or pointer.operands[0] is not items.shared or len(pointer.operands) != 2:
        return None
    if not isinstance(index, ConstInt):
        return None
    offset = index.signed * pointer.function.layout.size(pointer.source_type)
    offsets, _ = shared_layout(pointer.function)
    return offsets.index(offset) if offset in offsets else None


def _is_shared(pointer: Value) -> bool:
    return isinstance(pointer.type, PointerType) and pointer.type.space == SHARED_SPACE


def is_same_memory(a: Value, b: Value) -> bool:
    """Whether what two roots lead to may be the same."""
    if _is_shared(a) != _is_shared(b):
        return False
    first, second = _object(a), _object(b)
    if first is not None and second is not None:
        return first == second
    # The part of which the launch tells the size is none of the others.
    return not (_is_shared(a) and _base(a) is not _base(b))


def _base(root: Value) -> Value:
    return root.operands[0] if isinstance(root, Instruction) else root


def _is_alone(
    function: Function, blocks: tuple[BasicBlock, ...], before: BasicBlock, exit: BasicBlock
) -> bool:
    """Whether nothing that a thread does between the barriers around the loop meets what the loop does."""
    reads = [root for b in blocks for i in b.instructions if i.op == "load" and (root := root_of(i.pointer))]
    writes = [
        root for b in blocks for i in b.instructions if i.op == "store" and (root := root_of(i.pointer))
    ]
    return not any(
        _meets(i, reads, writes) for i in (*until_barrier(before, backward=True), *until_barrier(exit))
    )


def until_barrier(start: BasicBlock, *, backward: bool = False) -> Iterator[Instruction]:
    """What threads run from the begin of a block to the next barriers; or have run at its end, since the last ones."""
    work, seen = [start], set[BasicBlock]()
    while work:
        block = work.pop()
        if block in seen:
            continue
        seen.add(block)
        for i in reversed(block.instructions) if backward else block.instructions:
            if kind_of(i.callee_name) is IntrinsicKind.BARRIER:
                break
            yield i
        else:
            work += block.predecessors if backward else block.successors


def _meets(i: Instruction, reads: list[Value], writes: list[Value]) -> bool:
    if i.is_phi or i.is_terminator or not (may_read(i) or may_write(i)):
        return False
    if not i.is_plain_access:
        return True
    root = root_of(i.pointer)
    others = (*reads, *writes) if i.op == "store" else writes
    if root is None:
        return not _is_own(i.pointer)
    return any(is_same_memory(root, other) for other in others)


def _is_own(pointer: Value) -> bool:
    while isinstance(pointer, Instruction) and pointer.op == "getelementptr":
        pointer = pointer.operands[0]
    return isinstance(pointer, Instruction) and pointer.op == "alloca"
