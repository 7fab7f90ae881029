"""What threads do together: barriers of the work-group, votes, shuffles and matches of warps of 32.

A membermask says which threads take part. As in all of weft, the active threads of a warp run in lock step, so an
operation is of those that are active and in the mask, and waits for nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from weft.ir import ConstInt, Value
from weft.ir.constants import FALSE, TRUE, ConstNull
from weft.ir.intrinsics import ARRIVE, BARRIER_NUMBERS, SOME
from weft.ir.types import I32, I64, PTR
from weft.ptx import syntax
from weft.ptx.lift.body import Body
from weft.ptx.lift.calls import fail
from weft.ptx.lift.control import end
from weft.ptx.lift.device_runtime import constant_text
from weft.ptx.lift.integers import Operation
from weft.ptx.lift.special_registers import WARP, lane, threads
from weft.ptx.lift.types import Form, bits_of

_FULL = 0xFFFFFFFF


def _member(body: Body, mask: Value) -> Value:
    """Whether this thread is in a mask."""
    if isinstance(mask, ConstInt) and mask.value == _FULL:
        return TRUE
    bit = body.builder.binary("and", body.builder.binary("lshr", mask, lane(body)), ConstInt(I32, 1))
    return body.builder.icmp("ne", bit, ConstInt(I32, 0))


def _lanes(body: Body, bits: Value) -> Value:
    return body.builder.cast("trunc", bits, I32)


def _vote(body: Body, i: syntax.Instruction) -> None:
    """A vote of those that a mask names; tiles of a warp, each with its mask, vote for themselves."""
    form = Form.of(i)
    source = body.read(i.operands[1], "pred")
    mask = body.read(i.operands[2], "b32") if "sync" in form.words else ConstInt(I32, _FULL)
    if "ballot" in form.words:
        body.write(i.operands[0], _ballot(body, source, mask), "b32")
        return
    if "any" in form.words:
        value = _any(body, source, mask)
    elif "all" in form.words:
        value = _all(body, source, mask)
    else:
        value = body.builder.icmp("eq", _any(body, source, mask), _all(body, source, mask))
    body.write(i.operands[0], value, "pred")


def _ballot(body: Body, source: Value, mask: Value) -> Value:
    return body.builder.binary("and", _lanes(body, body.ask("weft.ballot", source)), mask)


def _any(body: Body, source: Value, mask: Value) -> Value:
    if isinstance(mask, ConstInt):
        return body.ask("weft.any", body.builder.select(_member(body, mask), source, FALSE))
    return body.builder.icmp("ne", _ballot(body, source, mask), ConstInt(I32, 0))


def _all(body: Body, source: Value, mask: Value) -> Value:
    builder = body.builder
    if isinstance(mask, ConstInt):
        return body.ask("weft.all", builder.select(_member(body, mask), source, TRUE))
    return builder.icmp("eq", _ballot(body, builder.binary("xor", source, TRUE), mask), ConstInt(I32, 0))


def _activemask(body: Body, i: syntax.Instruction) -> None:
    body.write(i.operands[0], _lanes(body, body.ask("weft.active")), "b32")


def _shfl(body: Body, i: syntax.Instruction) -> None:
    """A value of another lane of a segment, the own one where that is outside of it.

    What is read from a lane that is not there is not defined. It is 0: programs that work on GPUs rely on that, as the
    last step of a reduction in which only the first lanes take part, and each adds what it reads from all others.
    """
    form, builder = Form.of(i), body.builder
    value, by, clamps = (
        body.read(i.operands[1], "b32"),
        body.read(i.operands[2], "b32"),
        body.read(i.operands[3], "b32"),
    )
    own = lane(body)
    segment = builder.binary("and", builder.binary("lshr", clamps, ConstInt(I32, 8)), ConstInt(I32, 31))
    clamp = builder.binary("and", clamps, ConstInt(I32, 31))
    by = builder.binary("and", by, ConstInt(I32, 31))
    inverse = builder.binary("xor", segment, ConstInt(I32, -1))
    first = builder.binary("and", own, segment)
    last = builder.binary("or", first, builder.binary("and", clamp, inverse))
    mode = form.one_of("up", "down", "bfly", "idx")
    if mode == "idx":
        other: Value = builder.binary("or", first, builder.binary("and", by, inverse))
    else:
        other = builder.binary({"up": "sub", "down": "add", "bfly": "xor"}[mode], own, by)
    inside = builder.icmp("sge" if mode == "up" else "sle", other, last)
    other = builder.select(inside, other, own)
    there = builder.binary(
        "and", builder.binary("lshr", _lanes(body, body.ask("weft.active")), other), ConstInt(I32, 1)
    )
    moved = body.ask("weft.shfl.idx.i32", value, other)
    moved = builder.select(builder.icmp("ne", there, ConstInt(I32, 0)), moved, ConstInt(I32, 0))
    target = i.operands[0]
    if isinstance(target, syntax.Pair):
        body.write(target.second, inside, "pred")
        target = target.first
    body.write(target, moved, "b32")


def _match(body: Body, i: syntax.Instruction) -> None:
    form, builder = Form.of(i), body.builder
    value = body.resized(body.read(i.operands[1], form.type), I64, signed=False)
    mask = body.read(i.operands[2], "b32")
    same = builder.binary("and", _lanes(body, body.ask("weft.match.any.i64", value)), mask)
    target = i.operands[0]
    if "any" in form.words:
        body.write(target, same, "b32")
        return
    active = builder.binary("and", _lanes(body, body.ask("weft.active")), mask)
    agreed = builder.icmp("eq", same, active)
    if isinstance(target, syntax.Pair):
        body.write(target.second, agreed, "pred")
        target = target.first
    body.write(target, builder.select(agreed, active, ConstInt(I32, 0)), "b32")


def _elect(body: Body, i: syntax.Instruction) -> None:
    """The first of the active lanes of a mask."""
    mask = body.read(i.operands[1], "b32")
    builder = body.builder
    active = builder.binary("and", _lanes(body, body.ask("weft.active")), mask)
    first = body.compute("llvm.cttz.i32", I32, active, FALSE)
    target = i.operands[0]
    assert isinstance(target, syntax.Pair)
    body.write(target.first, first, "b32")
    body.write(target.second, builder.icmp("eq", first, lane(body)), "pred")


_NEUTRAL = {
    "add": 0,
    "or": 0,
    "xor": 0,
    "umax": 0,
    "and": -1,
    "umin": -1,
    "smin": 2**31 - 1,
    "smax": -(2**31),
}


def _redux(body: Body, i: syntax.Instruction) -> None:
    """A reduction over the active lanes of a mask, by five exchanges."""
    form, builder = Form.of(i), body.builder
    if bits_of(form.type) != 32 or form.type == "f32":
        body.refuse(i)
    op = form.one_of("add", "and", "or", "xor", "min", "max")
    if op in ("min", "max"):
        op = f"{'s' if form.type == 's32' else 'u'}{op}"
    value, mask = body.read(i.operands[1], form.type), body.read(i.operands[2], "b32")
    neutral = ConstInt(I32, _NEUTRAL[op])
    active = builder.binary("and", _lanes(body, body.ask("weft.active")), mask)
    value = builder.select(_member(body, mask), value, neutral)
    total: Value = neutral
    for k in range(32):
        is_there = builder.icmp("ne", builder.binary("and", active, ConstInt(I32, 1 << k)), ConstInt(I32, 0))
        other = body.ask("weft.shfl.idx.i32", value, ConstInt(I32, k))
        other = builder.select(is_there, other, neutral)
        total = (
            body.of(f"llvm.{op}", total, other)
            if op[1:] in ("min", "max")
            else builder.binary(op, total, other)
        )
    body.write(i.operands[0], total, form.type)


def _bar(body: Body, i: syntax.Instruction) -> None:
    form = Form.of(i)
    if "warp" in form.words:
        body.ask("weft.warp.sync")
    elif "cluster" in form.words:
        # Every block is a cluster of its own: who arrives has nobody to wait for but its block.
        if "wait" in form.words:
            body.ask("weft.barrier")
    elif "red" in form.words:
        _bar_red(body, i, form)
    elif body.numbered:
        _bar_numbered(body, i, "arrive" in form.words)
    else:
        _require_everybody(body, i, i.operands[1:])
        body.ask("weft.barrier")


def has_numbered_barriers(functions: Sequence[syntax.Function]) -> bool:
    """Whether warps may wait at a barrier of a kernel while others go on, as far as `.reqntid` does not say otherwise.

    Where they vote, too, barriers with a number of threads have to be for all of them.
    """
    barriers = [i for f in functions for i in f.instructions() if i.opcode in ("bar", "barrier")]
    if any("arrive" in i.modifiers and "cluster" not in i.modifiers for i in barriers):
        return True
    if any("red" in i.modifiers for i in barriers):
        return False
    kernel = functions[0]
    return any(
        "sync" in i.modifiers and _is_for_some(kernel, i) for i in barriers if "warp" not in i.modifiers
    )


def _is_for_some(kernel: syntax.Function, i: syntax.Instruction) -> bool:
    """Whether a barrier may wait for a part of the block."""
    return len(i.operands) > 1 and not _is_whole(kernel, i.operands[1])


def _is_whole(kernel: syntax.Function, count: syntax.Operand) -> bool:
    """Whether a number of threads is known to be that of the block, warps counted as whole."""
    size = kernel.directive("reqntid")
    if size is None or not isinstance(count, syntax.Integer):
        return False
    return count.value == -(-prod(int(extent) for extent in size.values) // WARP) * WARP


def _bar_numbered(body: Body, i: syntax.Instruction, arrives: bool) -> None:
    """A barrier with a number, for as many threads as it says or for all."""
    number, *counts = (body.read(operand, "u32") for operand in i.operands)
    _require(body, i, number, "ult", BARRIER_NUMBERS, "barriers have the numbers 0 to 15")
    if counts:
        warps = body.builder.binary("urem", counts[0], ConstInt(I32, WARP))
        _require(body, i, warps, "eq", 0, "a barrier waits for whole warps, a multiple of 32 threads")
        _require(body, i, counts[0], "ne", 0, "a barrier waits for whole warps, a multiple of 32 threads")
    body.ask(ARRIVE if arrives else SOME, number, *(counts or [ConstInt(I32, 0)]))


def _require(body: Body, i: syntax.Instruction, value: Value, predicate: str, other: int, text: str) -> None:
    """Let the launch fail where a number is none that an instruction takes."""
    builder = body.builder
    wrong = builder.binary("xor", builder.icmp(predicate, value, ConstInt(I32, other)), TRUE)
    going_on = body.under(wrong)
    fail(body, constant_text(body.module, f"{i.name}: {text}"), ConstNull(PTR), ConstInt(I32, i.line))
    end(body)
    builder.at_end(going_on)


def _bar_red(body: Body, i: syntax.Instruction, form: Form) -> None:
    if body.numbered:
        body.refuse(
            i, "votes in a kernel in which threads arrive at barriers without waiting",
            "let all threads wait: bar.sync",
        )  # fmt: skip
    target, _, *counts, source = i.operands
    _require_everybody(body, i, counts)
    test = body.read(source, "pred")
    if "popc" in form.words:
        body.write(target, body.ask("weft.barrier.count", test), "u32")
        return
    answer = body.ask("weft.barrier.and" if "and" in form.words else "weft.barrier.or", test)
    body.write(target, body.builder.icmp("ne", answer, ConstInt(I32, 0)), "pred")


def _require_everybody(body: Body, i: syntax.Instruction, counts: Sequence[syntax.Operand]) -> None:
    """See that a barrier with a number of threads waits for all of a block, warps counted as whole.

    What `.reqntid` says is compared at once, else the launch fails where the number is another one.
    """
    if not counts or _is_whole(body.source, counts[0]):
        return
    if body.source.directive("reqntid") is not None and isinstance(counts[0], syntax.Integer):
        body.refuse(
            i, "waits for some threads of the block, in a kernel in which threads vote",
            "let all threads wait",
        )  # fmt: skip
    builder = body.builder
    warps = builder.binary(
        "lshr", builder.binary("add", threads(body), ConstInt(I32, WARP - 1)), ConstInt(I32, 5)
    )
    everybody = builder.binary("shl", warps, ConstInt(I32, 5))
    other = builder.icmp("ne", body.read(counts[0], "u32"), everybody)
    going_on = body.under(other)
    text = (
        f"{i.name} waits for another number of threads than the block has, in a kernel in which threads vote"
    )
    fail(body, constant_text(body.module, text), ConstNull(PTR), ConstInt(I32, i.line))
    end(body)
    builder.at_end(going_on)


WARPS: dict[str, Operation] = {
    "vote": _vote,
    "activemask": _activemask,
    "shfl": _shfl,
    "match": _match,
    "elect": _elect,
    "redux": _redux,
    "bar": _bar,
    "barrier": _bar,
}
"""What these opcodes mean."""
