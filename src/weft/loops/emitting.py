"""``weft.loops.emit`` and what ``weft loops --emit`` writes: loops as the source of kernels."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from weft.diag.errors import SettingError
from weft.frontend.python.typeof import typeof
from weft.frontend.python.types import Array, KernelType, Scalar
from weft.frontend.python.wording import python_function
from weft.loops.analysis import analyze_python
from weft.loops.emission.source import EmittedSource, emit_report
from weft.loops.emission.subscripts import Shape

LANGUAGES = {".py": "cuda", ".cl": "opencl"}
"""Languages by the suffixes of their files."""


def emit(
    function: Any, *example_arguments: Any, language: str = "cuda", fastmath: bool = False
) -> EmittedSource:
    """Write the loops of a Python function that may run in parallel as kernels.

    Parameters
    ----------
    function
        A function, or what `weft.jit` made of one.
    *example_arguments
        Numbers and arrays as it would be called with; they tell the types only.
    language
        ``cuda`` for a module of CUDA-Python with code for the host, ``opencl`` for a program in OpenCL C.
    fastmath
        Whether sums and products of floats may be formed in another order.

    Returns
    -------
    The source; ``str()`` of it is the text of the file.

    Raises
    ------
    EmissionError
        No loop can be written; the message says why not, at its line.
    WeftError
        The function is outside of the language, or islpy is not installed (``pip install 'weft[loops]'``).

    See Also
    --------
    docs/sequential_loops.md; Juravle, Automatic program analysis for data parallel kernels, ch. 4 and 5.
    """
    if language not in LANGUAGES.values():
        raise SettingError(f"there is no language {language!r}", hint="'cuda' or 'opencl'")
    plain = getattr(function, "py_func", function)
    plain = python_function(plain, "pass")
    types = tuple(typeof(a) for a in example_arguments)
    report = analyze_python(plain, types, order=True)
    return emit_report(report, language, {plain.__name__: shapes_of(plain, types)}, fastmath=fastmath)


def shapes_of(function: FunctionType, types: tuple[KernelType, ...]) -> dict[str, Shape]:
    """The arrays among the parameters of a function."""
    names = function.__code__.co_varnames[: len(types)]
    found: dict[str, Shape] = {}
    for name, type in zip(names, types, strict=True):
        if isinstance(type, Array) and isinstance(type.dtype, Scalar):
            found[name] = Shape(
                name, type.ndim, type.layout == "C", type.dtype.kind in "ub", type.dtype.bits // 8
            )
    return found
