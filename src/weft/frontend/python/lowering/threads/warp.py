"""Warp-level functions: votes, ballots, shuffles and matches among the 32 threads of a lane group.

The mask argument names the threads that take part. weft runs an operation for the active threads of the lane
group, so a mask restricts which of them count, and waits for nobody. On a GPU it waits for them
(`weft.frontend.python.lowering.threads.warp_sync`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.components import ir_scalar
from weft.frontend.python.cuda_names import CudaName
from weft.frontend.python.lowering.calls.registry import Arguments, CallHandler, call
from weft.frontend.python.lowering.calls.typed import NONE, TupleValue, Typed, scalar_type
from weft.frontend.python.lowering.numbers.casts import cast_value, number, to_real
from weft.frontend.python.lowering.numbers.comparisons import condition
from weft.frontend.python.lowering.threads import warp_sync
from weft.frontend.python.types import Scalar, boolean, int32, int64, pyint, uint32, uint64
from weft.ir.builder import const_int
from weft.ir.constants import FALSE, TRUE, ConstInt
from weft.ir.instruction import Instruction
from weft.ir.types import I32, I64, int_type
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_FULL = 0xFFFFFFFF


def _lane(low: Lowering) -> Value:
    return low.builder.call(low.unit.intrinsic("weft.lane.id"), ())


def _mask(low: Lowering, mask: Typed) -> Value | None:
    """The mask as i32, or None when it names all threads."""
    if mask.literal in (_FULL, -1):
        return None
    if mask.is_literal and isinstance(mask.literal, int):
        return const_int(mask.literal, I32)
    value = number(low, mask)
    type = scalar_type(mask)
    if type is None or not type.is_integer:
        raise TypingError(f"a mask of threads is an integer, not {mask.type}")
    bits = cast_value(low, value, type, uint32)
    return None if isinstance(bits, ConstInt) and bits.value == _FULL else bits


def _takes_part(low: Lowering, mask: Value) -> Value:
    """Whether the mask names this thread."""
    builder = low.builder
    bit = builder.binary("and", builder.binary("lshr", mask, _lane(low)), const_int(1, I32))
    return builder.icmp("ne", bit, const_int(0, I32))


def _vote(low: Lowering, intrinsic: str, test: Value) -> Value:
    return low.builder.call(low.unit.intrinsic(intrinsic), (test,))


def _is_active(low: Lowering, mask: Value) -> bool:
    """Whether a mask names all threads that are active where it is used."""
    if not isinstance(mask, Instruction) or mask.op != "trunc" or mask.block is not low.builder.block:
        return False
    lanes = mask.operands[0]
    return isinstance(lanes, Instruction) and lanes.callee_name == "weft.active" and lanes.block is mask.block


def _named(low: Lowering, mask: Value, test: Value) -> Value:
    """The lanes of a mask for which a test holds: each lane may have a mask of its own."""
    votes = low.builder.cast("trunc", _vote(low, "weft.ballot", test), I32)
    return low.builder.binary("and", votes, mask)


def _any(low: Lowering, mask: Value | None, test: Value) -> Value:
    if low.unit.options.gpu:
        return warp_sync.vote(low, "any", mask, test)
    if mask is None or _is_active(low, mask):
        return _vote(low, "weft.any", test)
    if not isinstance(mask, ConstInt):
        return low.builder.icmp("ne", _named(low, mask, test), const_int(0, I32))
    return _vote(low, "weft.any", low.builder.select(_takes_part(low, mask), test, FALSE))


def _all(low: Lowering, mask: Value | None, test: Value) -> Value:
    if low.unit.options.gpu:
        return warp_sync.vote(low, "all", mask, test)
    if mask is None or _is_active(low, mask):
        return _vote(low, "weft.all", test)
    if not isinstance(mask, ConstInt):
        fails = low.builder.binary("xor", test, TRUE)
        return low.builder.icmp("eq", _named(low, mask, fails), const_int(0, I32))
    return _vote(low, "weft.all", low.builder.select(_takes_part(low, mask), test, TRUE))


def _arguments(low: Lowering, args: Arguments) -> tuple[Value | None, Value]:
    mask, predicate = args.bind("mask", "predicate")
    return _mask(low, mask), condition(low, predicate)


@call(CudaName("any_sync"))
def _any_sync(low: Lowering, args: Arguments) -> Typed:
    return Typed(boolean, (_any(low, *_arguments(low, args)),))


@call(CudaName("all_sync"))
def _all_sync(low: Lowering, args: Arguments) -> Typed:
    return Typed(boolean, (_all(low, *_arguments(low, args)),))


@call(CudaName("eq_sync"))
def _eq_sync(low: Lowering, args: Arguments) -> Typed:
    """Whether the predicate is true for all or for none."""
    mask, test = _arguments(low, args)
    if low.unit.options.gpu:
        return Typed(boolean, (warp_sync.vote(low, "uni", mask, test),))
    same = low.builder.icmp("eq", _any(low, mask, test), _all(low, mask, test))
    return Typed(boolean, (same,))


def _bits(low: Lowering, lanes: Value, mask: Value | None = None) -> Typed:
    """A set of lanes, an i64 of 32 bits at most, as a uint32."""
    value: Value = low.builder.cast("trunc", lanes, I32)
    if mask is not None:
        value = low.builder.binary("and", value, mask)
    return Typed(uint32, (value,), low=0)


@call(CudaName("ballot_sync"))
def _ballot_sync(low: Lowering, args: Arguments) -> Typed:
    mask, test = _arguments(low, args)
    if low.unit.options.gpu:
        return Typed(uint32, (warp_sync.ballot(low, mask, test),), low=0)
    return _bits(low, _vote(low, "weft.ballot", test), mask)


@call(CudaName("activemask"))
def _activemask(low: Lowering, args: Arguments) -> Typed:
    args.bind()
    if low.unit.options.gpu:
        return Typed(uint32, (warp_sync.active_mask(low),), low=0)
    return _bits(low, low.builder.call(low.unit.intrinsic("weft.active"), ()))


@call(CudaName("lanemask_lt"))
def _lanemask_lt(low: Lowering, args: Arguments) -> Typed:
    """The lanes before this one."""
    args.bind()
    if low.unit.options.gpu:
        return Typed(uint32, (warp_sync.lanes_before(low),), low=0)
    bit = low.builder.binary("shl", const_int(1, I32), _lane(low))
    return Typed(uint32, (low.builder.binary("sub", bit, const_int(1, I32)),), low=0)


@call(CudaName("syncwarp"))
def _syncwarp(low: Lowering, args: Arguments) -> Typed:
    given = args.bind("mask", optional=1)
    if low.unit.options.gpu:
        warp_sync.meet(low, _mask(low, given[0]) if given else None)
        return NONE
    low.builder.call(low.unit.intrinsic("weft.warp.sync"), ())
    return NONE


def _word(low: Lowering, value: Typed, what: str) -> tuple[Scalar, Value]:
    """A number's bits as an i32 or i64, with its type."""
    type = scalar_type(value)
    if type is None or type.kind == "c":
        raise TypingError(f"{what} takes a number, not {value.type}")
    if type is boolean:
        return pyint, to_real(low, value, pyint)
    bits = to_real(low, value, type)
    word = ir_scalar(type)
    if type.kind == "f":
        bits = low.builder.cast("bitcast", bits, int_type(word.bits))
    if word.bits < 32:
        bits = low.builder.cast("zext", bits, I32)
    return type, bits


def _unword(low: Lowering, bits: Value, type: Scalar) -> Typed:
    word = ir_scalar(type)
    if word.bits < 32:
        bits = low.builder.cast("trunc", bits, int_type(word.bits))
    if type.kind == "f":
        bits = low.builder.cast("bitcast", bits, word)
    return Typed(type, (bits,), low=0 if type.kind == "u" else None)


def _shuffle(move: str) -> CallHandler:
    """A shuffle; `move` says how the source lane comes from the argument: idx, up, down or xor."""

    def lower(low: Lowering, args: Arguments) -> Typed:
        mask, value, argument = args.bind("mask", "value", "lane")
        type, bits = _word(low, value, args.name)
        operand = to_real(low, argument, int32)
        if low.unit.options.gpu:
            return _unword(low, warp_sync.shuffle(low, move, _mask(low, mask), bits, operand), type)
        if move == "idx":
            lane = low.builder.binary("and", operand, const_int(31, I32))
        else:
            lane = low.builder.binary({"up": "sub", "down": "add", "xor": "xor"}[move], _lane(low), operand)
        intrinsic = low.unit.intrinsic(f"weft.shfl.idx.{bits.type}")
        return _unword(low, low.builder.call(intrinsic, (bits, lane)), type)

    return lower


call(CudaName("shfl_sync"))(_shuffle("idx"))
for _move in ("up", "down", "xor"):
    call(CudaName(f"shfl_{_move}_sync"))(_shuffle(_move))


def _matching(low: Lowering, value: Typed, name: str) -> Value:
    """The lanes that hold the same value as this one."""
    type, bits = _word(low, value, name)
    if bits.type is not I64:
        bits = cast_value(low, bits, uint32 if type.bits <= 32 else int64, uint64)
    return low.builder.call(low.unit.intrinsic("weft.match.any.i64"), (bits,))


@call(CudaName("match_any_sync"))
def _match_any_sync(low: Lowering, args: Arguments) -> Typed:
    mask, value = args.bind("mask", "value")
    if low.unit.options.gpu:
        found = warp_sync.match_any(low, _mask(low, mask), _word(low, value, args.name)[1])
        return Typed(uint32, (found,), low=0)
    return _bits(low, _matching(low, value, args.name), _mask(low, mask))


@call(CudaName("match_all_sync"))
def _match_all_sync(low: Lowering, args: Arguments) -> Typed:
    """The mask and True when all hold the same value, else 0 and False."""
    mask, value = args.bind("mask", "value")
    lanes = _mask(low, mask)
    if low.unit.options.gpu:
        found, same = warp_sync.match_all(low, lanes, _word(low, value, args.name)[1])
        return TupleValue((Typed(uint32, (found,), low=0), Typed(boolean, (same,))))
    matching = _bits(low, _matching(low, value, args.name), lanes).value
    everyone = _bits(low, low.builder.call(low.unit.intrinsic("weft.active"), ()), lanes).value
    same = low.builder.icmp("eq", matching, everyone)
    found = low.builder.select(same, everyone, const_int(0, I32))
    return TupleValue((Typed(uint32, (found,), low=0), Typed(boolean, (same,))))
