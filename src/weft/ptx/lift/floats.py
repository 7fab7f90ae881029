"""Floating-point arithmetic: rounding, flushing of subnormals, saturation, minima, and functions.

Approximations (``.approx``, ``.full``) are computed as exactly as the type allows, which is within the error that PTX
states for them. Where PTX leaves rounding away (``add``, ``mul``), a compiler for GPUs may join a product and a sum;
here they are two operations, rounded to nearest each.
"""

from __future__ import annotations

from weft.ir import ConstFloat, ConstInt, ConstSplat, Value
from weft.ir.types import BF16, F64, I1, I32, FloatType, Type, VectorType, int_type
from weft.ptx.lift.body import Body
from weft.ptx.lift.integers import Operation
from weft.ptx.lift.known_floats import range_of
from weft.ptx.lift.rounding import (
    fused_bfloats,
    rounded_fma,
    rounded_ratio,
    rounded_root,
    rounded_sum,
    whole_below,
)
from weft.ptx.lift.types import Form, ir_type
from weft.ptx.syntax import Instruction

_DIRECTED = ("rz", "rm", "rp")


def float_constant(value: float, type: Type) -> Value:
    """A number, in each element of a vector."""
    if isinstance(type, VectorType):
        assert isinstance(type.element, FloatType)
        return ConstSplat(type, ConstFloat.of(type.element, value))
    assert isinstance(type, FloatType)
    return ConstFloat.of(type, value)


_LEAST_NORMAL = {"half": 2.0**-14, "bfloat": 2.0**-126, "float": 2.0**-126, "double": 2.0**-1022}


def flushed(body: Body, value: Value) -> Value:
    """`value`, or 0 of its sign where it is subnormal."""
    if value in body.normal:
        return value
    element = value.type.scalar
    assert isinstance(element, FloatType)
    least = float_constant(_LEAST_NORMAL[element.kind], value.type)
    small = body.builder.fcmp("olt", body.of("llvm.fabs", value), least)
    zero = body.of("llvm.copysign", float_constant(0.0, value.type), value)
    return body.builder.select(small, zero, value)


def operand(body: Body, i: Instruction, k: int, form: Form, type: str = "") -> Value:
    """An operand as a number; subnormal ones are 0 under ``.ftz``."""
    value = body.read(i.operands[k], type or form.type)
    return flushed(body, value) if "ftz" in form.words else value


def finish(body: Body, i: Instruction, form: Form, value: Value, type: str = "") -> None:
    """Flush and saturate as the instruction says, and write its result."""
    if "ftz" in form.words:
        value = flushed(body, value)
    if "sat" in form.words:
        value = saturated(body, value)
    if "relu" in form.words:
        value = _relu(body, value)
    body.write(i.operands[0], value, type or form.type)


def saturated(body: Body, value: Value) -> Value:
    """`value` between 0 and 1; 0 for NaN."""
    builder, zero, one = body.builder, float_constant(0.0, value.type), float_constant(1.0, value.type)
    value = builder.select(builder.fcmp("ogt", value, zero), value, zero)
    return builder.select(builder.fcmp("olt", value, one), value, one)


def _relu(body: Body, value: Value) -> Value:
    """`value`, 0 where it is negative; NaN stay (in PTX, as the canonical one)."""
    zero = float_constant(0.0, value.type)
    return body.builder.select(body.builder.fcmp("olt", value, zero), zero, value)


def _direction(form: Form) -> str:
    return form.one_of(*_DIRECTED)


def _sum(op: str) -> Operation:
    def lift(body: Body, i: Instruction) -> None:
        form = Form.of(i)
        wide = form.type if len(form.types) == 1 else form.types[0]
        a = operand(body, i, 1, form, wide if len(form.types) == 1 else form.types[1])
        if len(form.types) == 2:
            a = body.builder.cast("fpext", a, ir_type(wide))
        b = operand(body, i, 2, form, wide)
        if direction := _direction(form):
            if op == "sub":
                b = body.builder.unary("fneg", b)
            value = rounded_sum(body, a, b, direction)
        else:
            value = body.builder.binary(f"f{op}", a, b)
        finish(body, i, form, value, wide)

    return lift


def _factors(body: Body, i: Instruction, form: Form, type: str) -> tuple[Value, Value]:
    """What is multiplied: an exponential and 1 in the place of its parts."""
    x = body.exponentials.get(id(i))
    if x is None:
        return operand(body, i, 1, form, type), operand(body, i, 2, form, type)
    value = body.read(x, type)
    return body.of("llvm.exp", value), float_constant(1.0, value.type)


def _mul(body: Body, i: Instruction) -> None:
    form = Form.of(i)
    a, b = _factors(body, i, form, form.type)
    if direction := _direction(form):
        # -0 keeps the sign of a product that is 0.
        value = rounded_fma(body, a, b, None, direction)
    else:
        value = body.builder.binary("fmul", a, b)
    finish(body, i, form, value)


def _counts_in_ones(body: Body, i: Instruction) -> bool:
    """Whether a sum is known to be so large that neighbours are 1 apart, and its product not to be negative."""
    a, b, c = (range_of(operand, body.known_floats) for operand in i.operands[1:4])
    if a is None or b is None or c is None or min(a[0], b[0]) < 0:
        return False
    return c[0] >= 2.0**23 and c[1] + a[1] * b[1] <= 2.0**24 - 2


def _fma(body: Body, i: Instruction) -> None:
    form = Form.of(i)
    wide = form.types[0]
    narrow = form.types[-1]
    a, b = _factors(body, i, form, narrow)
    if wide != narrow:
        a, b = (body.builder.cast("fpext", v, ir_type(wide)) for v in (a, b))
    c = operand(body, i, 3, form, wide)
    direction = _direction(form)
    if direction in ("rm", "rz") and form.type == "f32" and wide == narrow and _counts_in_ones(body, i):
        value = whole_below(body, a, b, c)
    elif direction:
        value = rounded_fma(body, a, b, c, direction)
    elif a.type.scalar == BF16:
        value = fused_bfloats(body, a, b, c)
    else:
        value = body.of("llvm.fma", a, b, c)
    finish(body, i, form, value, wide)


def _div(body: Body, i: Instruction) -> None:
    form = Form.of(i)
    a, b = operand(body, i, 1, form), operand(body, i, 2, form)
    direction = _direction(form)
    value = rounded_ratio(body, a, b, direction) if direction else body.builder.binary("fdiv", a, b)
    finish(body, i, form, value)


def _rcp(body: Body, i: Instruction) -> None:
    form = Form.of(i)
    a = operand(body, i, 1, form)
    one, direction = float_constant(1.0, a.type), _direction(form)
    value = rounded_ratio(body, one, a, direction) if direction else body.builder.binary("fdiv", one, a)
    finish(body, i, form, value)


def _sqrt(body: Body, i: Instruction) -> None:
    form = Form.of(i)
    a, direction = operand(body, i, 1, form), _direction(form)
    finish(body, i, form, rounded_root(body, a, direction) if direction else body.of("llvm.sqrt", a))


def _rsqrt(body: Body, i: Instruction) -> None:
    form = Form.of(i)
    a = operand(body, i, 1, form)
    value = body.builder.binary("fdiv", float_constant(1.0, a.type), body.of("llvm.sqrt", a))
    finish(body, i, form, value)


def _ex2(body: Body, i: Instruction) -> None:
    """``2**x``: 1 for subnormal numbers as for 0, and never less than 0.

    Where all is flushed the processor does it by itself, if it sees each flush (`weft.analysis.flushed_numbers`).
    """
    form = Form.of(i)
    if form.type != "f32" or "ftz" not in form.words or not body.is_mixed:
        finish(body, i, form, body.of("llvm.exp2", operand(body, i, 1, form)))
        return
    value = body.of("llvm.exp2", body.read(i.operands[1], "f32"))
    least, zero = float_constant(_LEAST_NORMAL["float"], value.type), float_constant(0.0, value.type)
    value = body.builder.select(body.builder.fcmp("olt", value, least), zero, value)
    body.write(i.operands[0], value, "f32")


def _function(name: str) -> Operation:
    """A function that PTX approximates."""

    def lift(body: Body, i: Instruction) -> None:
        form = Form.of(i)
        finish(body, i, form, body.of(name, operand(body, i, 1, form)))

    return lift


def _abs(body: Body, i: Instruction) -> None:
    form = Form.of(i)
    finish(body, i, form, body.of("llvm.fabs", operand(body, i, 1, form)))


def _neg(body: Body, i: Instruction) -> None:
    form = Form.of(i)
    finish(body, i, form, body.builder.unary("fneg", operand(body, i, 1, form)))


def _minmax(op: str) -> Operation:
    """Minimum or maximum, -0 less than +0; of a NaN and a number the number, unless ``.NaN`` is asked for."""

    def lift(body: Body, i: Instruction) -> None:
        form = Form.of(i)
        inputs = [operand(body, i, k, form) for k in range(1, len(i.operands))]
        signs = None
        if "xorsign" in form.words:
            a, b = (body.cast_bits(v, _word(v.type)) for v in inputs[:2])
            signs = body.builder.binary("xor", a, b)
        magnitude = "abs" in form.words or signs is not None
        inputs = [body.of("llvm.fabs", v) if magnitude else v for v in inputs]
        name = f"llvm.{op}imum" if "NaN" in form.words else f"llvm.{op}imumnum"
        value = inputs[0]
        for other in inputs[1:]:
            value = body.of(name, value, other)
        if signs is not None:
            value = body.of("llvm.copysign", value, body.cast_bits(signs, value.type))
        finish(body, i, form, value)

    return lift


def _word(type: Type) -> Type:
    """The integer type of as many bits, for each element."""
    if isinstance(type, VectorType):
        return VectorType(_word(type.element), type.count)
    assert isinstance(type, FloatType)
    return int_type(type.bits)


def _copysign(body: Body, i: Instruction) -> None:
    """The sign of the first operand, the size of the second."""
    form = Form.of(i)
    sign, size = body.read(i.operands[1], form.type), body.read(i.operands[2], form.type)
    body.write(i.operands[0], body.of("llvm.copysign", size, sign), form.type)


_CLASSES = {
    "finite": 0x1F8,
    "infinite": 0x204,
    "number": 0x3FC,
    "notanumber": 0x003,
    "normal": 0x108,
    "subnormal": 0x090,
}
"""Bits of ``llvm.is.fpclass``."""


def _testp(body: Body, i: Instruction) -> None:
    form = Form.of(i)
    a = body.read(i.operands[1], form.type)
    kind = 64 if a.type == F64 else 32
    classes = ConstInt(I32, _CLASSES[form.one_of(*_CLASSES)])
    body.write(i.operands[0], body.compute(f"llvm.is.fpclass.f{kind}", I1, a, classes), "pred")


FLOAT: dict[str, Operation] = {
    "add": _sum("add"),
    "sub": _sum("sub"),
    "mul": _mul,
    "fma": _fma,
    "mad": _fma,
    "div": _div,
    "rcp": _rcp,
    "sqrt": _sqrt,
    "rsqrt": _rsqrt,
    "ex2": _ex2,
    "lg2": _function("llvm.log2"),
    "sin": _function("llvm.sin"),
    "cos": _function("llvm.cos"),
    "tanh": _function("llvm.tanh"),
    "abs": _abs,
    "neg": _neg,
    "min": _minmax("min"),
    "max": _minmax("max"),
    "copysign": _copysign,
    "testp": _testp,
}
"""What these opcodes mean for floating-point numbers."""
