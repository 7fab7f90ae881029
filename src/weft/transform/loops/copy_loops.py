"""Loops that copy a run of elements from one place to another: each becomes one ``memmove``.

Of ``for k in range(lengths[i]): result[to[i] + k] = source[start[i] + k]`` LLVM's vectorizer makes a loop over whole
registers, and one for what is left over, which is all of a short run. A library's copy has a way for each length.

    if lengths[i] > 0 and (result + to[i] is not within source + start[i], ...):
        memmove(result + to[i], source + start[i], lengths[i])
    else: the loop as it was

Where the copy begins within the run, the loop goes on with what it has copied. Where it begins before the run, each
element is loaded before it is overwritten, as by ``memmove``. Arrays that are known to lie apart are not asked for.
Objects of the stack are left alone: they may become registers, or the lanes' own, which a call would not allow.

Precondition: canonical form, without predicates, shadows and guards. Postcondition: the same; loops that only copy as
many elements as they find out, from or to where they find out, have such a version, where none of their indices is
negative. Preserves the program under FR.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, is_left_by_itself
from weft.analysis.memory.alias import are_apart, bases_of
from weft.graph.loops import Loop, loop_forest
from weft.ir import FALSE, BasicBlock, Builder, ConstInt, Function, Instruction, Module, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.loop_metadata import mark_seldom
from weft.ir.types import I1, I64, PTR, VOID, FunctionType
from weft.transform.loops.from_zero import count_from_zero
from weft.transform.loops.hoist_invariants import hoist_invariants
from weft.transform.loops.runs import (
    at_start,
    computed,
    is_consecutive,
    is_known_behind,
    is_looked_up,
    is_over_run,
    is_same_load,
    length_of,
    may_call_library,
    only_counts,
    run_at_once,
)
from weft.transform.loops.version_loop import version_loop


class _Copy(Struct, frozen=True):
    """What each iteration of a loop loads, and then stores elsewhere."""

    load: Instruction
    store: Instruction


def copy_at_once(module: Module, function: Function) -> int:
    """Give loops that copy runs such versions; return how many."""
    if not may_call_library(function):
        return 0
    view = cfg_of(function)
    asking = False
    found: list[BasicBlock] = []
    for loop in _counted_loops(view):
        copy = _only_copy(loop, asks=True)
        asking |= copy is not None
        if copy is not None and is_left_by_itself(loop) and is_looked_up(loop, (copy.load, copy.store)):
            found.append(loop.header)
    if not asking:
        return 0

    def may_copy_run(loop: CountedLoop) -> bool:
        if _only_copy(loop, asks=True) is None:
            return False
        if loop.header not in found:
            found.append(loop.header)
        return True

    # Numbers that are made for each index again would not be known to stay.
    hoist_invariants(function)
    count_from_zero(function, may_copy_run)
    made = 0
    for header in found:
        view, own = _loop_of(function, header)
        loop = counted_loop(view, own)
        copy = None if isinstance(loop, str) else _only_copy(loop)
        if isinstance(loop, str) or copy is None:
            continue
        apart = _is_apart(copy)
        if not apart:
            copies = version_loop(
                function, view, own, lambda b, x=(loop, copy): _may_move(b, *x), seldom=True
            )
            mark_seldom(copies[loop.latch].terminator)
            loop = counted_loop(*_loop_of(function, header))
            assert not isinstance(loop, str)
        _replace(module, loop, copy, entered=not apart)
        made += 1
    return made


def _counted_loops(view: CFGView) -> list[CountedLoop]:
    counted = (counted_loop(view, loop) for loop in loop_forest(view.cfg).loops if not loop.children)
    return [loop for loop in counted if not isinstance(loop, str)]


def _loop_of(function: Function, header: BasicBlock) -> tuple[CFGView, Loop]:
    view = cfg_of(function)
    return view, next(one for one in loop_forest(view.cfg).loops if view.blocks[one.header] is header)


def _only_copy(loop: CountedLoop, *, asks: bool = False) -> _Copy | None:
    """What a loop copies, if it does nothing else; `asks` allows choices of indices."""
    if not is_over_run(loop) or not is_known_behind(loop):
        return None
    load: Instruction | None = None
    store: Instruction | None = None
    for block in loop.blocks:
        if block is not loop.exiting and len(block.successors) != 1:
            return None
        for i in block:
            if i.is_plain_access and block is not loop.header and i.pointer.type == PTR:
                if i.op == "load" and load is None:
                    load = i
                elif i.op == "store" and store is None and i.stored_value is load:
                    store = i
                else:
                    return None
            elif not (only_counts(i, loop) or (asks and i.op == "select")):
                return None
    if load is None or store is None or is_same_load(load, loop):
        # What is loaded from one place fills a run (`weft.transform.loops.fill_loops`).
        return None
    copy = _Copy(load, store)
    sources, targets = _bases(copy)
    if any(isinstance(base, Instruction) and base.op == "alloca" for base in sources | targets):
        return None
    return copy if asks or _is_run(copy, loop) else None


def _bases(copy: _Copy) -> tuple[set[Value], set[Value]]:
    """Where what is loaded, and what is stored, begins."""
    function = copy.load.block and copy.load.block.function
    assert function is not None
    return bases_of(copy.load.pointer, function.layout), bases_of(copy.store.pointer, function.layout)


def _is_run(copy: _Copy, loop: CountedLoop) -> bool:
    """Whether both places move on by an element from iteration to iteration."""
    size = _size(copy)
    return all(is_consecutive(access, loop, size) for access in (copy.load, copy.store))


def _size(copy: _Copy) -> int:
    function = copy.load.block and copy.load.block.function
    assert function is not None
    return function.layout.store_size(copy.load.accessed_type)


def _may_move(builder: Builder, loop: CountedLoop, copy: _Copy) -> Value:
    """Whether a loop is entered, and does not copy what it has copied."""
    known = at_start(loop)
    source, target = (
        builder.cast("ptrtoint", computed(access.pointer, loop, builder, known), I64)
        for access in (copy.load, copy.store)
    )
    size = _bytes(length_of(loop, builder), copy, builder)
    apart = builder.icmp("uge", builder.binary("sub", target, source), size)
    return builder.select(builder.icmp(loop.predicate, loop.counter.start, loop.bound), apart, FALSE)


def _bytes(length: Value, copy: _Copy, builder: Builder) -> Value:
    size = _size(copy)
    return length if size == 1 else builder.binary("mul", length, ConstInt(I64, size))


def _is_apart(copy: _Copy) -> bool:
    """Whether what is copied cannot be what has been copied."""
    sources, targets = _bases(copy)
    return all(are_apart(a, b) for a in sources for b in targets)


def _replace(module: Module, loop: CountedLoop, copy: _Copy, *, entered: bool) -> None:
    signature = FunctionType(VOID, (PTR, PTR, I64, I1))
    move = module.declare("llvm.memmove.p0.p0.i64", signature, ("nounwind", "willreturn"))

    def copied(builder: Builder, known: dict[Value, Value], length: Value) -> None:
        places = [computed(access.pointer, loop, builder, known) for access in (copy.store, copy.load)]
        call = builder.call(move, (*places, _bytes(length, copy, builder), FALSE))
        aligned = (f"align {access.alignment}" for access in (copy.store, copy.load))
        call.attrs["arg_attrs"] = (*((text,) for text in aligned), (), ())

    run_at_once(loop, copy.store, copied, entered=entered)
