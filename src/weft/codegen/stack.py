"""The stack of a worker: what local arrays take of it, how many lanes that leaves room for, how it is aligned."""

from __future__ import annotations

from weft.diag.errors import UnsupportedError
from weft.ir import ConstInt, Module
from weft.ir.locations import span_of

ENTRY_ATTRIBUTES = ("nounwind", '"stackrealign"')
"""Of functions that vectors are spilled in. Without the second, LLVM may give away the frame pointer before it knows
that it spills; then the stack is aligned for SSE only, and every wider spill crosses a cache line."""

MAX_THREAD_BYTES = 1 << 19
"""CUDA's limit of the local memory of a thread."""

MAX_LANE_GROUP_BYTES = 1 << 21
"""A quarter of the stack that threads have by default on Linux."""


def require_room(module: Module) -> int:
    """Return the bytes of all stack objects of `module`, which a thread may all have at once.

    Raises
    ------
    UnsupportedError
        They are more than a thread may have.
    """
    layout = module.layout
    total = 0
    for function in module.definitions():
        for instruction in function.instructions():
            if instruction.op != "alloca":
                continue
            count = instruction.operands[0]
            size = layout.size(instruction.allocated_type)
            total += size * (count.value if isinstance(count, ConstInt) else 1)
            if total > MAX_THREAD_BYTES:
                raise UnsupportedError(
                    f"the local arrays of a thread take more than {MAX_THREAD_BYTES} bytes",
                    span_of(instruction),
                    "pass an array with a part for each thread",
                )
    return total


def lanes_with_room(bytes_of_thread: int) -> int:
    """How many threads of a lane group can have their stack objects, a power of two."""
    return 1 << (MAX_LANE_GROUP_BYTES // max(bytes_of_thread, 1)).bit_length() - 1
