"""Memory that a program declares: local variables of kernels, and variables of program scope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from weft.diag.errors import UnsupportedError
from weft.ir import (
    Builder,
    ConstAggregate,
    ConstBytes,
    ConstExpr,
    ConstFloat,
    ConstInt,
    ConstSplat,
    Function,
    GlobalVariable,
    Module,
    Value,
)
from weft.ir.builder import address_space
from weft.ir.global_addresses import mentions, replace_globals
from weft.ir.intrinsics import SHARED_ATTRIBUTE, SHARED_SPACE, SPILL_SLOTS, SPILL_SLOTS_ATTRIBUTE, declare
from weft.ir.layout import DataLayout
from weft.ir.types import I8, I32, I64, ArrayType, StructType, Type, VectorType

SCOPE = "program.scope"
"""The parameter with the address of program-scope variables."""

_ALIGN = 64
"""Alignment of each variable: a cache line, so that vectors of any width may be loaded."""


class Scope(Struct, frozen=True):
    """The variables of a program's scope, which live as long as the program.

    Parameters
    ----------
    offsets
        Where each begins.
    data
        What they hold at first.
    pointers
        Where they hold addresses of each other: place, and the place that it leads to.
    """

    offsets: Mapping[str, int]
    data: bytes
    pointers: tuple[tuple[int, int], ...] = ()


def scope_of(module: Module, first: Sequence[str] = (), reserved: int = 0) -> Scope:
    """The variables that kernels may write and that are of no kernel.

    Parameters
    ----------
    module
        The program.
    first
        Names of variables that come before the others, in this order.
    reserved
        Bytes of zeros before all of them.

    Raises
    ------
    UnsupportedError
        One is defined elsewhere, or holds what is known only when the program runs.
    """
    variables = [
        g
        for g in module.globals.values()
        if not g.is_constant and address_space(g) != SHARED_SPACE and not g.name.startswith("llvm.")
    ]
    if not variables:
        return Scope({}, bytes(reserved))
    order = {name: k for k, name in enumerate(first)}
    variables.sort(key=lambda g: order.get(g.name, len(order)))
    layout, offsets, end = module.layout, dict[str, int](), reserved
    for variable in variables:
        if variable.initializer is None:
            raise UnsupportedError(f"the variable {variable.name} is declared, and nobody defines it")
        offsets[variable.name] = end
        end = -(-(end + layout.size(variable.value_type)) // _ALIGN) * _ALIGN
    image = _Image(layout, offsets, bytearray(end), [])
    for variable in variables:
        assert variable.initializer is not None
        image.put(variable.initializer, offsets[variable.name])
    return Scope(offsets, bytes(image.data), tuple(image.pointers))


class _Image(Struct):
    """Bytes of initial values."""

    layout: DataLayout
    offsets: Mapping[str, int]
    data: bytearray
    pointers: list[tuple[int, int]]

    def put(self, value: Value, at: int) -> None:
        """Write a constant; zeros and what is undefined are there already."""
        size = self.layout.store_size(value.type)
        if isinstance(value, ConstInt):
            self.data[at : at + size] = value.value.to_bytes(size, "little")
        elif isinstance(value, ConstFloat):
            self.data[at : at + size] = value.bits.to_bytes(size, "little")
        elif isinstance(value, ConstBytes):
            self.data[at : at + size] = value.data
        elif isinstance(value, (ConstAggregate, ConstSplat)):
            for part, place in self._parts(value, at):
                self.put(part, place)
        elif isinstance(value, (GlobalVariable, ConstExpr)):
            self.pointers.append((at, self._place(value)))

    def _parts(self, value: ConstAggregate | ConstSplat, at: int) -> Iterator[tuple[Value, int]]:
        type = value.type
        if isinstance(value, ConstSplat):
            assert isinstance(type, VectorType)
            elements: tuple[Value, ...] = (value.element,) * type.count
        else:
            elements = value.elements
        for k, element in enumerate(elements):
            yield element, at + self._offset(type, k)

    def _offset(self, type: Type, k: int) -> int:
        if isinstance(type, StructType):
            return self.layout.struct_layout(type)[0][k]
        assert isinstance(type, (ArrayType, VectorType))
        return k * self.layout.size(type.element)

    def _place(self, value: Value) -> int:
        """The place that an address leads to."""
        if isinstance(value, GlobalVariable) and value.name in self.offsets:
            return self.offsets[value.name]
        if isinstance(value, ConstExpr) and value.op in ("bitcast", "addrspacecast"):
            return self._place(value.operands[0])
        if isinstance(value, ConstExpr) and value.op == "getelementptr":
            first, *rest = [i.signed for i in value.operands[1:] if isinstance(i, ConstInt)]
            inside = self.layout.offset(value.source_type, tuple(rest))
            return self._place(value.operands[0]) + first * self.layout.size(value.source_type) + inside
        raise UnsupportedError(
            "a variable of program scope begins with an address that is no other variable's"
        )


def adopt_scope(kernel: Function, base: Value, offsets: Mapping[str, int]) -> None:
    """Let `kernel` find variables of program scope in the memory at `base`.

    Raises
    ------
    UnsupportedError
        A constant holds the address of one.
    """
    module = kernel.module
    assert module is not None
    variables = {module.globals[name] for name in offsets if name in module.globals}
    for constant in module.globals.values():
        if (
            constant.is_constant
            and constant.initializer is not None
            and mentions(constant.initializer, variables)
        ):
            raise UnsupportedError(
                f"the constant {constant.name} holds the address of a variable of program scope",
                hint="declare it in the global address space",
            )

    def address(builder: Builder, variable: GlobalVariable) -> Value:
        return builder.gep(I8, base, (ConstInt(I64, offsets[variable.name]),), ("inbounds",))

    replace_globals(kernel, variables, address)


def adopt_local_memory(kernel: Function) -> int:
    """Make local variables of `kernel` shared objects of weft; return their bytes.

    Those that are declared without a definition (CUDA's ``extern __shared__``) are the launch's dynamic memory.
    """
    module = kernel.module
    assert module is not None
    found = [g for g in module.globals.values() if address_space(g) == SHARED_SPACE]
    used = [g for g in found if any(mentions(o, {g}) for i in kernel.instructions() for o in i.operands)]
    if not used:
        return 0
    layout, sizes = kernel.layout, list[tuple[int, int]]()
    numbers: dict[GlobalVariable, int] = {}
    for variable in used:
        if variable.initializer is None:
            continue
        align = max(variable.linkage.align, layout.align(variable.value_type), _ALIGN)
        numbers[variable] = len(sizes)
        sizes.append((layout.size(variable.value_type), align))

    def address(builder: Builder, variable: GlobalVariable) -> Value:
        if variable not in numbers:
            return builder.call(declare(builder.module, "weft.shared.dynamic"), ())
        return builder.call(declare(builder.module, "weft.shared"), (ConstInt(I32, numbers[variable]),))

    replace_globals(kernel, used, address)
    if sizes:
        listed = ",".join(f"{size}:{align}" for size, align in sizes)
        kernel.attributes = (*kernel.attributes, f'"{SHARED_ATTRIBUTE}"="{listed}"')
    slots = next(
        (number for variable, number in numbers.items() if variable.name.startswith(SPILL_SLOTS)), None
    )
    if slots is not None:
        kernel.attributes = (*kernel.attributes, f'"{SPILL_SLOTS_ATTRIBUTE}"="{slots}"')
    return sum(size for size, _ in sizes)
