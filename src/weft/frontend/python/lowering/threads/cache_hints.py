"""``cuda.ldcg(array, i)``, ``cuda.stcs(array, i, value)``, ...: with hints to a GPU's caches, plain accesses here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.diag.remarks import RemarkKind
from weft.diag.source import SourceSpan
from weft.frontend.python.cuda_names import CudaName
from weft.frontend.python.lowering.arrays.arrays import (
    element_address,
    element_align,
    index_values,
    require_writable,
)
from weft.frontend.python.lowering.arrays.memory import load_element, store_element
from weft.frontend.python.lowering.calls.registry import Arguments, call
from weft.frontend.python.lowering.calls.typed import NONE, Typed
from weft.frontend.python.types import Array
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_LOADS = ("ldca", "ldcg", "ldcs", "ldlu", "ldcv")
_STORES = ("stcg", "stcs", "stwb", "stwt")


def _element(low: Lowering, name: str, array: Typed, index: Typed) -> tuple[Value, Array]:
    type = array.type
    if not isinstance(type, Array):
        raise TypingError(f"{name}() takes an array, not {type}")
    indices = index_values(index)
    if len(indices) != type.ndim:
        raise TypingError(f"{name}() takes {type.ndim} indices for {type}, not {len(indices)}")
    place = low.builder.loc
    assert place is not None
    low.unit.remarks.add(
        RemarkKind.MISSED,
        f"the cache hint of {name}() means nothing on a CPU: the access is a plain one",
        SourceSpan(low.source.file, place.line, place.column),
        pass_name="frontend",
    )
    return element_address(low, array, indices), type


@call(*(CudaName(name) for name in _LOADS))
def _load(low: Lowering, args: Arguments) -> Typed:
    array, index = args.bind("array", "i")
    address, type = _element(low, args.name, array, index)
    return load_element(low, address, type.dtype, element_align(type))


@call(*(CudaName(name) for name in _STORES))
def _store(low: Lowering, args: Arguments) -> Typed:
    array, index, value = args.bind("array", "i", "value")
    address, type = _element(low, args.name, array, index)
    require_writable(type)
    store_element(low, value, address, type.dtype, element_align(type))
    return NONE
