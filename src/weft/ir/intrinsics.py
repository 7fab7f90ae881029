"""weft's intrinsic functions: what a P-LLVM program can ask of the grid, the group and the lane group.

One table; front ends map their own names to it, the interpreter gives the meaning, code generation replaces
the calls. Values are 64-bit integers unless the table says otherwise. Horizontal operations are those of Moll (§3.5,
Fig. 4.15), warp operations of GPUs, and RV's.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from weft.ir.function import Function, Module
from weft.ir.types import (
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    VOID,
    FloatType,
    FunctionType,
    IntType,
    Type,
    pointer,
)


class IntrinsicKind(Enum):
    """What an intrinsic is to the compiler."""

    ID = "id"
    """Differs from thread to thread of a group, constant for each thread."""
    SIZE = "size"
    """The same for each thread of a group, constant while it runs."""
    HORIZONTAL = "horizontal"
    """Reads the values of all active lanes of a lane group; convergent."""
    BARRIER = "barrier"
    """A synchronization point of the work-group; convergent, orders memory."""
    SHARED = "shared"
    """A pointer to memory of the work-group."""
    MASK = "mask"
    """The lane's own activation; assigned on all threads like a total instruction."""


class Intrinsic(Struct, frozen=True):
    """One row: `signature`, `kind`, the meaning in words, and whether threads see each other's stores behind it."""

    name: str
    signature: FunctionType
    kind: IntrinsicKind
    meaning: str
    orders_memory: bool = False

    @property
    def attributes(self) -> tuple[str, ...]:
        """LLVM function attributes that let LLVM's passes treat the call as its kind requires."""
        if self.kind in (IntrinsicKind.ID, IntrinsicKind.SIZE, IntrinsicKind.SHARED):
            return ("nounwind", "speculatable", "willreturn", "memory(none)")
        if self.kind in (IntrinsicKind.HORIZONTAL, IntrinsicKind.MASK) and not self.orders_memory:
            return ("convergent", "nounwind", "willreturn", "memory(none)")
        return ("convergent", "nounwind", "willreturn")


CONVERGENT = ("convergent", "nounwind", "willreturn", "memory(none)")
"""Attributes of ids where lanes are not the same everywhere: around a loop there are others than in it."""


def _fn(result: Type, *params: Type) -> FunctionType:
    return FunctionType(result, params)


SHARED_SPACE = 3
_SHARED_PTR = pointer(SHARED_SPACE)
_ID, _SIZE, _HORIZONTAL = IntrinsicKind.ID, IntrinsicKind.SIZE, IntrinsicKind.HORIZONTAL

SOME, ARRIVE = "weft.barrier.some", "weft.barrier.arrive"
"""Barriers with a number, which wait for so many threads, and arrivals at them. A lane group of which threads arrive
counts as a whole, as warps do."""

BARRIER_NUMBERS = 16
"""How many such barriers a work-group has, as blocks of GPUs."""

FIRST = "weft.first.ptr"
"""Makes one object of those of all active lanes: each lane's own is used for nothing else."""

INTRINSICS: dict[str, Intrinsic] = {
    row.name: row
    for row in (
        Intrinsic("weft.local.id", _fn(I64, I32), _ID, "index of the thread in its group along a dimension"),
        Intrinsic("weft.group.id", _fn(I64, I32), _SIZE, "index of the group in the grid along a dimension"),
        Intrinsic("weft.local.size", _fn(I64, I32), _SIZE, "threads of a group along a dimension"),
        Intrinsic("weft.num.groups", _fn(I64, I32), _SIZE, "groups of the grid along a dimension"),
        Intrinsic("weft.lane.id", _fn(I32), _ID, "position of the thread in its lane group"),
        Intrinsic("weft.lane.coordinate", _fn(I32, I32), _ID, "place of the thread in its box of lanes"),
        Intrinsic("weft.num.lanes", _fn(I32), _SIZE, "threads of a lane group, W"),
        Intrinsic("weft.barrier", _fn(VOID), IntrinsicKind.BARRIER, "all unfinished threads of the group meet"),
        Intrinsic("weft.barrier.count", _fn(I32, I1), IntrinsicKind.BARRIER, "barrier; threads with a true value"),
        Intrinsic("weft.barrier.and", _fn(I32, I1), IntrinsicKind.BARRIER, "barrier; 1 when true for all, else 0"),
        Intrinsic("weft.barrier.or", _fn(I32, I1), IntrinsicKind.BARRIER, "barrier; 1 when true for any, else 0"),
        Intrinsic(
            SOME, _fn(VOID, I32, I32), IntrinsicKind.BARRIER,
            "lane groups with b threads meet at barrier a; all unfinished threads of the group where b is 0",
        ),
        Intrinsic(
            ARRIVE, _fn(VOID, I32, I32), _HORIZONTAL,
            "the lane group counts as one of those that meet at barrier a, and goes on", orders_memory=True,
        ),
        Intrinsic("weft.barrier.grid", _fn(VOID), IntrinsicKind.BARRIER, "all unfinished threads of the grid meet"),
        Intrinsic("weft.shared", _fn(_SHARED_PTR, I32), IntrinsicKind.SHARED, "the k-th static shared object"),
        Intrinsic("weft.shared.dynamic", _fn(_SHARED_PTR), IntrinsicKind.SHARED, "the dynamic shared memory"),
        Intrinsic("weft.shared.dynamic.size", _fn(I64), _SIZE, "bytes of the dynamic shared memory"),
        Intrinsic("weft.mask", _fn(I1), IntrinsicKind.MASK, "whether the thread is active"),
        Intrinsic("weft.any", _fn(I1, I1), _HORIZONTAL, "true when true on any active lane"),
        Intrinsic("weft.all", _fn(I1, I1), _HORIZONTAL, "true when true on all active lanes"),
        Intrinsic("weft.ballot", _fn(I64, I1), _HORIZONTAL, "bit l set when active lane l is true"),
        Intrinsic("weft.ballot.i32", _fn(I32, I1), _HORIZONTAL, "as weft.ballot, of at most 32 lanes"),
        Intrinsic("weft.popcount", _fn(I64, I1), _HORIZONTAL, "number of active lanes that are true"),
        Intrinsic("weft.active", _fn(I64), _HORIZONTAL, "bit l set when lane l is active"),
        Intrinsic(
            "weft.shfl.idx.i32", _fn(I32, I32, I32), _HORIZONTAL,
            "the value of lane b, the own value when that lane is inactive or out of range",
        ),
        Intrinsic("weft.shfl.idx.i64", _fn(I64, I64, I32), _HORIZONTAL, "as weft.shfl.idx.i32"),
        Intrinsic(
            "weft.extract.i32", _fn(I32, I32, I32), _HORIZONTAL,
            "the value of lane b, poison when that lane is inactive or out of range",
        ),
        Intrinsic("weft.extract.i64", _fn(I64, I64, I32), _HORIZONTAL, "as weft.extract.i32"),
        Intrinsic(
            "weft.compact.i32", _fn(I32, I32, I1), _HORIZONTAL,
            "in lane k the value of the k-th active lane where b is true, the own value when there are not so many",
        ),
        Intrinsic("weft.compact.i64", _fn(I64, I64, I1), _HORIZONTAL, "as weft.compact.i32"),
        Intrinsic("weft.match.any.i64", _fn(I64, I64), _HORIZONTAL, "bit l set when active lane l has the same value"),
        Intrinsic(
            FIRST, _fn(pointer(), pointer()), _HORIZONTAL,
            "the pointer of the first active lane: an object of its own that all of them use",
        ),
        Intrinsic(
            "weft.warp.sync", _fn(VOID), _HORIZONTAL, "the lane group meets; orders memory among its lanes",
            orders_memory=True,
        ),
    )
}  # fmt: skip

GRID_BARRIER = "weft.barrier.grid"
"""Where work-groups wait for each other: all of them have to be under way at the same time."""

PREFIX = "weft.prefix."
"""``weft.prefix.add.i32`` and its like: the values of the active lanes up to one's own, combined in their order."""

_INTEGERS, _FLOATS = (I8, I16, I32, I64), (F32, F64)
_PREFIX_OPERATIONS: dict[str, tuple[IntType, ...] | tuple[FloatType, ...]] = {
    **dict.fromkeys(("add", "mul", "and", "or", "xor", "smin", "smax", "umin", "umax"), _INTEGERS),
    **dict.fromkeys(("fadd", "fmul"), _FLOATS),
}


def prefix_name(operation: str, type: IntType | FloatType) -> str:
    """The name of the intrinsic that combines values of a type by an operation."""
    return f"{PREFIX}{operation}.{'i' if isinstance(type, IntType) else 'f'}{type.bits}"


INTRINSICS |= {
    prefix_name(operation, type): Intrinsic(
        prefix_name(operation, type),
        _fn(type, type),
        _HORIZONTAL,
        f"{operation} of the values of the active lanes up to one's own",
    )
    for operation, types in _PREFIX_OPERATIONS.items()
    for type in types
}

SHARED_ATTRIBUTE = "weft.shared"
"""Function attribute that lists a kernel's static shared objects: ``bytes:align,bytes:align,...``."""

SPILL_SLOTS = "weft_slots"
"""What shared variables are called in which warps keep values that are the same in all their threads
(`weft.spill.writing`): all write them, and what one of them writes is what the others write."""

SPILL_SLOTS_ATTRIBUTE = "weft.spill.slots"
"""Function attribute with the number of the static shared object that has such slots."""

KERNEL_ATTRIBUTE = "weft.kernel"
"""Function attribute of kernels."""

LANES_ATTRIBUTE = "weft.lanes"
"""Function attribute of lane functions: in how many lanes a call of one, which gives nothing, runs; of a box of lanes
along each dimension of it, as in ``8x4``."""

FIRST_ATTRIBUTE = "weft.first"
"""Parameter attribute of lane functions for the value of lane 0: ``"weft.first"="s+d"`` says that it is s and a
multiple of d times the lanes that a group has."""

APART_ATTRIBUTE = "weft.apart"
"""Function attribute of SIMD functions of which a loop's calls are of different threads: none reads what another one
writes (`weft.transform.groups.shared_loads`)."""

OBLIVIOUS_ATTRIBUTE = "weft.oblivious"
"""Function attribute of lane functions that mean the same when passive lanes get ⊤."""

SMALL_ARRAYS_ATTRIBUTE = "weft.small.arrays"
"""Marks kernels whose pointer arguments all lead into objects of less than 2 GiB: the launcher sees to that."""

ARRAY_BEGINS_ATTRIBUTE = "weft.array.begins"
"""Marks kernels whose pointer arguments are where arrays begin: nothing is accessed by way of one that lies in front of
it. The launcher sees to that."""

ARRAY_BYTES_ATTRIBUTE = "weft.array.bytes"
"""Marks pointer parameters that are where an array begins, with a number of bytes: all that is accessed by way of one
lies behind it, within fewer bytes; and if anything is, there is an element where it begins. The caller sees to that."""

SMALL_GRID = (1 << 30) - 1024
SMALL_GRID_ATTRIBUTE = "weft.small.grid"
"""Marks kernels for launches with at most `SMALL_GRID` threads along each dimension: the launcher sees to that."""

ARRAYS_APART_ATTRIBUTE = "weft.arrays.apart"
"""Marks kernels whose pointer arguments lead into objects that do not overlap: the launcher sees to that."""

RESHAPED = "weft.reshaped"
"""Named metadata of a module in which arrays of several dimensions are accessed with another shape, too: an index may
lead from one row to the next."""

WRITABLE_ATTRIBUTE = "weft.writable"
"""Marks functions whose launcher sees to it that what they may store to can be written."""

NARROW_SEARCHES_ATTRIBUTE = "weft.narrow.searches"
"""Marks functions in which searches by halves go on together, whose ends have fewer bits than addresses."""

REASSOCIATE_ATTRIBUTE = "weft.reassociate"
"""Marks kernels in which the order of float operations does not matter, atomic ones included."""


def declare(module: Module, name: str) -> Function:
    """The intrinsic `name` as a function of `module`, declared on first use."""
    row = INTRINSICS[name]
    return module.declare(name, row.signature, row.attributes)


PURE = ("nounwind", "willreturn", "speculatable", "memory(none)")
"""Attributes of LLVM's intrinsics that only compute: without them they count as writes."""


def lifetime_start(module: Module) -> Function:
    """LLVM's mark at which a stack object's life begins (anew)."""
    return module.declare("llvm.lifetime.start.p0", _fn(VOID, pointer()), ("nounwind", "willreturn"))


def asks_for_lanes(module: Module) -> bool:
    """Whether a program asks which threads form a lane group: what the others do, or its place among them."""
    return any(map(is_lane_operation, module.functions))


def is_lane_operation(name: str | None) -> bool:
    """Whether an intrinsic asks what the other lanes of a group do, or for its place among them."""
    return name in ("weft.lane.id", "weft.lane.coordinate", "weft.num.lanes", SOME) or kind_of(name) in (
        IntrinsicKind.HORIZONTAL,
        IntrinsicKind.MASK,
    )


def is_numbered_barrier(callee_name: str | None) -> bool:
    """Whether a barrier has a number and may wait for a part of the work-group."""
    return callee_name == SOME


def kind_of(callee_name: str | None) -> IntrinsicKind | None:
    """The kind of the intrinsic called, or None when the name is none of weft's intrinsics."""
    row = INTRINSICS.get(callee_name or "")
    return row.kind if row is not None else None
