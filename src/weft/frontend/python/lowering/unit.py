"""What the functions of one compilation share: module, options, shared memory, constants, remarks."""

from __future__ import annotations

from types import FunctionType as PythonFunction
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field

from weft.diag.remarks import RemarkLog
from weft.diag.source import SourceSpan
from weft.frontend.python.lowering.calls.library_names import LIBRARY_NAMES
from weft.frontend.python.lowering.debug_info import DebugInfo
from weft.frontend.python.source import FunctionNode, FunctionSource
from weft.ir.constants import ConstBytes
from weft.ir.function import Function, GlobalVariable, Module
from weft.ir.intrinsics import INTRINSICS, IntrinsicKind, declare
from weft.ir.types import I8, ArrayType, FunctionType, Type

if TYPE_CHECKING:
    from weft.frontend.python.lowering.arrays.fused import Expression
    from weft.frontend.python.lowering.calls.instances import Instance
    from weft.frontend.python.lowering.calls.local_functions import LocalFunction
    from weft.frontend.python.types import Computed

INTRINSIC_ATTRIBUTES = ("nounwind", "speculatable", "willreturn", "memory(none)")
LIBRARY_ATTRIBUTES = ("nounwind", "willreturn", "memory(none)")


class Options(Struct, frozen=True):
    """How to compile: checks for the sanitizer, fast-math flags on floating instructions, for a GPU's own warps."""

    debug: bool = False
    fastmath: tuple[str, ...] = ()
    gpu: bool = False


class Unit(Struct):
    """One compilation.

    Parameters
    ----------
    options
        How to compile.
    module
        The module being built.
    remarks
        What is worth telling the user.
    instances
        Functions compiled so far, by function and argument types.
    shared
        Size and alignment of each static shared array, by the call that makes it.
    errors
        What compiled code may raise, numbered from 1: kind (``shape``, ``memory``, or the name of a builtin
        exception), message, place.
    features
        What the program uses: ``barrier``, ``horizontal``, ``dynamic_shared``, ``print``, ``atomic``.
    shaped
        Functions that make arrays of a shape that their parameters give: they are compiled for each literal.
    local_functions
        Functions inside other ones, by their definitions.
    sources
        The text of each function, once it is read.
    debug_info
        Makes the program's debug information.
    expressions, expression_numbers
        How elements are computed that functions ask for one by one, and the numbers of these expressions by their
        places in the source.
    """

    options: Options
    module: Module = field(default_factory=lambda: Module("weft"))
    remarks: RemarkLog = field(default_factory=RemarkLog)
    instances: dict[tuple[object, ...], Instance] = field(default_factory=dict)
    shared: dict[tuple[object, ...], tuple[int, int, int]] = field(default_factory=dict)
    errors: dict[tuple[str, str, SourceSpan], int] = field(default_factory=dict)
    captured: list[np.ndarray[Any, Any]] = field(default_factory=list)
    raised: dict[tuple[str, int], tuple[type[Exception], str]] = field(default_factory=dict)
    features: set[str] = field(default_factory=set)
    shaped: set[PythonFunction | LocalFunction] = field(default_factory=set)
    local_functions: dict[FunctionNode, LocalFunction] = field(default_factory=dict)
    sources: dict[PythonFunction, FunctionSource] = field(default_factory=dict)
    debug_info: DebugInfo = field(default_factory=DebugInfo)
    expressions: dict[Computed, Expression] = field(default_factory=dict)
    expression_numbers: dict[tuple[object, ...], int] = field(default_factory=dict)
    _arrays: dict[int, tuple[np.ndarray[Any, Any], GlobalVariable]] = field(default_factory=dict)
    _texts: dict[bytes, GlobalVariable] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)

    def intrinsic(self, name: str) -> Function:
        """One of weft's own intrinsics."""
        kind = INTRINSICS[name].kind
        if kind is IntrinsicKind.BARRIER:
            self.features.add("barrier")
        elif kind in (IntrinsicKind.HORIZONTAL, IntrinsicKind.MASK) or name == "weft.lane.id":
            self.features.add("horizontal")
        function = declare(self.module, name)
        if kind in (IntrinsicKind.ID, IntrinsicKind.SIZE) and function.fn_type.result.bits == 64:  # type: ignore[attr-defined]
            low = int(name in ("weft.local.size", "weft.num.groups"))
            function.return_attributes = (f"range(i64 {low}, 2147483648)",)
        return function

    def llvm(self, name: str, result: Type, *params: Type) -> Function:
        """An intrinsic of LLVM that computes a value."""
        return self.module.declare(name, FunctionType(result, params), INTRINSIC_ATTRIBUTES)

    def library(self, name: str, result: Type, *params: Type) -> Function:
        """A function of the C math library."""
        return self.module.declare(name, FunctionType(result, params), LIBRARY_ATTRIBUTES)

    def shared_index(self, key: tuple[object, ...], size: int, align: int) -> int:
        """The number of the static shared array made by the call `key`."""
        if key not in self.shared:
            self.shared[key] = (len(self.shared), size, align)
        return self.shared[key][0]

    def constant_array(self, array: np.ndarray[Any, Any]) -> GlobalVariable:
        """A read-only global that holds the array's elements in C order."""
        found = self._arrays.get(id(array))
        if found is None:
            name = f"constant.{len(self._arrays)}"
            variable = self._bytes(
                name, np.ascontiguousarray(array).tobytes(), max(16, array.dtype.alignment)
            )
            # The array is kept with it, so that its id stays its own.
            found = self._arrays[id(array)] = (array, variable)
        return found[1]

    def text(self, text: str) -> GlobalVariable:
        """A read-only global with a C string."""
        data = text.encode() + b"\0"
        if data not in self._texts:
            self._texts[data] = self._bytes(f"text.{len(self._texts)}", data, 1)
        return self._texts[data]

    def _bytes(self, name: str, data: bytes, align: int) -> GlobalVariable:
        type = ArrayType(I8, len(data))
        variable = GlobalVariable(name, type, ConstBytes(type, data), is_constant=True)
        variable.linkage.linkage = "private"
        variable.linkage.unnamed_addr = "unnamed_addr"
        variable.linkage.align = align
        return self.module.add_global(variable)

    def unique_name(self, name: str) -> str:
        """A function name of the module that is not taken; that of a function of the C library counts as taken."""
        base = "".join(c if c.isalnum() or c in "._" else "_" for c in name.replace("<lambda>", "lambda"))
        candidate, count = base, 0
        while candidate in self._names or candidate in LIBRARY_NAMES:
            count += 1
            candidate = f"{base}.{count}"
        self._names.add(candidate)
        return candidate
