"""What trials read the time from: cycles of the processor, or nanoseconds, of which other processes have none.

A function of the module, ``i64 (i32 kind)``. Where no trial goes on it reads the processor's counter, which takes a few
nanoseconds. Pieces of a trial are told the time of the thread, a call of the system that takes up to a microsecond:
what another process runs meanwhile, some milliseconds at a time, is not in it. Pieces so short that this would be much
of them are told the time that has passed, which is read without a call of the system.
"""

from __future__ import annotations

from weft.ir import Builder, Function, Module, Value
from weft.ir.builder import const_int
from weft.ir.types import I32, I64, PTR, ArrayType, FunctionType

_PASSED, _OF_THREAD = 1, 3
"""Clocks of Linux: monotonic time, and the time of the processor that a thread has had."""

_COUNTER = -1

LONG = 20_000
"""Nanoseconds that a piece takes from which on the next one is told the time of the thread. Measured on a virtual
machine: reading it takes 870 ns."""

_NAME = "weft.trial.time"


class Clock:
    """Declares that function, and builds calls of it."""

    __slots__ = ("_function",)

    def __init__(self, module: Module) -> None:
        self._function = module.functions.get(_NAME) or _reading(module)

    def kind(self, builder: Builder, tries: Value, length: Value) -> Value:
        """Which clock tells the time of a piece, where the last one of a trial took so many nanoseconds."""
        long = builder.icmp("uge", length, const_int(LONG))
        told = builder.select(long, const_int(_OF_THREAD, I32), const_int(_PASSED, I32))
        return builder.select(tries, told, const_int(_COUNTER, I32))

    def now(self, builder: Builder, kind: Value) -> Value:
        """What that clock says."""
        return builder.call(self._function, (kind,))


def _reading(module: Module) -> Function:
    function = Function(_NAME, FunctionType(I64, (I32,)), ("kind",))
    function.linkage.linkage, function.attributes = "internal", ("nounwind",)
    module.add_function(function)
    counter = module.declare("llvm.readcyclecounter", FunctionType(I64, ()), ("nounwind", "willreturn"))
    clock = module.declare("clock_gettime", FunctionType(I32, (I32, PTR)), ("nounwind",))
    builder = Builder(function.add_block("entry"))
    counts, asks, told = (function.add_block(name) for name in ("counts", "asks", "told"))
    place = builder.alloca(ArrayType(I64, 2), align=8)
    (kind,) = function.args
    builder.cond_br(builder.icmp("eq", kind, const_int(_COUNTER, I32)), counts, asks)
    builder.at_end(counts)
    builder.ret(builder.call(counter, ()))
    builder.at_end(asks)
    # Where programs may not ask, the counter has to do.
    refused = builder.icmp("ne", builder.call(clock, (kind, place)), const_int(0, I32))
    builder.cond_br(refused, counts, told)
    builder.at_end(told)
    seconds = builder.load(I64, place, align=8)
    rest = builder.load(I64, builder.gep(I64, place, (const_int(1),)), align=8)
    builder.ret(builder.binary("add", builder.binary("mul", seconds, const_int(10**9)), rest))
    return function
