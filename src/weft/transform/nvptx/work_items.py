"""Ids, sizes, barriers and operations among lanes: what hardware has registers and instructions for.

Threads of a warp run in lock step in P-LLVM, and on GPUs only as far as they happen to be together. What asks for "the
active lanes" is lowered to the operation on those that are together there (``activemask``). Kernels of the CUDA dialect
name their threads: the front end writes their operations as NVVM's own, with the mask (`weft.frontend.python.lowering.
threads.warp_sync`), and these wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.diag.errors import UnsupportedError
from weft.ir import ConstInt, Function, Instruction, Module, Value
from weft.ir.builder import Builder, const_int
from weft.ir.intrinsics import INTRINSICS, PREFIX
from weft.ir.locations import span_of
from weft.ir.types import I1, I32, I64, VOID, FunctionType, Type
from weft.machine.gpus import WARP

Lower = Callable[[Builder, Instruction], Value | None]

_SREG = "llvm.nvvm.read.ptx.sreg"
_IDS = {
    "weft.local.id": ("tid", 0, 1024),
    "weft.group.id": ("ctaid", 0, (1 << 31) - 1),
    "weft.local.size": ("ntid", 1, 1025),
    "weft.num.groups": ("nctaid", 1, 1 << 31),
}
"""The special register of each id, and the range of its values."""

CONVERGENT = ("convergent", "nounwind")


def lower_work_items(module: Module) -> None:
    """Replace every call of weft's intrinsics of ids, barriers and lanes in `module`.

    Precondition: P-LLVM without predicates, shadows and guards. Postcondition: ids are special registers, barriers and
    operations on lanes are NVVM's intrinsics; shared memory and ``print`` are as they were. Preserves the program for
    threads that are together where P-LLVM has them together.

    Raises
    ------
    UnsupportedError
        There is no such operation on a GPU.
    """
    for function in list(module.definitions()):
        for call in [i for i in function.instructions() if i.callee_name in _LOWER]:
            name = call.callee_name
            assert name is not None
            builder = Builder(before=call)
            builder.loc = call.loc
            value = _LOWER[name](builder, call)
            if value is not None:
                call.replace_all_uses(value)
            call.erase()


def nvvm(builder: Builder, name: str, result: Type, args: tuple[Value, ...] = ()) -> Instruction:
    """Call one of NVVM's intrinsics that concern other threads."""
    fn_type = FunctionType(result, tuple(a.type for a in args))
    return builder.call(builder.module.declare(f"llvm.nvvm.{name}", fn_type, CONVERGENT), args)


def special_register(builder: Builder, name: str) -> Instruction:
    """Read a 32-bit special register that does not change while a thread runs."""
    attributes = ("nounwind", "speculatable", "willreturn", "memory(none)")
    return builder.call(builder.module.declare(f"{_SREG}.{name}", FunctionType(I32, ()), attributes), ())


def _dynamic_size(builder: Builder, call: Instruction) -> Value:
    return builder.cast("zext", special_register(builder, "dynamic_smem_size"), I64, ("nneg",))


def _id(builder: Builder, call: Instruction) -> Value:
    name = call.callee_name
    assert name is not None
    register, low, high = _IDS[name]
    dimension = call.args[0]
    if not isinstance(dimension, ConstInt) or dimension.value > 2:
        raise UnsupportedError(f"@{name} needs a constant dimension 0, 1 or 2", span_of(call))
    read = special_register(builder, f"{register}.{'xyz'[dimension.value]}")
    read.attrs["ret_attrs"] = (f"range(i32 {low}, {_signed(high)})",)
    return builder.cast("zext", read, I64, ("nneg",))


def _signed(bound: int) -> int:
    """An upper bound as LLVM writes it for 32 bits."""
    return bound - (1 << 32) if bound >= 1 << 31 else bound


def _lane_id(builder: Builder, call: Instruction) -> Value:
    return special_register(builder, "laneid")


def _num_lanes(builder: Builder, call: Instruction) -> Value:
    return const_int(WARP, I32)


def _barrier(builder: Builder, call: Instruction) -> None:
    nvvm(builder, "barrier.cta.sync.aligned.all", VOID, (const_int(0, I32),))


def _counting_barrier(operation: str) -> Lower:
    result = I32 if operation == "popc" else I1

    def lower(builder: Builder, call: Instruction) -> Value:
        args = (const_int(0, I32), call.args[0])
        value = nvvm(builder, f"barrier.cta.red.{operation}.aligned.all", result, args)
        return value if result is I32 else builder.cast("zext", value, I32)

    return lower


def _active(builder: Builder) -> Value:
    return nvvm(builder, "activemask", I32)


def _vote(kind: str) -> Lower:
    return lambda builder, call: nvvm(builder, f"vote.{kind}.sync", I1, (_active(builder), call.args[0]))


def _ballot(builder: Builder, call: Instruction) -> Instruction:
    return nvvm(builder, "vote.ballot.sync", I32, (_active(builder), call.args[0]))


def _wide(lower: Lower) -> Lower:
    """A set of lanes in 64 bits."""

    def widened(builder: Builder, call: Instruction) -> Value:
        value = lower(builder, call)
        assert value is not None
        return builder.cast("zext", value, I64)

    return widened


def _popcount(builder: Builder, call: Instruction) -> Value:
    count = builder.module.declare("llvm.ctpop.i32", FunctionType(I32, (I32,)), ("nounwind", "memory(none)"))
    return builder.cast("zext", builder.call(count, (_ballot(builder, call),)), I64)


def _shuffle(builder: Builder, call: Instruction) -> Value:
    """The value of a lane, and the own one where that lane is not there."""
    value, lane = call.args[0], call.args[1]
    active = _active(builder)
    inside = builder.icmp("ult", lane, const_int(WARP, I32))
    bit = builder.binary("lshr", active, builder.binary("and", lane, const_int(WARP - 1, I32)))
    there = builder.select(inside, builder.cast("trunc", bit, I1), const_int(0, I1))
    source = builder.select(there, lane, special_register(builder, "laneid"))
    return shuffled(builder, "idx", active, value, source)


def _extract(builder: Builder, call: Instruction) -> Value:
    return shuffled(builder, "idx", _active(builder), call.args[0], call.args[1])


def shuffled(builder: Builder, move: str, mask: Value, value: Value, operand: Value) -> Value:
    """``shfl.sync`` of 32 or 64 bits; `move` is ``idx``, ``up``, ``down`` or ``bfly``."""
    clamp = const_int(0 if move == "up" else WARP - 1, I32)

    def word(bits: Value) -> Instruction:
        return nvvm(builder, f"shfl.sync.{move}.i32", I32, (mask, bits, operand, clamp))

    if value.type == I32:
        return word(value)
    low = word(builder.cast("trunc", value, I32))
    high = word(builder.cast("trunc", builder.binary("lshr", value, const_int(32)), I32))
    above = builder.binary("shl", builder.cast("zext", high, I64), const_int(32))
    return builder.binary("or", above, builder.cast("zext", low, I64))


def _match(builder: Builder, call: Instruction) -> Value:
    return nvvm(builder, "match.any.sync.i64", I32, (_active(builder), call.args[0]))


def _warp_sync(builder: Builder, call: Instruction) -> None:
    nvvm(builder, "bar.warp.sync", VOID, (_active(builder),))


def _no_such(builder: Builder, call: Instruction) -> Value:
    raise UnsupportedError(f"there is no @{call.callee_name} on a GPU", span_of(call))


_LOWER: dict[str, Lower] = {
    **dict.fromkeys(_IDS, _id),
    "weft.shared.dynamic.size": _dynamic_size,
    "weft.lane.id": _lane_id,
    "weft.num.lanes": _num_lanes,
    "weft.mask": lambda builder, call: const_int(1, I1),
    "weft.barrier": _barrier,
    "weft.barrier.count": _counting_barrier("popc"),
    "weft.barrier.and": _counting_barrier("and"),
    "weft.barrier.or": _counting_barrier("or"),
    "weft.any": _vote("any"),
    "weft.all": _vote("all"),
    "weft.ballot": _wide(_ballot),
    "weft.ballot.i32": _ballot,
    "weft.active": _wide(lambda builder, call: _active(builder)),
    "weft.popcount": _popcount,
    "weft.shfl.idx.i32": _shuffle,
    "weft.shfl.idx.i64": _shuffle,
    "weft.extract.i32": _extract,
    "weft.extract.i64": _extract,
    "weft.match.any.i64": _wide(_match),
    "weft.warp.sync": _warp_sync,
    "weft.compact.i32": _no_such,
    "weft.compact.i64": _no_such,
    **{name: _no_such for name in INTRINSICS if name.startswith(PREFIX)},
}


def is_left(function: Function) -> bool:
    """Whether a declaration is an intrinsic of weft that no pass has lowered."""
    return function.is_declaration and (function.name in INTRINSICS or function.name.startswith("weft."))
