"""Compares what the divergence analysis claims with what the interpreter sees."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from weft.analysis.divergence import Divergence
from weft.analysis.integers.bounds import to_signed
from weft.analysis.integers.intervals import Interval
from weft.analysis.shapes import Shape
from weft.analysis.shapes.shape import ACTIVE, BASE
from weft.interp.lanes import POISON, UNDEF, Lanes
from weft.interp.memory.memory import MemoryObject
from weft.ir import Instruction, Value


@dataclass
class ClaimChecker:
    """A hook that checks the shape of every value, whenever it is assigned.

    Private addresses are compared by object and offset: each lane's part of an object is moved to the first part's
    place. Lanes with poison or undefined bits do not count, and nothing does any more once `is_open`: a choice was
    made that a compiler may make otherwise.
    """

    divergence: dict[str, Divergence]
    checked: int = 0
    contradicted: list[str] = field(default_factory=list)
    is_open: bool = False
    _shapes: dict[Instruction, tuple[Shape, int, bool, Interval | None]] = field(default_factory=dict)
    _poison: dict[Value, np.ndarray | None] = field(default_factory=dict)

    def on_value(self, machine, instruction, value, definition_mask) -> None:
        if not isinstance(value, Lanes) or value.data.ndim != 1 or self.is_open:
            return
        lanes = machine.lanes
        mask = definition_mask if definition_mask.size == lanes else np.full(lanes, definition_mask[0])
        self._poison[instruction] = value.flags
        if instruction.op == "freeze" and self._freezes_poison(instruction, mask):
            # The compiler would choose another value than the interpreter did: all that follows may differ.
            self.is_open = True
            return
        found = self._shapes.get(instruction)
        if found is None:
            analysis = self.divergence.get(instruction.function.name)
            if analysis is None:
                return
            engine = analysis.engine
            private = bool(engine.leads_to_stack(instruction))
            bounds = engine.ranges.of(instruction) if engine.ranges is not None else None
            found = (analysis.place_shape(instruction), engine.bits(instruction), private, bounds)
            self._shapes[instruction] = found
        shape, bits, private, bounds = found
        if value.flags is not None:
            mask = mask & ((value.flags & (POISON | UNDEF)) == 0)
        data = value.data
        if private:
            data = _at_first_part(machine, np.broadcast_to(data, (lanes,)))
        active = [lane for lane, is_on in enumerate(mask.tolist()) if is_on]
        if not active:
            return
        self.checked += 1
        if data.dtype.kind == "f":
            data = data.view(f"u{data.dtype.itemsize}")
        values = data.tolist()
        if len(values) == 1:
            values = values * lanes
        if bounds is not None and not all(
            bounds.holds(to_signed(int(values[lane]), bits)) for lane in active
        ):
            self.contradicted.append(
                f"{instruction!r} is {[values[lane] for lane in active]}, not in {bounds}"
            )
        if not agrees(shape, values, active, bits):
            seen = {lane: values[lane] for lane in active}
            self.contradicted.append(
                f"{instruction!r} in {instruction.block!r} of @{instruction.function.name}: {shape!r} but {seen}"
            )

    def _freezes_poison(self, freeze: Instruction, mask: np.ndarray) -> bool:
        flags = self._poison.get(freeze.operands[0])
        return flags is not None and bool((np.broadcast_to(flags != 0, mask.shape) & mask).any())

    def on_branch(self, machine, branch, targets) -> None:
        if self.is_open:
            return
        analysis = self.divergence.get(branch.function.name)
        if analysis is None:
            return
        self.checked += 1
        taken = [number for number, threads in targets if threads.count]
        if len(set(taken)) > 1 and not analysis.is_divergent_branch(branch.block):
            self.contradicted.append(f"{branch!r} in {branch.block!r} diverges")


def agrees(shape: Shape, values: list, active: list[int], bits: int) -> bool:
    """Membership in the concretization, for one dimension; as `Domain.contains`, but quick."""
    if shape.is_bottom:
        return False
    stride = shape.strides[0]
    first = values[active[0]]
    if stride == 0:
        # The residue of what is no integer has no known bits.
        same = [values[lane] for lane in active] == [first] * len(active)
        return same and (int(first) ^ shape.residue) & ((1 << shape.known_bits) - 1) == 0
    if not bits:
        return True
    modulus = (1 << bits) - 1
    known = (1 << shape.known_bits) - 1
    if not isinstance(stride, int):
        if stride is not None:
            return shape_contains(shape, values, active, bits)
        return all((int(values[lane]) ^ shape.residue) & known == 0 for lane in active)
    base = (int(first) - stride * active[0]) & modulus
    if (base ^ shape.residue) & known:
        return False
    if any((base + stride * lane - int(values[lane])) & modulus for lane in active):
        return False
    half = 1 << (bits - 1)
    signed = {lane: to_signed(int(values[lane]), bits) for lane in active}
    unsigned = {lane: int(values[lane]) for lane in active}
    return is_exact(shape.nsw, signed, stride, -half, half) and is_exact(
        shape.nuw, unsigned, stride, 0, modulus + 1
    )


def is_exact(level: int, numbers: dict[int, int], stride: int, least: int, end: int) -> bool:
    """Whether the strided form holds over the integers, if it is claimed to, with a base in the range."""
    bases = {number - stride * lane for lane, number in numbers.items()}
    return level < ACTIVE or (len(bases) == 1 and (level < BASE or least <= min(bases) < end))


def shape_contains(shape: Shape, values: list, active: list[int], bits: int) -> bool:
    from weft.analysis.shapes.concretize import contains

    mask = np.zeros(len(values), bool)
    mask[active] = True
    return contains(shape, np.array([int(v) for v in values], object), mask, bits)


def _at_first_part(machine, addresses: np.ndarray) -> np.ndarray:
    moved = addresses.copy()
    memory = machine.image.memory
    for lane, address in enumerate(addresses.tolist()):
        found = memory.before(address)
        if found is not None and found.stride:
            moved[lane] = address - lane * found.stride
    return moved


@dataclass
class SharingChecker:
    """A hook that checks that threads could share their uniform stack objects.

    It keeps one copy of each private object, which every store writes to; each load has to find in the copy what the
    thread has in its own object.
    """

    divergence: dict[str, Divergence]
    loads: int = 0
    spoilt: list[str] = field(default_factory=list)
    _copies: dict[int, np.ndarray] = field(default_factory=dict)
    _written: list[tuple[MemoryObject, int, int, int]] = field(default_factory=list)

    def on_access(self, machine, instruction, addresses, mask, kind, size) -> None:
        self._finish_stores()
        analysis = self.divergence.get(instruction.function.name)
        if analysis is None:
            return
        pointer = instruction.operands[1 if instruction.op == "store" else 0]
        sites = analysis.engine.leads_to_stack(pointer)
        if not sites:
            return
        # A store may lead to shared and to private objects; what it writes to a private one is never asked for.
        if kind == "load" and not all(analysis.is_uniform_object(site) for site in sites):
            return
        for lane in np.flatnonzero(mask).tolist():
            found = machine.image.memory.before(int(addresses[lane]))
            start = int(addresses[lane]) - found.base - lane * found.stride
            if kind != "load":
                self._written.append((found, lane, start, size))
                continue
            self.loads += 1
            own = _part(found, lane)[start : start + size]
            if found.state is not None and found.state[lane * found.stride + start :][:size].any():
                continue
            copy = self._copies.get(found.base)
            if copy is None or not np.array_equal(copy[start : start + size], own):
                self.spoilt.append(f"{instruction!r} in {instruction.block!r}, lane {lane}")

    def _finish_stores(self) -> None:
        """A store is told before it happens: copy what it wrote now."""
        for found, lane, start, size in self._written:
            copy = self._copies.setdefault(found.base, np.zeros(found.part_size, np.uint8))
            copy[start : start + size] = _part(found, lane)[start : start + size]
        self._written.clear()


def _part(found: MemoryObject, lane: int) -> np.ndarray:
    begin = lane * found.stride
    return found.data[begin : begin + found.part_size]
