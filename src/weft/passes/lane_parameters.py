"""The shapes that a user gives for the parameters of a function, as the SIMD function has them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from weft.analysis.shapes import ArgumentShape, Domain, Shape, Signature, parse_args
from weft.diag.errors import ArgumentError
from weft.ir import Function, GlobalVariable, Module, Value
from weft.ir.layout import DataLayout
from weft.ir.types import IntType, PointerType
from weft.ir.values import Argument
from weft.machine.vector_abi import VectorParameter
from weft.report.arguments import accessed_bytes, initial_shapes
from weft.transform.foreign.global_shapes import is_in_initializer
from weft.transform.foreign.scalar_signatures import Origin, is_hidden

_PART = re.compile(r"\.coerce\d*$")


class SimdParameters(Struct, frozen=True):
    """What is said of each parameter: its shape for the analysis, and how it counts in the SIMD function's name."""

    shapes: dict[Value, Shape]
    named: tuple[VectorParameter, ...]


def simd_parameters(
    function: Function, form: Function, origins: Sequence[Origin], signature: Signature, domain: Domain,
    layout: DataLayout,
) -> SimdParameters:  # fmt: skip
    """The parameters of `form`, whose letters are those of the parameters of `function` that they come from.

    A place for a result has no letter: the lanes' results are side by side. The parts of a struct share one.

    Raises
    ------
    ArgumentError
        There are more letters than parameters, or one that does not fit its parameter.
    """
    groups = _source_parameters(function)
    if len(signature.arguments) > len(groups):
        named = ", ".join(" ".join([*(str(a.type) for a in group), name]) for name, group in groups) or "none"
        raise ArgumentError(
            f"{function.name} has {len(groups)} parameters, and shapes were given for {len(signature.arguments)}",
            hint=f"in LLVM IR they are: {named}",
        )
    letters = {a.index: signature.argument(k) for k, (_, group) in enumerate(groups) for a in group}
    for _, group in groups:
        for argument in group:
            _require_fit(argument, letters[argument.index])
    beside = ArgumentShape("C")
    given = tuple(letters.get(origin.parameter, beside) for origin in origins)
    sizes: dict[Value, int] = {a: o.bytes for a, o in zip(form.args, origins, strict=True) if o.bytes}
    shapes = initial_shapes(form, Signature(given, signature.result), domain, layout, sizes)
    strides = [sizes.get(a) or _element(a, layout) for a in form.args]
    named = tuple(_named(shape, stride) for shape, stride in zip(given, strides, strict=True))
    return SimdParameters(shapes, named)


def every_parameter(function: Function) -> tuple[Origin, ...]:
    """Where the parameters of a function come from that is its own scalar form."""
    return tuple(Origin(i) for i in range(len(function.args)))


def global_strides(module: Module, shapes: Mapping[str, str]) -> dict[GlobalVariable, int]:
    """By how many bytes lanes' own instances of global variables are apart; alignments are noted in the variables.

    Raises
    ------
    ArgumentError
        There is no such variable, or it cannot have the shape.
    """
    layout = module.layout
    strides: dict[GlobalVariable, int] = {}
    for name, text in shapes.items():
        variable = module.globals.get(name)
        if variable is None:
            known = ", ".join(module.globals) or "none"
            raise ArgumentError(f"the module has no global variable {name!r}", hint=f"it has {known}")
        given = parse_args(text)
        if len(given.arguments) != 1 or given.result is not None:
            raise ArgumentError(f"{name}={text}: a global variable has one shape", hint="U, C or S<stride>")
        shape = given.arguments[0]
        if shape.kind == "T":
            raise ArgumentError(
                f"{name}=T: the address of a global variable is known, so lanes' own are some distance apart",
                hint="U: one for all lanes, C: one behind the other, S<k>: k bytes apart",
            )
        if variable.linkage.thread_local:
            raise ArgumentError(f"{name} is thread_local, and has another address in each thread")
        variable.linkage.align = max(variable.linkage.align, shape.alignment if shape.alignment > 1 else 0)
        stride = layout.size(variable.value_type) if shape.kind == "C" else shape.stride
        if shape.kind == "U" or stride == 0:
            continue
        if is_in_initializer(module, variable):
            raise ArgumentError(
                f"the address of {name} is part of another variable's value, the same for all lanes"
            )
        strides[variable] = stride
    return strides


def _source_parameters(function: Function) -> list[tuple[str, list[Argument]]]:
    """The parameters as the source has them, by name: clang passes a small struct in one or two parts."""
    groups: list[tuple[str, list[Argument]]] = []
    for argument in function.args:
        if is_hidden(argument.attributes):
            continue
        name = _PART.sub("", argument.name)
        if name != argument.name and groups and groups[-1][0] == name:
            groups[-1][1].append(argument)
        else:
            groups.append((name, [argument]))
    return groups


def _require_fit(argument: Argument, shape: ArgumentShape) -> None:
    if shape.kind in "CS" and not isinstance(argument.type, (IntType, PointerType)):
        raise ArgumentError(
            f"the parameter {argument.name} is a {argument.type}, which cannot be {shape}",
            hint="C and S are for integers and pointers; T is a value of its own in each lane",
        )


def _element(argument: Argument, layout: DataLayout) -> int:
    return accessed_bytes(argument, layout) if isinstance(argument.type, PointerType) else 1


def _named(shape: ArgumentShape, element: int) -> VectorParameter:
    match shape.kind:
        case "T":
            return VectorParameter(None, shape.alignment)
        case "U":
            return VectorParameter(0, shape.alignment)
        case "C":
            return VectorParameter(element, shape.alignment)
        case _:
            return VectorParameter(shape.stride, shape.alignment)
