"""Calls of functions without a body whose SIMD versions exist elsewhere (``declare simd``)."""

from __future__ import annotations

from weft.codegen.simd_functions.declared_simd import declared_variants, mask_type, serves, variant_type
from weft.codegen.widen.active_lane import of_an_active_lane
from weft.codegen.widen.context import Widening
from weft.codegen.widen.permute import in_parts
from weft.codegen.widen.simd_calls import signature_of_call
from weft.codegen.widen.vectors import concatenated
from weft.ir import ConstInt, Function, Instruction, Value
from weft.ir.effects import is_convergent, may_not_return, may_read, may_write
from weft.ir.types import I64, IntType, PointerType, VectorType
from weft.machine.vector_abi import Variant


def widen_declared_call(w: Widening, call: Instruction) -> bool:
    """Call the version that serves the call; False where there is none."""
    callee = call.callee
    if not isinstance(callee, Function) or callee.blocks:
        return False
    variant = _chosen(w, call, callee)
    if variant is None:
        return False
    builder, width, lanes = w.builder, w.lanes.width, variant.lanes
    simd = w.module.declare(variant.symbol, variant_type(callee.fn_type, variant, w.isa), ("nounwind",))
    mask = in_parts(builder, w.active(), width, lanes) if variant.masked else []
    vectors = {
        i: in_parts(builder, w.vector(a), width, lanes)
        for i, (a, p) in enumerate(zip(call.args, variant.parameters, strict=True))
        if p.stride is None
    }
    parts: list[Value] = []
    for number in range(width // lanes):
        args = [
            vectors[i][number] if p.stride is None else _later(w, w.scalar(a), p.stride * lanes * number)
            for i, (a, p) in enumerate(zip(call.args, variant.parameters, strict=True))
        ]
        if variant.masked:
            args.append(_mask(w, mask[number], callee, variant))
        result = builder.call(simd, args)
        result.loc = call.loc
        parts.append(result)
    if not call.type.is_void:
        w.set_vector(call, concatenated(builder, parts))
        if call in w.kept:
            w.set_scalar(call, of_an_active_lane(w, call))
    return True


def _chosen(w: Widening, call: Instruction, callee: Function) -> Variant | None:
    """Without a mask where every lane is active, or a call for one that is not does nothing; the widest of these."""
    signature = signature_of_call(w, call)
    harmless = not (may_read(call) or may_write(call) or may_not_return(call) or is_convergent(call))
    found = [v for v in declared_variants(callee, w.isa) if serves(v, signature)]
    plain = [v for v in found if not v.masked and (w.mask is None or harmless)]
    return max(plain or [v for v in found if v.masked], key=lambda v: v.lanes, default=None)


def _later(w: Widening, value: Value, distance: int) -> Value:
    """What a linear argument is so far behind lane 0."""
    if not distance:
        return value
    if isinstance(value.type, PointerType):
        return w.builder.gep(IntType(8), value, (ConstInt(I64, distance),))
    assert isinstance(value.type, IntType)
    return w.builder.binary("add", value, ConstInt(value.type, distance))


def _mask(w: Widening, mask: Value, callee: Function, variant: Variant) -> Value:
    type = mask_type(callee.fn_type, variant, w.isa)
    if isinstance(type, VectorType):
        return w.builder.cast("sext", mask, type)
    bits = w.builder.cast("bitcast", mask, IntType(variant.lanes))
    return bits if bits.type == type else w.builder.cast("zext", bits, type)
