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
from weft.graph.loops import loop_forest
from weft.ir import FALSE, Builder, ConstFloat, ConstInt, Function, Instruction, Module, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.types import I1, I8, I64, VOID, FunctionType, PointerType
from weft.transform.loops.from_zero import count_from_zero
from weft.transform.loops.runs import (
    computed,
    is_consecutive,
    is_known_behind,
    is_looked_up,
    is_over_run,
    is_same_load,
    may_call_library,
    only_counts,
    run_at_once,
)

MIN_BYTES = 32

_SEGMENTS = 256
"""The first address space of LLVM's that is a segment of x86."""


def fill_at_once(module: Module, function: Function, *, looked_up: bool = False) -> int:
    """Replace the loops that fill, or those whose runs are `looked_up` alone; return how many that was."""
    if not may_call_library(function):
        return 0

    def may_fill_run(loop: CountedLoop) -> bool:
        """Whether a loop that asks for the sign of its counter would fill bytes if it did not."""
        store = _only_store(loop, asks=True)
        if store is None or not is_over_run(loop) or (looked_up and not is_looked_up(loop, (store,))):
            return False
        return loop.predicate == "slt" and _byte_of(store.operands[0], 1, loop) is not None

    count_from_zero(function, may_fill_run, entered=True)
    replaced = 0
    while (found := _next_fill(function, looked_up)) is not None:
        _replace(module, *found)
        replaced += 1
    return replaced


def _replace(
    module: Module, loop: CountedLoop, store: Instruction, byte: Value, iterations: int | None
) -> None:
    function = store.block and store.block.function
    assert function is not None
    each = function.layout.store_size(store.accessed_type)

    def fill(builder: Builder, known: dict[Value, Value], length: Value) -> None:
        first, one = (computed(value, loop, builder, known) for value in (store.pointer, byte))
        size = length if iterations is None else ConstInt(I64, iterations * each)
        call = builder.call(_memset(module, first), (first, one, size, ConstInt(I1, 0)))
        call.attrs["arg_attrs"] = ((f"align {store.alignment}",), (), (), ())

    run_at_once(loop, store, fill, iterations=iterations, entered=_is_entered(loop))


def _next_fill(
    function: Function, looked_up: bool
) -> tuple[CountedLoop, Instruction, Value, int | None] | None:
    view = cfg_of(function)
    for found in loop_forest(view.cfg).loops:
        if found.children:
            continue
        loop = counted_loop(view, found)
        if isinstance(loop, str):
            continue
        store, iterations = _only_store(loop), known_iterations(loop)
        if store is None or (looked_up and not is_looked_up(loop, (store,))):
            continue
        size = function.layout.store_size(store.accessed_type)
        byte = _byte_of(store.operands[0], size, loop)
        if byte is None or not is_consecutive(store, loop, size):
            continue
        if iterations is None:
            if size == 1 and is_over_run(loop):
                return loop, store, byte, None
        elif (
            isinstance(byte, ConstInt)
            and size * iterations >= MIN_BYTES
            and (is_over_run(loop) or not _is_used_behind(loop))
        ):
            return loop, store, byte, iterations
    return None


def _is_entered(loop: CountedLoop) -> bool:
    """Whether a loop over a run is known to have an iteration: it was asked on the only way to it."""
    counter, before = loop.counter, loop.preheader
    (way,) = before.predecessors if len(before.predecessors) == 1 else (None,)
    if (
        way is None
        or len(way.successors) != 2
        or way.successors[0] is not before
        or way.successors[1] is before
    ):
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


def _only_store(loop: CountedLoop, *, asks: bool = False) -> Instruction | None:
    """The one thing that each iteration does besides counting, if it is a store; `asks` allows choices of indices."""
    store: Instruction | None = None
    for block in loop.blocks:
        if block is not loop.exiting and len(block.successors) != 1:
            return None
        for instruction in block:
            if store is None and instruction.op == "store" and _may_be_filled(instruction):
                store = instruction
            elif not (
                only_counts(instruction, loop)
                or (asks and instruction.op == "select")
                or is_same_load(instruction, loop)
            ):
                return None
    if store is None or (loop.top_tested and store.block is loop.header):
        return None
    return store if is_known_behind(loop) else None


def _may_be_filled(store: Instruction) -> bool:
    """Whether a store is plain, and not to a segment of x86, of which no library fills memory."""
    assert isinstance(store.pointer.type, PointerType)
    return store.is_plain_access and store.pointer.type.space < _SEGMENTS


def _is_used_behind(loop: CountedLoop) -> bool:
    return any(u.block not in loop.blocks for b in loop.blocks for i in b for u in i.instruction_users())


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


def _memset(module: Module, pointer: Value) -> Function:
    assert isinstance(pointer.type, PointerType)
    signature = FunctionType(VOID, (pointer.type, I8, I64, I1))
    return module.declare(f"llvm.memset.p{pointer.type.space}.i64", signature, ("nounwind", "willreturn"))
