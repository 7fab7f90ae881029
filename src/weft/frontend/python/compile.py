"""The door of the Python front end: from a function and argument types to a P-LLVM module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from math import prod
from types import FunctionType
from typing import Any

from msgspec import Struct

from weft.diag.errors import SignatureError, UnsupportedError
from weft.diag.remarks import RemarkLog
from weft.diag.source import SourceSpan
from weft.frontend.python.components import Component, has_extents, parameter_components
from weft.frontend.python.local_types import declared_for
from weft.frontend.python.lowering.calls.instances import instance_key, lower_function, make_instance
from weft.frontend.python.lowering.unit import Options, Unit
from weft.frontend.python.scope import scope_of
from weft.frontend.python.source import get_source
from weft.frontend.python.types import Array, KernelType, none
from weft.frontend.python.wording import described, speaking_of_functions
from weft.ir.function import Function, GlobalVariable, Module
from weft.ir.intrinsics import (
    ARRAY_BYTES_ATTRIBUTE,
    KERNEL_ATTRIBUTE,
    REASSOCIATE_ATTRIBUTE,
    SHARED_ATTRIBUTE,
)


class ParamSpec(Struct, frozen=True):
    """A Python parameter: its type, and the IR parameters its argument is passed in.

    Parameters
    ----------
    name, type
        The parameter.
    first
        The number of its first IR parameter; the others follow.
    components
        What each IR parameter holds (a bool is a byte).
    """

    name: str
    type: KernelType
    first: int
    components: tuple[Component, ...]


class SharedObject(Struct, frozen=True):
    """A static shared array: ``weft.shared(k)`` is a pointer to the k-th."""

    size: int
    align: int


class FrontendResult(Struct, frozen=True):
    """What the front end makes of a function.

    Parameters
    ----------
    module, kernel
        The module, and the function asked for in it. Device functions it calls are internal.
    params
        How Python arguments become IR parameters.
    result
        The type of the result, `none` for a kernel. A result of several components is returned through pointers,
        one IR parameter for each after all others.
    shared
        Static shared arrays in order.
    remarks
        What is worth telling the user.
    functions
        Every Python function compiled, the first being the one asked for (`fingerprint` makes a key of them).
    errors
        What a call may raise: kind (``shape``, ``memory``, or the name of a builtin exception), message and place;
        compiled code numbers them from 1.
    allocates
        Whether the function makes arrays: it has a parameter more, behind all others but pointers to results, a
        frame (`weft.ir.heap`) that gets what the result leads into.
    features
        ``barrier``, ``horizontal`` (lane groups matter), ``dynamic_shared``, ``atomic``, ``print``, as used.
    raised
        Under `debug`, the class and the text of what a kernel raises, by file and line.
    captured
        The NumPy arrays whose memory the code has the addresses of.
    """

    module: Module
    kernel: Function
    params: tuple[ParamSpec, ...]
    result: KernelType
    shared: tuple[SharedObject, ...]
    remarks: RemarkLog
    functions: tuple[FunctionType, ...]
    errors: tuple[tuple[str, str, SourceSpan], ...]
    allocates: bool
    features: frozenset[str]
    raised: dict[tuple[str, int], tuple[type[Exception], str]]
    captured: tuple[Any, ...]

    @property
    def uses_horizontal(self) -> bool:
        return "horizontal" in self.features


def mark_arrays(result: FrontendResult, most: Callable[[Array], int]) -> None:
    """Note at parameters that contiguous arrays begin there, and have less than so many bytes."""
    for param in result.params:
        if isinstance(param.type, Array) and param.type.layout == "C" and has_extents(param.type):
            argument = result.kernel.args[param.first]
            mark = f'"{ARRAY_BYTES_ATTRIBUTE}"="{most(param.type)}"'
            argument.attributes = (*argument.attributes, mark)


def bound_rows(
    result: FrontendResult, known: Mapping[int, int | float], most: Callable[[Array], int | None]
) -> None:
    """Note how many rows of known lengths arrays have that have less than so many elements in all.

    Parameters
    ----------
    known
        Numbers of parameters, and their values.
    most
        How many elements; None for arrays of which that is not known.
    """
    for param in result.params:
        if not isinstance(param.type, Array) or not has_extents(param.type):
            continue
        limit = most(param.type)
        extents = range(param.first + 1, param.first + 1 + param.type.ndim)
        others = [index for index in extents if index not in known]
        row = prod(int(known[index]) for index in extents if index in known)
        if limit is not None and len(others) == 1 and row > 1:
            argument = result.kernel.args[others[0]]
            kept = (a for a in argument.attributes if not a.startswith("range("))
            argument.attributes = (*kept, f"range(i64 0, {-(-limit // row)})")


def compile_python(
    function: Any,
    arg_types: tuple[KernelType, ...],
    *,
    debug: bool = False,
    fastmath: bool | frozenset[str] | set[str] | tuple[str, ...] = False,
    device: bool = False,
    name: str | None = None,
    result: KernelType | None = None,
    gpu: bool = False,
) -> FrontendResult:
    """Compile a Python function for argument types.

    Parameters
    ----------
    function
        The function, or an object that has it as ``py_func``.
    arg_types
        One type for each parameter.
    debug
        Emit checks for the sanitizer: division by zero, assertions, indices.
    fastmath
        True for all fast-math flags, or a set of their names.
    device
        The function may return a value; without it, it is a kernel.
    name
        The name of the function in the module; by default its own.
    result
        The type that it was declared to return; by default what it returns.
    gpu
        Whether it is for a GPU: what warps and fences do is written as NVVM's intrinsics, with mask and scope.

    Raises
    ------
    UnsupportedError
        The function holds something outside the kernel language.
    TypingError
        Types in it conflict, a name has no value, or a kernel returns a value.
    SignatureError
        The number of types is not that of the parameters.
    """
    target = getattr(function, "py_func", function)
    if not isinstance(target, FunctionType):
        raise UnsupportedError(f"{described(function)} is no Python function")
    source = get_source(target)
    arguments = source.node.args
    if arguments.vararg is not None or arguments.kwarg is not None:
        variable = arguments.vararg or arguments.kwarg
        assert variable is not None
        raise UnsupportedError(
            "a variable number of parameters is not supported", source.span(variable), "take a tuple"
        )
    names = scope_of(source.node).params
    if len(names) != len(arg_types):
        raise SignatureError(
            f"{target.__name__}() takes {len(names)} arguments ({', '.join(names)}), not {len(arg_types)}",
            source.span(source.node),
        )
    flags = ("fast",) if fastmath is True else tuple(sorted(fastmath)) if fastmath else ()
    unit = Unit(Options(debug, flags, gpu))
    unit.sources[target] = source
    instance = make_instance(unit, source, tuple(arg_types), name or target.__name__, is_kernel=not device)
    instance.declared = result if device else None
    instance.locals = dict(declared_for(target))
    unit.instances[instance_key(target, tuple(arg_types), instance.declared)] = instance
    with speaking_of_functions() if device else nullcontext():
        lower_function(unit, instance, [])
    kernel = instance.function
    shared = tuple(SharedObject(size, align) for _, size, align in unit.shared.values())
    if not device:
        kernel.attributes = (*kernel.attributes, f'"{KERNEL_ATTRIBUTE}"')
        if {"fast", "reassoc"} & set(flags):
            kernel.attributes = (*kernel.attributes, f'"{REASSOCIATE_ATTRIBUTE}"')
    if shared:
        layout = ",".join(f"{s.size}:{s.align}" for s in shared)
        kernel.attributes = (*kernel.attributes, f'"{SHARED_ATTRIBUTE}"="{layout}"')
    _collect(unit.module, kernel)
    unit.debug_info.finish(unit.module)
    unit.module.source_filename = source.file
    return FrontendResult(
        unit.module,
        kernel,
        _param_specs(names, tuple(arg_types)),
        instance.result or none,
        shared,
        unit.remarks,
        tuple(unit.sources),
        tuple(unit.errors),
        instance.allocates,
        frozenset(unit.features),
        unit.raised,
        tuple(unit.captured),
    )


def _param_specs(names: tuple[str, ...], types: tuple[KernelType, ...]) -> tuple[ParamSpec, ...]:
    specs: list[ParamSpec] = []
    first = 0
    for name, type in zip(names, types, strict=True):
        parts = parameter_components(type)
        specs.append(ParamSpec(name, type, first, parts))
        first += len(parts)
    return tuple(specs)


def _collect(module: Module, kernel: Function) -> None:
    """Leave in the module what the kernel reaches: walks thrown away may have declared more."""
    functions: dict[str, Function] = {kernel.name: kernel}
    variables: dict[str, GlobalVariable] = {}
    pending = [kernel]
    while pending:
        for instruction in pending.pop().instructions():
            for operand in instruction.operands:
                if isinstance(operand, Function) and operand.name not in functions:
                    functions[operand.name] = operand
                    pending.append(operand)
                elif isinstance(operand, GlobalVariable):
                    variables[operand.name] = operand
    for found in functions.values():
        found.module = module
    module.functions = functions
    module.globals = variables
