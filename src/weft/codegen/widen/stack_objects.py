"""Where the stack objects of lanes lie (Moll §6.6 decides which of them differ between lanes).

============================  ==============================================================================
object                        its place
============================  ==============================================================================
uniform                       one object that all lanes share
varying, made of elements     *interleaved*: ``[N x T]`` becomes ``[N x <W x T>]``, element i of all lanes side by
                              side. An access at an index that lanes agree in is one vector access, one at an
                              index of each lane's own is a gather or scatter that stays within few cache lines
varying, all others           whole objects, lane after lane
============================  ==============================================================================

An object is made of elements when all its accesses are of one size, at multiples of that size, and its address goes
nowhere but into addresses, comparisons of places and accesses. Objects that a pointer may lead to alternatively are
interleaved together or not at all.

In an interleaved object lane t finds offset o of its own object at ``W*o + size*t``: whatever is added to an address
is added W times. So the shape of an address, which the divergence analysis states for places within each thread's own
object, has the size of an element more as its stride.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.analysis.divergence import Divergence
from weft.analysis.memory.addresses import goes_by
from weft.analysis.memory.stack_objects import Site, StackObjects, forwards_pointer
from weft.analysis.shapes import Shape
from weft.codegen.widen.lanes import LaneSpace
from weft.ir import ConstInt, Function, Instruction, Value
from weft.ir.constants import ConstNull, Poison, Undef
from weft.ir.layout import DataLayout

CACHE_LINE = 64
"""Bytes that interleaved objects are aligned to, at most."""

_LIFETIMES = ("llvm.lifetime.", "llvm.dbg.")


class PlacedDivergence(Divergence):
    """A divergence in which addresses of stack objects have the strides that their layout gives them.

    Attributes
    ----------
    interleaved
        The objects that are interleaved, and the bytes of their elements.
    """

    __slots__ = ("_elsewhere", "_lanes", "interleaved")

    def __init__(self, divergence: Divergence, lanes: LaneSpace) -> None:
        super().__init__(divergence.engine)
        self._lanes = lanes
        engine = divergence.engine
        varying = engine.varying_objects
        self.interleaved: dict[Site, int] = {}
        if varying:
            self.interleaved = _interleavable(self.function, engine.objects, varying, engine.layout)
        self._elsewhere = _leading_elsewhere(self.function, engine.objects) if varying else set()

    def element_bytes(self, pointer: Value) -> int | None:
        """Bytes of the elements of the interleaved objects that a pointer leads to; None when it leads to others."""
        return next((self.interleaved.get(site) for site in self._engine.leads_to_stack(pointer)), None)

    def shape(self, value: Value) -> Shape:
        """As the divergence analysis says, but for addresses of varying stack objects that of the address itself."""
        sites = self._engine.leads_to_stack(value)
        if not sites or sites.isdisjoint(self._engine.varying_objects) or not value.type.is_pointer:
            return super().shape(value)
        place = self.place_shape(value)
        if place.is_bottom or not place.is_strided or value in self._elsewhere:
            return super().shape(value)
        strides = [s for s in place.strides if isinstance(s, int)]
        element = self.element_bytes(value)
        align = 1
        if element is not None:
            # The objects begin at such addresses (`stack`), and their elements fill a row each.
            align = min(element * self._lanes.width, CACHE_LINE)
            align &= -align
            strides = [
                s * self._lanes.width + element * n for s, n in zip(strides, self._lanes.steps, strict=True)
            ]
        elif len(sites) == 1 and isinstance(site := next(iter(sites)), Instruction):
            size = object_bytes(site, self._engine.layout)
            strides = [s + size * n for s, n in zip(strides, self._lanes.steps, strict=True)]
        else:
            return super().shape(value)
        return self.threads.domain.strided(tuple(strides), self._engine.bits(value), align, exact=False)


def _leading_elsewhere(function: Function, objects: StackObjects) -> set[Value]:
    """Pointers that may be null or lead out of the stack objects, whose lanes are then not apart as these are."""
    found: set[Value] = set()
    work = [
        i
        for i in function.instructions()
        if i.op in ("phi", "select")
        and objects.of(i)
        and any(
            not (objects.of(v) or isinstance(v, (Poison, Undef)))
            for v in (i.operands[1:] if i.op == "select" else i.operands)
        )
    ]
    while work:
        pointer = work.pop()
        if pointer not in found:
            found.add(pointer)
            work += [u for u in pointer.instruction_users() if forwards_pointer(u) and objects.of(u)]
    return found


def object_bytes(alloca: Instruction, layout: DataLayout) -> int:
    """Bytes from one lane's object to the next one's, where whole objects lie lane after lane."""
    count = alloca.operands[0]
    assert isinstance(count, ConstInt), "objects of variable size are not widened"
    type = alloca.allocated_type
    align = max(alloca.attrs.get("align", 0), layout.align(type))
    return -(-layout.size(type) * count.value // align) * align


def _interleavable(
    function: Function, objects: StackObjects, varying: set[Site], layout: DataLayout
) -> dict[Site, int]:
    """Objects made of elements, and the size of these."""
    pointers = [i for i in function.instructions() if objects.of(i)]
    found: dict[Site, int] = {}
    for together in _alternatives(objects, pointers):
        if not together <= varying or not together.isdisjoint(objects.escaped):
            continue
        leading = [p for p in pointers if not objects.of(p).isdisjoint(together)]
        size = _element_size(together, objects, leading, layout)
        if size is not None:
            found.update(dict.fromkeys(together, size))
    return found


def _alternatives(objects: StackObjects, pointers: Iterable[Instruction]) -> list[set[Site]]:
    """The objects by sets that no pointer leads out of."""
    sets: list[set[Site]] = [{site} for site in objects.sites]
    for pointer in pointers:
        sites = objects.of(pointer)
        touched = [s for s in sets if not s.isdisjoint(sites)]
        if len(touched) > 1:
            sets = [s for s in sets if s not in touched]
            sets.append(set().union(*touched))
    return sets


def _element_size(
    together: set[Site], objects: StackObjects, pointers: list[Instruction], layout: DataLayout
) -> int | None:
    """The one size of all accesses; None when the objects are not made of elements."""
    if not all(isinstance(s, Instruction) and isinstance(s.operands[0], ConstInt) for s in together):
        return None
    sizes: set[int] = set()
    for pointer in pointers:
        for user in pointer.instruction_users():
            if user.is_plain_access:
                type = user.accessed_type
                sizes.add(layout.store_size(type))
                if layout.bit_size(type) != 8 * layout.store_size(type):
                    return None
            elif not _keeps_track(user, together, objects):
                return None
    if len(sizes) != 1:
        return None
    size = sizes.pop()
    steps = [p for p in pointers if p.op == "getelementptr"]
    return size if all(goes_by(step, size, layout) for step in steps) else None


def _keeps_track(user: Instruction, together: set[Site], objects: StackObjects) -> bool:
    """Whether a use of an address leaves it to lead to these objects, or to nothing."""
    if user.op in ("phi", "select", "icmp"):
        if user.op == "icmp" and user.predicate not in ("eq", "ne"):
            return False
        operands = user.operands[1:] if user.op == "select" else user.operands
        return all(
            isinstance(v, (ConstNull, Poison, Undef)) or (bool(s := objects.of(v)) and s <= together)
            for v in operands
        )
    if user.op == "call":
        return (user.callee_name or "").startswith(_LIFETIMES)
    return user.op in ("getelementptr", "freeze")
