"""LLVM IR from any compiler as the program that analysis starts from, and which function of it is meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from weft.analysis.uniform_functions import vouch_for
from weft.diag.errors import ArgumentError, UnsupportedError
from weft.frontend.lane_operations import adopt_lane_operations
from weft.ir import Function, GlobalVariable, Module
from weft.ir.function import Linkage
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.target.machine import TargetSpec
from weft.target.passes import CANONICAL, optimize
from weft.target.reading import declaration_in, read_foreign
from weft.transform.foreign.global_shapes import shift_globals
from weft.transform.foreign.inline_marks import LOCAL, mark_for_inlining
from weft.transform.foreign.scalar_signatures import give_scalar_signatures


def canonical_module(
    text: str,
    spec: TargetSpec,
    filename: str = "",
    wanted: str | None = None,
    strides_of: Callable[[Module], Mapping[GlobalVariable, int]] = lambda module: {},
    uniform: Sequence[str] = (),
) -> Module:
    """Read LLVM IR and bring it into the form that analysis starts from.

    Parameters
    ----------
    wanted
        A function that is to be vectorized: it gets a form with scalar parameters, if it has others, and stays
        even if nothing calls it.
    strides_of
        Tells by how many bytes lanes' own instances of global variables are apart.
    uniform
        Functions without a body that are uniform for uniform arguments.

    Raises
    ------
    CompileError, IRSyntaxError
        LLVM refuses the text, or it holds what weft does not read.
    """
    module, text = read_foreign(text, filename)
    vouched = vouch_for(module, uniform)
    adopted = adopt_lane_operations(module, lambda name: declaration_in(text, filename, name))
    strides = strides_of(module)
    if strides:
        shift_globals(module, strides)
    apart = give_scalar_signatures(module, wanted)
    function = module.functions.get(wanted or "")
    linkage = function.linkage if function is not None else Linkage()
    if function is not None and linkage.linkage in LOCAL:
        function.linkage = Linkage()
    changed = mark_for_inlining(module) or adopted or apart or vouched
    if changed or strides or linkage.linkage in LOCAL:
        text = write_module(module, plain=True)
    canonical = read_module(optimize(text, CANONICAL, spec.machine), filename=filename)
    if linkage.linkage in LOCAL and wanted in canonical.functions:
        canonical.functions[wanted].linkage = linkage
    return canonical


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
        raise ArgumentError(f"the module defines no function {name!r}", hint=f"it defines {', '.join(known)}")
    if function.attribute("weft.kernel") is not None:
        raise UnsupportedError(f"{name} is a kernel, which is launched, not vectorized as a function")
    return function
