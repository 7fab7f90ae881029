"""``setp``, ``set`` and ``slct``: comparisons of integers and of floating-point numbers."""

from __future__ import annotations

from weft.ir import ConstInt, Value
from weft.ir.types import I1, VectorType, int_type
from weft.ptx.lift.body import Body
from weft.ptx.lift.floats import float_constant, flushed
from weft.ptx.lift.integers import Operation
from weft.ptx.lift.types import Form, bits_of, ir_type, is_float, is_signed
from weft.ptx.syntax import Instruction, Operand, Pair, Sink

_ORDERS = {"lt", "le", "gt", "ge"}
_UNSIGNED = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
_UNORDERED = {"equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge"}
_COMPARISONS = ("eq", "ne", *sorted(_ORDERS), *_UNSIGNED, *_UNORDERED, "num", "nan")


def compared(body: Body, form: Form, type: str, a: Value, b: Value) -> Value:
    """The comparison that the modifiers name."""
    which = form.one_of(*_COMPARISONS)
    if is_float(type):
        if "ftz" in form.words:
            a, b = flushed(body, a), flushed(body, b)
        predicate = {"num": "ord", "nan": "uno"}.get(which) or _UNORDERED.get(which) or f"o{which}"
        return body.builder.fcmp(predicate, a, b)
    if which in ("eq", "ne"):
        return body.builder.icmp(which, a, b)
    predicate = _UNSIGNED.get(which) or f"{'s' if is_signed(type) else 'u'}{which}"
    return body.builder.icmp(predicate, a, b)


def _combined(body: Body, i: Instruction, form: Form, value: Value) -> tuple[Value, Value]:
    """What the comparison and its opposite become with a third operand."""
    builder = body.builder
    opposite: Value = builder.binary("xor", value, body.number(1, value))
    joined = form.one_of("and", "or", "xor")
    if joined:
        other = body.read(i.operands[3], "pred")
        if isinstance(value.type, VectorType):
            other = _splat(body, other, value.type)
        value, opposite = (builder.binary(joined, v, other) for v in (value, opposite))
    return value, opposite


def _splat(body: Body, value: Value, type: VectorType) -> Value:
    from weft.ir.constants import Poison

    vector: Value = Poison(type)
    for k in range(type.count):
        vector = body.builder.insert_element(vector, value, ConstInt(int_type(32), k))
    return vector


def _setp(body: Body, i: Instruction) -> None:
    form = Form.of(i)
    a, b = (body.read(o, form.type) for o in i.operands[1:3])
    value, opposite = _combined(body, i, form, compared(body, form, form.type, a, b))
    target = i.operands[0]
    if isinstance(value.type, VectorType):
        # Two halves are compared, and each has a predicate of its own.
        targets = (target.first, target.second) if isinstance(target, Pair) else (target, Sink())
        for k, operand in enumerate(targets):
            body.write(operand, body.builder.extract_element(value, ConstInt(int_type(32), k)), "pred")
        return
    if isinstance(target, Pair):
        body.write(target.first, value, "pred")
        body.write(target.second, opposite, "pred")
    else:
        body.write(target, value, "pred")


def _set(body: Body, i: Instruction) -> None:
    """All ones, or 1.0, where the comparison holds; else 0."""
    form = Form.of(i)
    to, type = form.types
    a, b = (body.read(o, type) for o in i.operands[1:3])
    value, _ = _combined(body, i, form, compared(body, form, type, a, b))
    wanted = ir_type(to)
    if isinstance(value.type, VectorType) and not is_float(to):
        wide = VectorType(int_type(bits_of(to) // value.type.count), value.type.count)
        result: Value = body.cast_bits(body.builder.cast("sext", value, wide), int_type(bits_of(to)))
        body.write(i.operands[0], result, to)
        return
    if is_float(to):
        result = body.builder.select(value, float_constant(1.0, wanted), float_constant(0.0, wanted))
    else:
        result = body.builder.cast("sext", value, wanted)
    body.write(i.operands[0], result, to)


def _slct(body: Body, i: Instruction) -> None:
    """One of two values by the sign of a third."""
    form = Form.of(i)
    type, sign = form.types
    a, b = (body.read(o, type) for o in i.operands[1:3])
    c = body.read(i.operands[3], sign)
    if is_float(sign):
        c = flushed(body, c) if "ftz" in form.words else c
        test = body.builder.fcmp("oge", c, float_constant(0.0, c.type))
    else:
        test = body.builder.icmp("sge", c, body.number(0, c))
    body.write(i.operands[0], body.builder.select(test, a, b), type)


def predicate_of(body: Body, operand: Operand) -> Value:
    """A predicate operand, or a constant in its place."""
    value = body.read(operand, "pred")
    assert value.type == I1
    return value


COMPARISONS: dict[str, Operation] = {"setp": _setp, "set": _set, "slct": _slct}
"""What these opcodes mean."""
