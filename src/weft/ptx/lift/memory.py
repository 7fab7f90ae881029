"""Loads, stores, and addresses of all state spaces but textures.

Integers become pointers where memory is accessed; `weft.ptx.lift.addresses` finds the objects that they lead into.
A vector is accessed element by element. Order and scope: what is marked relaxed or stronger is an atomic access of the
processor, whose own order is at least as strong.
"""

from __future__ import annotations

from weft.ir import ConstInt, Value
from weft.ir.constants import FALSE
from weft.ir.intrinsics import SHARED_SPACE
from weft.ir.types import I8, I32, I64, PTR, VOID, FunctionType, IntType, pointer
from weft.ptx import syntax
from weft.ptx.lift.body import PURE, Body
from weft.ptx.lift.integers import Operation
from weft.ptx.lift.types import Form, bits_of, ir_type
from weft.ptx.lift.variables import address_of

_SPACES = ("global", "shared", "local", "param", "const")
_ORDERINGS = {
    "relaxed": "monotonic",
    "acquire": "acquire",
    "release": "release",
    "acq_rel": "acq_rel",
    "mmio": "monotonic",
}
_COUNTS = {"v2": 2, "v4": 4, "v8": 8}


def space_in(i: syntax.Instruction) -> str:
    """The state space that an access names; nothing for generic ones."""
    return next((s for s in (m.partition("::")[0] for m in i.modifiers) if s in _SPACES), "")


def pointer_to(body: Body, i: syntax.Instruction, operand: syntax.Operand, space: str) -> Value:
    """The address that an operand in brackets means, as a pointer.

    Raises
    ------
    UnsupportedError
        The address is one that only a GPU has.
    """
    if not isinstance(operand, syntax.Address) or operand.more:
        body.refuse(i, "has an address that cannot be run")
    base, offset = operand.base, operand.offset
    if isinstance(base, syntax.Symbol) and space == "param":
        return _moved(body, _parameter(body, i, base.name), base.offset + offset)
    number = _integer_address(body, base, space)
    if offset:
        number = body.builder.binary("add", number, body.number(offset, number))
    if space == "shared":
        return body.builder.cast("inttoptr", full_shared(body, number), pointer(SHARED_SPACE))
    return body.builder.cast("inttoptr", body.resized(number, I64, signed=False), PTR)


def _integer_address(body: Body, base: syntax.Operand, space: str) -> Value:
    if isinstance(base, (syntax.Symbol, syntax.Element)):
        return address_of(body, base)
    if isinstance(base, syntax.Register):
        slot = body.slot(base.name)
        return body.read(base, f"b{slot.bits}")
    return body.read(base, "b64")


def _moved(body: Body, address: Value, offset: int) -> Value:
    return body.builder.gep(I8, address, (ConstInt(I64, offset),)) if offset else address


def _parameter(body: Body, i: syntax.Instruction, name: str) -> Value:
    found = body.variables.get(name)
    if found is None:
        body.refuse(i, f"names {name}, which is no parameter")
    return found


SHARED_ADDRESS = "weft.ptx.shared.address"
"""A call of it makes 64 bits of the lower 32 of a shared address; `weft.ptx.lift.addresses` takes it away."""


def full_shared(body: Body, number: Value) -> Value:
    """A shared address in 64 bits, of which the upper ones may be missing."""
    if isinstance(number.type, IntType) and number.type.bits == 64:
        number = body.builder.cast("trunc", number, I32)
    return body.builder.call(body.module.declare(SHARED_ADDRESS, FunctionType(I64, (I32,)), PURE), (number,))


def _count(i: syntax.Instruction) -> int:
    return next((_COUNTS[m] for m in i.modifiers if m in _COUNTS), 1)


def _elements(operand: syntax.Operand, count: int) -> tuple[syntax.Operand, ...]:
    return operand.elements if count > 1 and isinstance(operand, syntax.Vector) else (operand,)


def _access(i: syntax.Instruction, k: int, size: int, count: int) -> dict[str, object]:
    """Attributes of the access of an element: the first is aligned as all together."""
    whole = size * count
    align = whole if not k else _power(k * size, whole)
    ordering = next((_ORDERINGS[m] for m in i.modifiers if m in _ORDERINGS), "")
    attrs: dict[str, object] = {
        "align": align,
        "volatile": "volatile" in i.modifiers or "mmio" in i.modifiers,
    }
    return {**attrs, "ordering": ordering} if ordering else attrs


def _power(offset: int, most: int) -> int:
    return min(offset & -offset, most)


def _ld(body: Body, i: syntax.Instruction) -> None:
    form, space = Form.of(i), space_in(i)
    type, count = form.type, _count(i)
    at = pointer_to(body, i, i.operands[1], space)
    size = bits_of(type) // 8
    loaded = ir_type(type)
    for k, target in enumerate(_elements(i.operands[0], count)):
        attrs = _access(i, k, size, count) if space != "param" else {"align": 1}
        value = body.builder.build("load", loaded, (_moved(body, at, k * size),), attrs=attrs)
        body.write(target, body.cast_bits(value, loaded), type)


def _st(body: Body, i: syntax.Instruction) -> None:
    form, space = Form.of(i), space_in(i)
    type, count = form.type, _count(i)
    at = pointer_to(body, i, i.operands[0], space)
    size = bits_of(type) // 8
    for k, source in enumerate(_elements(i.operands[1], count)):
        if isinstance(source, syntax.Sink):
            continue
        attrs = _access(i, k, size, count) if space != "param" else {"align": 1}
        value = body.read(source, type)
        body.builder.build("store", VOID, (value, _moved(body, at, k * size)), attrs=attrs)


def _cvta(body: Body, i: syntax.Instruction) -> None:
    """Generic addresses are those of all spaces; of shared memory the upper half may have been missing."""
    type = Form.of(i).type
    source = i.operands[1]
    space = space_in(i)
    value = body.read(source, type)
    if isinstance(source, syntax.Symbol) and source.name not in body.variables:
        body.refuse(i, f"names {source.name}, which has no address")
    if space == "shared" and "to" not in i.modifiers and bits_of(type) == 64:
        value = full_shared(body, value)
    body.write(i.operands[0], value, type)


def _isspacep(body: Body, i: syntax.Instruction) -> None:
    """Whether a generic address leads into shared memory; all else is global, but the stack of a thread."""
    space = space_in(i)
    if space not in ("shared", "global"):
        body.refuse(i, f"asks for {space} memory, which a CPU cannot tell from others")
    builder, address = body.builder, body.read(i.operands[1], "b64")
    inside: Value = FALSE
    for variable in body.shared():
        start = builder.cast("ptrtoint", variable, I64)
        size = body.module.layout.size(variable.value_type)
        if not size:
            body.refuse(i, "asks for dynamic shared memory, whose size is the launch's")
        within = builder.icmp("ult", builder.binary("sub", address, start), ConstInt(I64, size))
        inside = builder.binary("or", inside, within)
    if space == "global":
        inside = builder.binary("xor", inside, body.number(1, inside))
    body.write(i.operands[0], inside, "pred")


def _nothing(body: Body, i: syntax.Instruction) -> None:
    """Advice about caches, which changes no result."""


def _createpolicy(body: Body, i: syntax.Instruction) -> None:
    body.write(i.operands[0], ConstInt(I64, 0), "b64")


def _fence(body: Body, i: syntax.Instruction) -> None:
    if "proxy" in "".join(i.modifiers) or "mbarrier_init" in i.modifiers:
        return
    body.builder.fence("seq_cst")


def _alloca(body: Body, i: syntax.Instruction) -> None:
    body.refuse(i, "makes stack memory of a size that is known when it runs")


def _mapa(body: Body, i: syntax.Instruction) -> None:
    """An address in the shared memory of a block of the cluster, which is the only one."""
    type = Form.of(i).type
    body.write(i.operands[0], body.read(i.operands[1], type), type)


MEMORY: dict[str, Operation] = {
    "ld": _ld,
    "ldu": _ld,
    "st": _st,
    "cvta": _cvta,
    "isspacep": _isspacep,
    "prefetch": _nothing,
    "prefetchu": _nothing,
    "discard": _nothing,
    "applypriority": _nothing,
    "createpolicy": _createpolicy,
    "membar": _fence,
    "fence": _fence,
    "alloca": _alloca,
    "mapa": _mapa,
}
"""What these opcodes mean."""
