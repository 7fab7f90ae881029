"""Bit operations and the small numeric functions of `cuda`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.components import ir_scalar
from weft.frontend.python.cuda_names import CudaName
from weft.frontend.python.lowering.calls.registry import Arguments, call
from weft.frontend.python.lowering.calls.typed import Typed, scalar_type
from weft.frontend.python.lowering.choices import select
from weft.frontend.python.lowering.numbers.casts import cast_value, convert, number
from weft.frontend.python.lowering.numbers.comparisons import condition
from weft.frontend.python.lowering.numbers.mathematics import evaluate
from weft.frontend.python.types import Scalar, boolean, pyint
from weft.ir.builder import const_int
from weft.ir.constants import FALSE
from weft.ir.types import I1
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def _integer(low: Lowering, args: Arguments) -> tuple[Scalar, Value]:
    """The one argument, an integer."""
    (value,) = args.bind("x")
    type = scalar_type(value)
    if type is None or type.kind not in "biu":
        raise TypingError(f"{args.name}() takes an integer, not {value.type}")
    if type is boolean:
        return pyint, convert(low, value, pyint)[0]
    return type, number(low, value)


def _count(low: Lowering, type: Scalar, value: Value) -> Typed:
    """A number of bits as an int."""
    wide = Scalar("", "u", type.bits)
    return Typed(pyint, (cast_value(low, value, wide, pyint),), low=0)


def popcount(low: Lowering, value: Typed) -> Typed:
    """The number of bits that are set."""
    type = scalar_type(value)
    assert type is not None
    x = number(low, value)
    return _count(
        low, type, low.builder.call(low.unit.llvm(f"llvm.ctpop.i{type.bits}", x.type, x.type), (x,))
    )


@call(CudaName("popc"), CudaName("libdevice.popc"), CudaName("libdevice.popcll"))
def _call_popc(low: Lowering, args: Arguments) -> Typed:
    type, x = _integer(low, args)
    return popcount(low, Typed(type, (x,)))


@call(CudaName("clz"), CudaName("libdevice.clz"), CudaName("libdevice.clzll"))
def _call_clz(low: Lowering, args: Arguments) -> Typed:
    """The number of zeros before the highest set bit; the width for 0."""
    type, x = _integer(low, args)
    function = low.unit.llvm(f"llvm.ctlz.i{type.bits}", x.type, x.type, I1)
    return _count(low, type, low.builder.call(function, (x, FALSE)))


@call(CudaName("ffs"), CudaName("libdevice.ffs"), CudaName("libdevice.ffsll"))
def _call_ffs(low: Lowering, args: Arguments) -> Typed:
    """The position of the lowest set bit, counted from 1; 0 for 0."""
    type, x = _integer(low, args)
    function = low.unit.llvm(f"llvm.cttz.i{type.bits}", x.type, x.type, I1)
    zeros = low.builder.call(function, (x, FALSE))
    one, zero = const_int(1, ir_scalar(type)), const_int(0, ir_scalar(type))
    position = low.builder.binary("add", zeros, one)
    return _count(low, type, low.builder.select(low.builder.icmp("eq", x, zero), zero, position))


@call(CudaName("brev"), CudaName("libdevice.brev"), CudaName("libdevice.brevll"))
def _call_brev(low: Lowering, args: Arguments) -> Typed:
    """The bits in reverse order."""
    type, x = _integer(low, args)
    function = low.unit.llvm(f"llvm.bitreverse.i{type.bits}", x.type, x.type)
    return Typed(type, (low.builder.call(function, (x,)),), low=0 if type.kind == "u" else None)


@call(CudaName("selp"))
def _call_selp(low: Lowering, args: Arguments) -> Typed:
    test, then, otherwise = args.bind("test", "a", "b")
    return select(low, condition(low, test), then, otherwise)


@call(CudaName("fma"), CudaName("libdevice.fma"), CudaName("libdevice.fmaf"))
def _call_fma(low: Lowering, args: Arguments) -> Typed:
    return evaluate(low, "fma", args.bind("a", "b", "c"))


@call(CudaName("cbrt"))
def _call_cbrt(low: Lowering, args: Arguments) -> Typed:
    return evaluate(low, "cbrt", args.bind("a"))
