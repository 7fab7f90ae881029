"""Loops that fill memory with one byte, over and over: each becomes one ``memset``.

Where a work-item clears its own row of an array, ``for (k = 0; k < 256; k++) counts[id * 256 + k] = 0;``, lanes scatter
single elements. Its row is filled in a few wide stores, one lane after the other. So is a run of bytes of which the
length is found out: ``for k in range(starts[i], starts[i + 1]): result[k] = values[i]``, where none of its indices is
negative. What it stores may be loaded in each iteration from one place: should it overwrite that place, then by what it
has loaded from there.

Precondition: canonical form, without predicates, shadows and guards. Postcondition: no counted loop is left that only
stores the same bytes to consecutive places, `MIN_BYTES` at least where their number is known, but of stack objects,
whose lanes lie side by side. Preserves the program under FR.
"""

from __future__ import annotations

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, known_iterations
from weft.analysis.memory.linear_locations import linear_location
from weft.graph.loops import loop_forest
from weft.ir import FALSE, BasicBlock, Builder, ConstFloat, ConstInt, Function, Instruction, Module, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.types import I1, I8, I64, VOID, FunctionType, PointerType
from weft.transform.loops.from_zero import count_from_zero
from weft.transform.loops.replace_loop import open_preheader, replace_loop

MIN_BYTES = 32
_ARITHMETIC = frozenset(
    ("getelementptr", "add", "sub", "mul", "shl", "or", "and", "lshr", "zext", "sext", "trunc")
)


def fill_at_once(module: Module, function: Function) -> int:
    """Replace the loops that fill; return how many that was."""
    count_from_zero(function, _may_fill_run, entered=True)
    replaced = 0
    while (found := _next_fill(function)) is not None:
        loop, store, byte, iterations = found
        builder = open_preheader(loop)
        builder.loc = store.loc or builder.loc
        known: dict[Value, Value] = {}
        first = at_start(store.pointer, loop, builder, known)
        if not isinstance(byte, ConstInt):
            byte = at_start(byte, loop, builder, known)
        each = function.layout.store_size(store.accessed_type)
        size = ConstInt(I64, iterations * each) if iterations is not None else length_of(loop, builder)
        call = builder.call(_memset(module, first), (first, byte, size, ConstInt(I1, 0)))
        call.attrs["arg_attrs"] = ((f"align {store.alignment}",), (), (), ())
        replace_loop(loop, builder, {})
        replaced += 1
    return replaced


def _next_fill(function: Function) -> tuple[CountedLoop, Instruction, Value, int | None] | None:
    view = cfg_of(function)
    for found in loop_forest(view.cfg).loops:
        if found.children:
            continue
        loop = counted_loop(view, found)
        if isinstance(loop, str):
            continue
        store, iterations = _only_store(loop), known_iterations(loop)
        if store is None:
            continue
        size = function.layout.store_size(store.accessed_type)
        byte = _byte_of(store.operands[0], size, loop)
        if byte is None or not is_consecutive(store, loop, size):
            continue
        if iterations is None:
            if size == 1 and _is_entered(loop):
                return loop, store, byte, None
        elif isinstance(byte, ConstInt) and size * iterations >= MIN_BYTES:
            return loop, store, byte, iterations
    return None


def _may_fill_run(loop: CountedLoop) -> bool:
    """Whether a loop that asks for the sign of its counter would fill bytes if it did not."""
    store = _only_store(loop, asks=True)
    if store is None or not loop.top_tested or loop.tests_next or loop.counter.step != 1:
        return False
    return loop.predicate == "slt" and _byte_of(store.operands[0], 1, loop) is not None


def _is_entered(loop: CountedLoop) -> bool:
    """Whether a loop that counts one by one is known to have an iteration: it was asked on the only way to it."""
    counter, before = loop.counter, loop.preheader
    if counter.step != 1 or loop.tests_next or not loop.top_tested or loop.predicate != "slt":
        return False
    (way,) = before.predecessors if len(before.predecessors) == 1 else (None,)
    if way is None or way.successors[0] is not before or way.successors[1] is before:
        return False
    asked = way.terminator.operands[0]
    if isinstance(asked, Instruction) and asked.op == "select" and asked.operands[2] == FALSE:
        asked = asked.operands[1]
    return (
        isinstance(asked, Instruction)
        and asked.op == "icmp"
        and asked.predicate == loop.predicate
        and tuple(asked.operands) == (counter.start, loop.bound)
    )


def length_of(loop: CountedLoop, builder: Builder) -> Value:
    """The number of iterations of a loop that is entered and counts one by one, with 64 bits."""
    length = builder.binary("sub", loop.bound, loop.counter.start)
    return length if length.type == I64 else builder.cast("zext", length, I64)


def _only_store(loop: CountedLoop, *, asks: bool = False) -> Instruction | None:
    """The one thing that each iteration does besides counting, if it is a store; `asks` allows choices of indices."""
    store: Instruction | None = None
    inside = set(loop.blocks)
    for block in loop.blocks:
        if block is not loop.exiting and len(block.successors) != 1:
            return None
        for instruction in block:
            if any(user.block not in inside for user in instruction.instruction_users()):
                return None
            if instruction.op == "store" and store is None and instruction.is_plain_access:
                store = instruction
            elif not (
                only_counts(instruction, loop)
                or (asks and instruction.op == "select")
                or is_same_load(instruction, loop)
            ):
                return None
    if store is None or (loop.top_tested and store.block is loop.header):
        return None
    return store


def only_counts(instruction: Instruction, loop: CountedLoop) -> bool:
    """Whether an instruction of a loop is part of its counter, its test, or arithmetic for an address."""
    if instruction.is_phi:
        return instruction is loop.counter.phi
    return instruction.op in _ARITHMETIC or instruction.op in ("icmp", "br")


def is_same_load(value: Value, loop: CountedLoop) -> bool:
    """Whether it loads from one place in all iterations of a loop."""
    return (
        isinstance(value, Instruction)
        and value.op == "load"
        and value.is_plain_access
        and not _changes(value.pointer, loop, set(loop.blocks))
    )


def _byte_of(value: Value, size: int, loop: CountedLoop) -> Value | None:
    """The byte that all bytes of what is stored are."""
    if isinstance(value, ConstInt):
        data = (value.value % (1 << (8 * size))).to_bytes(size, "little")
    elif isinstance(value, ConstFloat):
        data = value.bits.to_bytes(size, "little")
    elif size == 1 and value.type == I8:
        inside = isinstance(value, Instruction) and value.block in loop.blocks
        return value if not inside or is_same_load(value, loop) else None
    else:
        return None
    return ConstInt(I8, data[0]) if data == data[:1] * size else None


def is_consecutive(access: Instruction, loop: CountedLoop, size: int) -> bool:
    """Whether each iteration accesses memory right behind the one before, and not a stack object."""
    block = access.block
    assert block is not None and block.function is not None
    layout = block.function.layout
    location, inside = linear_location(access.pointer, layout), set(loop.blocks)
    if isinstance(location.base, Instruction) and (
        location.base.op == "alloca" or location.base.block in inside
    ):
        return False
    if layout.bit_size(access.accessed_type) != 8 * size:
        return False
    scale = 0
    for index, each in location.terms.items():
        if _counted(index) is loop.counter.phi:
            scale += each
        elif _changes(index, loop, inside):
            return False
    return scale * loop.counter.step == size


def _changes(value: Value, loop: CountedLoop, inside: set[BasicBlock]) -> bool:
    """Whether a value that arithmetic makes differs between iterations."""
    if not isinstance(value, Instruction) or value.block not in inside:
        return False
    # What is loaded may be what was stored.
    return (
        value is loop.counter.phi
        or value.op == "load"
        or any(_changes(operand, loop, inside) for operand in value.operands)
    )


def _counted(index: Value) -> Value:
    if isinstance(index, Instruction) and index.op in ("sext", "zext"):
        return index.operands[0]
    return index


def at_start(value: Value, loop: CountedLoop, builder: Builder, done: dict[Value, Value]) -> Value:
    """A value as the first iteration has it, computed before the loop."""
    if value is loop.counter.phi:
        return loop.counter.start
    if not isinstance(value, Instruction) or value.block not in loop.blocks:
        return value
    if value not in done:
        operands = [at_start(operand, loop, builder, done) for operand in value.operands]
        done[value] = builder.insert(Instruction(value.op, value.type, operands, attrs=value.attrs))
    return done[value]


def _memset(module: Module, pointer: Value) -> Function:
    assert isinstance(pointer.type, PointerType)
    signature = FunctionType(VOID, (pointer.type, I8, I64, I1))
    return module.declare(f"llvm.memset.p{pointer.type.space}.i64", signature, ("nounwind", "willreturn"))
