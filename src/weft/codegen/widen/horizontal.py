"""Horizontal operations: they read the active lanes of the whole group (Moll, §3.5)."""

from __future__ import annotations

from collections.abc import Callable

from weft.codegen.widen.active_lane import of_an_active_lane
from weft.codegen.widen.compact import widen_compact
from weft.codegen.widen.context import Widening, any_lane, mask_bits
from weft.codegen.widen.prefixes import widen_prefix
from weft.codegen.widen.scalar_votes import scalar_vote
from weft.codegen.widen.shuffles import widen_extract, widen_match, widen_shuffle
from weft.diag.errors import UnsupportedError
from weft.ir import FALSE, TRUE, ConstInt, Instruction, Value
from weft.ir.intrinsics import FIRST, INTRINSICS, PREFIX
from weft.ir.locations import span_of
from weft.ir.types import I64, IntType


def widen_horizontal(w: Widening, call: Instruction) -> bool:
    """Widen a call of one of weft's lane intrinsics; False when the call is none."""
    handler = _HANDLERS.get(call.callee_name or "")
    if handler is None:
        return False
    handler(w, call)
    return True


def _active_and(w: Widening, condition: Value) -> Value:
    """The lanes that are active and for which `condition` holds; where that is poison, some do or not."""
    vector = w.builder.unary("freeze", w.vector(condition))
    return vector if w.mask is None else w.builder.select(w.mask, vector, w.lanes.splat(FALSE))


def _any(w: Widening, call: Instruction) -> None:
    found = scalar_vote(w, call.args[0], every=False, frozen=not call.total)
    w.set_scalar(call, any_lane(w.builder, _whole(w, call)) if found is None else found)


def _all(w: Widening, call: Instruction) -> None:
    found = scalar_vote(w, call.args[0], every=True, frozen=not call.total)
    if found is not None:
        w.set_scalar(call, found)
        return
    condition = w.vector(call.args[0])
    if not call.total:
        condition = w.builder.unary("freeze", condition)
        if w.mask is not None:
            condition = w.builder.select(w.mask, condition, w.lanes.splat(TRUE))
    bits = mask_bits(w.builder, condition)
    assert isinstance(bits.type, IntType)
    w.set_scalar(call, w.builder.icmp("eq", bits, ConstInt(bits.type, -1)))


def _whole(w: Widening, call: Instruction) -> Value:
    """The operand of a vote: of all lanes when the call is total."""
    return w.vector(call.args[0]) if call.total else _active_and(w, call.args[0])


def _bits64(w: Widening, mask: Value) -> Value:
    return _bits(w, mask, I64)


def _bits(w: Widening, mask: Value, type: IntType) -> Value:
    bits = mask_bits(w.builder, mask)
    return bits if w.lanes.width == type.bits else w.builder.cast("zext", bits, type)


def _ballot(w: Widening, call: Instruction) -> None:
    type = call.type
    assert isinstance(type, IntType)
    if w.lanes.width > type.bits:
        raise UnsupportedError(
            f"a ballot of {w.lanes.width} lanes does not fit {type.bits} bits", span_of(call),
            "declare it with a result of 64 bits, or use fewer lanes",
        )  # fmt: skip
    w.set_scalar(call, _bits(w, _whole(w, call), type))


def _popcount(w: Widening, call: Instruction) -> None:
    count = w.intrinsic("llvm.ctpop.i64", I64, (I64,))
    w.set_scalar(call, w.builder.call(count, (_bits64(w, _whole(w, call)),)))


def _active(w: Widening, call: Instruction) -> None:
    w.set_scalar(call, _bits64(w, w.active()))


def _mask(w: Widening, call: Instruction) -> None:
    if w.mask is None:
        w.set_scalar(call, TRUE)
    w.set_vector(call, w.active())


def _first(w: Widening, call: Instruction) -> None:
    own = call.args[0]
    w.set_scalar(call, w.scalar(own) if w.is_uniform(own) else of_an_active_lane(w, own))


def _lane_id(w: Widening, call: Instruction) -> None:
    type = call.type
    assert isinstance(type, IntType)
    w.set_scalar(call, ConstInt(type, 0))
    w.set_vector(call, w.lanes.constant(type, list(range(w.lanes.width))))


def _lane_coordinate(w: Widening, call: Instruction) -> None:
    type, dimension = call.type, call.args[0]
    assert isinstance(type, IntType) and isinstance(dimension, ConstInt)
    along, lanes = dimension.value, range(w.lanes.width)
    inside = along < len(w.lanes.extents)
    w.set_scalar(call, ConstInt(type, 0))
    w.set_vector(call, w.lanes.constant(type, [w.lanes.coordinate(t, along) if inside else 0 for t in lanes]))


def _num_lanes(w: Widening, call: Instruction) -> None:
    type = call.type
    assert isinstance(type, IntType)
    w.set_scalar(call, ConstInt(type, w.lanes.width))


_HANDLERS: dict[str, Callable[[Widening, Instruction], None]] = {
    "weft.any": _any,
    "weft.all": _all,
    "weft.ballot": _ballot,
    "weft.ballot.i32": _ballot,
    "weft.popcount": _popcount,
    "weft.active": _active,
    "weft.mask": _mask,
    "weft.lane.id": _lane_id,
    "weft.lane.coordinate": _lane_coordinate,
    "weft.num.lanes": _num_lanes,
    FIRST: _first,
    "weft.shfl.idx.i32": widen_shuffle,
    "weft.shfl.idx.i64": widen_shuffle,
    "weft.extract.i32": widen_extract,
    "weft.extract.i64": widen_extract,
    "weft.compact.i32": widen_compact,
    "weft.compact.i64": widen_compact,
    "weft.match.any.i64": widen_match,
    **{name: widen_prefix for name in INTRINSICS if name.startswith(PREFIX)},
    "weft.warp.sync": lambda w, call: None,
}
