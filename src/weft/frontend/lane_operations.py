"""Horizontal operations by declared names: what a program of any compiler asks the other lanes (Moll, §3.5).

The names are RV's, ``rv_any`` and its like, and the same with ``weft_``. Behind a further ``_`` they may tell types
apart (``rv_extract_f``), and C++ may overload them. All but ``lane_id`` and ``num_lanes`` are about the *active* lanes:

===========================  ==========================================================================================
``bool any(bool c)``         whether c holds in an active lane
``bool all(bool c)``         whether it holds in each of them
``int ballot(bool c)``       bit l: whether lane l is active and c holds in it; 32 or 64 bits
``int popcount(bool c)``     in how many active lanes c holds
``int index(bool c)``        in how many active lanes below this one c holds
``bool mask()``              whether the lane is active
``T extract(T v, int l)``    v of lane l; poison where that lane is not active or does not exist
``T insert(T v, int l, T x)``  x in lane l, v in the others
``T shuffle(T v, int s)``    v of the lane s further on, lane W being lane 0 again
``T compact(T v, bool m)``   in lane k v of the k-th active lane where m holds; the own v behind the last one
``T load(T *p, int l)``      what p of lane l leads to
``void store(T *p, int l, T x)``  writes x of lane l to p of lane l
``int lane_id()``            0 to W - 1
``int num_lanes()``          W
===========================  ==========================================================================================

Calls become calls of weft's own intrinsics before anything else looks at the program. They are convergent, and so are
``lane_id`` and ``num_lanes`` here: a loop that becomes SIMD code has other lanes than what is around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from weft.diag.errors import TypingError
from weft.diag.source import SourceSpan
from weft.ir import Builder, ConstInt, Function, Instruction, Module, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.intrinsics import CONVERGENT, INTRINSICS
from weft.ir.locations import span_of
from weft.ir.types import I1, I32, I64, FloatType, FunctionType, IntType, PointerType, Type, int_type

_NAME = re.compile(
    r"(?:rv|weft)_(any|all|ballot|popcount|index|mask|extract|insert|shuffle|compact|load|store|lane_id|num_lanes)"
    r"(?:_\w+)?"
)
_MANGLED = re.compile(r"_Z(\d+)")


class LaneOperation(Struct, frozen=True):
    """How an operation is declared, in letters for the parameters and, last, the result, and how it is built.

    Parameters
    ----------
    types
        ``b`` a truth value, ``i`` an integer, ``w`` one of 32 or 64 bits, ``p`` a pointer, ``v`` nothing, ``t`` a
        value of a type that lanes exchange, the same one each time.
    declaration
        The same in C, with a gap for the name.
    build
        Builds it.
    """

    types: str
    declaration: str
    build: Callable[[Builder, Instruction], Value | None]


def adopt_lane_operations(
    module: Module, find_declaration: Callable[[str], SourceSpan | None] = lambda name: None
) -> bool:
    """Put weft's intrinsics in the place of calls of lane operations; whether there were any.

    Parameters
    ----------
    find_declaration
        Finds a declared name in the source, where no call of it has a position.

    Raises
    ------
    TypingError
        A name is declared with other types, or used for something else than a call.
    """
    declared = {
        function: operation
        for function in module.functions.values()
        if function.is_declaration and (operation := operation_named(function.name)) is not None
    }
    if not declared:
        return False
    calls = list(_calls(module, declared))
    for call, function in calls:
        fault = _fault(call, function, declared[function])
        if fault is not None:
            raise TypingError(
                f"{function.name} {fault}",
                span_of(call) or find_declaration(function.name),
                f"declare it as {declared[function].declaration.format(_plain(function.name))}",
            )
    for call, function in calls:
        builder = Builder(before=call)
        builder.loc = call.loc
        value = declared[function].build(builder, call)
        if value is None:
            call.erase()
        else:
            replace_and_erase(call, value)
    for function in declared:
        del module.functions[function.name]
    return True


def operation_named(name: str) -> LaneOperation | None:
    """The operation that a function of this name is, as C or C++ writes it."""
    match = _NAME.fullmatch(_plain(name))
    return _OPERATIONS[match[1]] if match is not None else None


def _plain(name: str) -> str:
    """The name as it is written in the source."""
    mangled = _MANGLED.match(name)
    return name if mangled is None else name[mangled.end() :][: int(mangled[1])]


def _calls(module: Module, declared: dict[Function, LaneOperation]) -> Iterator[tuple[Instruction, Function]]:
    """Each instruction that uses one of the functions."""
    for function in module.definitions():
        for instruction in function.instructions():
            for operand in instruction.operands:
                if isinstance(operand, Function) and operand in declared:
                    yield instruction, operand


def _fault(call: Instruction, function: Function, operation: LaneOperation) -> str | None:
    """What is wrong with a use of `function`."""
    if call.op != "call" or call.callee is not function:
        return "is a lane operation, which can only be called"
    for fn_type in (function.fn_type, call.attrs["fn_type"]):
        if fn_type.vararg or not _fits(fn_type, operation.types):
            return f"is declared as {fn_type}, which is not the lane operation of this name"
    return None


def _fits(fn_type: FunctionType, letters: str) -> bool:
    types = (*fn_type.params, fn_type.result)
    exchanged = {type for type, letter in zip(types, letters, strict=False) if letter == "t"}
    return (
        len(types) == len(letters)
        and len(exchanged) <= 1
        and all(_LETTERS[letter](type) for type, letter in zip(types, letters, strict=True))
    )


def _is_exchanged(type: Type) -> bool:
    return (isinstance(type, (IntType, FloatType)) and type.bits <= 64) or isinstance(type, PointerType)


_LETTERS: dict[str, Callable[[Type], bool]] = {
    "b": lambda type: type is I1,
    "i": lambda type: isinstance(type, IntType) and 8 <= type.bits <= 64,
    "w": lambda type: type is I32 or type is I64,
    "p": lambda type: isinstance(type, PointerType),
    "v": lambda type: type.is_void,
    "t": _is_exchanged,
}


def _ask(builder: Builder, name: str, *args: Value) -> Value:
    """A call of one of weft's intrinsics."""
    return builder.call(builder.module.declare(name, INTRINSICS[name].signature, CONVERGENT), args)


def _as_integer(builder: Builder, value: Value, type: Type, signed: bool = False) -> Value:
    assert isinstance(value.type, IntType) and isinstance(type, IntType)
    if value.type is type:
        return value
    extend = "sext" if signed else "zext"
    return builder.cast("trunc" if value.type.bits > type.bits else extend, value, type)


def _moved(builder: Builder, name: str, value: Value, *args: Value) -> Value:
    """A value of any type sent through an intrinsic that knows 32 and 64 bits."""
    type = value.type
    assert isinstance(type, (PointerType, IntType, FloatType))
    bits = 64 if isinstance(type, PointerType) else type.bits
    word = I64 if bits > 32 else I32
    if isinstance(type, PointerType):
        sent = builder.cast("ptrtoint", value, I64)
    elif isinstance(type, FloatType):
        sent = _as_integer(builder, builder.cast("bitcast", value, int_type(bits)), word)
    else:
        sent = _as_integer(builder, value, word)
    got = _ask(builder, f"{name}.i{word.bits}", sent, *args)
    if isinstance(type, PointerType):
        return builder.cast("inttoptr", got, type)
    if isinstance(type, FloatType):
        return builder.cast("bitcast", _as_integer(builder, got, int_type(bits)), type)
    return _as_integer(builder, got, type)


def _of_lane(builder: Builder, value: Value, lane: Value) -> Value:
    # Numbers of lanes that do not fit 32 bits are those of no lane, for which any value will do.
    return _moved(builder, "weft.extract", value, _as_integer(builder, lane, I32, signed=True))


def _vote(name: str) -> Callable[[Builder, Instruction], Value]:
    return lambda builder, call: _ask(builder, name, *call.args)


def _ballot(builder: Builder, call: Instruction) -> Value:
    return _ask(builder, "weft.ballot" if call.type is I64 else "weft.ballot.i32", *call.args)


def _number(name: str) -> Callable[[Builder, Instruction], Value]:
    """The number that an intrinsic gives, as the type declared."""
    return lambda builder, call: _as_integer(builder, _ask(builder, name, *call.args), call.type)


def _index(builder: Builder, call: Instruction) -> Value:
    lane = _as_integer(builder, _ask(builder, "weft.lane.id"), I64)
    one = ConstInt(I64, 1)
    below = builder.binary("sub", builder.binary("shl", one, lane), one)
    lanes = builder.binary("and", _ask(builder, "weft.ballot", *call.args), below)
    count = builder.module.declare("llvm.ctpop.i64", FunctionType(I64, (I64,)))
    return _as_integer(builder, builder.call(count, (lanes,)), call.type)


def _extract(builder: Builder, call: Instruction) -> Value:
    return _of_lane(builder, *call.args)


def _insert(builder: Builder, call: Instruction) -> Value:
    value, lane, inserted = call.args
    here = _as_integer(builder, _ask(builder, "weft.lane.id"), lane.type)
    return builder.select(builder.icmp("eq", here, lane), inserted, value)


def _shuffle(builder: Builder, call: Instruction) -> Value:
    value, distance = call.args
    here = _ask(builder, "weft.lane.id")
    further = builder.binary("add", here, _as_integer(builder, distance, I32, signed=True))
    last = builder.binary("sub", _ask(builder, "weft.num.lanes"), ConstInt(I32, 1))
    return _of_lane(builder, value, builder.binary("and", further, last))


def _compact(builder: Builder, call: Instruction) -> Value:
    return _moved(builder, "weft.compact", *call.args)


def _load(builder: Builder, call: Instruction) -> Value:
    return builder.load(call.type, _of_lane(builder, *call.args))


def _store(builder: Builder, call: Instruction) -> None:
    pointer, lane, value = call.args
    builder.store(_of_lane(builder, value, lane), _of_lane(builder, pointer, lane))


_OPERATIONS: dict[str, LaneOperation] = {
    "any": LaneOperation("bb", "bool {}(bool)", _vote("weft.any")),
    "all": LaneOperation("bb", "bool {}(bool)", _vote("weft.all")),
    "ballot": LaneOperation("bw", "int {}(bool), or with a result of 64 bits", _ballot),
    "popcount": LaneOperation("bi", "int {}(bool)", _number("weft.popcount")),
    "index": LaneOperation("bi", "int {}(bool)", _index),
    "mask": LaneOperation("b", "bool {}(void)", _vote("weft.mask")),
    "extract": LaneOperation("tit", "T {}(T value, int lane)", _extract),
    "insert": LaneOperation("titt", "T {}(T value, int lane, T inserted)", _insert),
    "shuffle": LaneOperation("tit", "T {}(T value, int distance)", _shuffle),
    "compact": LaneOperation("tbt", "T {}(T value, bool chosen)", _compact),
    "load": LaneOperation("pit", "T {}(T *pointer, int lane)", _load),
    "store": LaneOperation("pitv", "void {}(T *pointer, int lane, T value)", _store),
    "lane_id": LaneOperation("i", "int {}(void)", _number("weft.lane.id")),
    "num_lanes": LaneOperation("i", "int {}(void)", _number("weft.num.lanes")),
}
