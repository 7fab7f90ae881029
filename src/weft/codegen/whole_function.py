"""Whole-function vectorization: beside a function for one lane, one for W of them (Moll, §3.2).

The SIMD function takes a vector where a parameter varies, and a scalar, its value in lane 0, where it is uniform or
strided; it returns a vector, or a scalar where the result is proved uniform. Under a mask, lanes that are off read and
write nothing, and their result is poison.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.analysis.shapes import Shape, domain_named
from weft.codegen.vectorize import VectorizationSummary, vectorize_function, why_not_vectorized
from weft.codegen.widen.calls import FindMath
from weft.codegen.widen.lanes import LaneSpace
from weft.diag.errors import UnsupportedError
from weft.ir import Argument, Builder, Function, Module, Poison, Value
from weft.ir.cfg_edit import split_block
from weft.ir.clone import clone_function
from weft.ir.locations import span_of
from weft.ir.types import I1, FunctionType
from weft.transform.unify_returns import unify_returns

MASK = "mask"
"""The name of the last parameter of a masked function, one truth value a lane."""


def vectorize_whole_function(
    module: Module,
    function: Function,
    shapes: Mapping[Value, Shape],
    width: int,
    name: str,
    find_math: FindMath,
    *,
    masked: bool = False,
) -> tuple[Function, VectorizationSummary]:
    """Add the SIMD version of `function`, which stays as it is, to `module` under `name`.

    Parameters
    ----------
    module, function
        Canonical P-LLVM.
    shapes
        The shapes of the parameters.
    masked
        Whether it takes a mask as last parameter.

    Raises
    ------
    UnsupportedError
        The function cannot be vectorized.
    """
    values: dict[Value, Value] = {}
    copy = clone_function(function, f"{name}.lanes", values)
    given = {values[argument]: shape for argument, shape in shapes.items() if argument in values}
    unify_returns(copy)
    obstacle = why_not_vectorized(copy)
    if obstacle is not None:
        del module.functions[copy.name]
        where = next((span for i in function.instructions() if (span := span_of(i)) is not None), None)
        raise UnsupportedError(f"{function.name} cannot be vectorized because {obstacle}", where)
    lanes = LaneSpace((width,))
    if masked:
        given[guard_by_mask(copy)] = domain_named("product", lanes.extents).varying(1)
    vector, summary = vectorize_function(module, copy, lanes, name, given, find_math)
    vector.linkage.linkage = ""
    return vector, summary


def guard_by_mask(function: Function) -> Argument:
    """Let only the lanes run whose new last parameter is true; the others return poison."""
    old = function.fn_type
    function.fn_type = FunctionType(old.result, (*old.params, I1))
    mask = Argument(I1, MASK, len(function.args), ("noundef",))
    function.args.append(mask)
    entry = function.entry
    ret = next(b.terminator for b in function.blocks if b.terminator.op == "ret")
    before = ret.block
    leave = split_block(ret, "leave")
    assert before is not None
    guard = function.add_block("guard")
    function.blocks.remove(guard)
    function.blocks.insert(0, guard)
    if ret.operands:
        result = Builder(leave, ret).phi(old.result, "result")
        result.add_incoming(ret.operands[0], before)
        result.add_incoming(Poison(old.result), guard)
        ret.set_operand(0, result)
    Builder(guard).cond_br(mask, entry, leave)
    return mask
