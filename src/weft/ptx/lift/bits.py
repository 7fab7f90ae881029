"""Logic, shifts, fields of bits, permuted bytes, and moves."""

from __future__ import annotations

from weft.ir import ConstInt, Value
from weft.ir.types import I32, int_type
from weft.ptx.lift.body import Body
from weft.ptx.lift.integers import Operation, binary
from weft.ptx.lift.types import Form, bits_of, integer_of, is_signed
from weft.ptx.syntax import Instruction, Integer, Pair


def _not(body: Body, i: Instruction) -> None:
    type = Form.of(i).type
    a = body.read(i.operands[1], type)
    body.write(i.operands[0], body.builder.binary("xor", a, body.number(-1, a)), type)


def _cnot(body: Body, i: Instruction) -> None:
    type = Form.of(i).type
    a = body.read(i.operands[1], type)
    is_zero = body.builder.icmp("eq", a, body.number(0, a))
    body.write(i.operands[0], body.builder.cast("zext", is_zero, a.type), type)


def _lop3(body: Body, i: Instruction) -> None:
    """Any function of three bits; with a Boolean operation, also whether the result is not 0."""
    form, builder = Form.of(i), body.builder
    joined = form.one_of("or", "and", "xor")
    if joined:
        a, b, c = (body.read(o, "b32") for o in i.operands[1:4])
        table, more = i.operands[4], body.read(i.operands[5], "pred")
    else:
        a, b, c = (body.read(o, "b32") for o in i.operands[1:4])
        table, more = i.operands[4], None
    assert isinstance(table, Integer)
    value = _truth_table(body, table.value & 255, a, b, c)
    target = i.operands[0]
    if more is not None:
        first, second = (target.first, target.second) if isinstance(target, Pair) else (target, None)
        answer = builder.binary(joined, builder.icmp("ne", value, ConstInt(I32, 0)), more)
        if second is not None:
            body.write(first, value, "b32")
            body.write(second, answer, "pred")
        else:
            body.write(first, answer, "pred")
        return
    body.write(target, value, "b32")


def _truth_table(body: Body, table: int, a: Value, b: Value, c: Value) -> Value:
    """The function whose value is bit ``4a + 2b + c`` of `table`: Shannon's expansion, by a and then by b."""
    builder = body.builder
    ones, zeros = ConstInt(I32, -1), ConstInt(I32, 0)

    def of_c(bits: int) -> Value:
        return builder.binary("xor", c, ones) if bits == 1 else (zeros, zeros, c, ones)[bits]

    def either(test: Value, then: Value, otherwise: Value) -> Value:
        if then == otherwise:
            return then
        if isinstance(then, ConstInt) and isinstance(otherwise, ConstInt):
            return test if then == ones else builder.binary("xor", test, ones)
        if otherwise == zeros:
            return builder.binary("and", test, then)
        inverse = builder.binary("xor", test, ones)
        if then == zeros:
            return builder.binary("and", inverse, otherwise)
        return builder.binary(
            "or", builder.binary("and", test, then), builder.binary("and", inverse, otherwise)
        )

    def of_bc(bits: int) -> Value:
        return either(b, of_c(bits >> 2), of_c(bits & 3))

    return either(a, of_bc(table >> 4), of_bc(table & 15))


def _shift(op: str) -> Operation:
    """A shift whose amount counts up to the width and not beyond it."""

    def lift(body: Body, i: Instruction) -> None:
        type, builder = Form.of(i).type, body.builder
        kind = op if op == "shl" else "ashr" if is_signed(type) else "lshr"
        a, bits = body.read(i.operands[1], type), bits_of(type)
        amount = body.read(i.operands[2], "u32")
        if isinstance(amount, ConstInt):
            by = amount.value
            if by < bits:
                value: Value = builder.binary(kind, a, body.number(by, a))
            else:
                value = (
                    builder.binary("ashr", a, body.number(bits - 1, a))
                    if kind == "ashr"
                    else body.number(0, a)
                )
        else:
            fits = builder.icmp("ult", amount, ConstInt(I32, bits))
            most = ConstInt(I32, bits - 1)
            safe = builder.select(fits, amount, most)
            value = builder.binary(kind, a, body.resized(safe, a.type, signed=False))
            if kind != "ashr":
                value = builder.select(fits, value, body.number(0, a))
        body.write(i.operands[0], value, type)

    return lift


def _shf(body: Body, i: Instruction) -> None:
    """A funnel shift of two words."""
    form, builder = Form.of(i), body.builder
    low, high, amount = (body.read(o, "b32") for o in i.operands[1:4])
    masked = builder.binary("and", amount, ConstInt(I32, 31))
    left = "l" in form.words
    value = body.of("llvm.fshl" if left else "llvm.fshr", high, low, masked)
    if "clamp" in form.words:
        fits = builder.icmp("ult", amount, ConstInt(I32, 32))
        value = builder.select(fits, value, low if left else high)
    body.write(i.operands[0], value, "b32")


def _bfe(body: Body, i: Instruction) -> None:
    """A field of bits; of signed types, with its sign, also where it reaches beyond the end."""
    type, builder = Form.of(i).type, body.builder
    a, bits = body.read(i.operands[1], type), bits_of(type)
    at, size = (builder.binary("and", body.read(o, "u32"), ConstInt(I32, 255)) for o in i.operands[2:4])
    wide = int_type(bits)
    reaches = _least(body, builder.binary("add", at, size), bits)
    drop = body.resized(builder.binary("sub", ConstInt(I32, bits), reaches), wide, signed=False)
    signed = is_signed(type)
    # The field is moved to the top and back down, where its sign, or zeros, follow it.
    start = _least(body, at, bits)
    down = builder.binary("sub", ConstInt(I32, bits), builder.binary("sub", reaches, start))
    down = body.resized(down, wide, signed=False)
    raised = _clamped(body, "shl", a, drop)
    value = _clamped(body, "ashr" if signed else "lshr", raised, down)
    is_empty = builder.icmp("eq", size, ConstInt(I32, 0))
    value = builder.select(is_empty, body.number(0, a), value)
    body.write(i.operands[0], value, type)


def _least(body: Body, value: Value, most: int) -> Value:
    return body.of("llvm.umin", value, ConstInt(I32, most))


def _clamped(body: Body, op: str, value: Value, by: Value) -> Value:
    """A shift by up to the width, that included."""
    bits = integer_of(value.type).bits
    builder = body.builder
    fits = builder.icmp("ult", by, body.number(bits, by))
    shifted = builder.binary(op, value, builder.select(fits, by, body.number(bits - 1, by)))
    return shifted if op == "ashr" else builder.select(fits, shifted, body.number(0, value))


def _bfi(body: Body, i: Instruction) -> None:
    """Put a field into a word."""
    type, builder = Form.of(i).type, body.builder
    field, whole = (body.read(o, type) for o in i.operands[1:3])
    at, size = (builder.binary("and", body.read(o, "u32"), ConstInt(I32, 255)) for o in i.operands[3:5])
    mask = _ones(body, bits_of(type), at, size)
    moved = _clamped(
        body, "shl", field, body.resized(_least(body, at, bits_of(type)), field.type, signed=False)
    )
    kept = builder.binary("and", whole, builder.binary("xor", mask, body.number(-1, mask)))
    body.write(i.operands[0], builder.binary("or", kept, builder.binary("and", moved, mask)), type)


def _ones(body: Body, bits: int, at: Value, size: Value) -> Value:
    """`size` ones from bit `at` on, as many as there is room for."""
    type = int_type(bits)
    ones = ConstInt(type, -1)
    length = body.resized(_least(body, size, bits), type, signed=False)
    field = body.builder.binary("xor", _clamped(body, "shl", ones, length), ones)
    return _clamped(body, "shl", field, body.resized(_least(body, at, bits), type, signed=False))


def _bmsk(body: Body, i: Instruction) -> None:
    at, size = (body.read(o, "b32") for o in i.operands[1:3])
    if "wrap" in Form.of(i).words:
        at, size = (body.builder.binary("and", v, ConstInt(I32, 31)) for v in (at, size))
    body.write(i.operands[0], _ones(body, 32, at, size), "b32")


def _szext(body: Body, i: Instruction) -> None:
    """Extend the lowest bits by their sign or by zeros."""
    form, builder = Form.of(i), body.builder
    a, size = body.read(i.operands[1], form.type), body.read(i.operands[2], "u32")
    if "wrap" in form.words:
        size = builder.binary("and", size, ConstInt(I32, 31))
    drop = builder.binary("sub", ConstInt(I32, 32), _least(body, size, 32))
    op = "ashr" if is_signed(form.type) else "lshr"
    value = _clamped(body, op, _clamped(body, "shl", a, drop), drop)
    empty = builder.icmp("eq", size, ConstInt(I32, 0))
    body.write(i.operands[0], builder.select(empty, ConstInt(I32, 0), value), form.type)


def _brev(body: Body, i: Instruction) -> None:
    type = Form.of(i).type
    body.write(i.operands[0], body.of("llvm.bitreverse", body.read(i.operands[1], type)), type)


_MODES: dict[str, tuple[tuple[int, ...], ...]] = {
    "f4e": ((3, 2, 1, 0), (4, 3, 2, 1), (5, 4, 3, 2), (6, 5, 4, 3)),
    "b4e": ((5, 6, 7, 0), (6, 7, 0, 1), (7, 0, 1, 2), (0, 1, 2, 3)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((3, 2, 1, 0), (3, 2, 1, 1), (3, 2, 2, 2), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (1, 1, 1, 0), (2, 2, 1, 0), (3, 2, 1, 0)),
    "rc16": ((1, 0, 1, 0), (3, 2, 3, 2), (1, 0, 1, 0), (3, 2, 3, 2)),
}
"""For each value of the two selecting bits, the byte for each byte of the result, the highest first."""


def _prmt(body: Body, i: Instruction) -> None:
    """Any bytes of two words, each copied or its sign spread; or the patterns of the named modes."""
    form, builder = Form.of(i), body.builder
    low, high, chosen = (body.read(o, "b32") for o in i.operands[1:4])
    wide = int_type(64)
    both = builder.binary(
        "or",
        builder.cast("zext", low, wide),
        builder.binary("shl", builder.cast("zext", high, wide), ConstInt(wide, 32)),
    )
    mode = form.one_of(*_MODES)
    result: Value = ConstInt(I32, 0)
    for k in range(4):
        if mode:
            byte = _byte_of_mode(body, both, chosen, [row[3 - k] for row in _MODES[mode]])
        else:
            selector = builder.binary("lshr", chosen, ConstInt(I32, 4 * k))
            byte = _selected_byte(body, both, selector)
        result = builder.binary("or", result, builder.binary("shl", byte, ConstInt(I32, 8 * k)))
    body.write(i.operands[0], result, "b32")


def _byte(body: Body, both: Value, number: Value) -> Value:
    shifted = body.builder.binary("lshr", both, body.builder.binary("shl", number, ConstInt(int_type(64), 3)))
    return body.builder.binary("and", body.builder.cast("trunc", shifted, I32), ConstInt(I32, 255))


def _selected_byte(body: Body, both: Value, selector: Value) -> Value:
    builder = body.builder
    number = builder.cast("zext", builder.binary("and", selector, ConstInt(I32, 7)), int_type(64))
    byte = _byte(body, both, number)
    spread = builder.icmp("ne", builder.binary("and", selector, ConstInt(I32, 8)), ConstInt(I32, 0))
    is_negative = builder.icmp("ugt", byte, ConstInt(I32, 127))
    sign = builder.select(is_negative, ConstInt(I32, 255), ConstInt(I32, 0))
    return builder.select(spread, sign, byte)


def _byte_of_mode(body: Body, both: Value, chosen: Value, numbers: list[int]) -> Value:
    builder = body.builder
    case = builder.binary("and", chosen, ConstInt(I32, 3))
    number: Value = ConstInt(int_type(64), numbers[0])
    for k in range(1, 4):
        is_it = builder.icmp("eq", case, ConstInt(I32, k))
        number = builder.select(is_it, ConstInt(int_type(64), numbers[k]), number)
    return _byte(body, both, number)


def _mov(body: Body, i: Instruction) -> None:
    type = Form.of(i).type
    body.write(i.operands[0], body.read(i.operands[1], type), type)


def _selp(body: Body, i: Instruction) -> None:
    type = Form.of(i).type
    a, b = (body.read(o, type) for o in i.operands[1:3])
    body.write(i.operands[0], body.builder.select(body.read(i.operands[3], "pred"), a, b), type)


BITS: dict[str, Operation] = {
    "and": binary("and"),
    "or": binary("or"),
    "xor": binary("xor"),
    "not": _not,
    "cnot": _cnot,
    "lop3": _lop3,
    "shl": _shift("shl"),
    "shr": _shift("shr"),
    "shf": _shf,
    "bfe": _bfe,
    "bfi": _bfi,
    "bmsk": _bmsk,
    "szext": _szext,
    "brev": _brev,
    "prmt": _prmt,
    "mov": _mov,
    "selp": _selp,
}
"""What these opcodes mean."""
