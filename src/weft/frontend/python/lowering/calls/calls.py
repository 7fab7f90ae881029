"""Calls: of the language's own functions through the registry, of types, of named tuples, of device functions."""

from __future__ import annotations

import ast
import enum
import inspect
from collections.abc import Hashable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from weft.diag.errors import SignatureError, TypingError, UnsupportedError
from weft.frontend.python import device_bfloat, device_half, device_libdevice, device_random
from weft.frontend.python.components import components, tuple_offsets
from weft.frontend.python.cuda_names import cuda_name_of
from weft.frontend.python.device_math import REPLACEMENTS
from weft.frontend.python.lowering.arrays.elementwise import is_array
from weft.frontend.python.lowering.arrays.reductions import DIRECT_FUNCTIONS
from weft.frontend.python.lowering.arrays.ufuncs import (
    UfuncMethod,
    call_on_elements,
    call_ufunc_method,
    is_elementwise,
)
from weft.frontend.python.lowering.attributes import Method
from weft.frontend.python.lowering.calls.builtin_calls import call_method, cast_call
from weft.frontend.python.lowering.calls.declared import argument, signature_for
from weft.frontend.python.lowering.calls.enumerations import member_with
from weft.frontend.python.lowering.calls.instances import Instance, instance_of, result_info
from weft.frontend.python.lowering.calls.local_functions import LocalFunction, arguments_of
from weft.frontend.python.lowering.calls.registry import CALLS, Arguments
from weft.frontend.python.lowering.calls.typed import TupleValue, Typed, items_of
from weft.frontend.python.lowering.context import expression
from weft.frontend.python.lowering.globals_ import value_of
from weft.frontend.python.lowering.numbers.casts import convert
from weft.frontend.python.lowering.threads.cuda_memory import UnknownShape
from weft.frontend.python.prange import prange
from weft.frontend.python.read_lists import as_tuple
from weft.frontend.python.signatures import as_type, declared_signatures
from weft.frontend.python.types import KernelType, Scalar, Signature, Static, Tuple
from weft.ir.intrinsics import lifetime_start
from weft.ir.types import I1, I8, VOID
from weft.ir.types import FunctionType as IRFunctionType
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


@expression(ast.Call)
def _lower_call(low: Lowering, node: ast.Call) -> Typed:
    callee = low.expr(node.func)
    if not isinstance(callee.type, Static):
        raise TypingError(f"{callee.type} cannot be called").at(low.span(node.func))
    target = callee.type.value
    values: list[Typed] = []
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            value = low.expr(arg.value)
            if not isinstance(value.type, Tuple):
                raise TypingError(f"only a tuple can be starred, not {value.type}").at(low.span(arg))
            values += items_of(value)
        else:
            # A list that a call gets is read only: a tuple.
            values.append(low.operand(as_tuple(arg)))
    if any(keyword.arg is None for keyword in node.keywords):
        raise UnsupportedError("** in a call is not supported in kernels", hint="name the arguments")
    keywords = {str(keyword.arg): low.expr(keyword.value) for keyword in node.keywords}
    low.at(node)
    args = Arguments(_name(target), values, keywords, (low.instance.name, node))
    if any(map(is_array, values)) and is_elementwise(target):
        return call_on_elements(low, target, args)
    first = 1 if isinstance(target, Hashable) and target in DIRECT_FUNCTIONS else 0
    args.values = [*values[:first], *(value.settled(low) for value in values[first:])]
    return call_value(low, target, args)


def _name(target: Any) -> str:
    return str(getattr(target, "__name__", None) or target)


def call_value(low: Lowering, target: Any, args: Arguments) -> Typed:
    """Call a compile-time object."""
    if isinstance(target, Method):
        return call_method(low, target, args)
    if isinstance(target, UfuncMethod):
        return call_ufunc_method(low, target, args)
    if isinstance(target, LocalFunction):
        return _call_instance(low, target, arguments_of(low, target, args))
    name = cuda_name_of(target)
    key = name if name is not None else prange if _is_numbas_prange(target) else target
    try:
        handler = CALLS.get(key)
    except TypeError:
        handler = None
    if handler is not None:
        return handler(low, args)
    if name is not None:
        if name.path.startswith("random."):
            function = getattr(device_random, name.path.removeprefix("random."))
            return call_function(low, function, args)
        if name.path.startswith("fp16."):
            return call_function(low, device_half.FUNCTIONS[name.path.removeprefix("fp16.")], args)
        if name.path.startswith("bf16."):
            return call_function(low, device_bfloat.FUNCTIONS[name.path.removeprefix("bf16.")], args)
        if name.path.startswith("libdevice."):
            function = device_libdevice.FUNCTIONS[name.path.removeprefix("libdevice.")]
            return call_function(low, function, args)
        raise TypingError(f"{name!r} cannot be called")
    function = _replacement(getattr(target, "py_func", target))
    if isinstance(function, FunctionType):
        return call_function(low, function, args, declared_signatures(target))
    if isinstance(target, type) and issubclass(target, enum.Enum):
        return member_with(target, *args.bind("value"))
    if isinstance(target, type) and issubclass(target, tuple) and hasattr(target, "_fields"):
        return _named_tuple(args, target)
    scalar = _scalar_type(target)
    if scalar is not None:
        return cast_call(low, args, scalar)
    raise UnsupportedError(f"{args.name}() cannot be called in kernels", hint=_hint_for(target))


def _hint_for(target: Any) -> str:
    """What to do instead of calling an object that cannot be called."""
    # The functions of `numpy.random` and `random` are methods of one hidden generator each.
    if type(getattr(target, "__self__", None)).__name__ in ("RandomState", "Random", "Generator"):
        return "pass an array of random numbers, or take them from the streams of weft.cuda.random"
    return "supported are math.*, NumPy's scalar functions, cuda.*, Python functions and device functions"


def _is_numbas_prange(target: Any) -> bool:
    """Whether it is numba's `prange`: functions written for numba mean the same here."""
    module = str(getattr(target, "__module__", ""))
    return getattr(target, "__name__", "") == "prange" and module.partition(".")[0] == "numba"


def _replacement(target: Any) -> Any:
    """The function of the kernel language that stands for one of `math` or `cmath`; else the target itself."""
    try:
        return REPLACEMENTS.get(target, target)
    except TypeError:
        return target


def _scalar_type(target: Any) -> Scalar | None:
    """The type that a call of a type object of weft, NumPy or numba converts to."""
    try:
        found = as_type(target)
    except SignatureError:
        return None
    return found if isinstance(found, Scalar) else None


def _named_tuple(args: Arguments, cls: Any) -> Typed:
    defaults = cls._field_defaults
    given = dict(zip(cls._fields, args.values, strict=False)) | args.keywords
    missing = [name for name in cls._fields if name not in given and name not in defaults]
    if missing or len(args.values) > len(cls._fields) or not set(args.keywords) <= set(cls._fields):
        raise TypingError(f"{cls.__name__}() takes the arguments {', '.join(cls._fields)}")
    if len(given) < len(cls._fields):
        raise UnsupportedError(
            "defaults of a named tuple are not supported in kernels", hint="give all fields"
        )
    return TupleValue(tuple(given[name] for name in cls._fields), cls)


def call_function(
    low: Lowering, function: FunctionType, args: Arguments, signatures: tuple[Signature, ...] = ()
) -> Typed:
    """Call a Python function as a device function; with signatures, as the one that fits best says."""
    values = _bind(low, function, args)
    result: KernelType | None = None
    if signatures:
        chosen = signature_for(function.__name__, values, signatures)
        values = [argument(low, value, type) for value, type in zip(values, chosen.args, strict=True)]
        result = chosen.result
    return _call_instance(low, function, values, result, bool(signatures))


def _call_instance(
    low: Lowering,
    function: FunctionType | LocalFunction,
    values: list[Typed],
    result: KernelType | None = None,
    declared: bool = False,
) -> Typed:
    """Call a function with one value for each parameter."""
    params, instance = _instance(low, function, values, result, declared)
    passed: list[Value] = []
    for value, type in zip(values, params, strict=True):
        parts = () if isinstance(type, Static) else convert(low, value, type)
        passed += [low.builder.cast("zext", p, I8) if p.type is I1 else p for p in parts]
    result = result_info(instance)
    if not instance.allocates:
        return _emit_call(low, instance.function, passed, result)
    value = _emit_call(low, instance.function, [*passed, low.frame.of_errors(low)], result)
    low.frame.fail_if_called_failed(low)
    return value


def _known_type(value: Typed) -> KernelType:
    """The type of a parameter that is compiled for a literal, or a tuple of them; else the value's type."""
    if value.int_literal is not None:
        return Static(value.int_literal)
    items = items_of(value) if isinstance(value, TupleValue) else ()
    numbers = tuple(item.int_literal for item in items)
    return Static(numbers) if items and None not in numbers else _parameter_type(value)


def _instance(
    low: Lowering,
    function: FunctionType | LocalFunction,
    values: list[Typed],
    result: KernelType | None,
    declared: bool,
) -> tuple[tuple[KernelType, ...], Instance]:
    """The function for these arguments: for their types or, where it makes arrays of such a shape, for literals."""
    params = tuple(_parameter_type(value) for value in values)
    known = tuple(map(_known_type, values))
    unit, depth = low.unit, len(low.stack)
    if function not in unit.shaped:
        instances, shared = dict(unit.instances), dict(unit.shared)
        try:
            return params, instance_of(unit, function, params, low.stack, result)
        except UnknownShape:
            recursive = any(each.source.function is function for each in low.stack[:depth])
            if declared or recursive or known == params:
                raise
        # What the walk that failed has made is forgotten.
        del low.stack[depth:]
        unit.instances, unit.shared = instances, shared
        unit.shaped.add(function)
    return known, instance_of(unit, function, known, low.stack, result)


def _emit_call(low: Lowering, function: Any, passed: list[Value], result: KernelType) -> Typed:
    parts = components(result)
    types = [value.type for value in passed]
    if len(parts) <= 1:
        fn_type = IRFunctionType(parts[0].type if parts else VOID, tuple(types))
        value = low.builder.call(function, passed, fn_type)
        return _typed(result, (value,) if parts else ())
    slots = [low.alloca(part.type, f"result{part.suffix}") for part in parts]
    if not low.stack[0].is_kernel:
        # Of a loop that runs in parallel each iteration has its own.
        for slot in slots:
            low.builder.call(lifetime_start(low.unit.module), (slot,))
    fn_type = IRFunctionType(VOID, (*types, *(slot.type for slot in slots)))
    low.builder.call(function, [*passed, *slots], fn_type)
    return _typed(result, tuple(low.builder.load(p.type, slot) for p, slot in zip(parts, slots, strict=True)))


def _typed(result: KernelType, parts: tuple[Value, ...]) -> Typed:
    if isinstance(result, Tuple):
        offsets = tuple_offsets(result)
        ranges = zip(result.items, offsets, offsets[1:], strict=False)
        return TupleValue(tuple(_typed(item, parts[a:b]) for item, a, b in ranges), result.cls)
    unsigned = isinstance(result, Scalar) and result.kind == "u"
    return Typed(result, parts, low=0 if unsigned else None)


def _parameter_type(value: Typed) -> KernelType:
    if isinstance(value.type, Static) and isinstance(value.type.value, Method):
        raise UnsupportedError("a method cannot be passed on")
    return value.type


def _bind(low: Lowering, function: FunctionType, args: Arguments) -> list[Typed]:
    """The arguments in the order of the function's parameters, defaults filled in."""
    signature = inspect.signature(function, follow_wrapped=False)
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UnsupportedError(
                f"{function.__name__}() takes a variable number of arguments", hint="pass a tuple"
            )
    try:
        bound = signature.bind(*args.values, **args.keywords)
    except TypeError as error:
        raise TypingError(f"{function.__name__}(): {error}") from None
    return [
        bound.arguments[name] if name in bound.arguments else value_of(low, parameter.default)
        for name, parameter in signature.parameters.items()
    ]
