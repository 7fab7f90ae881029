"""Asynchronous copies into shared memory (``cp.async``), which are done where they stand; waiting for them is nothing.

PTX leaves open when such a copy reads and writes before it is waited for. Copies in bulk, and others that barriers in
memory count, are refused.
"""

from __future__ import annotations

from weft.ir import ConstInt, Value
from weft.ir.types import I1, I8, I32, I64, VOID
from weft.ptx import syntax
from weft.ptx.lift.body import Body
from weft.ptx.lift.integers import Operation
from weft.ptx.lift.memory import pointer_to

_SIZES = (4, 8, 16)
_WAITS = ("commit_group", "wait_group", "wait_all")


def _copy(body: Body, i: syntax.Instruction) -> None:
    if i.modifiers[:1] != ("async",) or "bulk" in i.modifiers or "mbarrier" in i.modifiers:
        body.refuse(i)
    if any(m in _WAITS for m in i.modifiers):
        return
    size = body.read(i.operands[2], "u32")
    if not isinstance(size, ConstInt) or size.value not in _SIZES:
        body.refuse(i, "copies a number of bytes that is none of 4, 8 and 16")
    to = pointer_to(body, i, i.operands[0], "shared")
    source = pointer_to(body, i, i.operands[1], "global")
    words = size.value // 4
    given = _given(body, i)
    if given is None:
        for k in range(words):
            _store(body, to, k, words, _load(body, source, k, words))
        return
    # Nothing is read where no byte is wanted; what is missing is 0.
    builder, zero = body.builder, ConstInt(I32, 0)
    for k in range(words):
        _store(body, to, k, words, zero)
    behind = body.under(builder.icmp("ne", given, zero))
    for k in range(words):
        value = _load(body, source, k, words)
        missing = builder.binary("sub", ConstInt(I32, 4 * k + 4), given)
        partly = builder.icmp("sgt", missing, zero)
        bits = builder.binary("and", builder.binary("shl", missing, ConstInt(I32, 3)), ConstInt(I32, 31))
        part = builder.binary("and", value, builder.binary("lshr", ConstInt(I32, (1 << 32) - 1), bits))
        none = builder.icmp("sge", missing, ConstInt(I32, 4))
        _store(body, to, k, words, builder.select(partly, builder.select(none, zero, part), value))
    body.go_on(behind)


def _given(body: Body, i: syntax.Instruction) -> Value | None:
    """How many bytes are read, if that is said: a number, or a predicate under which it is none."""
    operands = i.operands[3 : -1 if "L2::cache_hint" in i.modifiers else None]
    if not operands:
        return None
    operand = operands[0]
    size = body.read(i.operands[2], "u32")
    if isinstance(operand, syntax.Register) and body.slot(operand.name).bits == 1:
        ignored = body.read(operand, "pred")
        assert ignored.type == I1
        return body.builder.select(ignored, ConstInt(I32, 0), size)
    return body.read(operand, "u32")


def _load(body: Body, source: Value, k: int, words: int) -> Value:
    return body.builder.build("load", I32, (_word(body, source, k),), attrs=_aligned(k, words))


def _store(body: Body, to: Value, k: int, words: int, value: Value) -> None:
    body.builder.build("store", VOID, (value, _word(body, to, k)), attrs=_aligned(k, words))


def _word(body: Body, address: Value, k: int) -> Value:
    return body.builder.gep(I8, address, (ConstInt(I64, 4 * k),)) if k else address


def _aligned(k: int, words: int) -> dict[str, object]:
    """The copy is aligned to its size."""
    return {"align": 4 * words if not k else 4 * (k & -k), "volatile": False}


COPIES: dict[str, Operation] = {"cp": _copy}
"""What these opcodes mean."""
