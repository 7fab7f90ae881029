"""Calls: LLVM intrinsics by their vector form, defined functions vectorized, math from a library, or lane by lane."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from weft.codegen.widen.active_lane import of_an_active_lane
from weft.codegen.widen.context import Widening
from weft.codegen.widen.declared_calls import widen_declared_call
from weft.codegen.widen.in_lanes import for_each_lane
from weft.codegen.widen.indirect_calls import known_targets, widen_indirect_call
from weft.codegen.widen.intrinsics import is_hint, widen_intrinsic
from weft.codegen.widen.lane_loop import for_each_active_lane
from weft.codegen.widen.once import build_once
from weft.codegen.widen.representation import depends_on_arguments_only
from weft.codegen.widen.simd_calls import SimdFunction, call_simd, signature_of_call
from weft.costs.lane_turns import MOST_WRITTEN_OUT
from weft.diag.errors import UnsupportedError
from weft.ir import ConstFloat, ConstInt, Function, Instruction, Poison, Value
from weft.ir.constants import InlineAsm
from weft.ir.intrinsics import is_lane_operation
from weft.ir.locations import span_of
from weft.ir.types import I32, FloatType, FunctionType, VectorType
from weft.machine.vecmath import math_function, ordinary_argument


class VectorMathFunction(Struct, frozen=True):
    """A vector function that code may call.

    Parameters
    ----------
    symbol, lanes
        What is called with so many lanes.
    ulp
        The largest error in units in the last place.
    takes_any
        All arguments cost the same, so those of passive lanes are left as they are.
    inline
        Whether it may become part of the code that calls it, if the module defines it.
    approximate
        The symbol for calls that may be approximate, if that is another one; it takes any arguments.
    masked
        The symbol for calls under a mask, if there is one, which takes it, too: an integer of 32 bits for each lane.
    """

    symbol: str
    lanes: int
    ulp: float
    takes_any: bool = False
    inline: bool = True
    approximate: str | None = None
    masked: str | None = None


FindMath = Callable[[str, int], VectorMathFunction | None]
"""Looks up the vector function for a scalar callee, with at most so many lanes."""


def called_seldom(find_math: FindMath) -> FindMath:
    """The same functions for code that runs seldom and should be short: none is inlined, none told of masks."""

    def find(callee: str, lanes: int) -> VectorMathFunction | None:
        found = find_math(callee, lanes)
        return found and replace(found, inline=False, masked=None)

    return find


def widen_call(w: Widening, call: Instruction, find_math: FindMath) -> None:
    """Widen any call but those of weft's lane intrinsics."""
    name = call.callee_name or ""
    if is_hint(name):
        return
    if call in w.kept and depends_on_arguments_only(call) and all(map(w.is_scalar, call.args)):
        _call_once(w, call)
    elif name.startswith("llvm.") and widen_intrinsic(w, call):
        return
    elif (simd := _simd_version(w, call)) is not None:
        call_simd(w, call, simd)
    elif widen_declared_call(w, call):
        return
    elif (math := find_math(name, w.lanes.width)) is not None:
        _call_math(w, call, math)
    elif isinstance(call.callee, Function | InlineAsm):
        _require_no_warp_operations(call.callee)
        w.remark(call, "lane by lane")
        _call_each(w, call)
        if call in w.kept:
            w.set_scalar(call, of_an_active_lane(w, call))
    else:
        _call_indirectly(w, call)


def _simd_version(w: Widening, call: Instruction) -> SimdFunction | None:
    callee = call.callee
    if not isinstance(callee, Function) or not callee.blocks:
        return None
    return w.find_simd(callee, signature_of_call(w, call))


def _call_indirectly(w: Widening, call: Instruction) -> None:
    targets = known_targets(w, call)
    if widen_indirect_call(w, call, targets):
        w.remark(call, "target by target")
        return
    for target in targets:
        _require_no_warp_operations(target)
    w.remark(call, "lane by lane")


def _require_no_warp_operations(called: Value) -> None:
    """Raise an error when the called function asks other lanes: it cannot run for one lane after the other."""
    seen: set[Function] = set()
    work = [called]
    while work:
        function = work.pop()
        if not isinstance(function, Function) or function in seen:
            continue
        seen.add(function)
        for instruction in function.instructions():
            if is_lane_operation(instruction.callee_name):
                raise UnsupportedError(
                    f"{function.name} uses warp operations and cannot be called for all lanes at once",
                    span_of(instruction),
                )
            if instruction.op == "call":
                work.append(instruction.callee)


def _call_once(w: Widening, call: Instruction) -> None:
    """Call with the arguments that all active lanes have; not at all where there is no active lane."""
    args = [w.scalar(a) for a in call.args]
    if _runs_anywhere(call):
        w.set_scalar(call, _scalar_call(w, call, args))
    else:
        w.set_scalar(call, build_once(w, "once", lambda: _scalar_call(w, call, args)))


def _runs_anywhere(call: Instruction) -> bool:
    """Whether the call does no harm whatever its arguments are."""
    callee = call.callee
    if not isinstance(callee, Function):
        return False
    return callee.name.startswith("llvm.") or "speculatable" in callee.attributes


def _scalar_call(w: Widening, call: Instruction, args: list[Value]) -> Instruction:
    copy = Instruction(
        "call",
        call.type,
        [*args, call.callee],
        flags=call.flags,
        attrs=call.attrs,
        name=call.name,
        loc=call.loc,
    )
    return w.builder.insert(copy)


def _call_math(w: Widening, call: Instruction, math: VectorMathFunction) -> None:
    """Call the library on parts as wide as it takes; passive lanes cost no slow path.

    A function of weft's own is told which they are. One of a library gets a number for them that is ordinary, and so
    waits for the mask: in a loop that lanes leave by what they compute, for all of the iteration before.
    """
    builder, width, lanes = w.builder, w.lanes.width, math.lanes
    element = call.type
    assert isinstance(element, FloatType)
    args = [w.vector(a) for a in call.args]
    approximate = math.approximate if {"fast", "afn"} & set(call.flags) else None
    symbol = approximate or math.symbol
    if w.mask is None or math.takes_any or approximate:
        pass
    elif math.masked is not None:
        symbol = math.masked
        args.append(builder.select(w.mask, w.lanes.splat(ConstInt(I32, -1)), w.lanes.splat(ConstInt(I32, 0))))
    else:
        known = math_function(call.callee_name or "")
        harmless = w.lanes.splat(ConstFloat.of(element, ordinary_argument(known[0] if known else "")))
        args = [builder.select(w.mask, a, harmless) for a in args]
    part = VectorType(element, lanes)
    taken = [VectorType(a.type.scalar, lanes) for a in args]
    callee = w.module.declare(
        symbol,
        FunctionType(part, tuple(taken)),
        ("nounwind", "willreturn", "memory(none)"),
    )
    parts: list[Value] = []
    for start in range(0, width, lanes):
        pieces = args
        if lanes != width:
            # A part beyond the last lane repeats it; a width below the library's is padded.
            mask = [min(start + i, width - 1) for i in range(lanes)]
            pieces = [builder.shuffle(a, Poison(a.type), mask) for a in args]
        built = builder.call(callee, pieces)
        built.loc = call.loc
        if not math.inline:
            built.attrs["fn_attrs"] = ("noinline",)
        parts.append(built)
    w.set_vector(call, _joined(w, parts, lanes))


def _joined(w: Widening, parts: list[Value], lanes: int) -> Value:
    """The parts one after the other, cut to the width."""
    builder, width = w.builder, w.lanes.width
    while len(parts) > 1:
        merged: list[Value] = []
        for a, b in zip(parts[::2], parts[1::2], strict=False):
            merged.append(builder.shuffle(a, b, list(range(2 * lanes))))
        parts, lanes = [*merged, *parts[len(merged) * 2 :]], lanes * 2
    result = parts[0]
    assert isinstance(result.type, VectorType)
    if result.type.count != width:
        result = builder.shuffle(result, Poison(result.type), list(range(width)))
    return result


def _call_each(w: Widening, call: Instruction) -> None:
    """Call the scalar function for each active lane in turn."""

    def body(here: list[Value]) -> Value:
        copy = Instruction("call", call.type, [*here, call.callee], attrs=call.attrs, loc=call.loc)
        return w.builder.insert(copy)

    result = for_each_active_lane(w, call.type, call.args, body)
    if result is not None:
        w.set_vector(call, result)


def widen_lane_by_lane(w: Widening, instruction: Instruction) -> None:
    """Run an instruction with effects (atomic, volatile) for each active lane in turn."""

    def body(here: list[Value]) -> Value:
        copy = Instruction(
            instruction.op, instruction.type, here, flags=instruction.flags, attrs=instruction.attrs,
            loc=instruction.loc,
        )  # fmt: skip
        return w.builder.insert(copy)

    if w.mask is None and w.lanes.width <= MOST_WRITTEN_OUT:
        result = for_each_lane(w, instruction.type, instruction.operands, body)
    else:
        result = for_each_active_lane(w, instruction.type, instruction.operands, body)
    if result is not None:
        w.set_vector(instruction, result)
