"""Special registers: ids, sizes and lanes as LLVM's NVPTX target has them, and what a CPU answers to the others."""

from __future__ import annotations

from weft.diag.errors import UnsupportedError
from weft.ir import ConstInt, Value
from weft.ir.types import I32, I64, FunctionType
from weft.ptx import syntax
from weft.ptx.lift.body import PURE, Body
from weft.ptx.lift.variables import GRID, GRID_REGISTERS

WARP = 32
"""Threads of a warp."""

_IDS = {
    **{f"%{name}": name for name in ("tid", "ntid", "ctaid", "nctaid")},
    "%clusterid": "ctaid",
    "%nclusterid": "nctaid",
}
"""Which of LLVM's registers they are."""

_NO_WRAP = ("nuw", "nsw")

_CONSTANTS = {
    "%smid": 0,
    "%nsmid": 1,
    "%gridid": 0,
    "%is_explicit_cluster": 0,
    "%cluster_ctarank": 0,
    "%cluster_nctarank": 1,
    "%reserved_smem_offset_begin": 0,
    "%reserved_smem_offset_end": 0,
    "%reserved_smem_offset_cap": 0,
    "%current_graph_exec": 0,
    "WARP_SZ": WARP,
}
"""A grid runs on one multiprocessor, and each work-group is a cluster of its own."""

_CLOCKS = {
    "%clock": 0,
    "%clock64": 0,
    "%clock_hi": 32,
    "%globaltimer": 0,
    "%globaltimer_lo": 0,
    "%globaltimer_hi": 32,
}
"""Which bits of the processor's counter they are, counted from this one on."""

_LANE_MASKS = ("%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt")


def read_special(body: Body, register: syntax.SpecialRegister) -> Value:
    """The value of a special register, of 32 or 64 bits.

    Raises
    ------
    UnsupportedError
        Nothing on a CPU corresponds to it.
    """
    name = register.name
    if name in _IDS:
        return position(body, name, "xyz".index(register.component or "x"))
    if name in _CONSTANTS:
        return ConstInt(I64 if name in ("%gridid", "%current_graph_exec") else I32, _CONSTANTS[name])
    if name in GRID_REGISTERS and GRID in body.variables:
        address = body.builder.load(I64, body.variables[GRID], align=8)
        part = body.builder.binary("lshr", address, ConstInt(I64, GRID_REGISTERS[name]))
        return body.builder.cast("trunc", part, I32)
    if name.startswith(("%envreg", "%pm")):
        return ConstInt(I32, 0)
    if name in ("%cluster_ctaid", "%cluster_nctaid"):
        return ConstInt(I32, int(name == "%cluster_nctaid"))
    if name == "%laneid":
        return lane(body)
    if name in _LANE_MASKS:
        return _lane_mask(body, name)
    if name in ("%warpid", "%nwarpid"):
        return _warp(body, name)
    if name in _CLOCKS:
        return _clock(body, name)
    raise UnsupportedError(f"{name} has no value on a CPU")


def position(body: Body, name: str, dimension: int) -> Value:
    """An id or size along a dimension."""
    return _register(body, f"{_IDS[name]}.{'xyz'[dimension]}")


def lane(body: Body) -> Value:
    """The thread's position in its warp."""
    return _register(body, "laneid")


def _register(body: Body, name: str) -> Value:
    function = body.module.declare(f"llvm.nvvm.read.ptx.sreg.{name}", FunctionType(I32, ()), PURE)
    return body.builder.call(function, ())


def _lane_mask(body: Body, name: str) -> Value:
    builder = body.builder
    own = builder.binary("shl", ConstInt(I32, 1), lane(body))
    below = builder.binary("sub", own, ConstInt(I32, 1))
    if name.endswith("eq"):
        return own
    if name.endswith("lt"):
        return below
    through = builder.binary("or", own, below)
    if name.endswith("le"):
        return through
    return builder.binary("xor", through if name.endswith("gt") else below, ConstInt(I32, -1))


def linear_thread(body: Body) -> Value:
    """The number of the thread in its block, x fastest."""
    builder = body.builder
    value = position(body, "%tid", 2)
    for dimension in (1, 0):
        row = builder.binary("mul", value, position(body, "%ntid", dimension), _NO_WRAP)
        value = builder.binary("add", row, position(body, "%tid", dimension), _NO_WRAP)
    return value


def threads(body: Body) -> Value:
    """How many threads a block has."""
    value = position(body, "%ntid", 0)
    for dimension in (1, 2):
        value = body.builder.binary("mul", value, position(body, "%ntid", dimension), _NO_WRAP)
    return value


def _warp(body: Body, name: str) -> Value:
    builder = body.builder
    if name == "%warpid":
        return builder.binary("lshr", linear_thread(body), ConstInt(I32, 5))
    whole = builder.binary("add", threads(body), ConstInt(I32, WARP - 1), _NO_WRAP)
    return builder.binary("lshr", whole, ConstInt(I32, 5))


def _clock(body: Body, name: str) -> Value:
    counter = body.module.declare("__weft_clock", FunctionType(I64, ()), ("nounwind", "willreturn"))
    value: Value = body.builder.call(counter, ())
    if _CLOCKS[name]:
        value = body.builder.binary("lshr", value, ConstInt(I64, 32))
    if name in ("%clock64", "%globaltimer"):
        return value
    return body.builder.cast("trunc", value, I32)
