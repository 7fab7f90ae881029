"""LLVM IR from any compiler as the program that the passes start with, and which function of it is meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.analysis.uniform_functions import vouch_for
from weft.diag.errors import ArgumentError, UnsupportedError
from weft.frontend.lane_operations import adopt_lane_operations
from weft.ir import Function, Module
from weft.passes.lane_parameters import global_strides
from weft.target.reading import declaration_in, read_foreign
from weft.transform.foreign.global_shapes import shift_globals

NO_SHAPES: Mapping[str, str] = {}


def adopt(
    text: str,
    filename: str = "",
    shapes: Mapping[str, str] = NO_SHAPES,
    uniform: Sequence[str] = (),
) -> Module:
    """Read LLVM IR, with what the user says of it.

    Parameters
    ----------
    shapes
        Shapes of global variables, by name.
    uniform
        Functions without a body that are uniform for uniform arguments.

    Raises
    ------
    CompileError, IRSyntaxError
        LLVM refuses the text, or it holds what weft does not read.
    ArgumentError
        There is no such variable or function, or the variable cannot have the shape.
    """
    module, text = read_foreign(text, filename)
    vouch_for(module, uniform)
    adopt_lane_operations(module, lambda name: declaration_in(text, filename, name))
    strides = global_strides(module, shapes)
    if strides:
        shift_globals(module, strides)
    return module


def chosen_function(module: Module, name: str) -> Function:
    """The definition with the name.

    Raises
    ------
    ArgumentError
        There is none.
    UnsupportedError
        It is a kernel.
    """
    function = module.functions.get(name)
    if function is None or function.is_declaration:
        known: Sequence[str] = [f.name for f in module.definitions()]
        others = ", ".join(known) or "none; clang drops static functions that nothing calls"
        raise ArgumentError(f"the module defines no function {name!r}", hint=f"it defines {others}")
    if function.attribute("weft.kernel") is not None:
        raise UnsupportedError(f"{name} is a kernel, which is launched, not vectorized as a function")
    return function
