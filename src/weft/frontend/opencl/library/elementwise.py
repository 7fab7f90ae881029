"""Forms for vectors of builtins that work by element, made of the form for scalars.

OpenCL C has most builtins for vectors of 2, 3, 4, 8 and 16 elements too. Each is the scalar function of each element,
so it is written here when a program calls it, as a function of LLVM that takes the vectors apart: the library's
sources have the scalar forms only.
"""

from __future__ import annotations

import re

from weft.frontend.opencl.library.mangling import Overload, ParameterType, mangle, parameter_type

_OWN_VECTOR_FORM = frozenset(
    (
        "isequal", "isnotequal", "isgreater", "isgreaterequal", "isless", "islessequal", "islessgreater", "isfinite",
        "isinf", "isnan", "isnormal", "isordered", "isunordered", "signbit", "select",
    )
)  # fmt: skip
"""Functions whose elements mean something else: true is -1 there, and a choice goes by the highest bit."""

_CONVERSION = re.compile(r"convert_([a-z]+?)(\d+)((?:_sat)?(?:_rt[eznp])?)")


def scalar_form(overload: Overload) -> str | None:
    """Return the symbol of the function that computes an element; None where the overload has no vector.

    >>> scalar_form(Overload("convert_int4_sat", ("Dv4_f",)))
    '_Z15convert_int_satf'
    """
    types = [parameter_type(code) for code in overload.parameters]
    if None in types or all(t is None or t.width == 1 for t in types):
        return None
    name = overload.name
    if found := _CONVERSION.fullmatch(name):
        name = f"convert_{found[1]}{found[3]}"
    elif name in _OWN_VECTOR_FORM:
        name = f"__vector_{name}"
    return mangle(name, tuple(t.scalar_code for t in types if t is not None))


def vector_function(symbol: str, overload: Overload, scalar: str, result: str) -> str:
    """Return the text of a builtin for vectors.

    Parameters
    ----------
    symbol
        Its name.
    overload
        Its parameters; all vectors among them have one width.
    scalar
        The function of each element.
    result
        The type in LLVM that the function of an element returns.
    """
    types = [t for code in overload.parameters if (t := parameter_type(code)) is not None]
    width = max(t.width for t in types)
    vector = f"<{width} x {result}>"
    header = ", ".join(f"{t.llvm} %a{k}" for k, t in enumerate(types))
    lines = [f"define internal {vector} @{symbol}({header}) alwaysinline nounwind {{"]
    whole = "poison"
    for element in range(width):
        arguments = []
        for k, t in enumerate(types):
            lines += _element(t, k, element)
            arguments.append(_argument(t, k, element))
        lines.append(f"  %r{element} = call {result} @{scalar}({', '.join(arguments)})")
        lines.append(f"  %v{element} = insertelement {vector} {whole}, {result} %r{element}, i64 {element}")
        whole = f"%v{element}"
    return "\n".join((*lines, f"  ret {vector} {whole}", "}", ""))


def _element(t: ParameterType, position: int, element: int) -> list[str]:
    """Instructions that take an element out of a parameter."""
    if t.width == 1:
        return []
    name = f"%a{position}.{element}"
    if t.qualifiers is not None:
        return [f"  {name} = getelementptr inbounds {t.element}, {t.llvm} %a{position}, i64 {element}"]
    return [f"  {name} = extractelement {t.llvm} %a{position}, i64 {element}"]


def _argument(t: ParameterType, position: int, element: int) -> str:
    type_ = t.llvm if t.qualifiers is not None else t.element
    return f"{type_} %a{position}" + ("" if t.width == 1 else f".{element}")
