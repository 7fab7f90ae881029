"""What the builtin library and CUDA's headers leave undefined: the primitives, lowered to weft's intrinsics.

The library (`weft.frontend.opencl.library`) is OpenCL C. It declares a primitive under its plain name as a C function
(``__attribute__((overloadable))`` would mangle it; leave that away) and may call these and nothing else:

=====================================================  =============================================================
``size_t __weft_get_global_id(uint d)``                and ``_local_id _group_id _global_size _local_size
                                                       _enqueued_local_size _num_groups _global_offset``; `d` is 0, 1
                                                       or 2 (any other gives 0 for ids and offsets, 1 for sizes)
``uint __weft_work_dim(void)``                         as the launch gave it
``void __weft_barrier(uint flags, uint scope)``        all unfinished work-items of the work-group meet
``void __weft_mem_fence(uint flags)``                  orders memory of this work-item (sequentially consistent)
``int __weft_work_group_any(int)``, ``_all``           with a barrier; 0 or 1; ``_count``: how many are not 0
``local void *__weft_scratch(void)``                   16 KiB of local memory, 128-byte aligned, of the work-group; the
                                                       same at each call (work-group reductions, scans, broadcasts)
``uint __weft_sub_group_local_id(void)``               position in the sub-group
``uint __weft_sub_group_max_size(void)``               work-items of a whole sub-group: a constant of the compilation
``int __weft_sub_group_shuffle_i32(int, uint lane)``   the value of a lane, the own one where that lane does not run;
                                                       ``long __weft_sub_group_shuffle_i64(long, uint)`` likewise
``ulong __weft_sub_group_ballot(int)``                 bit l: whether work-item l runs and its value is not 0
``ulong __weft_sub_group_active(void)``                bit l: whether work-item l runs
``int __weft_sub_group_any(int)``, ``_all``            0 or 1
``ulong __weft_sub_group_match(ulong)``                bit l: whether work-item l runs and has the same value
``void __weft_sub_group_barrier(uint flags, uint scope)``  the sub-group meets
``long long __weft_clock(void)``                       a counter of the processor's
``int printf(constant char *, ...)``                   declared by ``base.h``; stays as it is
=====================================================  =============================================================

Beside them: LLVM's intrinsics and atomic instructions that clang makes of its builtins (``__builtin_elementwise_*``,
``__opencl_atomic_*``, ``__builtin_convertvector``), and functions of the C library by their C names that
`weft.ir.known_functions` lists (``sinf``, ``pow``).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from weft.diag.errors import UnsupportedError
from weft.frontend.device.work_items import WorkItems, is_work_item_primitive
from weft.ir import Builder, ConstInt, Function, GlobalVariable, Instruction, Undef, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.intrinsics import SHARED_SPACE, declare
from weft.ir.locations import span_of
from weft.ir.types import I8, I32, I64, ArrayType, FunctionType, IntType

PREFIX = "__weft_"

_ASKS_FOR_SPACE = re.compile(r"__to_(global|local|private)$|_Z9get_fence")

SCRATCH_BYTES = 1 << 14
"""Local memory that ``__weft_scratch`` gives."""

SUB_GROUP_SIZE = 32
"""Work-items of a sub-group where a kernel does not ask for another number (``intel_reqd_sub_group_size``)."""


class Lowering(Struct, frozen=True):
    """What primitives of one kernel are lowered with.

    Parameters
    ----------
    items
        Builds ids and sizes.
    sub_group_size
        Work-items of a sub-group.
    """

    items: WorkItems
    sub_group_size: int


Build = Callable[[Lowering, Builder, Instruction], Value | None]
"""Builds what a primitive means where a call of it stands."""


def lower_primitives(kernel: Function, items: WorkItems, sub_group_size: int) -> None:
    """Put weft's intrinsics in the place of calls of primitives in `kernel`.

    Raises
    ------
    UnsupportedError
        It asks which address space a generic pointer leads into, which nothing tells when it runs.
    """
    for call in kernel.instructions():
        if _ASKS_FOR_SPACE.match(call.callee_name or ""):
            raise UnsupportedError(
                "the address space of a generic pointer is not known when a kernel runs",
                span_of(call),
                "declare the pointer in its address space",
            )
    low = Lowering(items, sub_group_size)
    for call in [i for i in kernel.instructions() if (i.callee_name or "").startswith(PREFIX)]:
        name = (call.callee_name or "").removeprefix(PREFIX)
        builder = Builder(before=call)
        builder.loc = call.loc
        if is_work_item_primitive(name):
            value: Value | None = items.build(builder, call, name)
        elif name in _PRIMITIVES:
            value = _PRIMITIVES[name](low, builder, call)
        else:
            # It is left for the linker to miss.
            continue
        if call.type.is_void:
            call.erase()
        else:
            assert value is not None
            replace_and_erase(call, value)


def _ask(builder: Builder, name: str, *args: Value) -> Instruction:
    return builder.call(declare(builder.module, name), args)


def _truth(builder: Builder, value: Value) -> Value:
    assert isinstance(value.type, IntType)
    return builder.icmp("ne", value, ConstInt(value.type, 0))


def _barrier(low: Lowering, builder: Builder, call: Instruction) -> None:
    _ask(builder, "weft.barrier")


def _mem_fence(low: Lowering, builder: Builder, call: Instruction) -> None:
    builder.fence("seq_cst")


def _vote_of_group(name: str) -> Build:
    return lambda low, builder, call: _ask(builder, name, _truth(builder, call.args[0]))


def _vote_of_sub_group(name: str) -> Build:
    return lambda low, builder, call: builder.cast(
        "zext", _ask(builder, name, _truth(builder, call.args[0])), I32
    )


def _match(low: Lowering, builder: Builder, call: Instruction) -> Value:
    return _ask(builder, "weft.match.any.i64", call.args[0])


def _clock(low: Lowering, builder: Builder, call: Instruction) -> Value:
    function = builder.module.declare(
        "llvm.readcyclecounter", FunctionType(I64, ()), ("nounwind", "willreturn")
    )
    return builder.call(function, ())


def _scratch(low: Lowering, builder: Builder, call: Instruction) -> Value:
    module = builder.module
    name = f"{PREFIX}scratch.memory"
    if name not in module.globals:
        type = ArrayType(I8, SCRATCH_BYTES)
        variable = GlobalVariable(name, type, Undef(type), space=SHARED_SPACE)
        variable.linkage.linkage = "internal"
        variable.linkage.align = 128
        module.add_global(variable)
    return module.globals[name]


def _local_id(low: Lowering, builder: Builder, call: Instruction) -> Value:
    return _ask(builder, "weft.lane.id")


def _max_sub_group_size(low: Lowering, builder: Builder, call: Instruction) -> Value:
    return ConstInt(I32, low.sub_group_size)


def _shuffle(name: str) -> Build:
    return lambda low, builder, call: _ask(builder, name, call.args[0], call.args[1])


def _ballot(low: Lowering, builder: Builder, call: Instruction) -> Value:
    return _ask(builder, "weft.ballot", _truth(builder, call.args[0]))


def _active(low: Lowering, builder: Builder, call: Instruction) -> Value:
    return _ask(builder, "weft.active")


def _sub_group_barrier(low: Lowering, builder: Builder, call: Instruction) -> None:
    _ask(builder, "weft.warp.sync")


_PRIMITIVES: dict[str, Build] = {
    "barrier": _barrier,
    "mem_fence": _mem_fence,
    "work_group_any": _vote_of_group("weft.barrier.or"),
    "work_group_all": _vote_of_group("weft.barrier.and"),
    "work_group_count": _vote_of_group("weft.barrier.count"),
    "scratch": _scratch,
    "sub_group_local_id": _local_id,
    "sub_group_max_size": _max_sub_group_size,
    "sub_group_shuffle_i32": _shuffle("weft.shfl.idx.i32"),
    "sub_group_shuffle_i64": _shuffle("weft.shfl.idx.i64"),
    "sub_group_ballot": _ballot,
    "sub_group_active": _active,
    "sub_group_any": _vote_of_sub_group("weft.any"),
    "sub_group_all": _vote_of_sub_group("weft.all"),
    "sub_group_match": _match,
    "clock": _clock,
    "sub_group_barrier": _sub_group_barrier,
}
"""The primitives but ids and sizes, without ``__weft_``."""
