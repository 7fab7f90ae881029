"""Random functions for a kernel to call: inlined or not, with memory or without, recursive, given an object."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from weft.ir import Builder, ConstInt, Function, Module, Value
from weft.ir.intrinsics import declare
from weft.ir.types import I32, I64, PTR, FunctionType, Type

if TYPE_CHECKING:
    from generators.expressions import Expressions, Pool
    from generators.programs import Options

Fill = Callable[[Function, random.Random, "Options"], None]
"""Makes a random body."""


def make_callees(module: Module, rng: random.Random, options: Options, fill: Fill) -> list[Function]:
    """Up to two functions."""
    makers = (_of_numbers, _of_memory, _recursive, _of_object)
    return [
        rng.choice(makers)(module, rng, options, fill, f"callee{i}") for i in range(rng.choice((0, 1, 1, 2)))
    ]


def call_some(
    builder: Builder, pool: Pool, callee: Function, kernel: Function, expressions: Expressions
) -> None:
    """Call with values of the pool; pointers are the kernel's own, or a stack object."""
    if callee.fn_type.params == (PTR, I32) and not pool[PTR]:
        return
    arguments: list[Value] = []
    for i, type in enumerate(callee.fn_type.params):
        own = type.is_pointer and len(callee.args) == 4
        arguments.append(kernel.args[i] if own else expressions.pick(type, pool))
    result = builder.call(callee, arguments)
    pool[result.type].append(result)


def _declared(module: Module, name: str, result: Type, *params: Type) -> Function:
    function = Function(name, FunctionType(result, params), tuple(f"p{i}" for i in range(len(params))))
    function.linkage.linkage = "internal"
    function.attributes = ("nounwind", "noinline")
    module.add_function(function)
    return function


def _of_numbers(module: Module, rng: random.Random, options: Options, fill: Fill, name: str) -> Function:
    function = _declared(module, name, rng.choice((I32, I64)), I32, I64)
    if rng.random() < 0.4:
        function.attributes = ("nounwind", "alwaysinline")
    small = replace(
        options, blocks=5, loop_depth=2, statements=2, trips=2, memory=False, stack=False, calls=False,
        single_return=rng.random() < 0.5,
    )  # fmt: skip
    fill(function, rng, small)
    return function


def _of_memory(module: Module, rng: random.Random, options: Options, fill: Fill, name: str) -> Function:
    """A function of a kernel's parameters that asks for its thread's id."""
    function = _declared(module, name, I32, PTR, PTR, I32, I64)
    small = replace(
        options, blocks=4, loop_depth=1, statements=2, trips=2, calls=False,
        single_return=rng.random() < 0.5,
    )  # fmt: skip
    fill(function, rng, small)
    return function


def _recursive(module: Module, rng: random.Random, options: Options, fill: Fill, name: str) -> Function:
    """``f(n, x) = n & 3 ? f((n & 3) - 1, 3 x + n) ^ n : x``."""
    function = _declared(module, name, I32, I32, I32)
    n, x = function.args
    entry, again, end = (function.add_block(label) for label in ("entry", "again", "end"))
    builder = Builder(entry)
    left = builder.binary("and", n, ConstInt(I32, 3))
    builder.cond_br(builder.icmp("ne", left, ConstInt(I32, 0)), again, end)
    builder.at_end(again)
    tripled = builder.binary("mul", x, ConstInt(I32, 3))
    fewer = builder.binary("sub", left, ConstInt(I32, 1))
    inner: Value = builder.call(function, (fewer, builder.binary("add", tripled, n)))
    if options.horizontal:
        together = builder.call(declare(module, "weft.ballot"), (builder.icmp("sgt", inner, x),))
        inner = builder.binary("add", inner, builder.cast("trunc", together, I32))
    builder.ret(builder.binary("xor", inner, n))
    builder.at_end(end)
    builder.ret(x)
    return function


def _of_object(module: Module, rng: random.Random, options: Options, fill: Fill, name: str) -> Function:
    """Adds to one of the eight words of an object, and returns what it was."""
    function = _declared(module, name, I32, PTR, I32)
    place, x = function.args
    builder = Builder(function.add_block("entry"))
    index = builder.cast("zext", builder.binary("and", x, ConstInt(I32, 7)), I64)
    word = builder.gep(I32, place, (index,))
    old = builder.load(I32, word, 4)
    builder.store(builder.binary("add", old, x), word, 4)
    builder.ret(old)
    return function
