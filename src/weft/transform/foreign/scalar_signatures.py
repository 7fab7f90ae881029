"""Functions that take or return structs, arrays and short vectors, in a form with scalar parameters only.

A lane of a SIMD function is an element of each of its parameters, so these have to be scalars in the function for one
lane. The scalar form has a parameter for each component of a composite one, and where the result has several
components, a pointer for each, behind the other parameters, to where it is to be stored::

    {float, i32} f({float, i32} p, ptr byval(T) q)   →   f.parts(float p.0, i32 p.1, ptr q, ptr result.0, ptr result.1)

A struct passed in memory (``byval``) is copied by the scalar form instead of by the machine's calling convention, and
``sret`` is a pointer like any other. Direct calls lead to it. Functions that are only declared get one that calls them,
so that what is left of them in vector code is a call lane by lane.

Precondition: P-LLVM as a compiler wrote it, before LLVM's scalar passes, which turn the copies into SSA values.
Postcondition: direct calls, and the function that is wanted, take and return scalars. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from weft.ir import Builder, ConstInt, Function, Instruction, Module, Poison, Value
from weft.ir.clone import clone_function
from weft.ir.constants import InlineAsm
from weft.ir.function import Linkage
from weft.ir.layout import DataLayout
from weft.ir.types import I1, I64, PTR, VOID, FunctionType, Type
from weft.ir.values import Argument
from weft.transform.aggregates.replacement import extract_component, insert_component
from weft.transform.aggregates.types import Component, components_of, is_composite

ORIGINAL = "weft.parts.of"
"""Function attribute of a scalar form: the function that it is a form of."""

ORIGINS = "weft.parts"
"""Function attribute of a scalar form: for each parameter, joined by commas, ``origin:bytes`` (`Origin`)."""

_MEMORY = ("memory(", "speculatable", "readnone", "readonly", "writeonly")
"""Attributes that the scalar form need not have: it stores results and copies arguments."""

_GROUP = "llvm.access.group"


class Origin(Struct, frozen=True):
    """Where a parameter of a scalar form comes from.

    Parameters
    ----------
    parameter
        The number of the original parameter; -1 for the place of a result.
    bytes
        What lies between neighbours where lanes' objects are side by side in memory, 0 if that is not known.
    """

    parameter: int
    bytes: int = 0


def give_scalar_signatures(module: Module, wanted: str | None = None) -> bool:
    """Give scalar forms to the functions that need them and are called directly, or `wanted`; whether there are any."""
    _give_names(module)
    called = {call.callee for call in _direct_calls(module.definitions())}
    layout = module.layout
    forms: dict[Function, Function] = {}
    for function in list(module.functions.values()):
        if function in called or (function.name == wanted and function.blocks):
            made = _scalar_form(module, function, layout)
            if made is not None:
                forms[function] = made
                made.linkage = Linkage("" if function.name == wanted else "internal")
    if not forms:
        return False
    forwarding = {form for function, form in forms.items() if not function.blocks}
    callers = [function for function in module.definitions() if function not in forwarding]
    for call in list(_direct_calls(callers)):
        if isinstance(call.callee, Function) and call.callee in forms:
            _call_scalar_form(call, forms[call.callee])
    return True


def _give_names(module: Module) -> None:
    """Let calls through pointers lead to a function that makes the call, where values are composite."""
    made: dict[FunctionType, Function] = {}
    for function in list(module.definitions()):
        for call in [i for i in function.instructions() if i.op == "call"]:
            fn_type, callee = call.attrs["fn_type"], call.callee
            texts = [text for attributes in call.attrs.get("arg_attrs", ()) for text in attributes]
            if isinstance(callee, Function | InlineAsm) or fn_type.vararg or is_hidden(texts):
                continue
            if any(text.startswith("byval(") for text in texts):
                continue
            if not any(map(is_composite, (*fn_type.params, fn_type.result))):
                continue
            if fn_type not in made:
                made[fn_type] = _caller(module, fn_type)
            builder = Builder(before=call)
            builder.loc = call.loc
            result = builder.call(made[fn_type], (callee, *call.args))
            call.replace_all_uses(result)
            call.erase()


def _caller(module: Module, fn_type: FunctionType) -> Function:
    """A function that calls what its first argument points to, with the others."""
    name = module.unused_name("through")
    caller = module.add_function(Function(name, FunctionType(fn_type.result, (PTR, *fn_type.params))))
    caller.linkage = Linkage("internal")
    caller.attributes = ("noinline",)
    builder = Builder(caller.add_block("entry"))
    result = builder.call(caller.args[0], caller.args[1:], fn_type)
    builder.ret(None if result.type.is_void else result)
    return caller


def _direct_calls(functions: Iterable[Function]) -> Iterator[Instruction]:
    for function in functions:
        for i in function.instructions():
            callee = i.callee if i.op == "call" else None
            if (
                isinstance(callee, Function)
                and callee.fn_type == i.attrs["fn_type"]
                and not i.attrs.get("bundles")
            ):
                yield i


def scalar_form_of(module: Module, name: str) -> tuple[Function, tuple[Origin, ...]] | None:
    """The scalar form of a function, and where its parameters come from."""
    for function in module.definitions():
        if function.attribute(ORIGINAL) == name:
            text = function.attribute(ORIGINS) or ""
            pairs = [part.split(":") for part in text.split(",") if part]
            return function, tuple(Origin(int(a), int(b)) for a, b in pairs)
    return None


def is_hidden(attributes: Sequence[str]) -> bool:
    """Whether a parameter is where the caller wants the result, which the source does not show."""
    return any(a.startswith("sret(") for a in attributes)


def needs_scalar_form(function: Function) -> bool:
    """Whether a function takes or returns composite values, or objects in memory that are its own."""
    fn_type = function.fn_type
    if function.name.startswith("llvm.") or fn_type.vararg:
        return False
    if any(map(is_composite, (*fn_type.params, fn_type.result))):
        return True
    assert function.module is not None
    return bool(function.blocks) and any(_pointee(function.module, a) for a in function.args)


def _scalar_form(module: Module, function: Function, layout: DataLayout) -> Function | None:
    """The scalar form of a function; None where it needs none, or cannot have one."""
    if not needs_scalar_form(function):
        return None
    fn_type = function.fn_type
    parts = [components_of(t) for t in fn_type.params]
    result = () if fn_type.result.is_void else components_of(fn_type.result)
    if result is None or any(p is None for p in parts):
        return None
    origins: list[Origin] = []
    arguments: list[Argument] = []
    for argument, components in zip(function.args, parts, strict=True):
        assert components is not None
        composite = is_composite(argument.type)
        pointee = _pointee(module, argument)
        for number, component in enumerate(components):
            name = f"{argument.name}.{number}" if composite else argument.name
            made = Argument(component.type, name, len(arguments))
            if not composite:
                made.attributes = tuple(
                    a for a in argument.attributes if not a.startswith(("byval(", "sret("))
                )
            arguments.append(made)
            origins.append(Origin(argument.index, layout.size(pointee) if pointee is not None else 0))
    places = [c.type for c in result] if len(result) > 1 else []
    for number, type in enumerate(places):
        arguments.append(Argument(PTR, f"result.{number}", len(arguments), ("noundef",)))
        origins.append(Origin(-1, layout.size(type)))
    returned = result[0].type if len(result) == 1 else VOID
    form = _defined(module, function) if function.blocks else _forwarding(module, function)
    old, form.args = form.args, arguments
    form.fn_type = FunctionType(returned, tuple(a.type for a in arguments))
    if is_composite(fn_type.result):
        form.return_attributes = ()
    form.attributes = (
        *(a for a in form.attributes if not a.startswith(_MEMORY)),
        f'"{ORIGINAL}"="{function.name}"',
        f'"{ORIGINS}"="{",".join(f"{o.parameter}:{o.bytes}" for o in origins)}"',
    )
    _open(form, old, arguments, parts, layout)
    _close(form, result, arguments[len(arguments) - len(places) :])
    return form


def _pointee(module: Module, argument: Argument) -> Type | None:
    """What a parameter passed in memory points to, if its type has a name."""
    for text in argument.attributes:
        if text.startswith(("byval(", "sret(")):
            return module.types.get(text.partition("(")[2][:-1].lstrip("%").strip('"'))
    return None


def _defined(module: Module, function: Function) -> Function:
    return clone_function(function, module.unused_name(f"{function.name}.parts"))


def _forwarding(module: Module, function: Function) -> Function:
    """A function that calls a declared one with the arguments it is given."""
    form = module.add_function(Function(module.unused_name(f"{function.name}.parts"), function.fn_type))
    form.attributes = ("noinline", *(a for a in function.attributes if a in ("nounwind", "willreturn")))
    builder = Builder(form.add_block("entry"))
    result = builder.call(function, form.args)
    builder.ret(None if result.type.is_void else result)
    return form


def _open(
    form: Function,
    old: Sequence[Argument],
    arguments: Sequence[Argument],
    parts: Sequence[tuple[Component, ...] | None],
    layout: DataLayout,
) -> None:
    """Put the composite arguments together that the body takes, and copy those that it has in memory."""
    builder = Builder.after_phis(form.entry)
    rest = iter(arguments)
    for argument, components in zip(old, parts, strict=True):
        assert components is not None
        given = [next(rest) for _ in components]
        whole: Value = given[0] if given else Poison(argument.type)
        byval = any(a.startswith("byval(") for a in argument.attributes)
        if is_composite(argument.type):
            whole = _whole(builder, argument.type, given, components)
        elif byval and form.module is not None and (type := _pointee(form.module, argument)) is not None:
            aligns = [int(a.split()[1]) for a in argument.attributes if a.startswith("align ")]
            size = layout.size(type)
            copy = builder.alloca(type, align=max([layout.align(type), *aligns]))
            memcpy = FunctionType(VOID, (PTR, PTR, I64, I1))
            declared = form.module.declare("llvm.memcpy.p0.p0.i64", memcpy)
            builder.call(declared, (copy, whole, ConstInt(I64, size), ConstInt(I1, 0)))
            whole = copy
        argument.replace_all_uses(whole)


def _close(form: Function, result: Sequence[Component], places: Sequence[Argument]) -> None:
    """Return one component, or store all of them."""
    for ret in [b.terminator for b in form.blocks if b.terminator.op == "ret"]:
        if not ret.operands or not is_composite(ret.operands[0].type):
            continue
        builder = Builder(before=ret)
        builder.loc = ret.loc
        values = [extract_component(builder, ret.operands[0], c.path) for c in result]
        if places:
            for value, place in zip(values, places, strict=True):
                builder.store(value, place)
            builder.ret()
        else:
            builder.ret(values[0] if values else None)
        ret.erase()


def _call_scalar_form(call: Instruction, form: Function) -> None:
    """Call the scalar form instead, with the components of what is given and stack objects for those of the result."""
    assert call.block is not None and call.block.function is not None and form.module is not None
    builder, entry = Builder(before=call), Builder.after_phis(call.block.function.entry)
    builder.loc = call.loc
    args: list[Value] = []
    for argument in call.args:
        args += [
            extract_component(builder, argument, c.path) if c.path else argument
            for c in components_of(argument.type) or ()
        ]
    result = () if call.type.is_void else components_of(call.type) or ()
    places = [entry.alloca(c.type) for c in result] if len(args) < len(form.args) else []
    _mark(builder, form.module, "start", places)
    built = builder.call(form, [*args, *places])
    values: list[Value] = [built]
    group = {_GROUP: call.metadata[_GROUP]} if _GROUP in call.metadata else {}
    built.metadata = dict(group)
    if places:
        loads = [builder.load(c.type, place) for c, place in zip(result, places, strict=True)]
        for load in loads:
            load.metadata = dict(group)
        values = [*loads]
    _mark(builder, form.module, "end", places)
    if is_composite(call.type):
        call.replace_all_uses(_whole(builder, call.type, values[: len(result)], result))
    elif not call.type.is_void:
        call.replace_all_uses(built)
    call.erase()


def _mark(builder: Builder, module: Module, what: str, places: Sequence[Value]) -> None:
    """Say that the life of stack objects begins or ends: each turn of a loop has its own."""
    for place in places:
        builder.call(module.declare(f"llvm.lifetime.{what}.p0", FunctionType(VOID, (PTR,))), (place,))


def _whole(builder: Builder, type: Type, values: Sequence[Value], components: Sequence[Component]) -> Value:
    whole: Value = Poison(type)
    for value, component in zip(values, components, strict=True):
        whole = insert_component(builder, whole, value, component.path)
    return whole
