"""Lanes that walk a tree together ask for what they look up at a node when they put the node on their stack.

    stack[top] = left                            ask for boxes[left]; stack[top] = left
    ...                                          ...
    node = stack[top]; ... boxes[node]           node = stack[top]; ... boxes[node]

What is taken from the stack was put there some nodes before, and what is looked up at it is known since then.
Processors see it when the vote before it is decided, or foreseen: with many operations on vectors at a node that is
late. Nodes that lie side by side, as the children of one do, are one request. Of a row that begins at a node, as of its
coordinates, the begin is asked for.

A request takes three or four instructions. So nothing is asked for where a node has few operations on vectors for each
(`LEAST_OPERATIONS`), and threads by themselves are left alone: they have `weft.transform.loops.ask_for_children`.

Precondition: plain LLVM IR, behind the last program that the interpreter runs. Postcondition: the same; before scalar
numbers are stored to a stack object, of which the loop loads them as places in memory, there are ``llvm.prefetch`` of
these places. Preserves what functions give: what is asked for need not be there.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from weft.analysis.loops.places_ahead import ARITHMETIC, CACHE_LINE
from weft.analysis.memory.linear_locations import linear_location
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import cfg_of
from weft.ir.intrinsics import SHARED_SPACE
from weft.ir.layout import DataLayout
from weft.ir.types import I8, I32, I64, VOID, FloatType, FunctionType, IntType, PointerType, VectorType
from weft.machine.targets import Isa

LEAST_OPERATIONS = 10
"""Registers that results of a node fill, for each request: with 9.5 a walk took 1.03 of the time, with 11 0.97."""

_READ, _KEEP, _DATA = ConstInt(I32, 0), ConstInt(I32, 3), ConstInt(I32, 1)
_COMMUTE = ("add", "mul", "and", "or", "xor")
_CASTS = ("sext", "zext", "trunc", "freeze")
_COMPUTED = (
    "fadd", "fsub", "fmul", "fdiv", "fneg", "fcmp", "icmp", "select", "call", "add", "sub", "mul", "and", "or",
)  # fmt: skip
_ADDRESS = 64
_DEEPEST = 8
_LOW = (1 << 64) - 1
_PROBE, _FEW = 1 << 12, 2


class _Step(Struct, frozen=True):
    """An operation on the number of a node, with what the loop does not change; with nothing if it is a cast."""

    operation: Instruction
    operand: Value | None


class _Place(Struct, frozen=True):
    """What is looked up at a node: ``base + offset + scale·steps(node) + Σ others``."""

    base: Value
    offset: int
    scale: int
    steps: tuple[_Step, ...]
    others: tuple[tuple[Value, int], ...]
    is_at_once: bool
    """Whether it is looked up before anything is decided."""

    def is_near(self, other: _Place) -> bool:
        """Whether both are of one cache line, or likely so."""
        same = self.base is other.base and (self.scale, self.steps) == (other.scale, other.steps)
        return same and self.others == other.others and abs(self.offset - other.offset) < CACHE_LINE

    def probe(self, more: int) -> int:
        """Where it is, `more` behind some node, in bytes from that."""
        number = _PROBE + more
        for step in self.steps:
            if step.operand is not None:
                by = step.operand.signed if isinstance(step.operand, ConstInt) else _FEW
                number = ARITHMETIC[step.operation.op](number, by)
        return self.scale * number


def ask_at_pushes(function: Function, isa: Isa) -> int:
    """Ask for what is looked up at nodes where they are put on a stack; how many requests there are."""
    if not any(i.op == "alloca" for i in function.entry.instructions):
        return 0
    view = cfg_of(function)
    loops = loop_forest(view.cfg)
    asked = 0
    for loop in loops.loops:
        own = [view.blocks[n] for n in sorted(loop.blocks)]
        innermost = [b for b in own if loops.innermost[view.index[b]] is loop]
        for pop in list(_pops(innermost, function.layout)):
            places = _places(pop, own, function.layout)
            if places and _operations(own, isa) >= LEAST_OPERATIONS * len(places):
                asked += _ask_for(pop, places, own, function.layout)
    return asked


def _stack_of(pointer: Value, layout: DataLayout) -> Instruction | None:
    """The stack object that an address is of; of two addresses, one of which is chosen, one that is of a stack."""
    if isinstance(pointer, Instruction) and pointer.op == "select":
        return _stack_of(pointer.operands[1], layout)
    base = linear_location(pointer, layout).base
    return base if isinstance(base, Instruction) and base.op == "alloca" else None


def _pops(blocks: list[BasicBlock], layout: DataLayout) -> Iterator[Instruction]:
    for block in blocks:
        for i in block.instructions:
            if (
                i.op == "load"
                and isinstance(i.type, IntType)
                and i.is_plain_access
                and _stack_of(i.pointer, layout)
            ):
                yield i


def _places(pop: Instruction, own: list[BasicBlock], layout: DataLayout) -> list[_Place]:
    """What is looked up in a loop at the number that it takes from its stack, one for each line."""
    inside, found = set(own), list[_Place]()
    for block in own:
        for i in block.instructions:
            if i.op != "load" or not i.is_plain_access:
                continue
            place = _place(i, pop, inside, layout)
            if place is not None and not any(map(place.is_near, found)):
                found.append(place)
    return found


def _place(load: Instruction, pop: Instruction, inside: set[BasicBlock], layout: DataLayout) -> _Place | None:
    assert isinstance(load.pointer.type, PointerType)
    location = linear_location(load.pointer, layout)
    base = location.base
    if load.pointer.type.space == SHARED_SPACE or _is_of(base, inside) or _stack_of(base, layout):
        return None
    steps = {index: way for index in location.terms if (way := _steps(index, pop, inside)) is not None}
    if len(steps) != 1:
        return None
    ((index, way),) = steps.items()
    # Along a row that begins at the node, as of coordinates, its begin is asked for.
    others = tuple((o, s) for o, s in location.terms.items() if o is not index and not _is_of(o, inside))
    return _Place(base, location.offset, location.terms[index], way, others, load.block is pop.block)


def _is_of(value: Value, blocks: set[BasicBlock]) -> bool:
    return isinstance(value, Instruction) and value.block in blocks


def _steps(index: Value, pop: Instruction, inside: set[BasicBlock]) -> tuple[_Step, ...] | None:
    """How an index comes from what was taken from the stack, and what the loop does not change; None if it does not."""
    found: list[_Step] = []
    while index is not pop:
        if not isinstance(index, Instruction) or index.block not in inside or len(found) == _DEEPEST:
            return None
        if index.op in _CASTS:
            found.append(_Step(index, None))
            index = index.operands[0]
        elif index.op in ARITHMETIC:
            number, operand = index.operands
            if not _is_of(number, inside) and index.op in _COMMUTE:
                number, operand = operand, number
            if _is_of(operand, inside):
                return None
            found.append(_Step(index, operand))
            index = number
        else:
            return None
    return tuple(reversed(found))


def _operations(blocks: list[BasicBlock], isa: Isa) -> int:
    """How many registers the results of vectors fill, of numbers that are computed with."""
    bits = 0
    for block in blocks:
        for i in block.instructions:
            if isinstance(i.type, VectorType) and i.op in _COMPUTED:
                element = i.type.element
                bits += i.type.count * (
                    element.bits if isinstance(element, (IntType, FloatType)) else _ADDRESS
                )
    return bits // isa.vector_bits


def _ask_for(pop: Instruction, places: list[_Place], own: list[BasicBlock], layout: DataLayout) -> int:
    """Ask for these places of each number that the loop stores to the stack object; how often."""
    stack, asked = _stack_of(pop.pointer, layout), 0
    for block in own:
        pushes = [i for i in block.instructions if _is_push(i, pop, stack, layout)]
        roots = [_root(store.operands[0]) for store in pushes]
        for place in places:
            # What is put there last is taken next: what is looked up at once then is on its way as soon.
            done = roots[-1:] if place.is_at_once and len(roots) > 1 else []
            for store, root in zip(pushes, roots, strict=True):
                if not any(_are_near(place, root, other) for other in done):
                    done.append(root)
                    _ask(store, place)
                    asked += 1
    return asked


def _is_push(i: Instruction, pop: Instruction, stack: Instruction | None, layout: DataLayout) -> bool:
    """Whether an instruction stores a number to the stack object that `pop` takes one of."""
    return i.op == "store" and i.operands[0].type == pop.type and _stack_of(i.pointer, layout) is stack


def _are_near(place: _Place, one: tuple[Value, int], other: tuple[Value, int]) -> bool:
    """Whether places of two nodes, as roots and so much more, are of one cache line, or likely so."""
    return one[0] is other[0] and abs(place.probe(one[1]) - place.probe(other[1])) < CACHE_LINE


def _root(number: Value, deep: int = _DEEPEST) -> tuple[Value, int]:
    """A number as another one and so much more: of two that are chosen between, the lesser one."""
    more = 0
    while True:
        if isinstance(number, Instruction) and number.op == "select" and deep:
            one, other = (_root(o, deep // 2) for o in number.operands[1:])
            return (one[0], more + min(one[1], other[1])) if one[0] is other[0] else (number, more)
        # Where sums wrap, lines are not near: requests do no harm.
        if not isinstance(number, Instruction) or not _is_sum(number):
            return number, more
        constant = number.operands[1]
        if not isinstance(constant, ConstInt):
            return number, more
        number, more = number.operands[0], more + constant.signed


def _is_sum(number: Instruction) -> bool:
    return number.op == "add" or (number.op == "or" and "disjoint" in number.flags)


def _ask(store: Instruction, place: _Place) -> None:
    builder = Builder(before=store)
    builder.loc = store.loc
    number = store.operands[0]
    for step in place.steps:
        # What an operation promises of the number that was taken need not hold of what is put there.
        if step.operand is not None:
            number = builder.binary(step.operation.op, number, step.operand)
        elif step.operation.op != "freeze":
            number = builder.cast(step.operation.op, number, step.operation.type)
    address = builder.binary("mul", _whole(builder, number), const_int(place.scale & _LOW, I64))
    for other, scale in place.others:
        more = builder.binary("mul", _whole(builder, other), const_int(scale & _LOW, I64))
        address = builder.binary("add", address, more)
    if place.offset:
        address = builder.binary("add", address, const_int(place.offset & _LOW, I64))
    type, module = place.base.type, store.function.module
    assert isinstance(type, PointerType) and module is not None
    name, parameters = f"llvm.prefetch.p{type.space}", (type, I32, I32, I32)
    ask = module.declare(name, FunctionType(VOID, parameters), ("nounwind", "willreturn"))
    builder.call(ask, (builder.gep(I8, place.base, (address,)), _READ, _KEEP, _DATA))


def _whole(builder: Builder, number: Value) -> Value:
    assert isinstance(number.type, IntType)
    if number.type == I64:
        return number
    return builder.cast("trunc" if number.type.bits > I64.bits else "sext", number, I64)
