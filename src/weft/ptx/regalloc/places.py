"""Where spilled values are, and the code that brings them back and puts them there (Sampaio et al. Fig. 18).

======================  =====================  ==========================================  ========================
state of the value      place                  before a read                               behind a write
======================  =====================  ==========================================  ========================
(0,c)                   `Constant`             ``v = c``                                   nothing
(0,⊥)                   `WarpSlot`             ``v = ↓slot``                               ``↑slot = v``
(c,c')                  `Affine`               ``v = c·tid + c'``                          nothing
(c,⊥)                   `WarpBase`             ``t = ↓slot; v = c·tid + t``                ``t = v - c·tid; ↑slot = t``
else                    `LocalSlot`            ``v = ⇓slot``                               ``⇑slot = v``
(any, where it fits)    `ThreadSlot`           ``v = ↓slot of the thread``                 ``↑slot of the thread = v``
======================  =====================  ==========================================  ========================

Coefficients are one for each dimension of the thread id. Warps and threads have slots of their own: an address is a
base, which is in a register for the whole kernel, and an offset. Accesses are volatile, or ``ptxas`` would make
registers of them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from weft.ptx.regalloc.allocation import Demand, Words
from weft.ptx.syntax import (
    Address,
    Guard,
    Instruction,
    Integer,
    Operand,
    Register,
    SpecialRegister,
    Symbol,
    Vector,
)

Code: TypeAlias = list[Instruction]

_DIMENSIONS = "xyz"


@dataclass(frozen=True, slots=True)
class Names:
    """How words are called in the text.

    Parameters
    ----------
    prefixes
        For each size in bits, what stands before the number of the first word.
    guarded
        The same for values that are written under guards, numbered as they come: such a write does not end the life of
        what had the name before, so that a name of words would be live for longer than a value is there.
    depot, slots
        The arrays in local and in shared memory.
    volatile_local
        Whether local memory may be accessed with ``.volatile`` (PTX 9.1).
    """

    prefixes: dict[int, str]
    guarded: dict[int, str]
    depot: str
    slots: str
    volatile_local: bool = True

    def register(self, words: Words, bits: int) -> Register:
        """The register of some words as a value of this size."""
        return Register(f"{self.prefixes[bits]}{words[0]}")


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the text where spill code goes.

    Parameters
    ----------
    names
        How words are called.
    words, bits
        Where the value is, and its size.
    scratch
        Words that are free there.
    warp_base, thread_base
        The registers with the addresses of the slots of the warp and of the thread.
    guard
        Under which the value was written.
    """

    names: Names
    words: Words
    bits: int
    scratch: Words
    warp_base: Register | None = None
    thread_base: Register | None = None
    guard: Guard | None = None
    own: Register | None = None
    """The register of the value, where it has another name than its words."""

    @property
    def value(self) -> Register:
        """The register of the value."""
        return self.own or self.names.register(self.words, self.bits)

    def word(self, number: int) -> Register:
        """A 32-bit register of the scratch."""
        return self.names.register(self.scratch[number : number + 1], 32)


def _made(opcode: str, modifiers: str, *operands: Operand, guard: Guard | None = None) -> Instruction:
    return Instruction(opcode, tuple(modifiers.split(".")), operands, guard)


@dataclass(frozen=True, slots=True)
class LocalSlot:
    """In local memory, at an offset."""

    offset: int

    def demand(self, bits: int) -> Demand:
        return Demand()

    def reload(self, site: Site) -> Code:
        return [_made("ld", self._kind(site), site.value, self._address(site))]

    def store(self, site: Site) -> Code:
        return [_made("st", self._kind(site), self._address(site), site.value, guard=site.guard)]

    def _kind(self, site: Site) -> str:
        return f"{'volatile.' if site.names.volatile_local else ''}local.b{site.bits}"

    def _address(self, site: Site) -> Address:
        return Address(Symbol(site.names.depot), self.offset)


@dataclass(frozen=True, slots=True)
class WarpSlot:
    """The same for all threads of a warp: once for each warp in shared memory, at an offset of its slots."""

    offset: int

    def demand(self, bits: int) -> Demand:
        return Demand()

    def reload(self, site: Site) -> Code:
        return [
            _made("ld", f"volatile.shared.b{site.bits}", site.value, _at(site, site.warp_base, self.offset))
        ]

    def store(self, site: Site) -> Code:
        return [
            _made(
                "st", f"volatile.shared.b{site.bits}", _at(site, site.warp_base, self.offset), site.value,
                guard=site.guard,
            )
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ThreadSlot:
    """In shared memory for each thread: words at offsets of the thread's slots, neighbours in neighbouring banks."""

    offsets: tuple[int, ...]

    def demand(self, bits: int) -> Demand:
        # The halves of 64 bits are words of their own when they are stored.
        return Demand(store=2 if bits == 64 else 0)

    def reload(self, site: Site) -> Code:
        kind = f"volatile.shared.b{min(site.bits, 32)}"
        if site.bits <= 32:
            return [_made("ld", kind, site.value, _at(site, site.thread_base, self.offsets[0]))]
        halves = [site.names.register(site.words[k : k + 1], 32) for k in range(2)]
        code = [
            _made("ld", kind, half, _at(site, site.thread_base, offset))
            for half, offset in zip(halves, self.offsets, strict=True)
        ]
        return [*code, _made("mov", "b64", site.value, Vector(tuple(halves)))]

    def store(self, site: Site) -> Code:
        kind = f"volatile.shared.b{min(site.bits, 32)}"
        if site.bits <= 32:
            return [
                _made("st", kind, _at(site, site.thread_base, self.offsets[0]), site.value, guard=site.guard)
            ]
        halves = (site.word(0), site.word(1))
        code = [_made("mov", "b64", Vector(halves), site.value)]
        return code + [
            _made("st", kind, _at(site, site.thread_base, offset), half, guard=site.guard)
            for half, offset in zip(halves, self.offsets, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, by its bits."""

    value: int

    def demand(self, bits: int) -> Demand:
        return Demand()

    def reload(self, site: Site) -> Code:
        return [_made("mov", f"b{site.bits}", site.value, Integer(self.value))]

    def store(self, site: Site) -> Code:
        return []


@dataclass(frozen=True, slots=True)
class Affine:
    """Factors times the thread id, one for each dimension, and a number."""

    factors: tuple[int, ...]
    constant: int

    def demand(self, bits: int) -> Demand:
        return Demand(reload=int(_terms(self.factors) > 1))

    def reload(self, site: Site) -> Code:
        return _sum(site, self.factors, Integer(self.constant))

    def store(self, site: Site) -> Code:
        return []


@dataclass(frozen=True, slots=True)
class WarpBase:
    """Factors times the thread id, and a rest that is the same for all threads of a warp: that is in shared memory."""

    offset: int
    factors: tuple[int, ...]

    def demand(self, bits: int) -> Demand:
        more = int(_terms(self.factors) > 1)
        return Demand(reload=1, store=max(1, bits // 32) + more)

    def reload(self, site: Site) -> Code:
        code = WarpSlot(self.offset).reload(site)
        for dimension, factor in enumerate(self.factors):
            if factor:
                code += [
                    _id(site.word(0), dimension),
                    _added(site.value, site.word(0), factor, site.value, site),
                ]
        return code

    def store(self, site: Site) -> Code:
        code: Code = []
        count = max(1, site.bits // 32)
        rest = site.names.register(site.scratch[:count], site.bits)
        before: Register = site.value
        for dimension, factor in enumerate(self.factors):
            if factor:
                # The first id is there before the rest is; those that follow have a word of their own.
                word = site.word(count if before is rest else 0)
                code += [_id(word, dimension), _added(rest, word, -factor, before, site)]
                before = rest
        at = _at(site, site.warp_base, self.offset)
        return [*code, _made("st", f"volatile.shared.b{site.bits}", at, rest, guard=site.guard)]


Place: TypeAlias = LocalSlot | WarpSlot | ThreadSlot | Constant | Affine | WarpBase


def _at(site: Site, base: Register | None, offset: int) -> Address:
    # The slots of a block that is one warp begin where the array does.
    return Address(base if base is not None else Symbol(site.names.slots), offset)


def _terms(factors: Sequence[int]) -> int:
    return sum(1 for factor in factors if factor)


def _id(register: Register, dimension: int) -> Instruction:
    return _made("mov", "u32", register, SpecialRegister("%tid", _DIMENSIONS[dimension]))


def _added(target: Register, id: Register, factor: int, to: Operand, site: Site) -> Instruction:
    """``target = id * factor + to`` in the size of the value."""
    if site.bits == 64:
        return _made("mad", "wide.s32", target, id, Integer(factor), to)
    return _made("mad", "lo.s32", target, id, Integer(factor), to)


def _sum(site: Site, factors: Sequence[int], constant: Integer) -> Code:
    """The value from the ids alone; the first id may be where the value will be."""
    code: Code = []
    to: Operand = constant
    first = site.names.register(site.words[:1], 32)
    for dimension, factor in enumerate(factors):
        if factor:
            word = first if not code else site.word(0)
            code += [_id(word, dimension), _added(site.value, word, factor, to, site)]
            to = site.value
    return code


def fits(factors: Sequence[int]) -> bool:
    """Whether factors and their negatives are 32-bit constants."""
    return all(-(1 << 31) < factor < 1 << 31 for factor in factors)
