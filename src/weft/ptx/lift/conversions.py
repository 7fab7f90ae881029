"""``cvt``: between integers and floating-point numbers, with rounding, saturation and flushing; ``cvt.pack``.

A floating-point number beyond an integer type's range becomes its end, NaN becomes 0.
"""

from __future__ import annotations

from weft.ir import ConstFloat, ConstInt, Value
from weft.ir.types import F32, F64, FloatType, Type, int_type
from weft.ptx.lift.body import Body, suffix
from weft.ptx.lift.floats import flushed, saturated
from weft.ptx.lift.integers import Operation
from weft.ptx.lift.rounding import narrowed, rounded_pair
from weft.ptx.lift.types import Form, bits_of, integer_of, ir_type, is_float, is_signed
from weft.ptx.syntax import Instruction

_TO_INTEGER = {"rni": "llvm.roundeven", "rzi": "llvm.trunc", "rmi": "llvm.floor", "rpi": "llvm.ceil"}
_SMALL = ("e4m3", "e5m2", "e2m1", "e2m3", "e3m2", "ue8m0", "tf32", "s2f6", "ue5m3")


def _cvt(body: Body, i: Instruction) -> None:
    if any(m.startswith(_SMALL) for m in i.modifiers):
        body.refuse(i, "converts a format that has no arithmetic on a CPU")
    form = Form.of(i)
    to, source = form.types
    if to in ("f16x2", "bf16x2"):
        _cvt_pair(body, i, form, to, source)
        return
    value = body.read(i.operands[1], source)
    if is_float(source):
        value = _from_float(body, form, value, to, source)
    elif is_float(to):
        value = _to_float(body, form, value, to, source)
    else:
        value = _between_integers(body, value, to, source, saturate="sat" in form.words)
    body.write(i.operands[0], value, to)


def _cvt_pair(body: Body, i: Instruction, form: Form, to: str, source: str) -> None:
    """Two numbers into the halves of a word, the first into the upper one."""
    if source != "f32":
        body.refuse(i)
    element = to.removesuffix("x2")
    halves = [
        body.cast_bits(
            _from_float(body, form, body.read(i.operands[k], source), element, source), int_type(16)
        )
        for k in (1, 2)
    ]
    high, low = (body.builder.cast("zext", half, int_type(32)) for half in halves)
    high = body.builder.binary("shl", high, ConstInt(int_type(32), 16))
    body.write(i.operands[0], body.builder.binary("or", high, low), "b32")


def _between_integers(body: Body, value: Value, to: str, source: str, *, saturate: bool) -> Value:
    have, want = bits_of(source), bits_of(to)
    if not saturate:
        return body.resized(value, ir_type(to), signed=is_signed(source))
    # One bit more than both need holds every value of either type.
    wide = int_type(max(have, want) + 1)
    number = body.resized(value, wide, signed=is_signed(source))
    low, high = _range(to)
    number = body.of("llvm.smax", number, ConstInt(wide, low))
    number = body.of("llvm.smin", number, ConstInt(wide, high))
    return body.resized(number, ir_type(to), signed=False)


def _range(type: str) -> tuple[int, int]:
    bits = bits_of(type)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed(type) else (0, (1 << bits) - 1)


def _to_float(body: Body, form: Form, value: Value, to: str, source: str) -> Value:
    type = ir_type(to)
    assert isinstance(type, FloatType)
    op = "sitofp" if is_signed(source) else "uitofp"
    direction = form.one_of("rz", "rm", "rp")
    result = (
        _integer_rounded(body, value, type, op, direction)
        if direction
        else body.builder.cast(op, value, type)
    )
    return saturated(body, result) if "sat" in form.words else result


def _integer_rounded(body: Body, value: Value, type: FloatType, op: str, direction: str) -> Value:
    """An integer as a number that is not rounded to nearest: by its two halves, each of which a double holds."""
    builder = body.builder
    bits = integer_of(value.type).bits
    if bits <= 32:
        return narrowed(body, builder.cast(op, value, F64), ConstFloat.of(F64, 0.0), direction, type)
    low = builder.binary("and", value, body.number(0xFFFFFFFF, value))
    high = builder.binary("sub", value, low)
    parts = [builder.cast(op, high, F64), builder.cast("uitofp", low, F64)]
    return rounded_pair(body, parts[0], parts[1], direction, type)


def _from_float(body: Body, form: Form, value: Value, to: str, source: str) -> Value:
    if "ftz" in form.words and source == "f32":
        value = flushed(body, value)
    rounding = form.one_of(*_TO_INTEGER)
    if rounding and (not is_float(to) or to == source or bits_of(to) >= bits_of(source)):
        value = body.of(_TO_INTEGER[rounding], value)
    if not is_float(to):
        return _saturating(body, value, to)
    return _between_floats(body, form, value, ir_type(to), to)


def _saturating(body: Body, value: Value, to: str) -> Value:
    type = ir_type(to)
    name = "llvm.fptosi.sat" if is_signed(to) else "llvm.fptoui.sat"
    return body.compute(f"{name}.{suffix(type)}.{suffix(value.type)}", type, value)


def _between_floats(body: Body, form: Form, value: Value, type: Type, to: str) -> Value:
    have, want = value.type, type
    assert isinstance(have, FloatType)
    assert isinstance(want, FloatType)
    direction = form.one_of("rz", "rm", "rp")
    if have.bits < want.bits:
        value = body.builder.cast("fpext", value, want)
    elif have != want and direction:
        wide = value if have == F64 else body.builder.cast("fpext", value, F64)
        value = narrowed(body, wide, ConstFloat.of(F64, 0.0), direction, want)
    elif have.bits > want.bits:
        value = body.builder.cast("fptrunc", value, want)
    elif have != want:
        value = body.builder.cast("fptrunc", body.builder.cast("fpext", value, F32), want)
    if "ftz" in form.words and to == "f32":
        value = flushed(body, value)
    if "relu" in form.words:
        zero = ConstFloat.of(want, 0.0)
        value = body.builder.select(body.builder.fcmp("olt", value, zero), zero, value)
    return saturated(body, value) if "sat" in form.words else value


def _cvt_pack(body: Body, i: Instruction) -> None:
    """Two integers, each brought into a small type's range, side by side; bytes or nibbles of a third one above."""
    builder = body.builder
    to, source, *above = Form.of(i).types
    size = bits_of(to)
    word = int_type(32)
    parts = []
    for operand in i.operands[1:3]:
        small = _between_integers(body, body.read(operand, source), to, source, saturate=True)
        parts.append(builder.cast("zext", small, word) if size < 32 else small)
    value = builder.binary("or", builder.binary("shl", parts[0], ConstInt(word, size)), parts[1])
    if above:
        rest = builder.binary("shl", body.read(i.operands[3], above[0]), ConstInt(word, 2 * size))
        value = builder.binary("or", value, rest)
    body.write(i.operands[0], value, "b32")


def _convert(body: Body, i: Instruction) -> None:
    (_cvt_pack if "pack" in i.modifiers else _cvt)(body, i)


CONVERSIONS: dict[str, Operation] = {"cvt": _convert}
"""What ``cvt`` means."""
