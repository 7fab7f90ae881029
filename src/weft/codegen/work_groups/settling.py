"""Lanes that did not arrive at a barrier together with the others of their lane group.

Lanes that arrived wait, the others run on alone, from behind the barrier under the masks that they have there. Those
that return no longer count; if one of them arrives at another barrier while some wait, the barrier is divergent (as the
interpreter has it, `weft.interp.threads.waiting`). While they run they use the lane group's frame, so what waits is set
aside meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.codegen.work_groups.continuations import DIVERGED, LEFT, LaneContinuation
from weft.codegen.work_groups.divergence_report import report_divergence
from weft.ir import Builder, ConstInt, Function, Module, Value
from weft.ir.types import I1, I8, I32, I64, VOID, FunctionType, pointer
from weft.transform.splitting.barriers import FINISHED
from weft.transform.splitting.continuations import ARRIVED, frame_arguments


def build_settle(module: Module, name: str, parts: Sequence[LaneContinuation], frame_bytes: int) -> Function:
    """Add ``i32 name(continuation's parameters..., ptr aside, i64 live, i32 at, ptr error, i64 group)``.

    Lanes have arrived at barrier `at` (the votes record says which), and not all of `live`. It returns the barrier that
    the lanes which it leaves unfinished in the votes record have arrived at, `FINISHED`, or `DIVERGED`. Its blocks are
    one machine of states whose φs lead to each other, which is why they are built in one place.
    """
    first = parts[0].full
    extra = (pointer(), I64, I32, pointer(), I64)
    names = (*(a.name for a in first.args), "aside", "live", "at", "error", "group")
    function = module.add_function(Function(name, FunctionType(I32, (*first.fn_type.params, *extra)), names))
    function.linkage.linkage = "internal"
    function.attributes = ("nounwind", "noinline")
    arguments: list[Value] = list(function.args[: len(first.args)])
    frame, votes, *_ = frame_arguments(function)
    aside, live, at, error, group = function.args[-5:]
    zero, none = ConstInt(I64, 0), ConstInt(I32, FINISHED)

    entry, arrive, wait, set_aside, go, clash, back, restore, done = (
        function.add_block(n)
        for n in ("entry", "arrive", "wait", "set.aside", "go", "clash", "back", "restore", "done")
    )
    Builder(entry).br(arrive)
    builder = Builder(arrive)
    barrier, rest, waiting, waiting_at = (
        builder.phi(t, n) for t, n in ((I32, "barrier"), (I64, "rest"), (I64, "waiting"), (I32, "waiting.at"))
    )
    arrived = builder.load(I64, builder.gep(I8, votes, (ConstInt(I64, ARRIVED),), ("inbounds",)), align=8)
    some = function.add_block("some", after=arrive)
    builder.cond_br(builder.icmp("eq", arrived, zero), go, some)
    builder.at_end(some)
    builder.cond_br(builder.icmp("eq", waiting, zero), wait, clash)

    builder.at_end(clash)
    report_divergence(builder, error, group, waiting_at, barrier)
    builder.ret(ConstInt(I32, DIVERGED))

    builder.at_end(wait)
    others = builder.binary("and", rest, builder.binary("xor", arrived, ConstInt(I64, -1)))
    builder.cond_br(builder.icmp("eq", others, zero), done, set_aside)
    builder.at_end(set_aside)
    _copy(module, builder, aside, frame, frame_bytes)
    builder.br(go)

    builder.at_end(go)
    going, going_waiting, going_at = (
        builder.phi(t, n) for t, n in ((I64, "going"), (I64, "left.waiting"), (I32, "left.at"))
    )
    for block, values in ((arrive, (rest, waiting, waiting_at)), (set_aside, (others, arrived, barrier))):
        for phi, value in zip((going, going_waiting, going_at), values, strict=True):
            phi.add_incoming(value, block)
    unknown = function.add_block("unreachable")
    Builder(unknown).unreachable()
    cases = [function.add_block(f"continuation.{k}") for k in range(1, len(parts))]
    builder.switch(barrier, unknown, list(enumerate(cases, 1)))
    builder.at_end(back)
    reached = builder.phi(I32, "reached")
    builder.cond_br(builder.icmp("eq", reached, none), restore, arrive)
    for case, part in zip(cases, parts[1:], strict=True):
        assert part.masked is not None
        builder.at_end(case)
        reached.add_incoming(builder.call(part.masked, [*arguments, going]), case)
        builder.br(back)
    for phi, initial, later in (
        (barrier, at, reached),
        (rest, live, going),
        (waiting, zero, going_waiting),
        (waiting_at, none, going_at),
    ):
        phi.add_incoming(initial, entry)
        phi.add_incoming(later, back)

    builder.at_end(restore)
    taken_back = function.add_block("taken.back", after=restore)
    builder.cond_br(builder.icmp("eq", going_waiting, zero), done, taken_back)
    builder.at_end(taken_back)
    _copy(module, builder, frame, aside, frame_bytes)
    builder.br(done)

    builder.at_end(done)
    left, left_at = builder.phi(I64, "left"), builder.phi(I32, "left.at")
    for block, lanes, where in (
        (wait, arrived, barrier),
        (restore, zero, none),
        (taken_back, going_waiting, going_at),
    ):
        left.add_incoming(lanes, block)
        left_at.add_incoming(where, block)
    builder.store(left, builder.gep(I8, votes, (ConstInt(I64, LEFT),), ("inbounds",)), align=8)
    builder.ret(left_at)
    return function


def _copy(module: Module, builder: Builder, to: Value, source: Value, size: int) -> None:
    name, params = "llvm.memcpy.p0.p0.i64", (pointer(), pointer(), I64, I1)
    callee = module.declare(name, FunctionType(VOID, params))
    if size:
        builder.call(callee, (to, source, ConstInt(I64, size), ConstInt(I1, 0)))
