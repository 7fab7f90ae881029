"""``atom`` and ``red``: operations of memory that no other thread can come between.

They are relaxed where PTX says nothing; stronger orders are sequentially consistent here.
"""

from __future__ import annotations

from weft.ir import ConstInt, Value
from weft.ir.constants import Poison
from weft.ir.types import I8, I32, I64, VectorType
from weft.ptx import syntax
from weft.ptx.lift.body import Body
from weft.ptx.lift.integers import Operation
from weft.ptx.lift.memory import pointer_to, space_in
from weft.ptx.lift.types import Form, bits_of, ir_type, is_float, is_signed

_PLAIN = {"and": "and", "or": "or", "xor": "xor", "exch": "xchg", "inc": "uinc_wrap", "dec": "udec_wrap"}
_STRONG = ("acquire", "release", "acq_rel")


def _atom(body: Body, i: syntax.Instruction) -> None:
    target, *inputs = i.operands
    _lift(body, i, target, inputs)


def _red(body: Body, i: syntax.Instruction) -> None:
    _lift(body, i, syntax.Sink(), list(i.operands))


def _lift(body: Body, i: syntax.Instruction, target: syntax.Operand, inputs: list[syntax.Operand]) -> None:
    if any(m.startswith("v") and m[1:].isdigit() for m in i.modifiers):
        body.refuse(i, "changes a vector in memory")
    form = Form.of(i)
    type, at = form.type, pointer_to(body, i, inputs[0], space_in(i))
    ordering = "seq_cst" if form.one_of(*_STRONG) else "monotonic"
    if "cas" in form.words:
        old = _compare_and_swap(body, at, inputs, type, ordering)
    elif isinstance(ir_type(type), VectorType):
        old = _by_halves(body, at, body.read(inputs[1], type), type, ordering)
    else:
        value = body.read(inputs[1], type)
        old = body.builder.atomic_rmw(_operation(form, type), at, value, ordering)
    body.write(target, old, type)


def _operation(form: Form, type: str) -> str:
    name = form.one_of("add", "min", "max", *_PLAIN)
    if name in _PLAIN:
        return _PLAIN[name]
    if is_float(type):
        return {"add": "fadd", "min": "fmin", "max": "fmax"}[name]
    return name if name == "add" or is_signed(type) else f"u{name}"


def _compare_and_swap(body: Body, at: Value, inputs: list[syntax.Operand], type: str, ordering: str) -> Value:
    bits = f"b{bits_of(type)}"
    expected, new = body.read(inputs[1], bits), body.read(inputs[2], bits)
    both = body.builder.cmpxchg(at, expected, new, ordering, ordering)
    return body.builder.extract_value(both, (0,))


def _by_halves(body: Body, at: Value, value: Value, type: str, ordering: str) -> Value:
    """A sum of two halves: one of each, as PTX promises no more than that each is atomic."""
    builder = body.builder
    assert isinstance(value.type, VectorType)
    old: Value = Poison(value.type)
    for k in range(2):
        part = builder.extract_element(value, ConstInt(I32, k))
        place = builder.gep(I8, at, (ConstInt(I64, 2 * k),)) if k else at
        before = builder.atomic_rmw("fadd", place, part, ordering)
        old = builder.insert_element(old, before, ConstInt(I32, k))
    return old


ATOMICS: dict[str, Operation] = {"atom": _atom, "red": _red}
"""What these opcodes mean."""
