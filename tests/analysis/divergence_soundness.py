"""Compares what the divergence analysis claims with what the interpreter sees."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from weft.analysis.divergence import Divergence
from weft.analysis.shapes import Shape
from weft.analysis.shapes.shape import ACTIVE
from weft.interp.lanes import POISON, UNDEF, Lanes
from weft.ir import Instruction


@dataclass
class ClaimChecker:
    """A hook that checks the shape of every value, whenever it is assigned.

    Private addresses are compared by object and offset: each lane's part of an object is moved to the first part's
    place. Lanes with poison or undefined bits do not count.
    """

    divergence: dict[str, Divergence]
    checked: int = 0
    contradicted: list[str] = field(default_factory=list)
    _shapes: dict[Instruction, tuple[Shape, int, bool]] = field(default_factory=dict)

    def on_value(self, machine, instruction, value, definition_mask) -> None:
        if not isinstance(value, Lanes) or value.data.ndim != 1:
            return
        found = self._shapes.get(instruction)
        if found is None:
            analysis = self.divergence.get(instruction.function.name)
            if analysis is None:
                return
            engine = analysis.engine
            private = bool(engine.leads_to_stack(instruction))
            found = (analysis.place_shape(instruction), engine.bits(instruction), private)
            self._shapes[instruction] = found
        shape, bits, private = found
        lanes = machine.lanes
        mask = np.broadcast_to(definition_mask, (lanes,))
        if value.flags is not None:
            mask = mask & ~np.broadcast_to((value.flags & (POISON | UNDEF)) != 0, (lanes,))
        data = value.data
        if private:
            data = _at_first_part(machine, np.broadcast_to(data, (lanes,)))
        active = np.flatnonzero(mask).tolist()
        if not active:
            return
        self.checked += 1
        if data.dtype.kind == "f":
            data = data.view(f"u{data.dtype.itemsize}")
        values = data.tolist()
        if len(values) == 1:
            values = values * lanes
        if not agrees(shape, values, active, bits):
            seen = {lane: values[lane] for lane in active}
            self.contradicted.append(
                f"{instruction!r} in {instruction.block!r} of @{instruction.function.name}: {shape!r} but {seen}"
            )

    def on_branch(self, machine, branch, targets) -> None:
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
    if not bits:
        return stride != 0 or all(values[lane] == values[active[0]] for lane in active)
    modulus = (1 << bits) - 1
    known = (1 << shape.known_bits) - 1
    if not isinstance(stride, int):
        if stride is not None:
            return shape_contains(shape, values, active, bits)
        return all((int(values[lane]) ^ shape.residue) & known == 0 for lane in active)
    base = (int(values[active[0]]) - stride * active[0]) & modulus
    if (base ^ shape.residue) & known:
        return False
    if any((base + stride * lane - int(values[lane])) & modulus for lane in active):
        return False
    if stride and (shape.nsw >= ACTIVE or shape.nuw >= ACTIVE):
        return shape_contains(shape, values, active, bits)
    return True


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
