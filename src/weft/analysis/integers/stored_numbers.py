"""What is stored to the stack object that a load reads, where that is all that the load can see.

    stack[0] = 0                          node is 0, or what the second or the third line has stored
    while top > 0:
        node = stack[top]
        if 2 * node + 1 < n: stack[top] = 2 * node + 1; ...

That is known of objects of which all is written and read in elements of one type, and whose address goes nowhere else.
Elements that nothing has been stored to are not defined, and nothing is said of them, as of poison.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.memory.addresses import decompose, with_factors
from weft.analysis.memory.stack_objects import Site, StackObjects
from weft.ir import ConstInt, Function, Instruction
from weft.ir.cfg_view import CFGView
from weft.ir.types import Type


class Stored(Struct, frozen=True):
    """The stores that may have made what a load reads, and whether memory was filled with zeros, too."""

    stores: list[Instruction]
    cleared: bool


class StoredNumbers:
    """Asks of the loads of one function what has been stored."""

    __slots__ = ("_elements", "_function", "_objects", "_view")

    def __init__(self, function: Function, view: CFGView) -> None:
        self._function = function
        self._view = view
        self._objects: StackObjects | None = None
        self._elements: dict[tuple[Site, Type], Stored | None] = {}

    @property
    def objects(self) -> StackObjects:
        """The stack objects of the function."""
        if self._objects is None:
            self._objects = StackObjects(self._function, self._view)
        return self._objects

    def of(self, load: Instruction) -> Stored | None:
        """What may have made what a load reads; None if that is not known."""
        sites = self.objects.of(load.operands[0])
        if len(sites) != 1:
            return None
        (site,) = sites
        key = site, load.type
        if key not in self._elements:
            self._elements[key] = self._stored(site, load.type)
        return self._elements[key]

    def _stored(self, site: Site, type: Type) -> Stored | None:
        if site in self.objects.escaped or not isinstance(site, Instruction):
            return None
        accesses = self.objects.accesses[site]
        cleared = [a for a in accesses if _clears(a)]
        if not all(a in cleared or self._is_element(a, site, type) for a in accesses):
            return None
        return Stored([access for access in accesses if access.op == "store"], bool(cleared))

    def _is_element(self, access: Instruction, site: Site, type: Type) -> bool:
        """Whether what is loaded or stored is one element of an object, seen as an array of the type."""
        if access.op not in ("load", "store") or access.is_ordered:
            return False
        if (access.type if access.op == "load" else access.stored_value.type) != type:
            return False
        assert self._function.module is not None
        layout = self._function.module.layout
        size, pointer = layout.size(type), access.pointer
        while pointer is not site:
            if not isinstance(pointer, Instruction) or pointer.op != "getelementptr":
                return False
            address = with_factors(decompose(pointer.operands, pointer.source_type, layout))
            if address.offset % size or any(scale % size for scale in address.scales):
                return False
            pointer = address.base
        return True


def _clears(call: Instruction) -> bool:
    """Whether a call only fills memory with zeros."""
    if call.op != "call" or not (call.callee_name or "").startswith("llvm.memset."):
        return False
    value = call.args[1]
    return isinstance(value, ConstInt) and value.value == 0
