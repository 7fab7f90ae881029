"""SIMD versions that a program says there are: OpenMP's ``declare simd``, of which clang leaves names as attributes.

A function ``float f(float)`` under ``#pragma omp declare simd`` has the attributes ``"_ZGVbN4v_f"``, ``"_ZGVeN16v_f"``
and so on: where it is defined these versions are to be made, and where it is declared they exist elsewhere.
"""

from __future__ import annotations

from weft.codegen.simd_functions.simd_signature import SimdSignature, fits
from weft.ir import Function
from weft.ir.types import I32, I64, FloatType, FunctionType, IntType, PointerType, Type, VectorType
from weft.machine.targets import AVX512, Isa
from weft.machine.vector_abi import Variant, variants_for


def declared_variants(function: Function, isa: Isa) -> list[Variant]:
    """The versions for an instruction set that the attributes of a function name."""
    if function.fn_type.vararg or not fits([*function.fn_type.params, function.fn_type.result]):
        return []
    suffix = f"_{function.name}"
    names = [a.strip('"') for a in function.attributes if a.startswith('"_ZGV') and a.endswith(f'{suffix}"')]
    found = variants_for(names, isa)
    return [v for v in found if len(v.parameters) == len(function.args) and _mask_fits(function, v, isa)]


def _mask_fits(function: Function, variant: Variant, isa: Isa) -> bool:
    if not variant.masked:
        return True
    type = mask_type(function.fn_type, variant, isa)
    return isa.arch == "x86_64" and not (isinstance(type, IntType) and type.bits < variant.lanes)


def mask_type(scalar: FunctionType, variant: Variant, isa: Isa) -> Type:
    """How a version takes its mask: with AVX-512 as bits of a number, else as integers as wide as what it works on."""
    varying = [t for t, p in zip(scalar.params, variant.parameters, strict=True) if p.stride is None]
    bits = _bits(scalar.result if not scalar.result.is_void else varying[0] if varying else I32)
    if isa.name == AVX512.name:
        return I64 if bits == 8 else I32
    return VectorType(IntType(bits), variant.lanes)


def _bits(type: Type) -> int:
    if isinstance(type, PointerType):
        return 64
    assert isinstance(type, IntType | FloatType)
    return type.bits


def variant_type(scalar: FunctionType, variant: Variant, isa: Isa) -> FunctionType:
    """The type of a version of a function of type `scalar`."""
    signature = SimdSignature(variant.lanes, tuple(p.stride for p in variant.parameters), masked=False)
    plain = signature.function_type(scalar, uniform_result=False)
    masks = (mask_type(scalar, variant, isa),) if variant.masked else ()
    return FunctionType(plain.result, (*plain.params, *masks))


def serves(variant: Variant, signature: SimdSignature) -> bool:
    """Whether a version can be called with arguments of these shapes, by parts of the lanes."""
    return signature.lanes % variant.lanes == 0 and all(
        p.stride is None or p.stride == step
        for p, step in zip(variant.parameters, signature.steps, strict=True)
    )
