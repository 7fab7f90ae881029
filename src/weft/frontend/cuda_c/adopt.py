"""From LLVM IR of a program in CUDA C++ to one P-LLVM module for each kernel.

Precondition: `weft.frontend.device.flatten` has left one address space but for shared memory, and what kernels call has
been inlined but for functions that call themselves or are called by pointers. Postcondition of `adopt_kernel`: the
module has one kernel; ids, barriers, shared memory and warp operations are weft's intrinsics. Its parameters are
scalars and pointers, one slot each: those of the arguments (`weft.frontend.device.metadata.Passing`), and the address
of the program's variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from weft.diag.errors import UnsupportedError
from weft.frontend.cuda_c.arguments import WARP
from weft.frontend.cuda_c.bounds import Bounded, widen_bounded
from weft.frontend.device.arguments import adopt_arguments
from weft.frontend.device.contraction import settle_contraction
from weft.frontend.device.definitions import keep_only
from weft.frontend.device.division import settle_division
from weft.frontend.device.memory import SCOPE, adopt_local_memory, adopt_scope
from weft.frontend.device.primitives import lower_primitives
from weft.frontend.device.printing import adopt_printf
from weft.frontend.device.unrolling import settle_unrolling
from weft.frontend.device.work_items import MAX_GROUPS, SMALL_LAUNCHES, WorkItems
from weft.ir import (
    Builder,
    ConstAggregate,
    ConstBytes,
    ConstExpr,
    ConstInt,
    Function,
    GlobalVariable,
    Instruction,
    Module,
    Value,
)
from weft.ir.builder import address_space
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.global_addresses import mentions
from weft.ir.intrinsics import SHARED_SPACE, SMALL_GRID, IntrinsicKind, declare, kind_of
from weft.ir.locations import span_of
from weft.ir.reader import read_module
from weft.ir.types import I32, I64, PTR
from weft.ir.work_item_names import Dialect, Meaning, meaning_of
from weft.machine.vecmath import math_function

SMALL_GROUPS = SMALL_GRID // 1024
"""Blocks along a dimension of launches that are small, whatever their size is."""

ASSERTION = "__assert_fail"

_DROPPED_ATTRIBUTES = (
    *("alwaysinline", "convergent", "norecurse", "mustprogress"),
    *('"uniform-work-group-size"', '"target-', '"nvvm', '"frame-pointer"', '"stack-protector'),
)
_IDS = {
    Meaning.LOCAL_ID: "weft.local.id",
    Meaning.GROUP_ID: "weft.group.id",
    Meaning.LOCAL_SIZE: "weft.local.size",
    Meaning.NUM_GROUPS: "weft.num.groups",
}


class Assertion(Struct, frozen=True):
    """An ``assert`` of the source.

    Parameters
    ----------
    text
        What it says.
    file, line
        Where it stands.
    """

    text: str
    file: str
    line: int


def adopt_kernel(
    text: str,
    name: str,
    title: str,
    *,
    scope: Mapping[str, int],
    assertions: Sequence[Assertion],
    small: bool,
    fused: bool,
    debug: bool = False,
) -> Module:
    """Return the module of one kernel of a program.

    Parameters
    ----------
    text
        The program.
    name, title
        The kernel's symbol, and what it is called from now on.
    scope
        Where each of the program's variables begins, in bytes.
    assertions
        The assertions of the program, in the order of their numbers.
    small
        Whether all arrays have less than 2 GiB, and all extents of the grid are at most `SMALL_GROUPS`.
    fused
        Whether ``a*b + c`` is rounded once.
    debug
        Whether assertions, and divisions that have no meaning, are left for the sanitizer.

    Raises
    ------
    UnsupportedError
        The kernel has what weft cannot run.
    """
    module = read_module(text)
    kernel = module.functions.pop(name)
    kernel.name = title
    module.functions[title] = kernel
    others = keep_only(module, kernel)
    adopt_arguments(kernel)
    base = kernel.append_parameter(PTR, SCOPE)
    if not debug:
        _number_assertions(kernel, base, assertions)
        _drop_assertions(others)
    _require_no_functions(kernel)
    adopt_scope(kernel, base, {n: at for n, at in scope.items() if n in module.globals})
    adopt_local_memory(kernel)
    items = WorkItems({}, small, SMALL_GROUPS if small else MAX_GROUPS)
    for function in (kernel, *others):
        _adopt_body(function, items, fused, function is kernel)
        if not debug:
            settle_division(function)
    keep_only(module, kernel)
    _settle_attributes(kernel, others, small)
    return module


def _adopt_body(function: Function, items: WorkItems, fused: bool, is_kernel: bool) -> None:
    _require_own_memory(function, is_kernel)
    widen_bounded(function, _lower_registers(function, items))
    lower_primitives(function, items, WARP)
    adopt_printf(function)
    settle_contraction(function, fused)
    settle_unrolling(function)
    _free_mathematics(function)


def _free_mathematics(function: Function) -> None:
    """Let functions of mathematics be called by any threads: clang takes all functions of a device for convergent."""
    for call in (i for i in function.instructions() if i.op == "call"):
        callee = call.callee
        if not isinstance(callee, Function) or math_function(callee.name) is None:
            continue
        callee.attributes = tuple(a for a in callee.attributes if a != "convergent")
        own = call.attrs.get("fn_attrs", ())
        if "convergent" in own:
            call.attrs["fn_attrs"] = tuple(a for a in own if a != "convergent")


def _require_own_memory(function: Function, is_kernel: bool) -> None:
    """See that a function that could not be inlined takes the addresses of no variables."""
    module = function.module
    assert module is not None
    variables = [g for g in module.globals.values() if not g.is_constant or address_space(g) == SHARED_SPACE]
    for instruction in function.instructions() if not is_kernel else ():
        found = next((v for o in instruction.operands for v in variables if mentions(o, {v})), None)
        if found is not None:
            raise UnsupportedError(
                f"{function.name} calls itself, or is called by a pointer, and uses the variable {found.name}",
                span_of(instruction),
                "pass its address as an argument",
            )


def _require_no_functions(kernel: Function) -> None:
    """See that no variable that a kernel uses, and the host might set, begins with the address of a function."""
    module = kernel.module
    assert module is not None
    for variable in module.globals.values():
        if variable.is_constant or variable.initializer is None or not _holds_function(variable.initializer):
            continue
        use = next(
            (i for i in kernel.instructions() if any(mentions(o, {variable}) for o in i.operands)), None
        )
        raise UnsupportedError(
            f"the variable {variable.name} holds the address of a function",
            None if use is None else span_of(use),
            "declare it constexpr, or choose the function by a switch",
        )


def _holds_function(value: Value) -> bool:
    if isinstance(value, ConstAggregate):
        return any(map(_holds_function, value.elements))
    if isinstance(value, ConstExpr):
        return any(map(_holds_function, value.operands))
    return isinstance(value, Function)


def _lower_registers(function: Function, items: WorkItems) -> dict[Value, Bounded]:
    """Put weft's intrinsics in the place of what clang makes of ids, sizes and barriers.

    Returned are the ids and sizes.
    """
    known: dict[Value, Bounded] = {}
    for call in list(function.instructions()):
        found = meaning_of(call.callee_name or "") if call.op == "call" else None
        if found is None or found.dialect is not Dialect.NVVM:
            continue
        builder = Builder(before=call)
        builder.loc = call.loc
        if found.meaning is Meaning.BARRIER:
            builder.call(declare(builder.module, "weft.barrier"), ())
            call.erase()
        elif found.meaning in _IDS:
            name = _IDS[found.meaning]
            value = items.ask(builder, name, found.dimension or 0)
            narrow = builder.cast("trunc", value, I32, ("nuw", "nsw"))
            known[narrow] = Bounded(value, *items.bounds(name))
            replace_and_erase(call, narrow)
        elif found.meaning is Meaning.LANE_ID:
            replace_and_erase(call, builder.call(declare(builder.module, "weft.lane.id"), ()))
        elif found.meaning is Meaning.NUM_LANES:
            replace_and_erase(call, ConstInt(I32, WARP))
    return known


def assertions_of(module: Module) -> tuple[Assertion, ...]:
    """The assertions of a program, each once."""
    calls = (i for f in module.definitions() for i in f.instructions() if i.callee_name == ASSERTION)
    return tuple(dict.fromkeys(map(_assertion, calls)))


def _assertion(call: Instruction) -> Assertion:
    text, file, line, _ = call.args
    return Assertion(_string(text), _string(file), line.value if isinstance(line, ConstInt) else 0)


def _string(value: Value) -> str:
    """A C string that a program has as a constant."""
    if isinstance(value, GlobalVariable) and isinstance(value.initializer, ConstBytes):
        return value.initializer.data.rstrip(b"\0").decode(errors="replace")
    return ""


def _number_assertions(kernel: Function, base: Value, assertions: Sequence[Assertion]) -> None:
    """Let an assertion that does not hold leave its number, from 1 on, at `base`; its thread goes on."""
    for call in [i for i in kernel.instructions() if i.callee_name == ASSERTION]:
        builder = Builder(before=call)
        builder.loc = call.loc
        number = ConstInt(I64, assertions.index(_assertion(call)) + 1)
        builder.atomic_rmw("umax", base, number)
        call.erase()


def _drop_assertions(functions: Sequence[Function]) -> None:
    for function in functions:
        for call in [i for i in function.instructions() if i.callee_name == ASSERTION]:
            call.erase()


def _settle_attributes(kernel: Function, others: Sequence[Function], small: bool) -> None:
    for function in (kernel, *others):
        function.attributes = tuple(a for a in function.attributes if not a.startswith(_DROPPED_ATTRIBUTES))
    kernel.attributes = (*kernel.attributes, *(SMALL_LAUNCHES if small else ()))
    if any(kind_of(i.callee_name) is IntrinsicKind.BARRIER for i in kernel.instructions()):
        # LLVM would keep what is read through the pointer across a barrier, at which others write to it.
        for argument in kernel.args:
            argument.attributes = tuple(a for a in argument.attributes if a != "noalias")
