"""The entry point that the runtime launches, from a function for one thread or one lane group.

It is ``i32 <kernel>.groups(ptr launch, i64 begin, i64 end, i32 worker)``, runs groups ``begin`` to ``end - 1`` of
the grid (linear index ``x + X*(y + Y*z)``) on one thread of the pool and returns 0, or an
`~weft.codegen.launch_record.ErrorCode`. ``launch`` points to the launch record (`weft.codegen.launch_record`).
Inside, loops over the group's threads call the kernel, which LLVM inlines; a kernel with barriers runs as its
continuations, each for the whole group in turn, under the checks settled for barriers (Karrenberg and Hack, §2.2
and Fig. 4). What is in these loops is the business of each program (`weft.codegen.work_groups.group_program`).

Precondition: the program's functions are plain LLVM IR, ids being their parameters. Postcondition: the module has the
entry point besides, which does for each thread of the groups what the kernel does for one.
"""

from __future__ import annotations

from msgspec.structs import replace

from weft.codegen.arena import ArenaNeeds
from weft.codegen.launch_record import (
    ARENAS,
    ARGS,
    BLOCK,
    DYNAMIC_BYTES,
    ERROR,
    GRID,
    STATE_BYTES,
    ErrorCode,
)
from weft.codegen.stack import ENTRY_ATTRIBUTES
from weft.codegen.work_groups.group_program import GroupEntry, GroupProgram, ScratchLayout
from weft.codegen.work_groups.group_values import GroupValues
from weft.ir import Builder, ConstInt, Function, Module, Value
from weft.ir.types import I8, I32, I64, FunctionType, IntType, PointerType, Type, pointer
from weft.transform.groups.work_items import shared_layout


def build_group_entry(
    module: Module,
    kernel: Function,
    program: GroupProgram,
    block: tuple[int, int, int] | None = None,
    strips: bool = False,
) -> tuple[Function, ArenaNeeds]:
    """Add ``<kernel>.groups`` to `module`; with the scratch memory that it needs.

    Parameters
    ----------
    module
        Holds the functions of `program`, with work-item parameters.
    kernel
        The kernel, whose name, parameters and shared objects are used.
    program
        What it has become.
    block
        Threads of a work-group along x, y and z; None when only the launch says so.
    strips
        Whether groups run in strips, not in rows (`weft.codegen.order.group_order`).
    """
    for part in program.functions:
        part.linkage.linkage = "internal"
        part.attributes = (*(a for a in part.attributes if a != "noinline"), "alwaysinline")
    entry_type = FunctionType(I32, (pointer(), I64, I64, I32))
    function = module.add_function(
        Function(f"{kernel.name}.groups", entry_type, ("launch", "begin", "end", "worker"))
    )
    function.attributes = ENTRY_ATTRIBUTES
    builder = Builder(function.add_block("entry"))
    static_bytes = shared_layout(kernel)[1]
    needs = program.arena(STATE_BYTES + static_bytes)
    entry = _entry(builder, function, kernel, program, static_bytes, block, needs)
    program.run(replace(entry, strips=strips))
    builder.ret(ConstInt(I32, ErrorCode.OK))
    return function, needs


def _entry(
    builder: Builder,
    function: Function,
    kernel: Function,
    program: GroupProgram,
    static_bytes: int,
    block: tuple[int, int, int] | None,
    needs: ArenaNeeds,
) -> GroupEntry:
    """Load what the launch record says, and find the parts of the worker's scratch memory."""
    launch, begin, end, worker = function.args

    def field(offset: int, type: Type) -> Value:
        address = builder.gep(I8, launch, (ConstInt(I64, offset),), ("inbounds",))
        return builder.load(type, address, align=8)

    groups = [field(GRID + 8 * d, I64) for d in range(3)]
    local_size: list[Value] = [field(BLOCK + 8 * d, I64) for d in range(3)]
    if block is not None:
        local_size = [ConstInt(I64, n) for n in block]
    args = field(ARGS, pointer())
    own = kernel.args[: len(kernel.args) - program.parameters]
    kernel_args = [load_argument(builder, args, i, a.type) for i, a in enumerate(own)]
    arena = builder.load(
        pointer(),
        builder.gep(pointer(), field(ARENAS, pointer()), (builder.cast("sext", worker, I64),), ("inbounds",)),
        align=8,
    )
    dynamic_bytes = field(DYNAMIC_BYTES, I64)
    error = field(ERROR, pointer())
    layout = ScratchLayout(static_bytes, dynamic_bytes, needs)
    shared, dynamic, frames = layout.parts(builder, arena)
    values = GroupValues(
        builder, function, kernel_args, [], local_size, groups, shared, dynamic, dynamic_bytes
    )
    return GroupEntry(values, begin, end, arena, frames, error, layout)


def load_argument(builder: Builder, args: Value, index: int, type: Type) -> Value:
    """Kernel parameter `index` from its 8-byte slot."""
    address = builder.gep(I64, args, (ConstInt(I64, index),), ("inbounds",))
    if isinstance(type, IntType) and type.bits % 8:
        return builder.cast("trunc", builder.load(I8, address, align=8), type)
    if isinstance(type, PointerType) and type.space:
        return builder.cast("addrspacecast", builder.load(pointer(), address, align=8), type)
    return builder.load(type, address, align=8)
