"""LLVM's intrinsics: which function decodes a call of which.

A name such as ``llvm.smax.v4i32`` is looked up without its type suffixes, longest match first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.interp.code import Compute
from weft.interp.memory import intrinsics_masked, intrinsics_memory
from weft.interp.numbers import intrinsics_float, intrinsics_int, intrinsics_vector
from weft.ir.instruction import Instruction

if TYPE_CHECKING:
    from weft.interp.decode import Decoder

Decode = Callable[["Decoder", Instruction], Compute]

TABLE: dict[str, Decode] = {
    f"llvm.{name}": decode
    for table in (
        intrinsics_int.TABLE,
        intrinsics_float.TABLE,
        intrinsics_memory.TABLE,
        intrinsics_masked.TABLE,
        intrinsics_vector.TABLE,
    )
    for name, decode in table.items()
}


def find(name: str) -> Decode | None:
    """The semantics of an intrinsic by its full name, or None."""
    while name != "llvm":
        found = TABLE.get(name)
        if found is not None:
            return found
        name = name.rpartition(".")[0]
    return None
