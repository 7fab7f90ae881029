"""The SIMD versions of functions that a program asks for with OpenMP's ``declare simd``."""

from __future__ import annotations

from msgspec import Struct, field

from weft.analysis.divergence.operands import Operands
from weft.analysis.shapes import Shape, domain_named
from weft.codegen.simd_functions.declared_simd import declared_variants, variant_type
from weft.diag.errors import UnsupportedError
from weft.diag.remarks import RemarkKind, RemarkLog
from weft.ir import Builder, Function, Module, Value
from weft.ir.constants import ConstZero
from weft.ir.types import I1, IntType, VectorType
from weft.ir.verifier import verify
from weft.machine.targets import Isa
from weft.machine.vector_abi import Variant
from weft.options import checking
from weft.passes.foreign import WHOLE_FUNCTION
from weft.passes.foreign_unit import ForeignFunctionUnit, ForeignUnit
from weft.passes.machine_text import machine_text
from weft.passes.runner import Runner
from weft.passes.stages import StageLog, log_of
from weft.target.vector_math import MathSymbol
from weft.transform.foreign.inline_marks import LOCAL
from weft.transform.groups.single_lane import run_single_lane


class DeclaredVariants(Struct):
    """The versions that were made, what was decided, vector math functions that they call, and the module's text."""

    made: list[Function] = field(default_factory=list)
    remarks: RemarkLog = field(default_factory=RemarkLog)
    math: dict[str, MathSymbol] = field(default_factory=dict)
    text: str = ""


def add_declared_variants(program: ForeignUnit) -> DeclaredVariants:
    """Add to a module the versions that its functions' attributes name; what cannot be made leaves a remark.

    Parameters
    ----------
    program
        The module, in canonical form, and how it is compiled.
    """
    module, found = program.module, DeclaredVariants()
    checks: list[tuple[ForeignFunctionUnit, StageLog]] = []
    for function in list(module.definitions()):
        if function.linkage.linkage in LOCAL:
            continue
        for variant in declared_variants(function, program.isa):
            try:
                unit = _unit(program, function, variant, found)
                log = log_of(unit, unit.runner)
                unit.runner.run((WHOLE_FUNCTION,), unit)
                made = unit.simd
                found.made.append(
                    _behind_mask(module, function, variant, made, program.isa) if variant.masked else made
                )
                checks.append((unit, log))
            except UnsupportedError as error:
                message = f"{variant.symbol} is not made: {error.message}"
                found.remarks.add(RemarkKind.MISSED, message, error.span, error.hint, "declare simd")
    for function in module.definitions():
        run_single_lane(function)
    verify(module)
    found.text = machine_text(module, program.isa)
    for unit, log in checks if checking() else ():
        from weft.check.foreign import check_lanes

        check_lanes(unit, unit.function, found.text, log.stages)
    return found


def _unit(
    program: ForeignUnit, function: Function, variant: Variant, found: DeclaredVariants
) -> ForeignFunctionUnit:
    module, runner = program.module, Runner(left_out=program.runner.left_out, strict=program.runner.strict)
    return ForeignFunctionUnit(
        module, function.name, program.spec, program.isa, variant.lanes, program.boscc, runner, program.switches,
        remarks=found.remarks, math=found.math, shapes=_shapes(module, function, variant),
        simd_name=f"{variant.symbol}.lanes" if variant.masked else variant.symbol, masked=variant.masked,
        scalar_result=False, subject=variant.symbol,
    )  # fmt: skip


def _shapes(module: Module, function: Function, variant: Variant) -> dict[Value, Shape]:
    domain = domain_named("product", (variant.lanes,))
    operands = Operands(domain, module.layout)
    shapes: dict[Value, Shape] = {}
    for argument, parameter in zip(function.args, variant.parameters, strict=True):
        bits = operands.bits(argument.type)
        alignment = parameter.alignment if bits else 1
        if parameter.stride is None or not (bits or parameter.stride == 0):
            shapes[argument] = domain.varying(bits, alignment)
        elif parameter.stride == 0:
            shapes[argument] = domain.uniform(bits, alignment)
        else:
            shapes[argument] = domain.strided(parameter.stride, bits, alignment, exact=False)
    return shapes


def _behind_mask(module: Module, function: Function, variant: Variant, inner: Function, isa: Isa) -> Function:
    """The version with the mask as the ABI has it, which calls the one with a mask of truth values."""
    inner.linkage.linkage = "internal"
    inner.attributes = (*(a for a in inner.attributes if a != "noinline"), "alwaysinline")
    names = (*(a.name for a in function.args), "mask")
    outer = module.add_function(Function(variant.symbol, variant_type(function.fn_type, variant, isa), names))
    outer.attributes = ("nounwind",)
    builder = Builder(outer.add_block("entry"))
    *args, mask = outer.args
    truth: Value
    if isinstance(mask.type, VectorType):
        assert isinstance(mask.type.element, IntType)
        truth = builder.icmp("ne", mask, ConstZero(mask.type))
    else:
        bits = IntType(variant.lanes)
        narrow = mask if mask.type == bits else builder.cast("trunc", mask, bits)
        truth = builder.cast("bitcast", narrow, VectorType(I1, variant.lanes))
    result = builder.call(inner, [*args, truth])
    builder.ret(None if result.type.is_void else result)
    return outer
