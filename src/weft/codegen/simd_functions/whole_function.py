"""Whole-function vectorization: beside a function for one lane, one for W of them (Moll, §3.3).

The SIMD function takes a vector where a parameter varies, and a scalar, its value in lane 0, where it is uniform or
strided; it returns a vector, or a scalar where the result is proved uniform. Under a mask, lanes that are off read and
write nothing, and their result is poison.

Precondition: canonical P-LLVM. Postcondition: lane l of the SIMD function does what the function, which stays as it is,
does for the arguments of lane l, where lanes have to agree in what is passed as a scalar.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.analysis.shapes import Shape, domain_named
from weft.codegen.lanes.lane_unit import LaneUnit, SimdForm
from weft.codegen.lanes.obstacles import clear_obstacles, why_not_vectorized
from weft.codegen.simd_functions.entry_guard import guard_by_mask
from weft.codegen.simd_functions.functions import FunctionVectorizer
from weft.diag.errors import UnsupportedError
from weft.diag.source import SourceSpan
from weft.ir import Function, Value
from weft.ir.clone import clone_function
from weft.ir.locations import span_of
from weft.transform.unify_returns import unify_returns


def function_unit(
    called: FunctionVectorizer,
    function: Function,
    shapes: Mapping[Value, Shape],
    name: str,
    *,
    masked: bool = False,
    scalar_result: bool = True,
) -> LaneUnit:
    """What is to become the SIMD version of `function`, which stays as it is, under `name`.

    Parameters
    ----------
    called
        Makes the versions of the functions that it calls.
    function
        Canonical P-LLVM.
    shapes
        The shapes of the parameters.
    masked
        Whether it takes a mask as last parameter.
    scalar_result
        Whether a uniform result is returned as one value, not as a vector.

    Raises
    ------
    UnsupportedError
        The function cannot be vectorized.
    """
    if function.fn_type.vararg:
        message = f"{function.name} cannot be vectorized because it takes a variable number of arguments"
        raise UnsupportedError(message, _span_in(function))
    values: dict[Value, Value] = {}
    copy = clone_function(function, f"{name}.lanes", values)
    given = {values[argument]: shape for argument, shape in shapes.items() if argument in values}
    unify_returns(copy)
    clear_obstacles(copy)
    obstacle = why_not_vectorized(copy)
    if obstacle is not None:
        del called.module.functions[copy.name]
        message = f"{function.name} cannot be vectorized because {obstacle}"
        raise UnsupportedError(message, _span_in(function))
    if masked:
        given[guard_by_mask(copy)] = domain_named("product", called.lanes.extents).varying(1)
    unit = called.unit(copy, given, SimdForm(name, scalar_result=scalar_result))
    unit.alone = function
    return unit


def _span_in(function: Function) -> SourceSpan | None:
    """The first place in the source that is known of a function."""
    return next((span for i in function.instructions() if (span := span_of(i)) is not None), None)
