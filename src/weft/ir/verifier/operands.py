"""Operand and result types, flags and attributes of each instruction, by the form of its opcode."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from weft.ir.function import Function
from weft.ir.instruction import Instruction
from weft.ir.opcodes import FLOAT_PREDICATES, INT_PREDICATES, OPCODES
from weft.ir.result_types import compare_type, gep_type, member_type
from weft.ir.types import I1, I32, VOID, IntType, StructType, Type, VectorType
from weft.ir.verifier.calls import call_problems
from weft.ir.verifier.casts import cast_problems
from weft.ir.verifier.memory import (
    access_problems,
    alloca_problems,
    atomicrmw_problems,
    cmpxchg_problems,
    fence_problems,
)
from weft.ir.verifier.problem import Problem

Rule = Callable[[Instruction], Iterator[str]]

_OPERAND_COUNTS: dict[str, tuple[int, ...]] = {
    "binary": (2,), "unary": (1,), "cast": (1,), "compare": (2,), "select": (3,), "load": (1,), "store": (2,),
    "alloca": (1,), "br": (0, 1), "switch": (1,), "ret": (0, 1), "unreachable": (0,), "extractvalue": (1,),
    "insertvalue": (2,), "extractelement": (2,), "insertelement": (3,), "shufflevector": (2,),
    "atomicrmw": (2,), "cmpxchg": (3,), "fence": (0,),
}  # fmt: skip


def check_operands(function: Function) -> Iterator[Problem]:
    """Each instruction by itself."""
    for instruction in function.instructions():
        for message in _problems(instruction, function):
            yield Problem(message, function.name, instruction)


def _problems(i: Instruction, function: Function) -> Iterator[str]:
    opcode = OPCODES[i.op]
    wrong = [flag for flag in i.flags if flag not in opcode.flags]
    if wrong:
        yield f"{i.op} has no flag {wrong[0]}"
    counts = _OPERAND_COUNTS.get(opcode.form)
    if counts is not None and len(i.operands) not in counts:
        yield f"{i.op} takes {' or '.join(map(str, counts))} operands, not {len(i.operands)}"
        return
    if any(v.type is VOID or v.is_block for v in i.operands):
        yield "an operand is no value"
        return
    if opcode.form == "ret":
        yield from _return_problems(i, function)
    elif opcode.form in _RULES:
        yield from _RULES[opcode.form](i)
    if opcode.terminator and i.users:
        yield "a terminator has no result"


def _expect(what: str, found: Type, wanted: Type) -> Iterator[str]:
    if found != wanted:
        yield f"{what} has type {found}, not {wanted}"


def _binary(i: Instruction) -> Iterator[str]:
    a, b = i.operands
    yield from _expect("the second operand", b.type, a.type)
    yield from _expect("the result", i.type, a.type)
    scalar = a.type.scalar
    if i.op[0] == "f" and not scalar.is_float:
        yield f"{i.op} needs floats, not {a.type}"
    if i.op[0] != "f" and not scalar.is_integer:
        yield f"{i.op} needs integers, not {a.type}"


def _unary(i: Instruction) -> Iterator[str]:
    yield from _expect("the result", i.type, i.operands[0].type)
    if i.op == "fneg" and not i.type.scalar.is_float:
        yield f"fneg needs a float, not {i.type}"


def _compare(i: Instruction) -> Iterator[str]:
    a, b = i.operands
    yield from _expect("the second operand", b.type, a.type)
    yield from _expect("the result", i.type, compare_type(a.type))
    scalar = a.type.scalar
    predicate = i.attrs.get("predicate")
    if i.op == "icmp":
        if predicate not in INT_PREDICATES:
            yield f"{predicate!r} is no predicate of icmp"
        if not (scalar.is_integer or scalar.is_pointer):
            yield f"icmp needs integers or pointers, not {a.type}"
    else:
        if predicate not in FLOAT_PREDICATES:
            yield f"{predicate!r} is no predicate of fcmp"
        if not scalar.is_float:
            yield f"fcmp needs floats, not {a.type}"


def _select(i: Instruction) -> Iterator[str]:
    condition, then, otherwise = i.operands
    yield from _expect("the third operand", otherwise.type, then.type)
    yield from _expect("the result", i.type, then.type)
    if condition.type != I1:
        yield from _expect("the condition", condition.type, compare_type(then.type))


def _phi(i: Instruction) -> Iterator[str]:
    if not i.operands:
        yield "a φ has no incoming edge"
    for value in i.operands:
        yield from _expect(f"%{value.name}" if value.name else "an incoming value", value.type, i.type)


def _gep(i: Instruction) -> Iterator[str]:
    if not i.operands or not i.operands[0].type.scalar.is_pointer:
        yield "the first operand of getelementptr is a pointer"
        return
    source = i.attrs.get("source_type")
    if not isinstance(source, Type):
        yield "getelementptr has no source_type"
        return
    yield from _expect("the result", i.type, gep_type(i.operands))
    for index in i.operands[1:]:
        if not index.type.scalar.is_integer:
            yield f"an index has type {index.type}"
    current: Type | None = source
    for index in i.operands[2:]:
        if isinstance(current, StructType):
            value = getattr(index, "value", None)
            current = member_type(current, (value,)) if isinstance(value, int) and index.type == I32 else None
        else:
            current = getattr(current, "element", None)
        if current is None:
            yield f"the indices do not fit {source}"
            return


def _br(i: Instruction) -> Iterator[str]:
    if len(i.blocks) != len(i.operands) + 1:
        yield f"br has {len(i.operands)} conditions and {len(i.blocks)} targets"
    elif i.operands:
        yield from _expect("the condition", i.operands[0].type, I1)


def _switch(i: Instruction) -> Iterator[str]:
    type = i.operands[0].type
    cases = i.attrs.get("cases", ())
    if not isinstance(type, IntType):
        yield f"switch needs an integer, not {type}"
        return
    if len(i.blocks) != len(cases) + 1:
        yield f"switch has {len(cases)} cases and {len(i.blocks)} targets"
    if len(set(cases)) != len(cases):
        yield "switch has a case twice"
    if any(not 0 <= case < 1 << type.bits for case in cases):
        yield f"a case does not fit into {type}"


def _return_problems(i: Instruction, function: Function) -> Iterator[str]:
    result = function.fn_type.result
    found = i.operands[0].type if i.operands else VOID
    if found != result:
        yield f"the function returns {result}, not {found}"


def _extractvalue(i: Instruction) -> Iterator[str]:
    member = member_type(i.operands[0].type, i.attrs.get("indices", ()))
    if member is None:
        yield f"{i.operands[0].type} has no member {i.attrs.get('indices')}"
    else:
        yield from _expect("the result", i.type, member)


def _insertvalue(i: Instruction) -> Iterator[str]:
    aggregate, value = i.operands
    member = member_type(aggregate.type, i.attrs.get("indices", ()))
    yield from _expect("the result", i.type, aggregate.type)
    if member is None:
        yield f"{aggregate.type} has no member {i.attrs.get('indices')}"
    else:
        yield from _expect("the value", value.type, member)


def _extractelement(i: Instruction) -> Iterator[str]:
    vector, index = i.operands
    if not isinstance(vector.type, VectorType):
        yield f"extractelement needs a vector, not {vector.type}"
        return
    yield from _expect("the result", i.type, vector.type.element)
    if not index.type.is_integer:
        yield f"the index has type {index.type}"


def _insertelement(i: Instruction) -> Iterator[str]:
    vector, value, index = i.operands
    if not isinstance(vector.type, VectorType):
        yield f"insertelement needs a vector, not {vector.type}"
        return
    yield from _expect("the result", i.type, vector.type)
    yield from _expect("the value", value.type, vector.type.element)
    if not index.type.is_integer:
        yield f"the index has type {index.type}"


def _shufflevector(i: Instruction) -> Iterator[str]:
    a, b = i.operands
    mask = i.attrs.get("mask", ())
    if not isinstance(a.type, VectorType):
        yield f"shufflevector needs vectors, not {a.type}"
        return
    yield from _expect("the second operand", b.type, a.type)
    yield from _expect("the result", i.type, VectorType(a.type.element, len(mask)))
    if any(not -1 <= lane < 2 * a.type.count for lane in mask):
        yield "the mask names a lane that neither vector has"


_RULES: dict[str, Rule] = {
    "binary": _binary,
    "unary": _unary,
    "freeze": _unary,
    "cast": cast_problems,
    "compare": _compare,
    "select": _select,
    "phi": _phi,
    "gep": _gep,
    "load": access_problems,
    "store": access_problems,
    "alloca": alloca_problems,
    "call": call_problems,
    "br": _br,
    "switch": _switch,
    "extractvalue": _extractvalue,
    "insertvalue": _insertvalue,
    "extractelement": _extractelement,
    "insertelement": _insertelement,
    "shufflevector": _shufflevector,
    "atomicrmw": atomicrmw_problems,
    "cmpxchg": cmpxchg_problems,
    "fence": fence_problems,
}
