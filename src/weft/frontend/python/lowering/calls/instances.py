"""Functions: one instance per function and argument types, walked until its variables' types are settled."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from weft.diag.errors import TypingError
from weft.frontend.python.components import components, item_type, parameter_components
from weft.frontend.python.local_types import declared_for
from weft.frontend.python.lowering.arrays.heap import keep_variables, leave, zero
from weft.frontend.python.lowering.calls.declared import result as declared_result
from weft.frontend.python.lowering.calls.local_functions import LocalFunction
from weft.frontend.python.lowering.calls.typed import NONE, TupleValue, Typed, literal, static
from weft.frontend.python.lowering.context import Lowering, NotYetTyped
from weft.frontend.python.lowering.joins import Info
from weft.frontend.python.lowering.variables import RESULT, TypeConflict, VariableTable
from weft.frontend.python.source import FunctionSource, get_source
from weft.frontend.python.types import Array, KernelType, Scalar, Static, Tiled, none
from weft.frontend.python.webs import split_variable
from weft.ir.builder import const_int
from weft.ir.function import Function
from weft.ir.instruction import Instruction
from weft.ir.metadata import DebugLoc
from weft.ir.types import I1, I8, PTR, VOID
from weft.ir.types import FunctionType as IRFunctionType
from weft.ir.values import Argument, Value
from weft.tiled_arrays import MOST_EXTENT

if TYPE_CHECKING:
    from weft.frontend.python.lowering.unit import Unit

_WALKS_BEFORE_WIDENING = 6
_MOST_WALKS = 20


class Instance(Struct, eq=False):
    """A function compiled for certain argument types.

    Parameters
    ----------
    source, params
        The function and the types of its parameters.
    name
        Its name in the module.
    is_kernel
        Whether it is a kernel, which returns nothing.
    function
        Its IR, of the present walk while it is being lowered.
    result
        The type of its result, None while that is not known.
    table
        The variables of the present walk; None when it is not being lowered.
    waits_for
        Functions being lowered whose result this instance relies on: when they are walked again, so is this.
    recursive
        Whether it calls itself, perhaps through others.
    allocates
        Whether it has a parameter more, the frame of its caller (`weft.frontend.python.lowering.arrays.heap`).
    declared
        The type that its signature says it returns.
    locals
        Variables that have declared types.
    ways
        Of each ``if``, by line and column, whether it may be true and whether it may be false, as far as that is known
        when compiling.
    """

    source: FunctionSource
    params: tuple[KernelType, ...]
    name: str
    is_kernel: bool
    function: Function
    result: KernelType | None = None
    table: VariableTable | None = None
    waits_for: set[Instance] = field(default_factory=set)
    recursive: bool = False
    allocates: bool = False
    declared: KernelType | None = None
    locals: dict[str, Scalar] = field(default_factory=dict)
    ways: dict[tuple[int, int], set[bool]] = field(default_factory=dict)


def type_key(type: KernelType) -> object:
    """What tells types apart in the key of an instance: compile-time objects count by identity, numbers by value."""
    if not isinstance(type, Static):
        return type
    return (type.value,) if isinstance(type.value, (int, tuple)) else (id(type.value),)


def instance_key(
    function: FunctionType | LocalFunction, params: tuple[KernelType, ...], declared: KernelType | None
) -> tuple[object, ...]:
    """The key of an instance in `Unit.instances`."""
    return function, declared, *map(type_key, params)


def instance_of(
    unit: Unit,
    function: FunctionType | LocalFunction,
    params: tuple[KernelType, ...],
    stack: list[Instance],
    declared: KernelType | None = None,
) -> Instance:
    """The instance of a device function, compiled when it is needed first."""
    key = instance_key(function, params, declared)
    found = unit.instances.get(key)
    if found is not None:
        if found.table is not None:
            _note_recursion(found, stack)
        else:
            _rely_on(stack[-1], found)
        return found
    if isinstance(function, LocalFunction):
        source = function.source
    else:
        source = unit.sources[function] = get_source(function)
    instance = make_instance(unit, source, params, function.__name__, is_kernel=False)
    instance.declared = declared
    instance.locals = dict(declared_for(function))
    unit.instances[key] = instance
    lower_function(unit, instance, stack)
    _rely_on(stack[-1], instance)
    return instance


def _rely_on(caller: Instance, callee: Instance) -> None:
    """Let the caller wait for what its callee waits for, except for itself."""
    caller.waits_for |= callee.waits_for - {caller}


def _note_recursion(target: Instance, stack: list[Instance]) -> None:
    """Mark the functions on the cycle that a call to a function being lowered closes."""
    cycle = stack[stack.index(target) :]
    for instance in cycle:
        instance.recursive = True
    for instance in cycle[1:]:
        instance.waits_for.add(target)


def make_instance(
    unit: Unit, source: FunctionSource, params: tuple[KernelType, ...], name: str, is_kernel: bool
) -> Instance:
    """An instance that has not been lowered."""
    empty = Function(unit.unique_name(name), IRFunctionType(VOID, ()))
    return Instance(source, params, empty.name, is_kernel, empty)


def lower_function(unit: Unit, instance: Instance, stack: list[Instance]) -> None:
    """Walk the function until what a walk assumes of the variables is what it finds."""
    stack.append(instance)
    depth = len(stack)
    while True:
        try:
            _settle(unit, instance, stack)
            break
        except TypeConflict as conflict:
            # Of this function: one that it calls would have taken its own.
            own = len(stack) == depth
            node = split_variable(instance.source.node, conflict.name, instance.ways) if own else None
            if node is None:
                raise
            instance.source = replace(instance.source, node=node)
    instance.table = None
    stack.pop()


def _settle(unit: Unit, instance: Instance, stack: list[Instance]) -> None:
    assumed: dict[str, Info] = {}
    for walk in range(_MOST_WALKS):
        instance.waits_for.clear()
        table = instance.table = VariableTable(assumed, instance.locals)
        low = _walk(unit, instance, table, stack)
        stable = table.finish()
        if low.frame.value is not None and not instance.allocates and not instance.is_kernel:
            instance.allocates = True
            # Calls of it in this walk did not give the frame.
            stable = stable and not instance.recursive
        if stable and low.waiting is None:
            break
        for key in [k for k, other in unit.instances.items() if instance in other.waits_for]:
            del unit.instances[key]
        following = table.next_assumption(widen=walk >= _WALKS_BEFORE_WIDENING)
        if low.waiting is not None and _same(following, assumed):
            _give_up(instance, low.waiting, stack)
            break
        assumed = following
    else:
        raise AssertionError(f"the types of {instance.name} do not settle")


def _same(a: dict[str, Info], b: dict[str, Info]) -> bool:
    return a.keys() == b.keys() and all(a[name].type is b[name].type for name in a)


def _give_up(instance: Instance, waiting: NotYetTyped, stack: list[Instance]) -> None:
    """No further walk would know more: an error, unless a caller being lowered may still tell."""
    if instance.waits_for:
        instance.result = None
        return
    raise TypingError(waiting.message, waiting.span, waiting.hint)


def _walk(unit: Unit, instance: Instance, table: VariableTable, stack: list[Instance]) -> Lowering:
    source = instance.source
    function = Function(instance.name, IRFunctionType(VOID, ()))
    function.linkage.linkage = "" if instance.is_kernel or len(stack) == 1 else "internal"
    instance.function = function
    low = Lowering(unit, instance, source, function, table, stack)
    function.metadata.append(("dbg", low.subprogram))
    low.start_body()
    _bind_parameters(low, instance)
    _lower_body(low)
    keep_variables(low)
    parent: Argument | None = None
    if low.frame.value is not None and not instance.is_kernel:
        parent = Argument(PTR, "parent", len(function.args), ("noundef",))
        function.args.append(parent)
    low.start(low.exit)
    if not low.is_dead:
        _return(low, instance, parent)
    if low.frame.failed is not None:
        low.start(low.frame.failed)
        if not low.is_dead:
            _return_failed(low, parent)
    _finish_entry(low)
    params = tuple(a.type for a in function.args)
    result = function.fn_type.result
    function.fn_type = IRFunctionType(result, params)
    attributes = ["nounwind"]
    if not instance.is_kernel and len(stack) > 1:
        attributes.append("noinline" if instance.recursive else "alwaysinline")
    function.attributes = tuple(attributes)
    return low


def _lower_body(low: Lowering) -> None:
    from weft.frontend.python.lowering.statements import lower_end, lower_return_value

    node = low.source.node
    body = node.body
    if isinstance(body, list):
        low.body(body)
        lower_end(low)
    else:
        low.at(body)
        lower_return_value(low, body)
        low.branch(low.exit)


def _bind_parameters(low: Lowering, instance: Instance) -> None:
    """Make the IR parameters, and let the Python parameters stand for them."""
    node = low.source.node
    loc = low.builder.loc = DebugLoc(node.lineno + low.source.line_offset, 0, low.subprogram)
    for number, (name, type) in enumerate(zip(low.scope.params, instance.params, strict=True), 1):
        value = _parameter(low, name, type)
        if low.scope.bindings.get(name):
            low.variables.store(low, name, value, low.span(node))
            continue
        low.variables.bind(name, value)
        argument = number
        for component, part in zip(components(type), value.parts, strict=True):
            if component.role not in ("extent", "stride"):
                describe = low.unit.debug_info.describe
                item = item_type(type, component.path)
                record = describe("value", part, name + component.suffix, item, loc, argument)
                low.debug_records.append(record)
                # LLVM drops a module's debug information where two variables are the same argument.
                argument = 0


def _parameter(low: Lowering, name: str, type: KernelType) -> Typed:
    if isinstance(type, Static):
        if isinstance(type.value, tuple):
            return TupleValue(tuple(map(literal, type.value)))
        return literal(type.value) if isinstance(type.value, int) else static(type.value)
    parts: list[Value] = []
    for component in parameter_components(type):
        attributes = ("noundef",)
        if component.role == "data":
            attributes = (*_pointer_attributes(type, component.path),)
        elif component.role == "extent":
            most = MOST_EXTENT + 1 if isinstance(item_type(type, component.path), Tiled) else -(1 << 63)
            attributes = ("noundef", f"range(i64 0, {most})")
        args = low.function.args
        argument = Argument(component.type, name + component.suffix, len(args), attributes)
        args.append(argument)
        is_bool = component.type is I8 and components(type)[len(parts)].type is I1
        parts.append(low.builder.icmp("ne", argument, const_int(0, I8)) if is_bool else argument)
    low_bound = 0 if isinstance(type, Scalar) and type.kind == "u" else None
    return Typed(type, tuple(parts), low=low_bound)


def _pointer_attributes(type: KernelType, path: tuple[int, ...]) -> tuple[str, ...]:
    type = item_type(type, path)
    assert isinstance(type, (Array, Tiled))
    size = type.dtype.align if not isinstance(type.dtype, Scalar) else min(type.dtype.size, 8)
    align = f"align {size if isinstance(type, Tiled) or type.aligned else 1}"
    return ("noundef", align, "readonly") if type.readonly else ("noundef", align)


def _return(low: Lowering, instance: Instance, parent: Value | None) -> None:
    """Return the result: one value directly, several through pointers that the caller gives."""
    info = None if instance.is_kernel else low.variables.info(RESULT)
    result = none if info is None else info.type
    low.builder.loc = DebugLoc(low.source.node.lineno + low.source.line_offset, 0, low.subprogram)
    value = low.variables.load(low, RESULT) if components(result) else NONE
    if instance.declared is not None and low.waiting is None:
        value, result = (
            declared_result(low, instance.source.name, value, instance.declared),
            instance.declared,
        )
    instance.result = result
    parts = components(result)
    if parent is not None:
        leave(low, parent, value)
    if not parts:
        low.builder.ret()
        return
    if len(parts) == 1:
        low.function.fn_type = IRFunctionType(parts[0].type, ())
        low.builder.ret(value.value)
        return
    for component, part in zip(parts, value.parts, strict=True):
        argument = Argument(PTR, f"result{component.suffix}", len(low.function.args), ("noundef",))
        low.function.args.append(argument)
        low.builder.store(part, argument)
    low.builder.ret()


def _return_failed(low: Lowering, parent: Value | None) -> None:
    """Return zeros, so that no value of another call remains where the caller looks."""
    if parent is not None:
        leave(low, parent, NONE, failed=True)
    parts = components(low.instance.result or none)
    if len(parts) > 1:
        for component, place in zip(parts, low.function.args[-len(parts) :], strict=True):
            low.builder.store(zero(component.type), place)
    result = low.function.fn_type.result
    low.builder.ret(None if result.is_void else zero(result))


def _finish_entry(low: Lowering) -> None:
    """Join the block of allocas to the body, the variables' debug records between them."""
    first: Instruction = low.entry_builder.br(low.function.blocks[1])
    first.debug_records = low.debug_records


def result_info(instance: Instance) -> KernelType:
    """The type of an instance's result, as far as it is known while it is being lowered."""
    if instance.declared is not None:
        return instance.declared
    if instance.table is not None:
        info = instance.table.info(RESULT)
        if info is None:
            raise NotYetTyped(
                f"the type of the result of {instance.source.name}() cannot be told: every way through it "
                "calls it again",
                "return a value without recursion on some way, before the recursive call",
            )
        return info.type
    if instance.result is None:
        raise NotYetTyped(f"the type of the result of {instance.source.name}() is not known yet")
    return instance.result
