"""Reports on C and C++: the view for people, in which each access of the source is still there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from weft.analysis.shapes import Signature
from weft.analysis.uniform_functions import vouch_for
from weft.frontend.clang import compile_c
from weft.frontend.lane_operations import adopt_lane_operations
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.report.build import Program
from weft.report.debug_source import DebugSource
from weft.report.llvm_programs import CompileText, chosen_functions
from weft.target.machine import TargetSpec
from weft.target.passes import SROA_ONLY, optimize


def c_program(
    file: Path,
    names: Sequence[str] = (),
    shapes: Signature | None = None,
    options: Sequence[str] = (),
    uniform: Sequence[str] = (),
    compile: CompileText | None = None,
) -> Program:
    """A C or C++ file, through clang; lines are those of the source.

    Parameters
    ----------
    file
        The file.
    names
        The functions to report on; all definitions where empty.
    shapes
        Shapes of the arguments of each of them.
    options
        Options for clang.
    uniform
        Functions without a body that are uniform for uniform arguments.
    compile
        Compiles them; without it costs are those of the functions as they were written.

    Raises
    ------
    CompileError, UnsupportedError
        clang refuses the file, or there is none.
    ArgumentError
        It does not define a function of `names`.
    """
    spec = TargetSpec.chosen()
    written = compile_c(file, spec.triple, options)
    module = read_module(optimize(written, SROA_ONLY, spec.machine), filename=str(file))
    vouch_for(module, uniform)
    adopt_lane_operations(module)
    verify(module)
    functions = chosen_functions(module, names, str(file))
    given = {} if shapes is None else dict.fromkeys(functions, shapes)
    compiled = None if compile is None else partial(compile, written, functions, uniform, shapes)
    return Program(module, functions, DebugSource({}), given, compile=compiled)
