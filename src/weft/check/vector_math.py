"""Functions of vector math libraries as the interpreter runs them: lane by lane, by the scalar function."""

from __future__ import annotations

from collections.abc import Mapping

from weft.ir import Builder, ConstInt, Function, Module, Poison, Value
from weft.ir.types import I32, FunctionType, VectorType
from weft.target.vector_math import MathSymbol


def define_lane_by_lane(module: Module, symbols: Mapping[str, MathSymbol]) -> None:
    """Give the library functions that `module` declares a body that calls the C library's for each lane."""
    for symbol, math in symbols.items():
        function = module.functions.get(symbol)
        if function is not None and function.is_declaration:
            _define(module, function, math)


def _define(module: Module, function: Function, math: MathSymbol) -> None:
    vector = function.fn_type.result
    assert isinstance(vector, VectorType)
    # One that is told which lanes are on gives others what it likes.
    args = [a for a in function.args if a.type == vector]
    scalar_type = FunctionType(vector.element, (vector.element,) * len(args))
    scalar = module.declare(math.name if math.bits == 64 else f"{math.name}f", scalar_type)
    builder = Builder(function.add_block("entry"))
    result: Value = Poison(vector)
    for lane in range(vector.count):
        number = ConstInt(I32, lane)
        values = [builder.build("extractelement", vector.element, (a, number)) for a in args]
        result = builder.build("insertelement", vector, (result, builder.call(scalar, values), number))
    builder.ret(result)
