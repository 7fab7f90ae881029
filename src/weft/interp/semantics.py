"""The table of semantics: for each opcode of `weft.ir.opcodes` the function that decodes it.

A dialect that registers opcodes of its own adds their semantics to these tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weft.interp.calls import calls
from weft.interp.code import Compute
from weft.interp.memory import atomics, ops_memory
from weft.interp.numbers import ops_aggregate, ops_lanewise
from weft.interp.threads import branches
from weft.ir.instruction import Instruction

if TYPE_CHECKING:
    from weft.interp.decode import Decoder

Decode = Callable[["Decoder", Instruction], Compute]

SEMANTICS: dict[str, Decode] = {
    **dict.fromkeys(
        ("add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor"), ops_lanewise.decode_integer
    ),
    **dict.fromkeys(("udiv", "sdiv", "urem", "srem"), ops_lanewise.decode_division),
    **dict.fromkeys(("fadd", "fsub", "fmul", "fdiv", "frem"), ops_lanewise.decode_float),
    **dict.fromkeys(
        (
            "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp",
            "ptrtoint", "ptrtoaddr", "inttoptr", "bitcast", "addrspacecast",
        ),
        ops_lanewise.decode_cast,
    ),
    "fneg": ops_lanewise.decode_fneg,
    "freeze": ops_lanewise.decode_freeze,
    "icmp": ops_lanewise.decode_icmp,
    "fcmp": ops_lanewise.decode_fcmp,
    "select": ops_lanewise.decode_select,
    "getelementptr": ops_memory.decode_gep,
    "load": ops_memory.decode_load,
    "store": ops_memory.decode_store,
    "alloca": ops_memory.decode_alloca,
    "fence": ops_memory.decode_fence,
    "atomicrmw": atomics.decode_atomicrmw,
    "cmpxchg": atomics.decode_cmpxchg,
    "extractvalue": ops_aggregate.decode_extractvalue,
    "insertvalue": ops_aggregate.decode_insertvalue,
    "extractelement": ops_aggregate.decode_extractelement,
    "insertelement": ops_aggregate.decode_insertelement,
    "shufflevector": ops_aggregate.decode_shufflevector,
    "call": calls.decode_call,
}  # fmt: skip
"""Instructions that compute; the result is a closure over the frame."""

TERMINATORS: dict[str, Callable[..., Any]] = {
    "br": branches.decode_br,
    "switch": branches.decode_switch,
    "ret": branches.decode_ret,
    "unreachable": branches.decode_unreachable,
}
"""Terminators; the result moves the frame's threads to their next blocks."""

BY_FRAME = frozenset({"phi"})
"""Opcodes whose semantics are the frame's own (`Frame._assign_phis`): they read the edge, not the block."""
