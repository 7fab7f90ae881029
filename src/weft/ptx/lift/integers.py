"""Integer arithmetic: sums and products in all their widths, carries, saturation, counts of bits, dot products."""

from __future__ import annotations

from collections.abc import Callable

from weft.ir import ConstInt, Value
from weft.ir.types import I1, I32, FunctionType, StructType, int_type
from weft.ptx.lift.body import PURE, Body, suffix
from weft.ptx.lift.types import Form, bits_of, integer_of, is_signed
from weft.ptx.syntax import Instruction

Operation = Callable[[Body, Instruction], None]
"""Lifts an instruction where the builder stands."""

CARRY = "%cc.cf"
"""The slot of the condition code's carry flag, which every function has."""


def binary(op: str) -> Operation:
    """An operation of two integers of one type."""

    def lift(body: Body, i: Instruction) -> None:
        type = Form.of(i).type
        a, b = (body.read(o, type) for o in i.operands[1:3])
        body.write(i.operands[0], body.builder.binary(op, a, b), type)

    return lift


def _sum(op: str) -> Operation:
    """``add`` or ``sub``, with saturation, with a carry that is kept."""

    def lift(body: Body, i: Instruction) -> None:
        form = Form.of(i)
        a, b = (body.read(o, form.type) for o in i.operands[1:3])
        if "sat" in form.words:
            value = body.of(f"llvm.s{op}.sat", a, b)
        elif "cc" in form.words:
            value = _with_carry(body, op, a, b, None, keep=True)
        else:
            value = body.builder.binary(op, a, b)
        body.write(i.operands[0], value, form.type)

    return lift


def _sum_with_carry(op: str) -> Operation:
    """``addc`` or ``subc``."""

    def lift(body: Body, i: Instruction) -> None:
        form = Form.of(i)
        a, b = (body.read(o, form.type) for o in i.operands[1:3])
        value = _with_carry(body, op, a, b, _carry(body), keep="cc" in form.words)
        body.write(i.operands[0], value, form.type)

    return lift


def _carry(body: Body) -> Value:
    return body.builder.load(I1, body.slot(CARRY).address)


def _with_carry(body: Body, op: str, a: Value, b: Value, carry: Value | None, *, keep: bool) -> Value:
    """A sum, or a difference, with the carry (the borrow) taken in, and that which comes out kept."""
    value, out = _overflowing(body, op, a, b)
    if carry is not None:
        value, more = _overflowing(body, op, value, body.builder.cast("zext", carry, a.type))
        out = body.builder.binary("or", out, more)
    if keep:
        body.store(body.slot(CARRY), out)
    return value


def _overflowing(body: Body, op: str, a: Value, b: Value) -> tuple[Value, Value]:
    result = StructType((a.type, I1))
    name = f"llvm.u{op}.with.overflow.{suffix(a.type)}"
    function = body.module.declare(name, FunctionType(result, (a.type, b.type)), PURE)
    both = body.builder.call(function, (a, b))
    return body.builder.extract_value(both, (0,)), body.builder.extract_value(both, (1,))


def _product(body: Body, form: Form, a: Value, b: Value) -> Value:
    """The low, high or whole product of two integers."""
    if "lo" in form.words:
        return body.builder.binary("mul", a, b)
    wide = _wide_product(body, form.type, a, b)
    if "wide" in form.words:
        return wide
    bits = bits_of(form.type)
    high = body.builder.binary("lshr", wide, ConstInt(integer_of(wide.type), bits))
    return body.builder.cast("trunc", high, int_type(bits))


def _wide_product(body: Body, type: str, a: Value, b: Value) -> Value:
    wide, op = int_type(2 * bits_of(type)), "sext" if is_signed(type) else "zext"
    flags = ("nsw",) if is_signed(type) else ("nuw",)
    return body.builder.binary("mul", body.builder.cast(op, a, wide), body.builder.cast(op, b, wide), flags)


def _result_type(form: Form) -> str:
    return f"{form.type[0]}{2 * bits_of(form.type)}" if "wide" in form.words else form.type


def _mul(body: Body, i: Instruction) -> None:
    form = Form.of(i)
    a, b = (body.read(o, form.type) for o in i.operands[1:3])
    body.write(i.operands[0], _product(body, form, a, b), _result_type(form))


def _mad(body: Body, i: Instruction) -> None:
    form = Form.of(i)
    a, b = (body.read(o, form.type) for o in i.operands[1:3])
    c = body.read(i.operands[3], _result_type(form))
    product = _product(body, form, a, b)
    if "sat" in form.words:
        value = body.of("llvm.sadd.sat", product, c)
    elif i.opcode == "madc" or "cc" in form.words:
        carry = _carry(body) if i.opcode == "madc" else None
        value = _with_carry(body, "add", product, c, carry, keep="cc" in form.words)
    else:
        value = body.builder.binary("add", product, c)
    body.write(i.operands[0], value, _result_type(form))


def _mul24(body: Body, i: Instruction) -> None:
    """The product of 24 bits: its low 32, or those from 16 on; ``mad24`` adds to it."""
    form, builder = Form.of(i), body.builder
    parts = []
    for operand in i.operands[1:3]:
        raised = builder.binary("shl", body.read(operand, form.type), ConstInt(I32, 8))
        parts.append(builder.binary("ashr" if is_signed(form.type) else "lshr", raised, ConstInt(I32, 8)))
    wide = _wide_product(body, form.type, *parts)
    if "hi" in form.words:
        wide = builder.binary("lshr", wide, ConstInt(integer_of(wide.type), 16))
    value: Value = builder.cast("trunc", wide, I32)
    if i.opcode == "mad24":
        c = body.read(i.operands[3], form.type)
        value = body.of("llvm.sadd.sat", value, c) if "sat" in form.words else builder.binary("add", value, c)
    body.write(i.operands[0], value, form.type)


def _division(op: str) -> Operation:
    """``div`` or ``rem``; division by zero gives all ones, the remainder the dividend, and nothing traps."""

    def lift(body: Body, i: Instruction) -> None:
        type, builder = Form.of(i).type, body.builder
        a, b = (body.read(o, type) for o in i.operands[1:3])
        if isinstance(b, ConstInt) and b.signed not in (0, -1):
            body.write(i.operands[0], builder.binary(f"{'s' if is_signed(type) else 'u'}{op}", a, b), type)
            return
        is_zero = builder.icmp("eq", b, body.number(0, b))
        if is_signed(type):
            # The least integer by -1 has no quotient in LLVM; in PTX it is the dividend's negative.
            is_one = builder.icmp("eq", b, body.number(-1, b))
            safe = builder.select(builder.binary("or", is_zero, is_one), body.number(1, b), b)
            value: Value = builder.binary(f"s{op}", a, safe)
            negative = builder.binary("sub", body.number(0, a), a) if op == "div" else body.number(0, a)
            value = builder.select(is_one, negative, value)
        else:
            value = builder.binary(f"u{op}", a, builder.select(is_zero, body.number(1, b), b))
        body.write(
            i.operands[0], builder.select(is_zero, body.number(-1, a) if op == "div" else a, value), type
        )

    return lift


def _minmax(op: str) -> Operation:
    def lift(body: Body, i: Instruction) -> None:
        form = Form.of(i)
        a, b = (body.read(o, form.type) for o in i.operands[1:3])
        value = body.of(f"llvm.{'s' if is_signed(form.type) else 'u'}{op}", a, b)
        if "relu" in form.words:
            value = body.of("llvm.smax", value, body.number(0, value))
        body.write(i.operands[0], value, form.type)

    return lift


def _abs(body: Body, i: Instruction) -> None:
    type = Form.of(i).type
    a = body.read(i.operands[1], type)
    body.write(i.operands[0], absolute(body, a), type)


def absolute(body: Body, a: Value) -> Value:
    """The absolute value of an integer; the least one's is itself."""
    return body.compute(f"llvm.abs.{suffix(a.type)}", a.type, a, ConstInt(I1, 0))


def _neg(body: Body, i: Instruction) -> None:
    type = Form.of(i).type
    a = body.read(i.operands[1], type)
    body.write(i.operands[0], body.builder.binary("sub", body.number(0, a), a), type)


def _sad(body: Body, i: Instruction) -> None:
    """``c + |a - b|``, the difference taken without wrapping."""
    type, builder = Form.of(i).type, body.builder
    a, b, c = (body.read(o, type) for o in i.operands[1:4])
    sign = "s" if is_signed(type) else "u"
    difference = builder.binary("sub", body.of(f"llvm.{sign}max", a, b), body.of(f"llvm.{sign}min", a, b))
    body.write(i.operands[0], builder.binary("add", c, difference), type)


def _popc(body: Body, i: Instruction) -> None:
    a = body.read(i.operands[1], Form.of(i).type)
    body.write(i.operands[0], body.resized(body.of("llvm.ctpop", a), I32, signed=False), "u32")


def _clz(body: Body, i: Instruction) -> None:
    a = body.read(i.operands[1], Form.of(i).type)
    body.write(i.operands[0], body.resized(leading_zeros(body, a), I32, signed=False), "u32")


def leading_zeros(body: Body, a: Value) -> Value:
    """The zeros before the highest bit that is set; all bits for 0."""
    return body.compute(f"llvm.ctlz.{suffix(a.type)}", a.type, a, ConstInt(I1, 0))


def _bfind(body: Body, i: Instruction) -> None:
    """The position of the highest bit that differs from the sign (that is set, when unsigned); -1 for none."""
    form, builder = Form.of(i), body.builder
    a = body.read(i.operands[1], form.type)
    bits = bits_of(form.type)
    if is_signed(form.type):
        a = builder.binary("xor", a, builder.binary("ashr", a, body.number(bits - 1, a)))
    zeros = leading_zeros(body, a)
    value: Value = (
        zeros if "shiftamt" in form.words else builder.binary("sub", body.number(bits - 1, a), zeros)
    )
    value = body.resized(value, I32, signed=True)
    is_none = builder.icmp("eq", a, body.number(0, a))
    body.write(i.operands[0], builder.select(is_none, ConstInt(I32, -1), value), "u32")


def _dot(width: int) -> Operation:
    """``dp4a`` (four products of bytes) or ``dp2a`` (two of a 16-bit half of `a` with bytes of `b`)."""

    def lift(body: Body, i: Instruction) -> None:
        form, builder = Form.of(i), body.builder
        a_type, b_type = form.types
        a, b = body.read(i.operands[1], a_type), body.read(i.operands[2], b_type)
        total = body.read(i.operands[3], "s32")
        first = 2 if width == 2 and "hi" in form.words else 0
        for k in range(width):
            size = 32 // width
            left = _field(body, a, k * size, size, signed=is_signed(a_type))
            right = _field(body, b, (first + k) * 8, 8, signed=is_signed(b_type))
            total = builder.binary("add", total, builder.binary("mul", left, right))
        signed = is_signed(a_type) or is_signed(b_type)
        body.write(i.operands[0], total, "s32" if signed else "u32")

    return lift


def _field(body: Body, value: Value, at: int, size: int, *, signed: bool) -> Value:
    raised = body.builder.binary("shl", value, ConstInt(I32, 32 - size - at))
    return body.builder.binary("ashr" if signed else "lshr", raised, ConstInt(I32, 32 - size))


def _fns(body: Body, i: Instruction) -> None:
    """The position of the n-th set bit from a base on, upwards or (n < 0) downwards; all ones where there is none."""
    mask, base, offset = (
        body.read(i.operands[1], "b32"),
        body.read(i.operands[2], "b32"),
        body.read(i.operands[3], "s32"),
    )
    builder = body.builder
    found: Value = ConstInt(I32, -1)
    for k in range(32):
        is_set = builder.icmp("ne", builder.binary("and", mask, ConstInt(I32, 1 << k)), ConstInt(I32, 0))
        here = ConstInt(I32, k)
        # Bits from the base to here, both included, that are set: which one this is, upwards or downwards.
        up = builder.binary("lshr", ConstInt(I32, 0xFFFFFFFF), ConstInt(I32, 31 - k))
        from_base = builder.binary("shl", ConstInt(I32, -1), builder.binary("and", base, ConstInt(I32, 31)))
        rising = body.of("llvm.ctpop", builder.binary("and", mask, builder.binary("and", up, from_base)))
        to_base = builder.binary("xor", builder.binary("shl", from_base, ConstInt(I32, 1)), ConstInt(I32, -1))
        above = builder.binary("shl", ConstInt(I32, -1), here)
        falling = body.of("llvm.ctpop", builder.binary("and", mask, builder.binary("and", above, to_base)))
        upward = builder.binary("and", builder.icmp("sgt", offset, I32_0), builder.icmp("uge", here, base))
        downward = builder.binary("and", builder.icmp("slt", offset, I32_0), builder.icmp("ule", here, base))
        is_up = builder.binary("and", upward, builder.icmp("eq", rising, offset))
        negative = builder.binary("sub", I32_0, offset)
        is_down = builder.binary("and", downward, builder.icmp("eq", falling, negative))
        at_base = builder.binary("and", builder.icmp("eq", offset, I32_0), builder.icmp("eq", here, base))
        hit = builder.binary("or", builder.binary("or", is_up, is_down), at_base)
        found = builder.select(builder.binary("and", is_set, hit), here, found)
    body.write(i.operands[0], found, "b32")


I32_0 = ConstInt(I32, 0)

INTEGER: dict[str, Operation] = {
    "add": _sum("add"),
    "sub": _sum("sub"),
    "addc": _sum_with_carry("add"),
    "subc": _sum_with_carry("sub"),
    "mul": _mul,
    "mad": _mad,
    "madc": _mad,
    "mul24": _mul24,
    "mad24": _mul24,
    "div": _division("div"),
    "rem": _division("rem"),
    "min": _minmax("min"),
    "max": _minmax("max"),
    "abs": _abs,
    "neg": _neg,
    "sad": _sad,
    "popc": _popc,
    "clz": _clz,
    "bfind": _bfind,
    "dp4a": _dot(4),
    "dp2a": _dot(2),
    "fns": _fns,
}
"""What these opcodes mean for integers."""
