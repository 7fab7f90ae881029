"""Structures of 2, 4, 8, ... units as vectors of one unit each, and back, by shuffles of two registers.

Registers hold the units of all lanes' structures, one structure behind the other: what is at place ``lane · U + unit``
goes to register `unit`, element `lane`, so the bits of its place are rotated. *Zipping* the first half of all registers
with the second one rotates them to the left by one, *unzipping*, even elements before odd ones, to the right. With
U units and L lanes, both powers of two, log2 U steps to one side do what log2 L steps to the other do; what costs less
is taken. A step has as many shuffles as there are registers, less those that nobody needs. Shuffles of more than two
registers would cost LLVM an instruction for each of them, and compile time that grows with their square.

Instructions of AVX and AVX2 zip and unzip the halves of a register by themselves, and others exchange halves
(`weft.codegen.widen.half_steps`): a whole zip is two of these. There the fewest such steps are looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weft.codegen.widen.half_steps import Step, order_of, steps_apart, steps_together
from weft.costs.instructions import unzip_cost, zip_cost
from weft.ir import Builder, Poison, Value
from weft.ir.types import FloatType, IntType, VectorType
from weft.machine.targets import Isa


def is_power_of_two(units: int) -> bool:
    """Whether structures of so many units can be taken apart here."""
    return units > 1 and units & (units - 1) == 0


def taken_apart(
    builder: Builder, registers: Sequence[Value], wanted: Iterable[int], isa: Isa
) -> dict[int, Value]:
    """The units of structures, by their numbers.

    Parameters
    ----------
    builder
        Where shuffles go.
    registers
        As many vectors of one type as a structure has units.
    wanted
        The units that are needed.
    isa
        The machine.
    """
    network = _Network(builder, registers)
    units, lanes = _log2(len(registers)), _log2(network.lanes)
    # Of two narrow units LLVM makes packs.
    steps = units > 1 or network.bits >= 32
    if steps and network.has_halves(isa) and (found := steps_apart(units, lanes, network.bits)) is not None:
        return {unit: network.behind(found.steps, found.place_of(unit)) for unit in wanted}
    zips = lanes * zip_cost(isa) < units * unzip_cost(network.bits, isa)
    return {unit: network.at(lanes if zips else -units, unit) for unit in wanted}


def put_together(builder: Builder, units: Sequence[Value], isa: Isa) -> list[Value]:
    """The registers of structures, from vectors of each unit; `taken_apart` backwards."""
    network = _Network(builder, units)
    count, lanes = _log2(len(units)), _log2(network.lanes)
    if network.has_halves(isa) and (found := steps_together(count, lanes, network.bits)) is not None:
        return [network.behind(found.steps, found.place_of(k)) for k in range(len(units))]
    zips = count * zip_cost(isa) <= lanes * unzip_cost(network.bits, isa)
    return [network.at(count if zips else -lanes, k) for k in range(len(units))]


class _Network:
    """Registers, and what they are after so many zips, or, counted below zero, unzips."""

    def __init__(self, builder: Builder, registers: Sequence[Value]) -> None:
        type = registers[0].type
        assert isinstance(type, VectorType)
        self.lanes = type.count
        self.bits = type.element.bits if isinstance(type.element, IntType | FloatType) else 64
        self._builder = builder
        self._count = len(registers)
        self._known = {(0, k): register for k, register in enumerate(registers)}
        self._behind: dict[tuple[int, int], Value] = {}

    def has_halves(self, isa: Isa) -> bool:
        """Whether the registers are such as AVX has, which are zipped half by half."""
        return isa.arch == "x86_64" and isa.vector_bits == 256 == self.lanes * self.bits

    def behind(self, steps: tuple[Step, ...], k: int) -> Value:
        """Register `k` after steps of halves."""
        if not steps:
            return self.at(0, k)
        key = len(steps), k
        if key not in self._behind:
            *before, (kind, bit) = steps
            other = 1 << bit
            a, b = (self.behind(tuple(before), k & ~other | part) for part in (0, other))
            order = order_of(kind, self.lanes, int(bool(k & other)))
            nothing = isinstance(a, Poison) and isinstance(b, Poison)
            self._behind[key] = a if nothing else self._builder.shuffle(a, b, order)
        return self._behind[key]

    def at(self, steps: int, k: int) -> Value:
        """Register `k` after so many steps."""
        key = steps, k
        if key not in self._known:
            half, lanes = self._count // 2, self.lanes
            if steps > 0:
                a, b = (self.at(steps - 1, k // 2 + part) for part in (0, half))
                order = [t // 2 + t % 2 * lanes for t in range(2 * lanes)][k % 2 * lanes :][:lanes]
            else:
                a, b = (self.at(steps + 1, 2 * (k % half) + part) for part in (0, 1))
                order = list(range(k // half, 2 * lanes, 2))
            nothing = isinstance(a, Poison) and isinstance(b, Poison)
            self._known[key] = a if nothing else self._builder.shuffle(a, b, order)
        return self._known[key]


def _log2(count: int) -> int:
    return count.bit_length() - 1
